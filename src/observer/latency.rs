//! Latencies: samples out of records, percentiles out of samples.
//!
//! Percentiles are nearest-rank on the exact, sorted samples; the HDR histograms of `latency.hlog` are for other tools.
//!
//! A censored sample (it had not happened when the observation, or the attempt, ended) counts as longer than every
//! observed one, so that a printed percentile is never flattering. Where a percentile falls on a censored sample, it is
//! reported as over the largest bound that is sure: the same rank among all waits so far.

use std::collections::BTreeMap;

use crate::plan::Via;
use crate::run_folder::{Attempt, Latency, Percentile, Phase, Record};

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
        let done = r
            .finished_secs
            .filter(|_| r.outcome == crate::run_folder::Outcome::Succeeded);
        let whole = [
            (
                Phase::Reserve,
                first(|a| a.reserved_secs),
                r.via == Via::Job,
            ),
            (Phase::Admit, first(|a| a.admitted_secs), r.via == Via::Job),
            (Phase::Bound, first(Attempt::bind_secs), true),
            (Phase::Running, first(|a| a.running_secs), true),
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
            self.add(r, Phase::Pod, a.admitted_secs, a.pod_created_secs, ended);
            self.add(r, Phase::Bind, a.pod_created_secs, a.bind_secs(), ended);
            self.add(r, Phase::Start, a.bind_secs(), a.running_secs, ended);
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
    let mut observed: Vec<f64> = samples
        .iter()
        .filter(|s| !s.censored)
        .map(|s| s.secs)
        .collect();
    observed.sort_by(f64::total_cmp);
    let n = samples.len();
    let at = |q: f64, least: usize| match rank(n, q) {
        Some(k) if n >= least => match observed.get(k) {
            Some(&secs) => Percentile::Secs(secs),
            None => Percentile::Over { over: waits[k] },
        },
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
            (0..n)
                .map(|k| match observed.get(k) {
                    Some(&secs) => Percentile::Secs(secs),
                    None => Percentile::Over { over: waits[k] },
                })
                .collect()
        } else {
            Vec::new()
        },
    }
}

/// The value at quantile `q` of sorted values by nearest rank; `None` of none.
pub(crate) fn nearest_rank<T>(sorted: &[T], q: f64) -> Option<&T> {
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
