//! Finds disturbances: faults of the host or the harness that the experiment did not ask for. Each has its size and a remedy.
//!
//! A restart of the system under test is an outcome, never a disturbance.

use super::audit::AuditFacts;
use super::observe::Observation;
use results::disturbance::{FROZEN_SECS, LATE_SUBMIT_SECS, LATE_TICKS, WATCH_LAG_P99_MS};
use results::run_folder::{Disturbance, RunWriter};
use results::summarise::late_submits;

/// Finds the disturbances of an observation. `lost`: there should be an `audit` and is none. `missing_stamps` counts time
/// stamps that must exist and were not seen.
pub fn disturbances(
    observation: &Observation,
    audit: Option<&AuditFacts>,
    lost: bool,
    missing_stamps: u32,
    writer: &RunWriter,
) -> Vec<Disturbance> {
    let mut all = Vec::new();
    let mut add = |kind: &str, detail: String, remedy: &str| {
        all.push(disturbance(kind, detail, remedy));
    };
    for jump in &observation.clock_jumps {
        add(
            "clock-jump",
            format!(
                "the wall clock stepped by {:+.3} s at {:.0} s",
                jump.by_secs, jump.at_secs
            ),
            "let the clock be slewed, not stepped (chrony or systemd-timesyncd running before the run), and don't suspend the machine",
        );
    }
    let (late, worst) = late_submits(&observation.records);
    if late > 0 {
        add(
            "late-submit",
            format!(
                "{late} submissions were more than {:.0} ms late, the worst {worst:.0} ms",
                LATE_SUBMIT_SECS * 1000.0
            ),
            "run on an otherwise idle machine with 2 cores or more, or with a smaller --compress",
        );
    }
    if observation.harness.late_ticks > LATE_TICKS {
        add(
            "overloaded",
            format!(
                "the harness's 1 s tick came more than 500 ms late {} times",
                observation.harness.late_ticks
            ),
            "close other programs, use more cores, or a smaller --compress",
        );
    }
    if observation.harness.latest_tick_secs >= FROZEN_SECS {
        add(
            "frozen-harness",
            format!(
                "the harness did nothing for {:.1} s: what happened meanwhile has the time at which it went on",
                observation.harness.latest_tick_secs
            ),
            "do not pause the harness (Ctrl-Z, a debugger, a suspended machine), and run again",
        );
    }
    if observation.relists > 0 {
        add(
            "lost-evidence",
            format!(
                "a watch was lost and re-listed {} times; events in between have late time stamps",
                observation.relists
            ),
            "see the API server's log under the run's logs/ for why it dropped the watch",
        );
    }
    if missing_stamps > 0 {
        add(
            "lost-evidence",
            format!("{missing_stamps} steps of finished Jobs were not seen"),
            "see the API server's log under the run's logs/, and repeat the run",
        );
    }
    all.extend(of_audit(audit, lost));
    for trouble in writer.troubles() {
        let kind = if trouble.disk_full {
            "disk-full"
        } else {
            "lost-evidence"
        };
        all.push(disturbance(
            kind,
            trouble.detail,
            "free some disk space or choose another folder with --out",
        ));
    }
    all
}

/// What the audit log lacks. `lost`: there should be one and is none.
fn of_audit(audit: Option<&AuditFacts>, lost: bool) -> Vec<Disturbance> {
    let mut all = Vec::new();
    let mut add = |kind: &str, detail: String, remedy: &str| {
        all.push(disturbance(kind, detail, remedy));
    };
    match audit {
        Some(audit) => {
            if audit.unread_lines > 0 {
                add(
                    "lost-evidence",
                    format!(
                        "{} lines of the audit log can't be read",
                        audit.unread_lines
                    ),
                    "check that the disk was not full and that nothing else writes the run's logs/",
                );
            }
            if audit.unmatched_bindings > 0 {
                add(
                    "lost-evidence",
                    format!(
                        "{} bindings are in the audit log or in the records, but not in both",
                        audit.unmatched_bindings
                    ),
                    "check that the disk was not full and that nothing else creates pods in the teams' namespaces",
                );
            }
            if let Some(lag) = audit.watch_lag_ms.filter(|lag| lag.p99 > WATCH_LAG_P99_MS) {
                add(
                    "overloaded",
                    format!(
                        "watch lag p99 was {:.0} ms, the worst {:.0} ms",
                        lag.p99, lag.max
                    ),
                    "close other programs, use more cores, or a smaller --compress",
                );
            }
        }
        None if !lost => {}
        None => add(
            "lost-evidence",
            "there is no audit log; the bind times come from the watch".to_owned(),
            "see the API server's log under the run's logs/ for why it wrote none",
        ),
    }
    all
}

fn disturbance(kind: &str, detail: String, remedy: &str) -> Disturbance {
    Disturbance {
        kind: kind.to_owned(),
        detail,
        remedy: remedy.to_owned(),
    }
}
