//! The exact permutation test over runs, by ranks, and the interval that inverting it gives.
//!
//! If two sides do not differ, any assignment of the runs to the sides is as likely as the one that was made. The share of
//! assignments whose ranks are at least as extreme is the p-value: exact at every number of runs, with ties, and without
//! any assumption on how the metric is distributed (Wilcoxon 1945; Mann and Whitney 1947). Ranks also have a place for a
//! metric of which only a lower bound is known: it lies above everything below the bound.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use results::metrics::Amount;

/// Up to so many runs on both sides together every assignment is counted; beyond, [`DRAWS`] are drawn.
pub const MOST_EXACT: usize = 60;

/// Assignments drawn where they are too many to count.
const DRAWS: u32 = 20_000;

/// Seed of the drawn assignments: the same runs always give the same p-value.
const SEED: u64 = 1;

/// How a baseline is moved before it is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shift {
    /// Times this.
    Times(f64),
    /// Plus this.
    Plus(f64),
}

impl Shift {
    /// A value moved.
    #[must_use]
    pub fn of(self, amount: Amount) -> Amount {
        let moved = |v: f64| match self {
            Self::Times(factor) => v * factor,
            Self::Plus(more) => v + more,
        };
        match amount {
            Amount::Is(v) => Amount::Is(moved(v)),
            Amount::Over(v) => Amount::Over(moved(v)),
        }
    }
}

/// One-sided p-value of `high` being larger than `low`.
#[must_use]
pub fn p_larger(low: &[Amount], high: &[Amount]) -> f64 {
    if low.is_empty() || high.is_empty() {
        return 1.0;
    }
    let ranks = double_ranks(&values(low, high));
    let (low, high) = ranks.split_at(low.len());
    let total: usize = ranks.iter().sum();
    let seen: usize = high.iter().sum();
    if ranks.len() > MOST_EXACT {
        return drawn(&ranks, high.len(), seen);
    }
    // The smaller side is counted out: high's ranks are at least `seen` exactly if low's are at most the rest.
    if high.len() <= low.len() {
        share(&ranks, high.len(), |sum| sum >= seen)
    } else {
        share(&ranks, low.len(), |sum| sum <= total - seen)
    }
}

/// Smallest p-value that so many runs can give, with no ties.
#[must_use]
pub fn smallest_p(base: usize, new: usize) -> f64 {
    if base == 0 || new == 0 {
        return 1.0;
    }
    let floor = if base + new > MOST_EXACT {
        1.0 / f64::from(DRAWS + 1)
    } else {
        0.0
    };
    // 1 ÷ (base + new over new).
    let p = (1..=new).fold(1.0, |p, i| p * number(i) / number(base + i));
    p.max(floor)
}

/// Values to be ranked. From the smallest bound of what is only known to be over a bound, everything counts as the same:
/// nothing is known about the order up there.
fn values(low: &[Amount], high: &[Amount]) -> Vec<f64> {
    let all = || low.iter().chain(high);
    let over = all().filter(|a| matches!(a, Amount::Over(_)));
    let ceiling = over.map(|a| a.at_least()).fold(f64::INFINITY, f64::min);
    let value = |a: &Amount| match a {
        Amount::Is(v) if *v <= ceiling => *v,
        _ => f64::INFINITY,
    };
    all().map(value).collect()
}

/// Twice the rank of each value, ties sharing the middle one, so that all are whole numbers.
fn double_ranks(values: &[f64]) -> Vec<usize> {
    let rank = |v: &f64| {
        let below = values.iter().filter(|o| o.total_cmp(v).is_lt()).count();
        let same = values.iter().filter(|o| o.total_cmp(v).is_eq()).count();
        2 * below + same + 1
    };
    values.iter().map(rank).collect()
}

