//! A run's metrics: records, audit and usage brought together as its part of the summary.

use std::collections::BTreeMap;

use super::audit::AuditFacts;
use super::clock::Clock;
use super::disturbed::{disturbances, late_submits};
use super::observe::Observation;
use super::placement::unplaced;
use plan::{CARDS_PER_NODE, ClientLimit, Plan, RoundStart, TenantPlan};
use results::hlog::interval_log;
use results::latency::{distribution, samples};
use results::run_folder::{
    Accuracy, Bill, BindRate, CardSeconds, Disturbance, Evidence, Harness, Latency, Outcome,
    Record, RunSummary, RunWriter, Source, Storage, TenantSummary,
};
use results::usage::{card_seconds, note_borrowing};

/// What only the caller knows about a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// Repeat, from 1.
    pub repeat: u32,
    /// Folder of the run, relative to the session's.
    pub folder: String,
    /// From the start of bring-up to the first Job admissible, seconds.
    pub bring_up_secs: f64,
    /// From the start of bring-up to the end of tear-down, seconds.
    pub wall_secs: f64,
    /// What the metrics may rest on.
    pub evidence: Evidence,
    /// Restarts of each supervised component.
    pub restarts: BTreeMap<String, u32>,
    /// The same by component, then cause.
    pub restart_causes: BTreeMap<String, BTreeMap<String, u32>>,
    /// etcd's disk.
    pub storage: Option<Storage>,
    /// Client limits in force, by component; `None`: it does not limit itself.
    pub client_limits: BTreeMap<String, Option<ClientLimit>>,
    /// Disturbances that were noticed elsewhere, e.g. an interruption.
    pub disturbed: Vec<Disturbance>,
}

/// Completes a run's records, writes its files and brings its metrics together.
///
/// `audit` is the outcome of [`super::audit::join`] on the observation's records; `None`: the run has no audit log, by
/// `facts.evidence` or because it was lost. What is absent by design disturbs nothing and has no value. What
/// can't be written is a disturbance of the run, never the end of it.
#[must_use]
pub fn conclude(
    plan: &Plan,
    clock: &Clock,
    observation: &mut Observation,
    audit: Option<&AuditFacts>,
    writer: &RunWriter,
    facts: RunFacts,
) -> RunSummary {
    note_borrowing(plan, &mut observation.records);
    let zero = clock.zero_wall().into();
    let log = interval_log(plan, &observation.records, observation.end_secs, zero);
    // Each of these notes its own failure with the writer, from where it becomes a disturbance.
    let _ = writer.records(&observation.records);
    let _ = audit.map(|audit| writer.calls(&audit.calls));
    let _ = log.map(|log| writer.latencies(&log));
    summarise(plan, observation, audit, writer, facts)
}

/// Brings a run's metrics together, of records that are complete. Most callers want [`conclude`].
#[must_use]
pub fn summarise(
    plan: &Plan,
    observation: &Observation,
    audit: Option<&AuditFacts>,
    writer: &RunWriter,
    facts: RunFacts,
) -> RunSummary {
    let audit = audit.filter(|_| facts.evidence.has(Source::AuditLog));
    let end = observation.end_secs;
    let accounts = card_seconds(plan, &observation.records, end);
    let mut missing_stamps = 0;
    let tenants = plan
        .tenants
        .iter()
        .zip(accounts.iter().copied())
        .map(|(tenant, account)| {
            let own: Vec<&Record> = observation
                .records
                .iter()
                .filter(|r| r.tenant == tenant.name)
                .collect();
            let (summary, missing) = tenant_summary(tenant, &own, account, end);
            missing_stamps += missing;
            summary
        })
        .collect();
    let evidence = facts.evidence;
    let has = |source| evidence.has(source);
    let exits = has(Source::ComponentExits);
    let mut disturbed = facts.disturbed;
    let lost = audit.is_none() && has(Source::AuditLog);
    disturbed.extend(disturbances(
        observation,
        audit,
        lost,
        missing_stamps,
        writer,
    ));
    let (late_submits, max_submit_lateness_ms) = late_submits(&observation.records);
    RunSummary {
        arm: plan.arm.clone(),
        repeat: facts.repeat,
        folder: facts.folder,
        bring_up_secs: facts.bring_up_secs,
        wall_secs: facts.wall_secs,
        observed_secs: end,
        disturbed,
        tenants,
        restarts: Some(facts.restarts).filter(|_| exits).unwrap_or_default(),
        restart_causes: Some(facts.restart_causes)
            .filter(|_| exits)
            .unwrap_or_default(),
        storage: facts.storage.filter(|_| has(Source::EtcdMetrics)),
        evidence,
        // What stalls did is judged from the exits, which the observer does not see.
        stalls: Vec::new(),
        bound_in_stalls: None,
        bind_rate: bind_rate(&observation.records, audit, &facts.client_limits),
        // The clearer's decisions are not the observer's to read: whoever ran it adds them.
        placements: Vec::new(),
        evictions: Vec::new(),
        idle_card_seconds: Some(idle_card_seconds(plan, &accounts, end)),
        unplaced: unplaced(plan, &observation.records, end),
        calls_per_pod: audit.map_or_else(BTreeMap::new, |a| a.calls.per_bound_pod.clone()),
        accuracy: Accuracy {
            watch_lag_ms: audit.and_then(|a| a.watch_lag_ms),
            relists: observation.relists,
            interruptions: observation.interruptions,
            missing_stamps,
            unmatched_bindings: audit.map(|a| a.unmatched_bindings),
        },
        harness: Harness {
            cpu_secs: observation.harness.cpu_secs,
            peak_rss_mib: observation.harness.peak_rss_mib,
            late_submits,
            max_submit_lateness_ms,
            late_ticks: observation.harness.late_ticks,
        },
    }
}

