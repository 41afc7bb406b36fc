//! What a run's records, calls and settings say by themselves: the part of its summary that can be computed again from
//! its files, at any time and to the last digit.

use std::collections::BTreeMap;

use crate::count;
use crate::disturbance::LATE_SUBMIT_SECS;
use crate::latency::{distribution, samples};
use crate::run_folder::{
    Bill, BindRate, Calls, CardSeconds, Latency, Outcome, Phase, Record, TenantSummary, Unplaced,
};
use crate::unplaced::unplaced;
use crate::usage::card_seconds;
use crate::waits::waits;
use plan::{CARDS_PER_NODE, ClientLimit, Plan, RoundStart, TenantPlan};

/// That part.
#[derive(Debug, Clone, PartialEq)]
pub struct FromRecords {
    /// Each team's metrics. Who evicted what is not in the records: the bills are empty.
    pub tenants: Vec<TenantSummary>,
    /// Pods bound a second, and what the client limits allow.
    pub bind_rate: BindRate,
    /// API calls per bound pod.
    pub calls_per_pod: BTreeMap<String, BTreeMap<String, f64>>,
    /// Whole machines that were never bound.
    pub unplaced: Vec<Unplaced>,
    /// Card-seconds on which no pod was bound.
    pub idle_card_seconds: f64,
    /// Stamps that must exist and were not seen.
    pub missing_stamps: u32,
    /// Late submissions.
    pub late_submits: u32,
    /// The latest submission's lateness, milliseconds.
    pub max_submit_lateness_ms: f64,
}

/// Computes it. `calls` is `None` without an audit log; `limits` are the client limits in force, by component.
#[must_use]
pub fn summarise(
    plan: &Plan,
    records: &[Record],
    calls: Option<&Calls>,
    limits: &BTreeMap<String, Option<ClientLimit>>,
    end_secs: f64,
) -> FromRecords {
    let accounts = card_seconds(plan, records, end_secs);
    let mut missing_stamps = 0;
    let mut waits = calls.map_or_else(BTreeMap::new, |calls| {
        waits(plan, records, calls, limits, end_secs)
    });
    let teams = plan.tenants.iter().zip(accounts.iter().copied());
    let tenants = teams
        .map(|(tenant, account)| {
            let own = records.iter().filter(|r| r.tenant == tenant.name);
            let own: Vec<&Record> = own.collect();
            let (summary, missing) = tenant_summary(tenant, &own, account, end_secs);
            missing_stamps += missing;
            TenantSummary {
                waits: waits.remove(&tenant.name),
                ..summary
            }
        })
        .collect();
    let (late_submits, max_submit_lateness_ms) = late_submits(records);
    FromRecords {
        tenants,
        bind_rate: bind_rate(records, calls, limits),
        calls_per_pod: calls.map_or_else(BTreeMap::new, |calls| calls.per_bound_pod.clone()),
        unplaced: unplaced(plan, records, end_secs),
        idle_card_seconds: idle_card_seconds(plan, &accounts, end_secs),
        missing_stamps,
        late_submits,
        max_submit_lateness_ms,
    }
}

/// How many submissions were late, and the latest one's lateness in milliseconds.
#[must_use]
pub fn late_submits(records: &[Record]) -> (u32, f64) {
    let lateness = || records.iter().filter_map(Record::lateness_secs);
    let late = lateness().filter(|secs| *secs > LATE_SUBMIT_SECS).count();
    (count(late), lateness().fold(0.0, f64::max) * 1000.0)
}

/// Card-seconds of all machines less those of bound pods. A slice counts as its cards, as everywhere.
fn idle_card_seconds(plan: &Plan, accounts: &[CardSeconds], end_secs: f64) -> f64 {
    let all = f64::from(plan.cluster.nodes() * CARDS_PER_NODE) * end_secs;
    (all - accounts.iter().map(|a| a.bound).sum::<f64>()).max(0.0)
}

/// Pods bound per second, and how many each component's client limit allows at its calls per pod.
fn bind_rate(
    records: &[Record],
    calls: Option<&Calls>,
    limits: &BTreeMap<String, Option<ClientLimit>>,
) -> BindRate {
    let after_start = |r: &Record| {
        let bound = r.first_bind_secs().filter(|at| *at >= 0.0)?;
        Some((r.intended_secs, bound))
    };
    let bound: Vec<(f64, f64)> = records.iter().filter_map(after_start).collect();
    let submitted = bound.iter().map(|(from, _)| *from);
    let first = submitted.fold(f64::INFINITY, f64::min);
    let last = bound.iter().map(|(_, to)| *to).fold(0.0, f64::max);
    let measured_per_sec =
        (bound.len() > 1 && last > first).then(|| f64::from(count(bound.len())) / (last - first));
    let per_pod = calls.map(|calls| &calls.per_bound_pod);
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
    // Rounds of a closed loop that were never reached also count as not done.
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
    let attempts = records.iter().flat_map(|r| &r.attempts);
    let evicted = attempts.filter(|a| a.end.is_eviction());
    let (samples, missing) = samples(records.iter().copied(), end_secs);
    let mut latency: BTreeMap<String, BTreeMap<Phase, Latency>> = BTreeMap::new();
    for ((class, phase), samples) in samples {
        latency
            .entry(class)
            .or_default()
            .insert(phase, distribution(&samples));
    }
    let summary = TenantSummary {
        waits: None,
        name: tenant.name.clone(),
        makespan_secs,
        ideal_secs: tenant.ideal_secs,
        submitted: submitted + never_submitted,
        failed: with(Outcome::Failed),
        unfinished,
        evictions: count(evicted.count()),
        // Whoever ran the clearer adds which evictions were its own.
        bill: Bill::default(),
        card_seconds: account,
        latency,
    };
    (summary, missing)
}

/// How many Jobs of the team's timeline were due by `end_secs`; for a closed loop, all.
fn due(tenant: &TenantPlan, end_secs: f64) -> u32 {
    let rounds = tenant.stages.iter().flat_map(|stage| &stage.rounds);
    rounds
        .filter(|round| match round.start {
            RoundStart::AtSecs(at) => at < end_secs,
            RoundStart::ThinkSecs(_) => true,
        })
        .flat_map(|round| &round.groups)
        .map(|group| group.count)
        .sum()
}
