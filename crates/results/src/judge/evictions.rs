//! Who pays: every attempt that was evicted for others, from the records, and by whom, from the clearer's decisions.

use std::collections::HashSet;

use jiff::Timestamp;

use super::placements::is_workload_of;
use crate::count;
use crate::latency::{Sample, distribution};
use crate::run_folder::decision::{EVICTED, EVICTION_UNANSWERED, REACTIVATED};
use crate::run_folder::{
    Attempt, AttemptEnd, Bill, Decision, EvictedBy, Eviction, Outcome, Percentile, Record,
    RunSummary,
};
use plan::Via;

/// An eviction without an answer may have been carried out up to this long before or after that was written down: the clearer
/// gives up after 5 s, and an API server may wait as long again for a webhook.
const UNANSWERED_SECS: f64 = 10.0;

/// Writes the run's evictions, and each team's bill, into its summary. `decisions` are the clearer's; empty without one. `zero` is
/// the wall-clock time at which the run's clock started.
pub fn who_pays(
    summary: &mut RunSummary,
    records: &[Record],
    decisions: &[Decision],
    zero: Timestamp,
) {
    let end_secs = summary.observed_secs;
    summary.evictions = evictions(records, decisions, zero, end_secs);
    for team in &mut summary.tenants {
        let own = summary.evictions.iter().filter(|s| s.tenant == team.name);
        team.bill = bill(&own.collect::<Vec<_>>(), end_secs);
    }
}

/// Every attempt that was evicted, in order of time.
#[must_use]
pub fn evictions(
    records: &[Record],
    decisions: &[Decision],
    zero: Timestamp,
    end_secs: f64,
) -> Vec<Eviction> {
    let evicted = decisions.iter().filter(|d| d.event == EVICTED);
    let told: HashSet<&str> = evicted.filter_map(|d| d.victim_uid.as_deref()).collect();
    // Told, answer unknown: the clearer's only if the task did end then.
    let heard_of = |attempt: &Attempt| {
        let at = attempt.evicted_secs().or(attempt.released_secs);
        attempt.end == AttemptEnd::Evicted
            && decisions.iter().any(|d| {
                let near = |at: f64| (d.secs(zero) - at).abs() <= UNANSWERED_SECS;
                d.event == EVICTION_UNANSWERED
                    && d.victim_uid.is_some()
                    && d.victim_uid == attempt.pod_uid
                    && at.is_some_and(near)
            })
    };
    let heard_of = &heard_of;
    let mut all: Vec<Eviction> = records
        .iter()
        .flat_map(|record| {
            let given_back = given_back(record, decisions, zero);
            let told = &told;
            let attempts = record.attempts.iter().enumerate();
            let taken = attempts.filter(|(_, a)| a.end.is_eviction());
            taken.map(move |(i, attempt)| {
                let uid = attempt.pod_uid.as_deref();
                let cleared = uid.is_some_and(|uid| told.contains(uid))
                    || given_back.contains(&i)
                    || heard_of(attempt);
                eviction(record, i, cleared, end_secs)
            })
        })
        .collect();
    all.sort_by(|a, b| a.at_secs.total_cmp(&b.at_secs));
    all
}

/// Attempts whose Workload the clearer gave back to Kueue afterwards, and which therefore it had evicted: it may have died, or
/// given the clearing up, between evicting a task and writing that down.
fn given_back(record: &Record, decisions: &[Decision], zero: Timestamp) -> HashSet<usize> {
    let own = decisions.iter().filter(|d| {
        let workload = d.workload.as_deref().unwrap_or_default();
        d.event == REACTIVATED
            && d.victim_namespace.as_ref() == Some(&record.tenant)
            && is_workload_of(workload, &record.name)
    });
    let evicted_before = |decision: &Decision| {
        let at = decision.secs(zero);
        // Kueue does not admit it again before: the last one admitted until then is the one.
        let admitted = |a: &Attempt| a.reserved_secs.is_some_and(|from| from <= at);
        let last = record.attempts.iter().rposition(admitted)?;
        (record.attempts[last].end == AttemptEnd::Evicted).then_some(last)
    };
    own.filter_map(evicted_before).collect()
}

