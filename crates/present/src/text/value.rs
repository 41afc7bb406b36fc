//! A metric's value with its unit and its censoring: `963 ms`, `> 90 s`, `18,352 card·s`.

use super::number::{percent, secs, trimmed, whole};
use plan::metric::{Metric, MetricKey, Of, Unit};
use results::metrics::Amount;
use results::run_folder::{Percentile, Spread};

/// A number in a unit.
pub fn number(unit: Unit, value: f64) -> String {
    let with = |text: &str| format!("{text} {}", unit.symbol());
    match unit {
        Unit::Secs => secs(value),
        Unit::Share => percent(value),
        Unit::CardSeconds => with(&whole(value)),
        Unit::Count => decimals(value),
        _ if unit.symbol().is_empty() => format!("{value:.2}"),
        _ => with(&decimals(value)),
    }
}

/// Whole, or with two decimals where they say anything.
fn decimals(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1000.0 {
        whole(value)
    } else {
        trimmed(&format!("{value:.2}")).to_owned()
    }
}

/// A value; of a censored one what it exceeds.
pub fn amount(unit: Unit, value: Amount) -> String {
    match value {
        Amount::Is(v) => number(unit, v),
        Amount::Over(v) => format!("> {}", number(unit, v)),
    }
}

/// A percentile of times; `None` with too few samples.
pub fn percentile(value: Percentile) -> Option<String> {
    Some(amount(Unit::Secs, Amount::of(value)?))
}

/// What repeats come to: the value of the arm, and in brackets the range where it differs when printed:
/// `451.5 s (449.8 s – 455 s)`.
pub fn spread(unit: Unit, of_arm: Amount, [min, max]: [Amount; 2]) -> String {
    let [of_arm, min, max] = [of_arm, min, max].map(|v| amount(unit, v));
    if min == max {
        of_arm
    } else {
        format!("{of_arm} ({min} – {max})")
    }
}

/// The same of what a summary says of an arm; `None` with too few samples.
pub fn spread_of(unit: Unit, of: &Spread) -> Option<String> {
    let [median, min, max] = [of.median, of.min, of.max].map(Amount::of);
    Some(spread(unit, median?, [min?, max?]))
}

/// What a metric is of and its name, where the team stands elsewhere: `whole-card: bind latency, p95`.
pub fn name(key: &MetricKey) -> String {
    let name = key.row().name;
    match key.class_name() {
        Some(class) => format!("{class}: {name}"),
        None => name.to_owned(),
    }
}

/// Team or component that a metric is of; empty for one of the run.
pub fn owner(key: &MetricKey) -> &str {
    match &key.of {
        Of::Component(component) => component,
        _ => key.team_name().unwrap_or_default(),
    }
}

/// What `print` says of a metric, with what it is out of: `38 of 40` requests bound.
pub fn out_of(key: &MetricKey, print: impl Fn(&MetricKey) -> Option<String>) -> Option<String> {
    let value = print(key)?;
    if key.metric != Metric::BoundCount {
        return Some(value);
    }
    let all = print(&key.with(Metric::SubmittedCount));
    Some(all.map_or(value.clone(), |all| format!("{value} of {all}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_its_unit_and_its_censoring() {
        assert_eq!(amount(Unit::Secs, Amount::Over(90.0)), "> 90 s");
        assert_eq!(
            percentile(Percentile::Over { over: 90.0 }).unwrap(),
            "> 90 s"
        );
        assert_eq!(percentile(Percentile::TooFew), None);
        let all = [
            (Unit::CardSeconds, 18352.0, "18,352 card·s"),
            (Unit::Cards, 280.0, "280 cards"),
            (Unit::Cards, 2.25, "2.25 cards"),
            (Unit::Share, 0.47, "47 %"),
            (Unit::PerHour, 4.125, "4.12 /h"),
            (Unit::Ms, 21.0, "21 ms"),
            (Unit::Calls, 9.0, "9.00"),
            (Unit::Count, 1200.0, "1,200"),
        ];
        for (unit, value, text) in all {
            assert_eq!(number(unit, value), text);
        }
    }

    #[test]
    fn repeats_show_their_range_and_never_hide_what_is_over() {
        let [low, high] = [Amount::Is(80.0), Amount::Over(90.0)];
        assert_eq!(
            spread(Unit::Secs, high, [low, high]),
            "> 90 s (80 s – > 90 s)"
        );
        assert_eq!(spread(Unit::Secs, low, [low, low]), "80 s");
    }

    #[test]
    fn what_was_bound_is_out_of_what_was_submitted() {
        let key = MetricKey::team("shared", Metric::BoundCount);
        let print = |of: &MetricKey| Some((if *of == key { "38" } else { "40" }).to_owned());
        assert_eq!(out_of(&key, print).unwrap(), "38 of 40");
    }
}
