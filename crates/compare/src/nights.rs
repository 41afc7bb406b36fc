//! Nights as the unit of a comparison. Runs of one night have the machine's state of that night in common, so that fifteen runs
//! of three nights are not fifteen observations. From three earlier nights on, each night counts once, by its median.
//!
//! A new night is compared by exact permutation of whole nights where they are enough for the level that is asked for. Until then
//! a change must be beyond what nights and beyond what runs differ by: the larger p-value of two tests counts. One is the
//! prediction interval for the mean of a normal distribution: with k earlier nights of mean b and standard deviation s, and m new
//! ones of mean n, t = (n − b) ÷ (s √(1/k + 1/m)) has Student's distribution with k − 1 degrees of freedom (Hahn and Meeker,
//! "Statistical Intervals", 1991, section 4.8), of logarithms where all values are positive. The other is the permutation of runs.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::rank::{self, Ends, Shift, p_larger};
use super::thresholds::{Thresholds, median};
use results::metrics::Amount;

/// Fewest earlier nights of which each counts once: two have no standard deviation to speak of.
pub const FEWEST: usize = 3;

/// The test that a metric went through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Permutation of runs: how nights differ is not known.
    #[default]
    Runs,
    /// Permutation of whole nights.
    Nights,
    /// Prediction interval for a new night.
    Prediction,
    /// Counts of the whole night, pooled.
    Pooled,
}

/// A metric's known values of a side, and the night of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    /// Each run's.
    pub runs: Vec<Amount>,
    /// The night of each run, from 0.
    pub nights: Vec<usize>,
}

impl Known {
    /// Each night's median, in order.
    #[must_use]
    pub fn by_night(&self) -> Vec<Amount> {
        let mut nights = self.nights.clone();
        nights.sort_unstable();
        nights.dedup();
        let of = |night: usize| {
            let own = self.runs.iter().zip(&self.nights);
            let own: Vec<Amount> = own.filter(|(_, n)| **n == night).map(|(v, _)| *v).collect();
            median(&own)
        };
        nights.into_iter().filter_map(of).collect()
    }
}

/// Two sides by the unit that counts, and the test between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sides {
    /// Which.
    pub test: Test,
    /// The baseline's units.
    pub base: Vec<Amount>,
    /// The new ones.
    pub new: Vec<Amount>,
    /// All runs of both.
    pub runs: (Vec<Amount>, Vec<Amount>),
}

impl Sides {
    /// Chooses unit and test, for a metric with these thresholds tested at `level` one-sided.
    #[must_use]
    pub fn of(base: &Known, new: &Known, thresholds: &Thresholds, level: f64) -> Self {
        let (nights, new_nights) = (base.by_night(), new.by_night());
        let runs = (base.runs.clone(), new.runs.clone());
        if nights.len() < FEWEST {
            return Self {
                test: Test::Runs,
                base: runs.0.clone(),
                new: runs.1.clone(),
                runs,
            };
        }
        let enough = thresholds.smallest_p(nights.len(), new_nights.len()) <= level;
        // Of what is only known to be over a bound there is no mean; and where all nights are the same, no deviation.
        let known = nights.iter().chain(&new_nights).all(|a| !a.is_censored());
        let varies = nights
            .iter()
            .any(|a| a.at_least().total_cmp(&nights[0].at_least()).is_ne());
        Self {
            test: if enough || !known || !varies {
                Test::Nights
            } else {
                Test::Prediction
            },
            base: nights,
            new: new_nights,
            runs,
        }
    }

    /// One-sided p-value of the new side being larger (`up`) or smaller than the baseline, moved by what is allowed.
    #[must_use]
    pub fn p(&self, shift: Shift, up: bool) -> f64 {
        let moved = |of: &[Amount]| of.iter().map(|a| shift.of(*a)).collect::<Vec<Amount>>();
        let prediction = Prediction::of(&moved(&self.base), &self.new);
        let prediction = prediction.filter(|_| self.test == Test::Prediction);
        let by_rank = |low: &[Amount], high: &[Amount]| {
            if up {
                p_larger(low, high)
            } else {
                p_larger(high, low)
            }
        };
        let Some((t, of)) = prediction.and_then(|of| Some((of.distribution()?, of))) else {
            return by_rank(&moved(&self.base), &self.new);
        };
        let below = t.cdf((of.new_mean - of.mean) / of.error);
        let by_t = if up { 1.0 - below } else { below };
        let (runs, new_runs) = &self.runs;
        by_t.max(by_rank(&moved(runs), new_runs))
    }

