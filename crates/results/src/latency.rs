//! Latencies: samples out of records, percentiles out of samples.
//!
//! Percentiles are nearest-rank on the exact, sorted samples; the HDR histograms of `latency.hlog` are for other tools.
//!
//! A censored sample (it had not happened when the observation, or the attempt, ended) counts as longer than every
//! observed one, so that a printed percentile is never flattering. Where a percentile falls on a censored sample, it is
//! reported as over the largest bound that is sure: the same rank among all waits so far.

use std::collections::BTreeMap;

use crate::run_folder::{Attempt, AttemptEnd, Latency, Outcome, Percentile, Phase, Record};
use plan::Via;

/// Samples needed for a 95th percentile.
const P95_SAMPLES: usize = 20;

/// Samples needed for a 99th percentile.
const P99_SAMPLES: usize = 100;

/// One latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds: how long it took, or for how long it had not happened.
    pub secs: f64,
    /// True if it had not happened.
    pub censored: bool,
    /// When it happened or was given up, seconds since the clock's zero.
    pub at_secs: f64,
}

/// Samples by class of request and phase.
pub type Samples = BTreeMap<(String, Phase), Vec<Sample>>;

/// The samples of `records`, and how many are missing: stamps that must exist but were not seen.
#[must_use]
pub fn samples<'a>(records: impl IntoIterator<Item = &'a Record>, end_secs: f64) -> (Samples, u32) {
    let mut collect = Collect {
        end_secs,
        samples: Samples::new(),
        missing: 0,
    };
    for record in records {
        collect.record(record);
    }
    (collect.samples, collect.missing)
}

struct Collect {
    end_secs: f64,
    samples: Samples,
    missing: u32,
}

impl Collect {
    fn record(&mut self, r: &Record) {
        let attempts = &r.attempts;
        let first = |of: fn(&Attempt) -> Option<f64>| attempts.iter().find_map(of);
        let done = r.finished_secs.filter(|_| r.outcome == Outcome::Succeeded);
        let (queued, played) = (r.via == Via::Job, r.data_plane.is_some());
        let whole = [
            (Phase::Reserve, first(|a| a.reserved_secs), queued),
            (Phase::Admit, first(|a| a.admitted_secs), queued),
            (Phase::BindLatency, first(Attempt::bind_secs), true),
            (Phase::Running, first(|a| a.running_secs), true),
            (Phase::Useful, first(|a| a.useful_secs), played),
            (Phase::Done, done, r.run_secs.is_some()),
        ];
        for (phase, to, applies) in whole {
            // What comes before success and was not seen did happen all the same: it is lost, not censored.
            if applies && to.is_none() && done.is_some() {
                self.missing += 1;
            } else if applies {
                self.add(r, phase, Some(r.intended_secs), to, None);
            }
        }
        for a in attempts {
            let ended = a.ended_secs.or(a.released_secs);
            let bound = a.watched_bind_secs();
            let steps = [
                (Phase::Pod, a.admitted_secs, a.pod_created_secs),
                // Both ends by the same watch: against the audit log's stamp each would be off by the watch's lag.
                (Phase::SchedulingLatency, a.pod_created_secs, bound),
                (Phase::Start, bound, a.running_secs),
            ];
            for (phase, from, to) in steps {
                // As above: what comes before success happened.
                if to.is_some() || a.end != AttemptEnd::Succeeded {
                    self.add(r, phase, from, to, ended);
                }
            }
            // As above.
            if played && (a.useful_secs.is_some() || a.end != AttemptEnd::Succeeded) {
                let evicted = a.evicted_secs().or(ended);
                self.add(r, Phase::Prepare, bound, a.useful_secs, evicted);
            }
            self.add(r, Phase::Termination, a.told_secs, a.ended_secs, None);
            if a.reserved_secs.is_some() {
                self.add(r, Phase::Release, a.ended_secs, a.released_secs, None);
            }
        }
    }

    /// Adds the span `from..to`; without `to` it is censored at `given_up` or the observation's end.
    fn add(
        &mut self,
        r: &Record,
        phase: Phase,
        from: Option<f64>,
        to: Option<f64>,
        given_up: Option<f64>,
    ) {
        let Some(from) = from else {
            return;
        };
        let end = given_up.unwrap_or(self.end_secs).min(self.end_secs);
        let happened = to.filter(|to| *to <= self.end_secs);
        let at_secs = happened.unwrap_or(end);
        let sample = Sample {
            // Two watches may be a few milliseconds out of step: never below zero.
            secs: (at_secs - from).max(0.0),
            censored: happened.is_none(),
            at_secs,
        };
        let key = (r.class.clone(), phase);
        self.samples.entry(key).or_default().push(sample);
    }
}