/// Share of all choices of `k` of `ranks` whose sum `counts`.
fn share(ranks: &[usize], k: usize, counts: impl Fn(usize) -> bool) -> f64 {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let most: usize = sorted.iter().rev().take(k).sum();
    // ways[j][s]: choices of j ranks that sum to s. Floats hold them: 60 over 30 is 1.2e17, and only shares matter.
    let mut ways = vec![vec![0.0_f64; most + 1]; k + 1];
    ways[0][0] = 1.0;
    let mut reached = 0;
    for (i, rank) in ranks.iter().enumerate() {
        reached += rank;
        for j in (1..=k.min(i + 1)).rev() {
            let (fewer, same) = ways.split_at_mut(j);
            for s in (*rank..=reached.min(most)).rev() {
                same[0][s] += fewer[j - 1][s - rank];
            }
        }
    }
    let (mut hits, mut all) = (0.0, 0.0);
    for (sum, n) in ways[k].iter().enumerate() {
        all += n;
        if counts(sum) {
            hits += n;
        }
    }
    hits / all
}

/// The share among drawn assignments, the one seen counted in (Phipson and Smyth 2010), so that it is never 0.
fn drawn(ranks: &[usize], k: usize, seen: usize) -> f64 {
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut ranks = ranks.to_vec();
    let mut hits = 1_u32;
    for _ in 0..DRAWS {
        let (chosen, _) = ranks.partial_shuffle(&mut random, k);
        hits += u32::from(chosen.iter().sum::<usize>() >= seen);
    }
    f64::from(hits) / f64::from(DRAWS + 1)
}

/// Ends of an interval; `None`: that end is open, since so few runs exclude nothing.
pub type Ends = (Option<f64>, Option<f64>);

/// The interval of changes that the runs do not exclude, each end at one-sided level `level`: the test inverted. As a
/// factor if `times`, else as a difference.
#[must_use]
pub fn interval(base: &[Amount], new: &[Amount], times: bool, level: f64) -> Ends {
    let mut steps: Vec<f64> = Vec::new();
    for b in base {
        for n in new {
            // Of what is only known to be over a bound, ranks change where the bound is.
            let (b, n) = (b.at_least(), n.at_least());
            let step = if times { n / b } else { n - b };
            steps.extend(Some(step).filter(|s| s.is_finite()));
        }
    }
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let shift = |by: f64| {
        if times {
            Shift::Times(by)
        } else {
            Shift::Plus(by)
        }
    };
    let moved = |by: f64| -> Vec<Amount> { base.iter().map(|b| shift(by).of(*b)).collect() };
    // Between two steps no rank changes, so one point of each gap speaks for it.
    let gap = |i: usize| match (i.checked_sub(1).map(|i| steps[i]), steps.get(i)) {
        (Some(a), Some(b)) => f64::midpoint(a, *b),
        (Some(a), None) => a + a.abs().max(1.0),
        (None, Some(b)) if times => b / 2.0,
        (None, Some(b)) => b - b.abs().max(1.0),
        (None, None) => 1.0,
    };
    let gaps = steps.len() + 1;
    // The first gap that "new is larger than that" does not exclude, and the first that "new is smaller" does.
    let low = first(gaps, |i| p_larger(&moved(gap(i)), new) > level);
    let high = first(gaps, |i| p_larger(new, &moved(gap(i))) <= level);
    (
        low.checked_sub(1).and_then(|i| steps.get(i)).copied(),
        high.checked_sub(1)
            .filter(|_| high < gaps)
            .and_then(|i| steps.get(i))
            .copied(),
    )
}

/// The first of `0..n` for which `holds`, which once true stays true; `n` if none.
fn first(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Draws `n` indices below `below`, with replacement.
pub(super) fn resample(random: &mut SmallRng, n: usize, below: usize) -> Vec<usize> {
    (0..n).map(|_| random.random_range(0..below)).collect()
}

/// Numbers of runs are far below 2⁵².
#[allow(clippy::cast_precision_loss)] // as said
fn number(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
