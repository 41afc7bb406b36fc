//! Tests whether two extenders are equally fast. Equivalence must be shown; no visible difference is not enough.
//!
//! In: scheduling latencies of both sides. Out: the difference of the medians with an interval from resampling, and whether
//! the whole interval is within a margin. With few or scattered samples the interval is wide, and then nothing is claimed.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::Serialize;

use super::counted::Margin;

/// How far the medians may differ. A decision takes tens of milliseconds on an idle host, and kube-scheduler's first back-off
/// a second. Half a second is more than any host's noise and less than one lost attempt.
pub const MARGIN: Margin = Margin {
    part: 0.3,
    at_least: 0.5,
};

/// Number of resamples, and the part that the interval omits on each side: two one-sided tests at 5 %.
const RESAMPLES: usize = 2000;
const TAIL: f64 = 0.05;

/// Fixed, so that the same samples always give the same interval.
const SEED: u64 = 0x9e37_79b9;

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// The whole interval is within the margin.
    Equivalent,
    /// The whole interval is outside the margin.
    Different,
    /// The interval is partly within the margin: more plays, or a quieter host, would decide.
    Undecided,
    /// There are too few samples to judge.
    NotJudged,
}

/// Two sides' latencies compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// Which pods.
    pub class: String,
    /// Samples that each side needs to be judged.
    pub at_least: usize,
    /// Samples of each side.
    pub n: [usize; 2],
    /// Medians, seconds.
    pub median_secs: [f64; 2],
    /// 90 % interval of the second median minus the first, seconds.
    pub difference_secs: [f64; 2],
    /// The margin, seconds.
    pub margin_secs: f64,
    /// The result.
    pub shown: Shown,
}

/// Compares two sides; `None` if either has no sample.
#[must_use]
pub fn compare(class: &str, at_least: usize, first: &[f64], second: &[f64]) -> Option<Latency> {
    let medians = [median(&mut first.to_vec())?, median(&mut second.to_vec())?];
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut differences: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| Some(resampled(second, &mut rng)? - resampled(first, &mut rng)?))
        .collect();
    differences.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place within 2000 resamples"
    )]
    let at = |part: f64| differences[((differences.len() - 1) as f64 * part).round() as usize];
    let interval = [at(TAIL), at(1.0 - TAIL)];
    let margin_secs = MARGIN.about(medians[0]);
    Some(Latency {
        class: class.to_owned(),
        at_least,
        n: [first.len(), second.len()],
        median_secs: medians,
        difference_secs: interval,
        margin_secs,
        shown: if first.len().min(second.len()) < at_least {
            Shown::NotJudged
        } else if interval[0] >= -margin_secs && interval[1] <= margin_secs {
            Shown::Equivalent
        } else if interval[0] > margin_secs || interval[1] < -margin_secs {
            Shown::Different
        } else {
            Shown::Undecided
        },
    })
}

fn resampled(from: &[f64], rng: &mut StdRng) -> Option<f64> {
    median(
        &mut (0..from.len())
            .map(|_| from[rng.random_range(0..from.len())])
            .collect::<Vec<_>>(),
    )
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values.get(middle).copied()
    } else {
        Some(f64::midpoint(
            *values.get(middle.checked_sub(1)?)?,
            *values.get(middle)?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sides_are_equivalent_and_slow_ones_are_not() {
        let base: Vec<f64> = (0..30).map(|n| 0.1 + f64::from(n) * 0.01).collect();
        let plus = |secs: f64| base.iter().map(|s| s + secs).collect::<Vec<_>>();
        let shown = |first: &[f64], second: &[f64]| compare("c", 20, first, second).unwrap().shown;
        assert_eq!(shown(&base, &base), Shown::Equivalent);
        assert_eq!(shown(&base, &plus(0.3)), Shown::Equivalent);
        assert_eq!(shown(&base, &plus(0.5)), Shown::Undecided);
        assert_eq!(shown(&base, &plus(1.0)), Shown::Different);
        assert_eq!(shown(&plus(1.0), &base), Shown::Different);
    }

    #[test]
    fn scattered_samples_and_few_samples_claim_nothing() {
        let wide = [0.1, 0.1, 4.0, 4.0];
        let shown = |at_least| compare("c", at_least, &wide, &wide).unwrap().shown;
        assert_eq!((shown(4), shown(5)), (Shown::Undecided, Shown::NotJudged));
        assert!(compare("c", 1, &[], &wide).is_none());
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut []), None);
    }
}