/// The distribution of some samples.
#[must_use]
pub fn distribution(samples: &[Sample]) -> Latency {
    let mut waits: Vec<f64> = samples.iter().map(|s| s.secs).collect();
    waits.sort_by(f64::total_cmp);
    let happened = samples.iter().filter(|s| !s.censored);
    let mut observed: Vec<f64> = happened.map(|s| s.secs).collect();
    observed.sort_by(f64::total_cmp);
    let n = samples.len();
    let nth = |k: usize| match observed.get(k) {
        Some(&secs) => Percentile::Secs(secs),
        None => Percentile::Over { over: waits[k] },
    };
    let at = |q: f64, least: usize| match rank(n, q) {
        Some(k) if n >= least => nth(k),
        _ => Percentile::TooFew,
    };
    Latency {
        count: n as u64,
        censored: (n - observed.len()) as u64,
        p50: at(0.50, 1),
        p95: at(0.95, P95_SAMPLES),
        p99: at(0.99, P99_SAMPLES),
        max: at(1.0, 1),
        values: if n < P95_SAMPLES {
            (0..n).map(nth).collect()
        } else {
            Vec::new()
        },
    }
}

/// The value at quantile `q` of sorted values by nearest rank; `None` of none.
pub fn nearest_rank<T>(sorted: &[T], q: f64) -> Option<&T> {
    rank(sorted.len(), q).and_then(|k| sorted.get(k))
}