    /// Smallest p-value that so many units can give.
    #[must_use]
    pub fn smallest_p(&self, thresholds: &Thresholds) -> f64 {
        match self.test {
            Test::Pooled => 0.0,
            Test::Prediction => thresholds.smallest_p(self.runs.0.len(), self.runs.1.len()),
            Test::Runs | Test::Nights => thresholds.smallest_p(self.base.len(), self.new.len()),
        }
    }

    /// The changes that the units do not exclude, each end at one-sided level `level`: as a factor if `times`, else as a
    /// difference.
    #[must_use]
    pub fn interval(&self, times: bool, level: f64) -> Ends {
        let prediction = Prediction::of(&self.base, &self.new);
        let Some(of) = prediction.filter(|_| self.test == Test::Prediction) else {
            return rank::interval(&self.base, &self.new, times, level);
        };
        let Some(t) = of.distribution().map(|d| d.inverse_cdf(1.0 - level)) else {
            return (None, None);
        };
        let end = |sign: f64| {
            let by = of.new_mean + sign * t * of.error;
            let by = match (of.logs, times) {
                (true, true) => (by - of.mean).exp(),
                (true, false) => by.exp() - of.mean.exp(),
                (false, true) => by / of.mean,
                (false, false) => by - of.mean,
            };
            Some(by).filter(|by| by.is_finite())
        };
        let (low, high) = rank::interval(&self.runs.0, &self.runs.1, times, level);
        // What either of the two tests does not exclude. An open end stays open.
        let low = end(-1.0).zip(low).map(|(a, b)| a.min(b));
        let high = end(1.0).zip(high).map(|(a, b)| a.max(b));
        (low, high)
    }
}

/// Means, and the standard error of their difference.
struct Prediction {
    /// Whether they are of logarithms.
    logs: bool,
    mean: f64,
    new_mean: f64,
    error: f64,
    freedom: f64,
}

impl Prediction {
    /// `None` where the nights of the baseline are too few or do not differ.
    fn of(base: &[Amount], new: &[Amount]) -> Option<Self> {
        let positive = base.iter().chain(new).all(|a| a.at_least() > 0.0);
        let value = |a: &Amount| {
            if positive {
                a.at_least().ln()
            } else {
                a.at_least()
            }
        };
        let values = |of: &[Amount]| of.iter().map(value).collect::<Vec<f64>>();
        let (base, new) = (values(base), values(new));
        let mean = |of: &[f64]| of.iter().sum::<f64>() / number(of.len());
        let (k, m) = (number(base.len()), number(new.len()));
        let (at, new_mean) = (mean(&base), mean(&new));
        let squares: f64 = base.iter().map(|v| (v - at).powi(2)).sum();
        let freedom = k - 1.0;
        let error = (squares / freedom * (1.0 / k + 1.0 / m)).sqrt();
        (freedom >= 1.0 && m > 0.0 && error > 0.0).then_some(Self {
            logs: positive,
            mean: at,
            new_mean,
            error,
            freedom,
        })
    }

    fn distribution(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.freedom).ok()
    }
}

/// Events of a kind that should not happen, counted over the runs of both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// In the baseline.
    pub base: f64,
    /// Runs of the baseline.
    pub base_runs: usize,
    /// In the new runs.
    pub new: f64,
    /// New runs.
    pub new_runs: usize,
}

/// One-sided p-value of events being more frequent in the new runs, all kinds together. Given how many of a kind there were in
/// all, how many fall into the new runs is binomial with their share of the runs, if events are independent (Przyborowski and
/// Wilenski, 1940); the sums of several kinds are convolved.
#[must_use]
pub fn p_more_events(kinds: &[Events]) -> f64 {
    let mut chance = vec![1.0_f64];
    let mut seen = 0_usize;
    for kind in kinds {
        let share = number(kind.new_runs) / number((kind.new_runs + kind.base_runs).max(1));
        let (base, new) = (whole(kind.base), whole(kind.new));
        seen += new;
        for _ in 0..base + new {
            let mut next = vec![0.0; chance.len() + 1];
            for (n, p) in chance.iter().enumerate() {
                next[n] += p * (1.0 - share);
                next[n + 1] += p * share;
            }
            chance = next;
        }
    }
    chance.iter().skip(seen).sum::<f64>().min(1.0)
}

