//! What stalls of the storage did: which components exited after which stall, and how long binding took inside and outside.

use crate::latency::{Sample, distribution};
use crate::run_folder::{
    ComponentExit, Latency, Record, RunSummary, StallExit, StallLatency, StallSummary,
};
use plan::Stall;

/// Writes what the stalls did into a run's summary. `stalls` are those that really were.
pub fn stalls(
    summary: &mut RunSummary,
    stalls: &[Stall],
    exits: &[ComponentExit],
    records: &[Record],
) {
    summary.stalls = attributed(stalls, exits);
    if !stalls.is_empty() {
        let (inside, outside) = latencies(stalls, records, summary.observed_secs);
        summary.bound_in_stalls = Some(StallLatency { inside, outside });
    }
}

/// Each stall with the exits from its begin to the next one's: a Lease is lost while the storage stands still, or when
/// it answers again and the holder learns that it is too late.
fn attributed(stalls: &[Stall], exits: &[ComponentExit]) -> Vec<StallSummary> {
    let ends = stalls.iter().skip(1).map(|s| s.at_secs);
    let ends = ends.chain([f64::INFINITY]);
    stalls
        .iter()
        .zip(ends)
        .map(|(stall, next)| StallSummary {
            at_secs: stall.at_secs,
            secs: stall.secs,
            exits: exits
                .iter()
                .filter(|e| (stall.at_secs..next).contains(&e.secs) && e.restarted)
                .map(|e| StallExit {
                    component: e.component.clone(),
                    cause: e.cause.clone(),
                    after_secs: e.secs - stall.at_secs,
                })
                .collect(),
        })
        .collect()
}

/// Submit to bound of the Jobs whose wait met a stall, and of the others.
fn latencies(stalls: &[Stall], records: &[Record], end_secs: f64) -> (Latency, Latency) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for record in records.iter().filter(|r| r.intended_secs >= 0.0) {
        let bound = record.first_bind_secs().filter(|at| *at <= end_secs);
        let to = bound.unwrap_or(end_secs);
        let sample = Sample {
            secs: (to - record.intended_secs).max(0.0),
            censored: bound.is_none(),
            at_secs: to,
        };
        let met = stalls
            .iter()
            .any(|s| record.intended_secs < s.at_secs + s.secs && to > s.at_secs);
        if met {
            inside.push(sample);
        } else {
            outside.push(sample);
        }
    }
    (distribution(&inside), distribution(&outside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{done, waiting};

    fn exit(secs: f64, component: &str) -> ComponentExit {
        ComponentExit {
            secs,
            component: component.into(),
            pid: 1,
            cause: "lease-lost (exited with code 1)".into(),
            uptime_secs: 10.0,
            cpu_secs: 0.0,
            peak_rss_mib: 0.0,
            restarted: true,
        }
    }

    const STALLS: [Stall; 2] = [
        Stall {
            at_secs: 30.0,
            secs: 2.0,
        },
        Stall {
            at_secs: 60.0,
            secs: 15.0,
        },
    ];

    #[test]
    fn an_exit_belongs_to_the_stall_before_it() {
        let mut last = exit(200.0, "kube-scheduler");
        // The harness's own stop at the end.
        last.restarted = false;
        let exits = [exit(10.0, "kueue"), exit(71.5, "kube-scheduler"), last];
        let all = attributed(&STALLS, &exits);
        assert!(all[0].exits.is_empty());
        assert_eq!(all[1].exits.len(), 1);
        assert!((all[1].exits[0].after_secs - 11.5).abs() < 1e-9);
    }

    #[test]
    fn a_wait_that_meets_a_stall_counts_as_inside_wherever_it_began() {
        let mut across = done("t", "a", 1, 33.0, 40.0);
        across.intended_secs = 29.0;
        let mut between = done("t", "b", 1, 41.0, 50.0);
        between.intended_secs = 40.0;
        let mut never = waiting("t", "c", 1, 61.0);
        never.intended_secs = 61.0;
        let (inside, outside) = latencies(&STALLS, &[across, between, never], 100.0);
        assert_eq!((inside.count, inside.censored), (2, 1));
        assert_eq!((outside.count, outside.censored), (1, 0));
    }
}