fn eviction(record: &Record, index: usize, cleared: bool, end_secs: f64) -> Eviction {
    let attempt = &record.attempts[index];
    let at = attempt.evicted_secs().or(attempt.released_secs);
    let at_secs = at.unwrap_or(end_secs).min(end_secs);
    let age_secs = attempt
        .running_secs
        .map_or(0.0, |from| (at_secs - from).max(0.0));
    let by = match attempt.end {
        _ if cleared => EvictedBy::Clearer,
        AttemptEnd::Preempted => EvictedBy::Kueue,
        _ => EvictedBy::Other,
    };
    let until = |happened: Option<f64>| match happened.filter(|t| *t <= end_secs) {
        Some(then) => Percentile::Secs((then - at_secs).max(0.0)),
        None => Percentile::Over {
            over: end_secs - at_secs,
        },
    };
    let starts_again = record.via == Via::Job;
    let later = record.attempts.get(index + 1..).unwrap_or_default();
    let rebound = later.iter().find_map(Attempt::bind_secs);
    let useful = later.iter().find_map(|a| a.useful_secs);
    let done = record
        .finished_secs
        .filter(|_| record.outcome == Outcome::Succeeded);
    Eviction {
        tenant: record.tenant.clone(),
        name: record.name.clone(),
        by,
        at_secs,
        cards: record.request.cards,
        age_secs,
        lost_card_seconds: f64::from(record.request.cards) * age_secs,
        rebound_secs: if starts_again {
            until(rebound)
        } else {
            Percentile::TooFew
        },
        useful_again_secs: (starts_again && record.data_plane.is_some()).then(|| until(useful)),
        done_again_secs: if starts_again && record.run_secs.is_some() {
            until(done)
        } else {
            Percentile::TooFew
        },
    }
}

/// What the evictions of one team, in order of time, come to.
#[must_use]
pub fn bill(evictions: &[&Eviction], end_secs: f64) -> Bill {
    let by = |who| {
        let of = evictions.iter().filter(|s| s.by == who);
        count(of.count())
    };
    let for_good = evictions
        .iter()
        .filter(|s| s.rebound_secs == Percentile::TooFew);
    let waits = evictions.iter().enumerate().map(|(i, s)| {
        let until_bound = match s.rebound_secs {
            Percentile::Secs(secs) | Percentile::Over { over: secs } => secs,
            Percentile::TooFew => 0.0,
        };
        // Evicted once more while it waited: from there on the wait is that eviction's.
        let again = evictions.iter().skip(i + 1).find(|n| n.name == s.name);
        let until_evicted = again.map_or(f64::INFINITY, |n| n.at_secs - s.at_secs);
        f64::from(s.cards) * until_bound.min(until_evicted)
    });
    let lost = evictions.iter().map(|s| s.lost_card_seconds);
    let latency = |wait: fn(&Eviction) -> Option<Percentile>| {
        let waits = evictions.iter().filter_map(|s| Some((s.at_secs, wait(s)?)));
        latency(waits, end_secs)
    };
    Bill {
        by_kueue: by(EvictedBy::Kueue),
        by_clearer: by(EvictedBy::Clearer),
        by_other: by(EvictedBy::Other),
        lost_for_good: count(for_good.count()),
        // Not `sum`, which makes -0 of nothing.
        lost_card_seconds: lost.fold(0.0, |sum, secs| sum + secs),
        waited_card_seconds: waits.fold(0.0, |sum, wait| sum + wait),
        rebound: latency(|s| Some(s.rebound_secs)),
        useful_again: latency(|s| s.useful_again_secs),
        done_again: latency(|s| Some(s.done_again_secs)),
    }
}

fn latency(
    waits: impl Iterator<Item = (f64, Percentile)>,
    end_secs: f64,
) -> Option<crate::run_folder::Latency> {
    let samples: Vec<Sample> = waits
        .filter_map(|(from, wait)| {
            let (secs, censored) = match wait {
                Percentile::Secs(secs) => (secs, false),
                Percentile::Over { over } => (over, true),
                Percentile::TooFew => return None,
            };
            Some(Sample {
                secs,
                censored,
                at_secs: (from + secs).min(end_secs),
            })
        })
        .collect();
    (!samples.is_empty()).then(|| distribution(&samples))
}

#[cfg(test)]
#[path = "evictions_tests.rs"]
mod tests;