/// A count, of which there are few.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // as said
fn whole(count: f64) -> usize {
    count.clamp(0.0, 10_000.0).round() as usize
}

/// Numbers of nights are far below 2⁵².
#[allow(clippy::cast_precision_loss)] // as said
fn number(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::metric::Better;

    fn known(nights: &[&[f64]]) -> Known {
        let each = nights.iter().enumerate();
        let runs = each.flat_map(|(night, runs)| runs.iter().map(move |v| (Amount::Is(*v), night)));
        let (runs, nights) = runs.unzip();
        Known { runs, nights }
    }

    fn lower(percent: f64) -> Thresholds {
        Thresholds {
            better: Better::Lower,
            percent: Some(percent),
            absolute: None,
        }
    }

    #[test]
    fn the_night_is_the_unit_from_three_on() {
        let new = known(&[&[11.0, 12.0, 13.0]]);
        let two = known(&[&[10.0, 10.1], &[10.2, 10.3]]);
        let sides = Sides::of(&two, &new, &lower(5.0), 0.05);
        assert_eq!((sides.test, sides.base.len()), (Test::Runs, 4));
        let three = known(&[&[10.0, 10.1], &[10.2, 10.3], &[9.9]]);
        let sides = Sides::of(&three, &new, &lower(5.0), 0.05);
        assert_eq!(sides.test, Test::Prediction);
        assert_eq!(sides.base, [10.0, 10.2, 9.9].map(Amount::Is));
        assert_eq!(sides.new, [Amount::Is(12.0)]);
        // 19 nights and a new one: one assignment in twenty.
        let many: Vec<Vec<f64>> = (0..19).map(|i| vec![10.0 + f64::from(i) / 100.0]).collect();
        let many: Vec<&[f64]> = many.iter().map(Vec::as_slice).collect();
        assert_eq!(
            Sides::of(&known(&many), &new, &lower(5.0), 0.05).test,
            Test::Nights
        );
        let same = known(&[&[10.0], &[10.0], &[10.0]]);
        assert_eq!(Sides::of(&same, &new, &lower(5.0), 0.05).test, Test::Nights);
    }

    #[test]
    fn the_prediction_is_students() {
        // Mean 0, s = 1, k = 3, m = 1: t = 2 ÷ √(4/3) = √3; of two degrees of freedom P(T > √3) = 0.1127017.
        let base = [-1.0, 0.0, 1.0].map(Amount::Is).to_vec();
        let many: Vec<Amount> = (0..30).map(|i| Amount::Is(-f64::from(i) / 30.0)).collect();
        let sides = Sides {
            test: Test::Prediction,
            base,
            new: vec![Amount::Is(2.0)],
            runs: (many, vec![Amount::Is(2.0); 3]),
        };
        let p = sides.p(Shift::Plus(0.0), true);
        assert!((p - 0.112_701_7).abs() < 1e-6, "{p}");
        let (low, high) = sides.interval(false, 0.112_701_7);
        assert!(
            low.unwrap().abs() < 1e-5 && high.unwrap() >= 4.0 - 1e-5,
            "{low:?} {high:?}"
        );
        // Runs that do not differ are no change, whatever the nights' medians say.
        let alike = Sides {
            runs: (vec![Amount::Is(1.0); 9], vec![Amount::Is(1.0); 3]),
            ..sides
        };
        assert!((alike.p(Shift::Plus(0.0), true) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn two_restarts_in_five_runs_are_more_than_none_in_thirty_five() {
        let restarts = Events {
            base: 0.0,
            base_runs: 35,
            new: 2.0,
            new_runs: 5,
        };
        assert!((p_more_events(&[restarts]) - (5.0_f64 / 40.0).powi(2)).abs() < 1e-12);
        let none = Events {
            new: 0.0,
            ..restarts
        };
        assert!((p_more_events(&[none]) - 1.0).abs() < 1e-12);
        // One of each of two kinds is as much as two of one.
        let one = Events {
            new: 1.0,
            ..restarts
        };
        assert!((p_more_events(&[one, one]) - p_more_events(&[restarts])).abs() < 1e-12);
    }
}
