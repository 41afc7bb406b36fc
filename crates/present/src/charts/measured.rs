//! A metric over the repeats of an arm, beside what was published.

use super::material::Material;
use crate::text;
use plan::metric::{MetricKey, Repeats, Unit};
use results::metrics::Amount;

/// A metric over the repeats of an arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What the repeats come to, in the way that the metric's row says: their median, their worst, all counted together.
    pub of_arm: Amount,
    /// The values, sorted.
    pub values: Vec<Amount>,
    /// What was published for it.
    pub published: Option<f64>,
}

impl Measured {
    /// Collects it; `None` if no run of the arm has it.
    pub fn of(material: &Material, arm: &str, key: &MetricKey) -> Option<Self> {
        let own = material.of_arm(arm);
        let mut values: Vec<Amount> = own
            .iter()
            .filter_map(|run| run.metrics.get(key).copied())
            .filter(|v| v.at_least().is_finite())
            .collect();
        values.sort_by(Amount::order);
        let of_arm = *material.together.get(arm)?.get(key)?;
        if key.row().repeats == Repeats::Pooled {
            // The values of single runs are parts of it.
            values = vec![of_arm];
        }
        (!values.is_empty()).then(|| Self {
            of_arm,
            values,
            published: material.published(arm, key),
        })
    }

    /// `451.5 s`, with the range over the repeats where there are several: `451.5 s (449.8 s – 455.0 s)`.
    pub fn print(&self, unit: Unit) -> String {
        match self.values[..] {
            [first, .., last] => text::spread(unit, self.of_arm, [first, last]),
            _ => text::amount(unit, self.of_arm),
        }
    }

    /// The value, if it is not only known to be larger than something.
    pub fn known(&self) -> Option<f64> {
        (!self.of_arm.is_censored()).then(|| self.of_arm.at_least())
    }

    /// Measured ÷ published; `None` where the measured is only known to be larger than something.
    pub fn ratio(&self) -> Option<f64> {
        let published = self.published.filter(|p| *p > 0.0)?;
        Some(self.known()? / published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_compared_with_nothing() {
        let of_arm = Amount::Over(90.0);
        let measured = Measured {
            of_arm,
            values: vec![Amount::Is(80.0), of_arm],
            published: Some(29.0),
        };
        assert_eq!(measured.print(Unit::Secs), "> 90 s (80 s – > 90 s)");
        assert_eq!(measured.ratio(), None);
    }
}
