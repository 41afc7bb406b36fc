//! Axes: from values to a share of the axis's length, with ticks. Any finite or infinite value is safe to ask for.

use crate::text::whole;

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    kind: Kind,
    /// Value and label.
    ticks: Vec<(f64, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
    /// Shares of 1 by the logarithm of `1 ÷ (1 − share)`: as much room for 90 to 99 % as for 99 to 99.9 %.
    Percentile,
}

/// The largest value that an axis shows; what is larger lies on its end.
const LARGEST: f64 = 1e12;

/// Smallest and largest time that the axis of a logarithm shows, seconds.
const LOG_SECS: (f64, f64) = (1e-3, 1e6);

impl Scale {
    /// From 0 to `high` or a little more, so that the last tick is a round number.
    pub fn linear(high: f64) -> Self {
        let high = if high.is_finite() {
            high.clamp(1e-3, LARGEST)
        } else {
            1.0
        };
        let step = round_step(high / 4.0);
        let mut ticks = Vec::new();
        let mut at = 0.0;
        // At most 4 / 0.4 steps.
        while at < high - step * 1e-6 {
            ticks.push(at);
            at += step;
        }
        ticks.push(at);
        Self {
            low: 0.0,
            high: at,
            kind: Kind::Linear,
            ticks: ticks.into_iter().map(|t| (t, number(t, step))).collect(),
        }
    }

    /// From about `low` to about `high` with room around them: for metrics of which the changes matter, not the size.
    pub fn between(low: f64, high: f64) -> Self {
        let inside = |v: f64| {
            if v.is_finite() {
                v.clamp(0.0, LARGEST)
            } else {
                0.0
            }
        };
        let (low, high) = (inside(low), inside(high));
        // At least a twentieth of the size: what changes less is no change to look at.
        let room = ((high - low) * 0.2).max(high * 0.05).max(1e-3);
        let step = round_step((high - low + 2.0 * room) / 4.0);
        let from = ((low - room).max(0.0) / step).floor() * step;
        let mut ticks = vec![from];
        // At most 4 / 0.4 steps and one at each end.
        while ticks.last().is_some_and(|t| *t < high + room) && ticks.len() < 16 {
            ticks.push(from + step * f64::from(u8::try_from(ticks.len()).unwrap_or(0)));
        }
        let high = ticks.last().copied().unwrap_or(1.0);
        Self {
            low: from,
            high,
            kind: Kind::Linear,
            ticks: ticks.into_iter().map(|t| (t, number(t, step))).collect(),
        }
    }

    /// The numbers from 1 to `n`, with half a step of room at both ends.
    #[allow(clippy::cast_precision_loss)] // counts far below 2^52
    pub fn numbers(n: usize) -> Self {
        let every = n.div_ceil(8).max(1);
        let ticks = (1..=n)
            .filter(|i| (n - i).is_multiple_of(every))
            .map(|i| (i as f64, i.to_string()));
        Self {
            low: 0.5,
            high: n.max(1) as f64 + 0.5,
            kind: Kind::Linear,
            ticks: ticks.collect(),
        }
    }

    /// As [`Scale::numbers`], with a label at each number.
    pub fn named(labels: &[String]) -> Self {
        Self {
            ticks: (1_u32..)
                .map(f64::from)
                .zip(labels.iter().cloned())
                .collect(),
            ..Self::numbers(labels.len())
        }
    }

    /// From 0 to exactly `high`, with ticks at round numbers up to it.
    pub fn exact(high: f64) -> Self {
        let mut scale = Self::linear(high);
        let high = if high.is_finite() {
            high.clamp(1e-3, LARGEST)
        } else {
            1.0
        };
        scale.high = high;
        scale.ticks.retain(|(t, _)| *t <= high * (1.0 + 1e-9));
        scale
    }

