//! Exact binomial intervals, of requests counted over several runs.

use std::fmt;

use statrs::distribution::{Beta, ContinuousCDF as _, StudentsT};

/// What is left to each side of a two-sided 95 % interval.
pub(super) const TAIL: f64 = 0.025;

/// After so many runs a share is not pursued any further.
const MOST_RUNS: u32 = 10_000;

/// The two-sided 95 % interval of Clopper and Pearson (1934) for a share of which `count` of `of` were seen: the shares
/// under which neither so many nor so few would be a chance of less than 2.5 %. Nothing seen allows every share.
#[must_use]
pub fn interval(count: u32, of: u32) -> (f64, f64) {
    beta(f64::from(count), f64::from(of))
}

/// The same for a number of independent requests that need not be whole.
fn beta(count: f64, of: f64) -> (f64, f64) {
    // The chance of at least `successes` at a share is the beta distribution of that share. No share is in question where
    // either parameter is 0: then statrs has no distribution, and the end is that of the range.
    let share = |successes: f64, failures: f64, chance: f64| {
        let beta = Beta::new(successes, failures).ok()?;
        Some(beta.inverse_cdf(chance))
    };
    let failures = (of - count).max(0.0);
    let low = share(count, failures + 1.0, TAIL).unwrap_or(0.0);
    let high = share(count + 1.0, failures, 1.0 - TAIL).unwrap_or(1.0);
    (low, high)
}

/// Requests counted over an arm's runs. Those of one run happen on one cluster and are not independent of each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    /// How many were seen, and of how many, run by run.
    by_run: Vec<(u32, u32)>,
}

impl Counted {
    /// Of each run: how many were seen, and of how many. A run without any says nothing and is left out.
    pub fn new(mut by_run: Vec<(u32, u32)>) -> Self {
        by_run.retain(|(_, of)| *of > 0);
        Self { by_run }
    }

    /// How many were seen.
    pub fn count(&self) -> u32 {
        self.by_run.iter().map(|(count, _)| count).sum()
    }

    /// Of how many.
    pub fn of(&self) -> u32 {
        self.by_run.iter().map(|(_, of)| of).sum()
    }

    /// The two-sided 95 % interval of the share, 0 to 1: that of Clopper and Pearson with as many requests as would be as
    /// informative if they were independent (Korn and Graubard, Survey Methodology 24 (1998), 193-201). Where all runs
    /// agree that none or all were seen, requests count as independent: the runs show no difference between them.
    pub fn interval(&self) -> (f64, f64) {
        self.interval_of(1)
    }

    /// The interval if everything had been seen `times` times.
    fn interval_of(&self, times: u32) -> (f64, f64) {
        let (count, of) = (f64::from(self.count()), f64::from(self.of()));
        let (times, share) = (f64::from(times), count / of);
        if self.count() == 0 || self.count() == self.of() {
            return beta(count * times, of * times);
        }
        let independent = self.independent(times);
        beta(share * independent, independent)
    }

