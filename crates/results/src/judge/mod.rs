//! Whether an experiment's claims hold: metrics of each arm over its repeats, and the predicates of
//! the experiment file over them.
//!
//! In: [`Expect`], run summaries and records. Out: [`ArmSummary`]s. Pure; it never rounds, tunes or drops a metric: what
//! is not known well enough to judge gives no verdict, and says why.

mod binomial;
mod claims;
mod evictions;
mod placements;
mod poisson;
mod stalls;

use std::collections::BTreeMap;

use crate::count;
use crate::metrics::{self, Source};
use crate::run_folder::{ArmSummary, Placement, Spread};
use plan::expect::{Claim, Expect, Published};
use plan::metric::{Metric, Use};

pub use crate::metrics::{Amount, Values};
pub use evictions::{bill, evictions, who_pays};
pub use placements::placements;
pub use poisson::interval as count_interval;
pub use stalls::stalls;

/// A run with its metrics.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Arm.
    pub arm: String,
    /// Its metrics.
    pub metrics: Values,
    /// Its placements.
    pub placements: Vec<Placement>,
}

impl Judged {
    /// Takes a run's metrics.
    #[must_use]
    pub fn new(source: &Source<'_>) -> Self {
        let mut metrics = metrics::values(source, Use::Compare);
        // Nobody waits for work that runs until the run's end: that its team is not done is no value to judge.
        metrics.retain(|key, amount| key.metric != Metric::MakespanSecs || !amount.is_censored());
        Self {
            arm: source.summary.arm.clone(),
            metrics,
            placements: source.summary.placements.clone(),
        }
    }
}

/// Brings the repeats of each arm together and judges the claims, in the order in which the arms first ran.
#[must_use]
pub fn arms(expect: &Expect, runs: &[Judged]) -> Vec<ArmSummary> {
    let mut by_arm: Vec<(&str, Vec<&Values>, Vec<&[Placement]>)> = Vec::new();
    for run in runs {
        let known = by_arm.iter().position(|(name, ..)| *name == run.arm);
        let arm = known.unwrap_or_else(|| {
            by_arm.push((&run.arm, Vec::new(), Vec::new()));
            by_arm.len() - 1
        });
        by_arm[arm].1.push(&run.metrics);
        by_arm[arm].2.push(&run.placements);
    }
    let medians = by_arm
        .iter()
        .map(|(name, of, _)| (*name, metrics::medians(of)))
        .collect();
    by_arm
        .iter()
        .map(|(name, of, placements)| {
            let (claims_hold, claims) = claims::judge(expect, name, &medians);
            ArmSummary {
                name: (*name).to_owned(),
                runs: count(of.len()),
                metrics: spreads(of),
                placements: placements::of_arm(placements),
                published: published(expect, name),
                claims_hold,
                reason: claims::reason(claims_hold, &claims),
                claims,
            }
        })
        .collect()
}

/// What the arms together mean for a user, in one plain sentence; empty where a claim could not be judged.
#[must_use]
pub fn meaning(expect: &Expect, arms: &[ArmSummary]) -> String {
    let claims = || {
        arms.iter()
            .flat_map(|arm| arm.claims.iter().map(move |claim| (arm, claim)))
    };
    let failed: Vec<String> = claims()
        .filter(|(_, claim)| claim.holds == Some(false))
        .map(|(arm, claim)| format!("{:?} in arm {}", claim.claim, arm.name))
        .collect();
    if !failed.is_empty() {
        // An experiment may claim what nobody published.
        let what = if expect.published.is_empty() {
            "not all claims of the file hold"
        } else {
            "not all published claims hold, so do not rely on them here"
        };
        return format!("{what}: {} did not hold", failed.join(", "));
    }
    // It sums up every claim, and some may be about arms that did not run.
    let seen = |claim: &Claim| claims().any(|(_, judged)| judged.claim == claim.claim);
    let all_hold = claims().all(|(_, claim)| claim.holds == Some(true));
    if all_hold && expect.claims.iter().all(seen) {
        expect.meaning.clone()
    } else {
        String::new()
    }
}

fn spreads(runs: &[&Values]) -> BTreeMap<String, Spread> {
    let medians = metrics::medians(runs);
    let keys = medians.keys().cloned();
    keys.map(|key| {
        let mut values: Vec<Amount> = runs
            .iter()
            .filter_map(|run| run.get(&key).copied())
            .collect();
        values.sort_by(Amount::order);
        let spread = Spread {
            // `medians` has the key, so at least one run has the metric.
            median: medians[&key].into(),
            min: values[0].into(),
            max: values[values.len() - 1].into(),
        };
        (key.to_string(), spread)
    })
    .collect()
}

fn published(expect: &Expect, arm: &str) -> BTreeMap<String, f64> {
    let of_arm = expect
        .published
        .iter()
        .filter(|p| p.arm.as_deref().is_none_or(|a| a == arm));
    of_arm
        .map(|p: &Published| (p.key().to_string(), p.value))
        .collect()
}

#[cfg(test)]
mod tests;
