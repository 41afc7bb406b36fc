//! Computes a run's metrics from its records, audit log and usage, as its part of the summary.

use std::collections::BTreeMap;

use super::audit::AuditFacts;
use super::clock::Clock;
use super::disturbed::disturbances;
use super::observe::Observation;
use plan::{ClientLimit, Plan};
use results::hlog::interval_log;
use results::run_folder::{
    Accuracy, Disturbance, Evidence, EvidenceSource, Harness, RunSummary, RunWriter, Storage,
};
use results::summarise;
use results::usage::note_borrowing;

/// What only the caller knows of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// Repeat, from 1.
    pub repeat: u32,
    /// Folder of the run, relative to the session's.
    pub folder: String,
    /// Folders of the runs that started with it.
    pub beside: Vec<String>,
    /// UTC time at which its bring-up started, RFC 3339.
    pub started: Option<String>,
    /// Seconds from the start of bring-up until Kueue could admit a first Job.
    pub bring_up_secs: f64,
    /// Seconds from the start of bring-up to the end of tear-down.
    pub wall_secs: f64,
    /// What the metrics may rest on.
    pub evidence: Evidence,
    /// Restarts of each supervised component.
    pub restarts: BTreeMap<String, u32>,
    /// Restarts by component, then by cause.
    pub restart_causes: BTreeMap<String, BTreeMap<String, u32>>,
    /// etcd's disk.
    pub storage: Option<Storage>,
    /// Client limits in force, by component; `None` if a component has no limit.
    pub client_limits: BTreeMap<String, Option<ClientLimit>>,
    /// Disturbances noticed elsewhere, e.g. an interruption.
    pub disturbed: Vec<Disturbance>,
}

/// Completes a run's records, writes its files and computes its metrics.
///
/// `audit` is the outcome of [`super::audit::join`] on the observation's records; `None`: the run has no audit log, by
/// `facts.evidence` or because it was lost. What is absent by design disturbs nothing and has no value. What
/// file that cannot be written disturbs the run, but does not end it.
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
    // Each of these reports a failure to the writer, which makes it a disturbance.
    let _ = writer.records(&observation.records);
    let _ = audit.map(|audit| writer.calls(&audit.calls));
    let _ = log.map(|log| writer.latencies(&log));
    summarise(plan, observation, audit, writer, facts)
}

/// Computes a run's metrics from complete records. Most callers want [`conclude`].
pub fn summarise(
    plan: &Plan,
    observation: &Observation,
    audit: Option<&AuditFacts>,
    writer: &RunWriter,
    facts: RunFacts,
) -> RunSummary {
    let audit = audit.filter(|_| facts.evidence.has(EvidenceSource::AuditLog));
    let end = observation.end_secs;
    let calls = audit.map(|audit| &audit.calls);
    let from = summarise::summarise(plan, &observation.records, calls, &facts.client_limits, end);
    let missing_stamps = from.missing_stamps;
    let evidence = facts.evidence;
    let has = |source| evidence.has(source);
    let exits = has(EvidenceSource::ComponentExits);
    let mut disturbed = facts.disturbed;
    let lost = audit.is_none() && has(EvidenceSource::AuditLog);
    disturbed.extend(disturbances(
        observation,
        audit,
        lost,
        missing_stamps,
        writer,
    ));
    RunSummary {
        arm: plan.arm.clone(),
        repeat: facts.repeat,
        folder: facts.folder,
        beside: facts.beside,
        started: facts.started,
        bring_up_secs: facts.bring_up_secs,
        wall_secs: facts.wall_secs,
        observed_secs: end,
        disturbed,
        tenants: from.tenants,
        restarts: Some(facts.restarts).filter(|_| exits).unwrap_or_default(),
        restart_causes: Some(facts.restart_causes)
            .filter(|_| exits)
            .unwrap_or_default(),
        storage: facts.storage.filter(|_| has(EvidenceSource::EtcdMetrics)),
        evidence,
        // The effect of stalls is judged from the exits, which the observer does not see.
        stalls: Vec::new(),
        bound_in_stalls: None,
        bind_rate: from.bind_rate,
        // Whoever ran the clearer adds its decisions.
        placements: Vec::new(),
        evictions: Vec::new(),
        idle_card_seconds: Some(from.idle_card_seconds),
        unplaced: from.unplaced,
        calls_per_pod: from.calls_per_pod,
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
            late_submits: from.late_submits,
            max_submit_lateness_ms: from.max_submit_lateness_ms,
            late_ticks: observation.harness.late_ticks,
        },
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
