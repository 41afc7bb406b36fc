//! Exact intervals of counts.

use statrs::distribution::{ContinuousCDF as _, Gamma};

use super::binomial::TAIL;

/// The two-sided 95 % interval of Garwood (1936) for the expected number of independent events of which `count` were seen:
/// the expectations under which neither so many nor so few would be a chance of less than 2.5 %.
#[must_use]
pub fn interval(count: u32) -> (f64, f64) {
    // The chance of at least `events` at an expectation is the gamma distribution of that expectation. For no events statrs
    // has no distribution, and none need be expected.
    let mean = |events: u32, chance: f64| {
        let gamma = Gamma::new(f64::from(events), 1.0);
        gamma.map_or(0.0, |gamma| gamma.inverse_cdf(chance))
    };
    (mean(count, TAIL), mean(count + 1, 1.0 - TAIL))
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
