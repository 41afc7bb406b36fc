//! Whether an experiment's claims hold: metrics of each arm over its repeats, and the predicates of the experiment file
//! over them.
//!
//! In: [`Expect`], run summaries and records. Out: [`ArmSummary`]s. Pure; it never rounds, tunes or drops a metric: what
//! is not known well enough to judge gives no verdict, and says why.

mod binomial;
mod claims;
mod controls;
mod evictions;
mod placements;
mod poisson;
mod stalls;

use std::collections::BTreeMap;

use crate::metrics::{self, Source};
use crate::run_folder::{ArmSummary, Placement, Spread};
use plan::expect::{Claim as Declared, Expect, Published};
use plan::metric::{Metric, Use};

use claims::Runs;

pub use crate::metrics::{Amount, Values};
pub use controls::Earlier;
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
    /// Whether something disturbed it.
    pub disturbed: bool,
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
            disturbed: !source.summary.disturbed.is_empty(),
        }
    }
}

/// Brings the repeats of each arm together and judges the claims, in the order in which the arms first ran.
#[must_use]
pub fn arms(expect: &Expect, runs: &[Judged]) -> Vec<ArmSummary> {
    let mut names: Vec<&str> = Vec::new();
    let mut by_arm: Runs<'_> = Runs::new();
    for run in runs {
        if !names.contains(&run.arm.as_str()) {
            names.push(&run.arm);
        }
        by_arm.entry(&run.arm).or_default().push(run);
    }
    names
        .iter()
        .map(|&name| {
            let of = &by_arm[name];
            let values: Vec<&Values> = of.iter().map(|run| &run.metrics).collect();
            let placements: Vec<&[Placement]> =
                of.iter().map(|run| run.placements.as_slice()).collect();
            let (claims_hold, claims) = claims::judge(expect, name, &by_arm);
            ArmSummary {
                name: name.to_owned(),
                runs: u32::try_from(of.len()).unwrap_or(u32::MAX),
                metrics: spreads(&values),
                placements: placements::of_arm(&placements),
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
        // What an experiment claims and nobody published is not doubted by its failing.
        let what = if expect.published.is_empty() {
            "not all claims of the file hold"
        } else {
            "not all published claims hold, so do not rely on them here"
        };
        return format!("{what}: {} did not hold", failed.join(", "));
    }
    // It sums up every claim, and some may be about arms that did not run.
    let seen = |of: &Declared| claims().any(|(_, claim)| claim.claim == of.claim);
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