    /// How many independent requests say as much as these `times` times over; one run says no more than one request.
    fn independent(&self, times: f64) -> f64 {
        #[allow(clippy::cast_precision_loss)] // runs, not billions
        let runs = self.by_run.len() as f64 * times;
        if runs < 2.0 {
            return 1.0;
        }
        let of = f64::from(self.of());
        let share = f64::from(self.count()) / of;
        let squares: f64 = self
            .by_run
            .iter()
            .map(|&(count, of)| (f64::from(count) - share * f64::from(of)).powi(2))
            .sum();
        let variance = runs / (runs - 1.0) * squares * times / (of * times).powi(2);
        let all = of * times;
        let effective = if variance > 0.0 {
            share * (1.0 - share) / variance
        } else {
            all
        };
        // The variance itself is only known as well as so many runs tell it.
        let quantile = |freedom: f64| {
            StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(1.0 - TAIL))
        };
        let known = (quantile(all - 1.0) / quantile(runs - 1.0)).powi(2);
        (effective * known).min(all)
    }

    /// About how many more runs like these it takes until `decided` is true of the interval; `None`: it never is.
    pub fn runs_to_decide(&self, decided: impl Fn((f64, f64)) -> bool) -> Option<u32> {
        let runs = u32::try_from(self.by_run.len())
            .ok()
            .filter(|runs| *runs > 0)?;
        let most = MOST_RUNS / runs;
        // Doubled until it is decided, then halved: the interval only shrinks.
        let mut high = 2;
        while !decided(self.interval_of(high)) {
            if high >= most {
                return None;
            }
            high = high.saturating_mul(2);
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low.midpoint(high);
            if decided(self.interval_of(middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some((high - 1) * runs)
    }
}

/// E.g. `2 of 25 in 5 runs (1.0 to 26.0 %)`.
impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.interval();
        let runs = match self.by_run.len() {
            1 => "1 run".to_owned(),
            n => format!("{n} runs"),
        };
        write!(
            f,
            "{} of {} in {runs} ({:.1} to {:.1} %)",
            self.count(),
            self.of(),
            low * 100.0,
            high * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close((low, high): (f64, f64), expected: (f64, f64)) {
        assert!(
            (low - expected.0).abs() < 5e-5 && (high - expected.1).abs() < 5e-5,
            "{low} to {high}, expected {expected:?}"
        );
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // R: binom.test(7, 25)$conf.int, binom.test(0, 25), binom.test(10, 10), binom.test(1, 2).
        close(interval(7, 25), (0.12072, 0.49388));
        close(interval(0, 25), (0.0, 1.0 - 0.025_f64.powf(1.0 / 25.0)));
        close(interval(10, 10), (0.025_f64.powf(0.1), 1.0));
        close(interval(1, 2), (0.01258, 0.98742));
        close(interval(0, 0), (0.0, 1.0));
    }

    #[test]
    fn many_requests_do_not_leave_the_range_of_numbers() {
        let (low, high) = interval(500, 1000);
        assert!(low > 0.468 && low < 0.469 && high > 0.531 && high < 0.532);
        let (low, high) = interval(5000, 10_000);
        assert!(low > 0.49 && low < 0.5 && high > 0.5 && high < 0.51);
    }

    fn of(by_run: &[(u32, u32)]) -> Counted {
        Counted::new(by_run.to_vec())
    }

    #[test]
    fn none_of_five_says_at_most_52_percent_and_none_of_a_hundred_at_most_3_6() {
        assert_eq!(of(&[(0, 5)]).to_string(), "0 of 5 in 1 run (0.0 to 52.2 %)");
        close(of(&[(0, 20); 5]).interval(), (0.0, 0.03622));
        close(of(&[(5, 5)]).interval(), (0.025_f64.powf(0.2), 1.0));
    }

    #[test]
    fn requests_of_one_run_are_a_cluster() {
        // Five wrong of 25: one in each run says more than five in one.
        let spread = of(&[(1, 5), (1, 5), (1, 5), (1, 5), (1, 5)]).interval();
        let bunched = of(&[(5, 5), (0, 5), (0, 5), (0, 5), (0, 5)]).interval();
        let independent = interval(5, 25);
        // The spread ones vary less than chance would. Yet five runs say little of how much runs vary.
        assert!(
            spread.0 < independent.0 && spread.1 > independent.1,
            "{spread:?}"
        );
        assert!(spread.0 > bunched.0 && spread.1 < bunched.1, "{spread:?}");
        assert!(
            bunched.0 < independent.0 && bunched.1 > independent.1,
            "{bunched:?}"
        );
        // One run says no more than one request.
        let one = of(&[(2, 5)]).interval();
        assert!(one.0 < 0.01 && one.1 > 0.95, "{one:?}");
    }

    #[test]
    fn the_runs_that_would_decide_are_about_as_many_as_it_takes() {
        let at_most_5_percent = |(low, high): (f64, f64)| high <= 0.05 || low > 0.05;
        let runs = of(&[(0, 5)]).runs_to_decide(at_most_5_percent).unwrap();
        // 1 - 0.025^(1/n) is at most 0.05 from n = 72 on: 15 runs of five in all.
        assert_eq!(runs, 14);
        // At the bound itself it is never decided.
        let never = of(&[(1, 20), (1, 20)]).runs_to_decide(at_most_5_percent);
        assert_eq!(never, None);
    }
}
