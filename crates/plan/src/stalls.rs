//! Stalls of the cluster's storage: the harness pauses etcd's process and continues it, at moments drawn from the seed.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{self, Check};
use super::error::PlanError;
use super::value::Between;

/// Longest stall, seconds. In a longer one nodes would lose their Leases (200 s), which hides everything else.
const LONGEST_SECS: f64 = 120.0;

/// Most stalls in a run.
const MOST: u32 = 1_000;

/// Separates the stalls' random numbers from the workloads'.
const SEED_SALT: u64 = 0x5741_4c4c;

/// Stalls of etcd in an experiment file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StallsDoc {
    /// How long a stall lasts, seconds. Of several lengths each occurs equally often, in an order drawn from the seed.
    pub lengths_secs: Vec<f64>,
    /// How many.
    pub count: u32,
    /// Seconds between two of them (and before the first), drawn from the seed.
    pub gap_secs: Between,
}

/// A stall of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// When it begins, seconds since the run's clock started.
    pub at_secs: f64,
    /// How long it lasts, seconds.
    pub secs: f64,
}

impl StallsDoc {
    /// The stalls in order, checked.
    pub(super) fn draw(
        &self,
        check: Check<'_>,
        seed: u64,
        observe_secs: Option<f64>,
    ) -> Result<Vec<Stall>, PlanError> {
        check.not_empty("stalls.lengths_secs", self.lengths_secs.len())?;
        for (i, secs) in self.lengths_secs.iter().enumerate() {
            let field = format!("stalls.lengths_secs.{i}");
            check.number(&field, *secs, 0.001..=LONGEST_SECS)?;
        }
        check.whole("stalls.count", self.count, 1..=MOST)?;
        self.gap_secs.check(check, "stalls.gap_secs", check::SECS)?;
        let mut rng = StdRng::seed_from_u64(seed ^ SEED_SALT);
        let mut lengths = Vec::new();
        while lengths.len() < self.count as usize {
            let mut round = self.lengths_secs.clone();
            round.shuffle(&mut rng);
            lengths.extend(round);
        }
        lengths.truncate(self.count as usize);
        let mut free = 0.0;
        let stalls: Vec<Stall> = lengths
            .into_iter()
            .map(|secs| {
                let at_secs = free + rng.random_range(self.gap_secs.from..=self.gap_secs.to);
                free = at_secs + secs;
                Stall { at_secs, secs }
            })
            .collect();
        let fits = observe_secs.is_none_or(|end| free <= end);
        check.require(fits, "stalls.count", || {
            format!("with these lengths and gaps the last stall ends {free:.0} s into the run, after observe_secs")
        })?;
        Ok(stalls)
    }
}
