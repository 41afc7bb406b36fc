//! Exact binomial intervals.

use super::interval::{TAIL, bisect};

/// The two-sided 95 % interval of Clopper and Pearson (1934) for a share of which `count` of `of` were seen: the shares
/// under which neither so many nor so few would be a chance of less than 2.5 %. Nothing seen allows every share.
#[must_use]
pub fn interval(count: u32, of: u32) -> (f64, f64) {
    let low = match count {
        0 => 0.0,
        _ => bisect(1.0, |share| at_least(count, of, share) < TAIL),
    };
    let high = if count >= of {
        1.0
    } else {
        // At most `count` is the complement of at least one more.
        bisect(1.0, |share| 1.0 - at_least(count + 1, of, share) > TAIL)
    };
    (low, high)
}

/// Probability of at least `count` of `of` at a share strictly between 0 and 1.
fn at_least(count: u32, of: u32, share: f64) -> f64 {
    // In logarithms: the terms of some hundred requests leave the range of doubles.
    let mut ln_choose = 0.0;
    let mut sum = 0.0;
    for k in 0..=of {
        if k > 0 {
            ln_choose += (f64::from(of - k + 1) / f64::from(k)).ln();
        }
        if k >= count {
            let ln = ln_choose + f64::from(k) * share.ln() + f64::from(of - k) * (-share).ln_1p();
            sum += ln.exp();
        }
    }
    sum.min(1.0)
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
