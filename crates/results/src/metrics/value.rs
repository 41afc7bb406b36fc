//! A value, and values by key.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use plan::metric::{Better, Metric, MetricKey, Repeats};

use crate::run_folder::{Percentile, PlacementCounts};

/// A metric's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Known.
    Is(f64),
    /// Larger than this: it falls on a sample that was still waiting when the observation ended.
    Over(f64),
}

impl Amount {
    /// A percentile's; none with too few samples.
    #[must_use]
    pub fn of(percentile: Percentile) -> Option<Self> {
        match percentile {
            Percentile::Secs(secs) => Some(Self::Is(secs)),
            Percentile::Over { over } => Some(Self::Over(over)),
            Percentile::TooFew => None,
        }
    }

    /// What is known for certain: the value, or what it exceeds.
    #[must_use]
    pub fn at_least(self) -> f64 {
        match self {
            Self::Is(value) | Self::Over(value) => value,
        }
    }

    /// Whether only a lower bound is known.
    #[must_use]
    pub fn is_censored(self) -> bool {
        matches!(self, Self::Over(_))
    }

    /// By value; what is over a value comes after the value itself.
    #[must_use]
    pub fn order(a: &Self, b: &Self) -> Ordering {
        a.at_least()
            .total_cmp(&b.at_least())
            .then(a.is_censored().cmp(&b.is_censored()))
    }
}

impl From<Amount> for Percentile {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Is(secs) => Self::Secs(secs),
            Amount::Over(over) => Self::Over { over },
        }
    }
}

/// Values by key. What a run does not have (too few samples, no evidence) is absent.
pub type Values = BTreeMap<MetricKey, Amount>;

#[allow(clippy::unnecessary_wraps)] // as every extractor
pub(super) fn count(n: u32) -> Option<Amount> {
    Some(Amount::Is(f64::from(n)))
}

/// Counts here are far below 2⁵².
#[allow(clippy::cast_precision_loss)] // as said
#[allow(clippy::unnecessary_wraps)] // as every extractor
pub(super) fn count64(n: u64) -> Option<Amount> {
    Some(Amount::Is(n as f64))
}

/// The repeats of an arm as one value each, in the way that each metric's row says.
#[must_use]
pub fn medians(runs: &[&Values]) -> Values {
    let mut all: BTreeMap<&MetricKey, Vec<Amount>> = BTreeMap::new();
    for (key, amount) in runs.iter().flat_map(|run| run.iter()) {
        all.entry(key).or_default().push(*amount);
    }
    all.into_iter()
        .map(|(key, mut values)| {
            values.sort_by(Amount::order);
            let median = values[(values.len() - 1) / 2];
            let row = key.row();
            let one = match (row.repeats, row.better) {
                (Repeats::Median, _) => median,
                (Repeats::Pooled, _) => pooled(key, runs).unwrap_or(median),
                (Repeats::Worst, Better::Higher) => values[0],
                (Repeats::Worst, _) => values[values.len() - 1],
            };
            (key.clone(), one)
        })
        .collect()
}

/// What all runs have together of a metric of placements.
fn pooled(key: &MetricKey, runs: &[&Values]) -> Option<Amount> {
    let sum = |metric| -> u32 {
        let key = key.with(metric);
        let values = runs.iter().filter_map(|run| run.get(&key));
        // Counts of requests, each far below 2³².
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        values.map(|v| v.at_least() as u32).sum()
    };
    let counts = PlacementCounts {
        right: sum(Metric::PlacedRight),
        free: sum(Metric::PlacedFree),
        wrong: sum(Metric::PlacedWrong),
        never: sum(Metric::PlacedNever),
        ..PlacementCounts::default()
    };
    match key.metric {
        Metric::PlacedRightShare => counts.right_share().map(Amount::Is),
        Metric::PlacedElsewhereShare => counts.elsewhere_share().map(Amount::Is),
        // A count of rare events: those of all runs.
        metric => count(sum(metric)),
    }
}

/// Goes through the moments at which spans begin and end, in order: `visit` gets the seconds of the observation that
/// passed since the moment before, whether a span begins or ends, and what the span says.
pub(super) fn sweep<S: Copy>(
    spans: Vec<(f64, f64, S)>,
    end_secs: f64,
    mut visit: impl FnMut(f64, bool, S),
) {
    let both = |(from, to, what): (f64, f64, S)| [(from, true, what), (to.max(from), false, what)];
    let mut moments: Vec<(f64, bool, S)> = spans.into_iter().flat_map(both).collect();
    moments.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut before = 0.0;
    for (at, begins, what) in moments {
        let at = at.clamp(0.0, end_secs);
        visit(at - before, begins, what);
        before = at;
    }
}