    /// Seconds by their logarithm, in whole decades that hold all of `values`.
    pub fn log_secs(values: impl IntoIterator<Item = f64>) -> Self {
        let inside = values
            .into_iter()
            .filter(|v| v.is_finite() && *v > 0.0)
            .map(|v| v.clamp(LOG_SECS.0, LOG_SECS.1));
        let (low, high) = inside.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (0.1, 10.0) } else { (low, high) };
        let low = (low.log10() + 1e-9).floor();
        let high = (high.log10() - 1e-9).ceil().max(low + 1.0);
        let mut ticks = Vec::new();
        let mut decade = low;
        while decade <= high {
            let secs = 10f64.powf(decade);
            let label = if secs < 0.9 {
                format!("{:.0} ms", secs * 1000.0)
            } else {
                format!("{} s", whole(secs))
            };
            ticks.push((secs, label));
            decade += 1.0;
        }
        Self {
            low: 10f64.powf(low),
            high: 10f64.powf(high),
            kind: Kind::Log,
            ticks,
        }
    }

    /// Percentiles of `samples` values, as far as they can tell one from the next; where there is little room, with `few`
    /// ticks.
    #[allow(clippy::cast_precision_loss)] // counts far below 2^52
    pub fn percentiles(samples: usize, few: bool) -> Self {
        let last = 1.0 - 1.0 / (samples.clamp(10, 1_000_000) as f64);
        let all = [0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];
        let ticks = all
            .into_iter()
            .filter(|p| *p <= last + 1e-9 && !(few && [0.75, 0.9].contains(p)))
            .map(|p| {
                let label = format!("{:.2}", p * 100.0);
                let label = label.trim_end_matches('0').trim_end_matches('.');
                (
                    p,
                    format!("p{}", if label.is_empty() { "0" } else { label }),
                )
            })
            .collect();
        Self {
            low: 0.0,
            high: last,
            kind: Kind::Percentile,
            ticks,
        }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high one; what lies beyond an end is on it.
    pub fn at(&self, value: f64) -> f64 {
        let place = |v: f64| match self.kind {
            Kind::Linear => v,
            Kind::Log => v.max(f64::MIN_POSITIVE).log10(),
            Kind::Percentile => -(1.0 - v.min(1.0 - 1e-12)).log10(),
        };
        let (low, high) = (place(self.low), place(self.high));
        let share = (place(value) - low) / (high - low);
        if share.is_nan() {
            0.0
        } else {
            share.clamp(0.0, 1.0)
        }
    }

    /// Its ticks: value and label.
    pub fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }
}

/// The smallest of 1, 2 and 5 × a power of ten that is no less than `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    for step in [1.0, 2.0, 5.0] {
        if step * power >= least * (1.0 - 1e-9) {
            return step * power;
        }
    }
    10.0 * power
}

fn number(value: f64, step: f64) -> String {
    if step >= 1.0 && step.fract() < 1e-9 {
        return whole(value);
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks().iter().map(|(_, l)| l.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(&Scale::linear(40.0)), ["0", "10", "20", "30", "40"]);
        assert_eq!(
            labels(&Scale::linear(18352.0)),
            ["0", "5,000", "10,000", "15,000", "20,000"]
        );
        assert_eq!(labels(&Scale::exact(451.5)), ["0", "200", "400"]);
        assert_eq!(
            labels(&Scale::log_secs([0.02, 7.0])),
            ["10 ms", "100 ms", "1 s", "10 s"]
        );
        assert_eq!(
            labels(&Scale::percentiles(100, false)),
            ["p0", "p50", "p75", "p90", "p95", "p99"]
        );
    }

    #[test]
    fn percentiles_get_room_by_decades() {
        let scale = Scale::percentiles(1000, true);
        assert!((scale.at(0.9) - 1.0 / 3.0).abs() < 1e-6);
        assert!((scale.at(0.99) - 2.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn any_value_lies_on_the_axis() {
        let odd = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -1.0,
            0.0,
            1e308,
            1e-308,
        ];
        for high in odd {
            let all = [
                Scale::linear(high),
                Scale::exact(high),
                Scale::log_secs([high]),
                Scale::between(1.0, high),
            ];
            for scale in all {
                assert!(scale.ticks().len() < 20);
                assert!(
                    odd.iter().all(|v| (0.0..=1.0).contains(&scale.at(*v))),
                    "{scale:?}"
                );
            }
        }
    }
}