/// Index of quantile `q` among `n` sorted values: the smallest that at least `q` of them do not exceed.
#[allow(
    clippy::cast_precision_loss, // counts far below 2^52
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss // q is never negative
)]
fn rank(n: usize, q: f64) -> Option<usize> {
    // 0.95 × 20 is 19.000000000000004 or so in binary; the hair must not cost a rank.
    let k = (q * n as f64 - 1e-9).ceil() as usize;
    (n > 0).then(|| k.clamp(1, n) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures::{done, waiting};

    fn observed(secs: f64) -> Sample {
        Sample {
            secs,
            censored: false,
            at_secs: secs,
        }
    }

    fn censored(secs: f64) -> Sample {
        Sample {
            censored: true,
            ..observed(secs)
        }
    }

    #[test]
    fn percentiles_need_samples() {
        let nineteen: Vec<_> = (1..=19).map(|n| observed(f64::from(n))).collect();
        let latency = distribution(&nineteen);
        assert_eq!(latency.p50, Percentile::Secs(10.0));
        assert_eq!(latency.p95, Percentile::TooFew);
        assert_eq!(latency.values.len(), 19);
        let twenty: Vec<_> = (1..=20).map(|n| observed(f64::from(n))).collect();
        let latency = distribution(&twenty);
        assert_eq!(
            (latency.p95, latency.p99),
            (Percentile::Secs(19.0), Percentile::TooFew)
        );
        assert!(latency.values.is_empty());
        let hundred: Vec<_> = (1..=100).map(|n| observed(f64::from(n))).collect();
        assert_eq!(distribution(&hundred).p99, Percentile::Secs(99.0));
    }

    #[test]
    fn a_percentile_on_a_censored_sample_is_said_to_be_over_it() {
        // 29 of 40 bound, the rest waited 90 s in vain.
        let samples: Vec<_> = (1..=29)
            .map(|n| observed(f64::from(n)))
            .chain((0..11).map(|_| censored(90.0)))
            .collect();
        let latency = distribution(&samples);
        assert_eq!((latency.count, latency.censored), (40, 11));
        assert_eq!(latency.p50, Percentile::Secs(20.0));
        assert_eq!(latency.p95, Percentile::Over { over: 90.0 });
        assert_eq!(latency.max, Percentile::Over { over: 90.0 });
    }

    #[test]
    fn a_late_submission_s_short_wait_in_vain_does_not_pass_for_a_fast_one() {
        let samples = [censored(1.0), observed(30.0), observed(40.0)];
        let latency = distribution(&samples);
        assert_eq!(latency.p50, Percentile::Secs(40.0));
        // The median of three waits of at least 1, 30 and 40 s may be no more than 30 s; the largest is at least 40 s.
        assert_eq!(latency.max, Percentile::Over { over: 40.0 });
    }

    #[test]
    fn one_that_never_bound_is_censored_in_every_phase_it_waits_for() {
        let mut record = waiting("shared", "a", 8, 10.0);
        let (found, missing) = samples([&record], 90.0);
        let sample = |phase| found.get(&("whole-machine".to_owned(), phase)).cloned();
        for phase in [
            Phase::Reserve,
            Phase::Admit,
            Phase::BindLatency,
            Phase::Running,
            Phase::Done,
        ] {
            let expected = Sample {
                secs: 80.0,
                censored: true,
                at_secs: 90.0,
            };
            assert_eq!(sample(phase), Some(vec![expected]), "{phase:?}");
        }
        assert_eq!(sample(Phase::SchedulingLatency), None);
        assert_eq!(missing, 0);
        // A bare pod does not wait for Kueue.
        record.via = Via::Pod;
        let (found, _) = samples([&record], 90.0);
        assert!(!found.contains_key(&("whole-machine".to_owned(), Phase::Admit)));
    }

    #[test]
    fn a_pod_deleted_before_it_was_bound_waited_until_then() {
        let mut record = done("shared", "a", 1, 5.0, 20.0);
        let attempt = &mut record.attempts[0];
        attempt.bound_secs = None;
        attempt.running_secs = None;
        attempt.end = AttemptEnd::Preempted;
        let mut again = done("shared", "a", 1, 30.0, 60.0).attempts.remove(0);
        again.bound_secs = Some(31.0);
        again.running_secs = Some(31.0);
        record.attempts.push(again);
        record.finished_secs = Some(60.0);
        let (found, _) = samples([&record], 90.0);
        let of = |phase| &found[&("whole-card".to_owned(), phase)];
        assert_eq!(
            (
                of(Phase::SchedulingLatency)[0].secs,
                of(Phase::SchedulingLatency)[0].censored
            ),
            (15.0, true)
        );
        assert_eq!(
            (
                of(Phase::SchedulingLatency)[1].secs,
                of(Phase::SchedulingLatency)[1].censored
            ),
            (1.0, false)
        );
        // The Job's own bound latency counts from its intended submission to its first bind.
        assert_eq!(
            (of(Phase::BindLatency)[0].secs, of(Phase::BindLatency).len()),
            (31.0, 1)
        );
    }

    #[test]
    fn a_stamp_lost_from_a_finished_job_is_missing_not_censored() {
        let mut record = done("shared", "a", 1, 5.0, 20.0);
        record.attempts[0].running_secs = None;
        let (found, missing) = samples([&record], 90.0);
        assert_eq!(missing, 1);
        for phase in [Phase::Running, Phase::Start] {
            assert!(
                !found.contains_key(&("whole-card".to_owned(), phase)),
                "{phase:?}"
            );
        }
    }

    #[test]
    fn what_happened_after_the_end_did_not_happen_in_the_observation() {
        let record = done("shared", "a", 1, 95.0, 99.0);
        let (found, _) = samples([&record], 90.0);
        let bound = found[&("whole-card".to_owned(), Phase::BindLatency)][0];
        assert_eq!((bound.secs, bound.censored), (90.0, true));
    }

    proptest! {
        /// Whatever the censored ones' true values are, a percentile never claims less than the truth could be, and
        /// `over` never claims more than is sure.
        #[test]
        fn percentiles_hold_whatever_the_censored_ones_would_have_been(
            waits in proptest::collection::vec((0.0..100.0, any::<bool>(), 0.0..1000.0), 1..60)
        ) {
            let samples: Vec<_> = waits
                .iter()
                .map(|&(secs, cut, _)| if cut { censored(secs) } else { observed(secs) })
                .collect();
            let mut truth: Vec<f64> = waits.iter().map(|&(secs, cut, more)| if cut { secs + more } else { secs }).collect();
            truth.sort_by(f64::total_cmp);
            let latency = distribution(&samples);
            for (q, reported) in [(0.5, latency.p50), (1.0, latency.max)] {
                let truth = *nearest_rank(&truth, q).unwrap();
                match reported {
                    Percentile::Secs(secs) => prop_assert!(secs >= truth - 1e-9),
                    Percentile::Over { over } => prop_assert!(over <= truth + 1e-9),
                    Percentile::TooFew => prop_assert!(false),
                }
            }
        }
    }
}
