//! One metric: by how much it changed, whether that is beyond its thresholds, and how likely by chance.

use super::metrics::DeclaredMetric;
use super::nights::Sides;
use super::rank::{self, Shift};
use plan::metric::Better;
use results::metrics::Amount;

/// What a metric is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Which way is better.
    pub better: Better,
    /// Allowed change, per cent of the baseline.
    pub percent: Option<f64>,
    /// Allowed change in the metric's unit.
    pub absolute: Option<f64>,
}

/// The medians and how they differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Median of the baseline; of an even number the lower of the two in the middle.
    pub base: Option<Amount>,
    /// Median of the new runs.
    pub new: Option<Amount>,
    /// New ÷ baseline − 1; `None` where it is not known or the baseline is 0.
    pub relative: Option<f64>,
    /// New − baseline.
    pub difference: Option<f64>,
}

impl Change {
    /// Of two sets of runs.
    #[must_use]
    pub fn of(base: &[Amount], new: &[Amount]) -> Self {
        let (base, new) = (median(base), median(new));
        let both = match (base, new) {
            (Some(Amount::Is(b)), Some(n)) => Some((b, n.at_least())),
            // Of what is over a bound only a fall below the bound is known, not by how much.
            (Some(Amount::Over(b)), Some(Amount::Is(n))) if n < b => Some((b, n)),
            _ => None,
        };
        Self {
            base,
            new,
            relative: both.and_then(|(b, n)| (b > 0.0).then(|| n / b - 1.0)),
            difference: both.map(|(b, n)| n - b),
        }
    }
}

/// The median, of an even number the lower of the two in the middle.
#[must_use]
pub fn median(values: &[Amount]) -> Option<Amount> {
    let mut values = values.to_vec();
    values.sort_by(Amount::order);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

impl Thresholds {
    /// Those of a metric.
    #[must_use]
    pub fn of(metric: &DeclaredMetric) -> Self {
        Self {
            better: metric.better,
            percent: metric.threshold_percent,
            absolute: metric.threshold,
        }
    }

    /// One-sided p-value of the new side being worse than the baseline by more than is allowed.
    #[must_use]
    pub fn p_worse(&self, sides: &Sides) -> f64 {
        let up = || self.p_beyond(sides, true);
        let down = || self.p_beyond(sides, false);
        match self.better {
            Better::Lower => up(),
            Better::Higher => down(),
            Better::Same | Better::Neither => (2.0 * up().min(down())).min(1.0),
        }
    }

    /// One-sided p-value of the new side being better than the baseline by more than the same thresholds; 1 where nothing is
    /// better.
    #[must_use]
    pub fn p_better(&self, sides: &Sides) -> f64 {
        match self.better {
            Better::Lower => self.p_beyond(sides, false),
            Better::Higher => self.p_beyond(sides, true),
            Better::Same | Better::Neither => 1.0,
        }
    }

    /// Smallest value that [`Thresholds::p_worse`] can have of so many runs.
    #[must_use]
    pub fn smallest_p(&self, base: usize, new: usize) -> f64 {
        let sides = if self.better == Better::Same {
            2.0
        } else {
            1.0
        };
        (rank::smallest_p(base, new) * sides).min(1.0)
    }

    /// The p-value of the new side lying above (`up`) or below the baseline by more than both thresholds: the larger of the two.
    fn p_beyond(&self, sides: &Sides, up: bool) -> f64 {
        let shifts = self.shifts(up).into_iter().flatten();
        let p = shifts.map(|shift| sides.p(shift, up));
        p.fold(0.0, f64::max)
    }

    /// The changes that are just allowed, upwards or downwards.
    #[must_use]
    pub fn shifts(&self, up: bool) -> [Option<Shift>; 2] {
        let sign = if up { 1.0 } else { -1.0 };
        [
            self.percent.map(|l| Shift::Times(1.0 + sign * l / 100.0)),
            self.absolute.map(|l| Shift::Plus(sign * l)),
        ]
    }

    /// Whether the medians changed for the worse by more than is allowed.
    #[must_use]
    pub fn worse(&self, change: &Change) -> bool {
        match self.better {
            Better::Lower => self.beyond(change, 1.0),
            Better::Higher => self.beyond(change, -1.0),
            Better::Same | Better::Neither => self.beyond(change, 1.0) || self.beyond(change, -1.0),
        }
    }

    /// Whether they changed for the better by more than that.
    #[must_use]
    pub fn better(&self, change: &Change) -> bool {
        match self.better {
            Better::Lower => self.beyond(change, -1.0),
            Better::Higher => self.beyond(change, 1.0),
            Better::Same | Better::Neither => false,
        }
    }

    fn beyond(&self, change: &Change, sign: f64) -> bool {
        let Some(difference) = change.difference else {
            return false;
        };
        // Of a baseline of 0 every change is beyond any share.
        let share = change
            .relative
            .unwrap_or(difference.signum() * f64::INFINITY);
        difference * sign > 0.0
            && self.percent.is_none_or(|l| share * sign > l / 100.0)
            && self.absolute.is_none_or(|l| difference * sign > l)
    }
}
