//! Exact intervals of counts.

use super::interval::{TAIL, bisect};

/// The two-sided 95 % interval of Garwood (1936) for the expected number of independent events of which `count` were seen:
/// the expectations under which neither so many nor so few would be a chance of less than 2.5 %.
#[must_use]
pub fn interval(count: u32) -> (f64, f64) {
    // Both ends are within ten standard deviations and a few events more.
    let most = f64::from(count) + 10.0 * f64::from(count).sqrt() + 20.0;
    let low = match count {
        0 => 0.0,
        _ => bisect(most, |mean| 1.0 - at_most(count - 1, mean) < TAIL),
    };
    (low, bisect(most, |mean| at_most(count, mean) > TAIL))
}

/// Probability of at most `count` events where `mean` are expected.
fn at_most(count: u32, mean: f64) -> f64 {
    // In logarithms: the terms of some hundred events leave the range of doubles.
    let mut ln_factorial = 0.0;
    let mut sum = 0.0;
    for k in 0..=count {
        if k > 0 {
            ln_factorial += f64::from(k).ln();
        }
        sum += (f64::from(k) * mean.ln() - mean - ln_factorial).exp();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close((low, high): (f64, f64), expected: (f64, f64)) {
        assert!(
            (low - expected.0).abs() < 5e-4 && (high - expected.1).abs() < 5e-4,
            "{low} to {high}, expected {expected:?}"
        );
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Pearson and Hartley's table 40; 0 events: -ln 0.025.
        close(interval(0), (0.0, 3.6889));
        close(interval(1), (0.0253, 5.5716));
        close(interval(3), (0.6187, 8.7673));
        close(interval(10), (4.7954, 18.3904));
        close(interval(100), (81.364, 121.627));
    }

    #[test]
    fn many_events_do_not_leave_the_range_of_numbers() {
        let (low, high) = interval(5000);
        assert!(
            low > 4862.0 && low < 4864.0 && high > 5140.0 && high < 5141.5,
            "{low} {high}"
        );
    }
}
