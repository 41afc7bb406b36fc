//! Exact binomial intervals.

use statrs::distribution::{Beta, ContinuousCDF as _};

/// What is left to each side of a two-sided 95 % interval.
pub(super) const TAIL: f64 = 0.025;

/// The two-sided 95 % interval of Clopper and Pearson (1934) for a share of which `count` of `of` were seen: the shares
/// under which neither so many nor so few would be a chance of less than 2.5 %. Nothing seen allows every share.
#[must_use]
pub fn interval(count: u32, of: u32) -> (f64, f64) {
    // The chance of at least `successes` at a share is the beta distribution of that share. No share is in question where
    // either parameter is 0: then statrs has no distribution, and the end is that of the range.
    let share = |successes: u32, failures: u32, chance: f64| {
        let beta = Beta::new(f64::from(successes), f64::from(failures)).ok()?;
        Some(beta.inverse_cdf(chance))
    };
    let failures = of.saturating_sub(count);
    let low = share(count, failures + 1, TAIL).unwrap_or(0.0);
    let high = share(count + 1, failures, 1.0 - TAIL).unwrap_or(1.0);
    (low, high)
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
}