/// Card-seconds of all machines less those of bound pods. A slice counts as its cards, as in every account.
fn idle_card_seconds(plan: &Plan, accounts: &[CardSeconds], end_secs: f64) -> f64 {
    let all = f64::from(plan.cluster.nodes() * CARDS_PER_NODE) * end_secs;
    (all - accounts.iter().map(|a| a.bound).sum::<f64>()).max(0.0)
}

/// Pods bound a second, and what each component's client limit allows at its calls per pod.
fn bind_rate(
    records: &[Record],
    audit: Option<&AuditFacts>,
    limits: &BTreeMap<String, Option<ClientLimit>>,
) -> BindRate {
    let bound: Vec<(f64, f64)> = records
        .iter()
        .filter_map(|r| {
            Some((
                r.intended_secs,
                r.first_bind_secs().filter(|at| *at >= 0.0)?,
            ))
        })
        .collect();
    let first = bound
        .iter()
        .map(|(from, _)| *from)
        .fold(f64::INFINITY, f64::min);
    let last = bound.iter().map(|(_, to)| *to).fold(0.0, f64::max);
    let measured_per_sec =
        (bound.len() > 1 && last > first).then(|| f64::from(count(bound.len())) / (last - first));
    let per_pod = audit.map(|audit| &audit.calls.per_bound_pod);
    let ceiling_per_sec = limits
        .iter()
        .filter_map(|(component, limit)| {
            let calls: f64 = per_pod?.get(component)?.values().sum();
            (calls > 0.0).then_some((component.clone(), limit.as_ref()?.qps / calls))
        })
        .collect();
    BindRate {
        measured_per_sec,
        ceiling_per_sec,
    }
}

fn tenant_summary(
    tenant: &TenantPlan,
    records: &[&Record],
    mut account: CardSeconds,
    end_secs: f64,
) -> (TenantSummary, u32) {
    let with = |outcome| count(records.iter().filter(|r| r.outcome == outcome).count());
    let submitted = count(records.len());
    // Rounds of a closed loop that were never reached are work left undone all the same.
    let never_submitted = due(tenant, end_secs).saturating_sub(submitted);
    let unfinished = with(Outcome::Unfinished) + never_submitted;
    let last = records
        .iter()
        .filter_map(|r| r.finished_secs)
        .reduce(f64::max);
    let makespan_secs = last.filter(|_| unfinished == 0);
    account.reserved = tenant
        .reserved_cards
        .map(|cards| f64::from(cards) * makespan_secs.unwrap_or(end_secs));
    let taken_back = |a: &&results::run_folder::Attempt| a.end.is_eviction();
    let (samples, missing) = samples(records.iter().copied(), end_secs);
    let mut latency: BTreeMap<String, BTreeMap<String, Latency>> = BTreeMap::new();
    for ((class, phase), samples) in samples {
        latency
            .entry(class)
            .or_default()
            .insert(phase.name().to_owned(), distribution(&samples));
    }
    let summary = TenantSummary {
        name: tenant.name.clone(),
        makespan_secs,
        ideal_secs: tenant.ideal_secs,
        submitted: submitted + never_submitted,
        failed: with(Outcome::Failed),
        unfinished,
        evictions: count(
            records
                .iter()
                .flat_map(|r| &r.attempts)
                .filter(taken_back)
                .count(),
        ),
        // Who evicted what is in the clearer's decisions, which whoever ran it adds.
        bill: Bill::default(),
        card_seconds: account,
        latency,
    };
    (summary, missing)
}

/// Experiments of the team's timeline that were due by `end_secs`; of a closed loop, all.
fn due(tenant: &TenantPlan, end_secs: f64) -> u32 {
    tenant
        .stages
        .iter()
        .flat_map(|stage| &stage.rounds)
        .filter(|round| match round.start {
            RoundStart::AtSecs(at) => at < end_secs,
            RoundStart::ThinkSecs(_) => true,
        })
        .flat_map(|round| &round.groups)
        .map(|group| group.count)
        .sum()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
