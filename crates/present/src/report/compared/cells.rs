//! A row of a comparison in words.

use crate::text::{amount, clean, number, spread};
use compare::{Row, Verdict};
use plan::metric::{Better, Unit};
use results::metrics::Amount;
use results::run_folder::Percentile;

/// A row in words: metric, baseline, new, change, interval, threshold, p, verdict.
pub fn cells(row: &Row) -> [String; 8] {
    let unit = row.metric.row().unit;
    [
        row.metric.words(),
        value(unit, row.base_median, &row.base),
        value(unit, row.new_median, &row.new),
        change(row),
        interval(row),
        threshold(row),
        row.p_corrected.map_or_else(|| "-".into(), p),
        row.verdict.map_or("", verdict_word).into(),
    ]
    .map(|text| clean(&text))
}

/// The median, with the range where there are several runs.
fn value(unit: Unit, median: Percentile, all: &[Percentile]) -> String {
    let Some(middle) = Amount::of(median) else {
        return "-".into();
    };
    let mut values: Vec<Amount> = all.iter().filter_map(|v| Amount::of(*v)).collect();
    values.sort_by(Amount::order);
    match values[..] {
        [first, .., last] => spread(unit, middle, [first, last]),
        _ => amount(unit, middle),
    }
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn signed(unit: Unit, v: f64) -> String {
    let sign = if v < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number(unit, v.abs()))
}

/// How the medians differ.
pub(super) fn change(row: &Row) -> String {
    let text = match (row.change, row.difference) {
        (Some(share), _) => signed_percent(share),
        (None, Some(0.0)) => "0".into(),
        (None, Some(difference)) => signed(row.metric.row().unit, difference),
        (None, None) => return "?".into(),
    };
    if row.at_least {
        format!("at least {text}")
    } else {
        text
    }
}

fn interval(row: &Row) -> String {
    let one = |end: Option<f64>| {
        end.map(|v| {
            if row.interval.relative {
                signed_percent(v)
            } else {
                signed(row.metric.row().unit, v)
            }
        })
    };
    match (one(row.interval.low), one(row.interval.high)) {
        (None, None) => "-".into(),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("{low} or more"),
        (None, Some(high)) => format!("{high} or less"),
    }
}

pub(super) fn threshold(row: &Row) -> String {
    let sign = match row.better {
        Some(Better::Lower) => "+",
        Some(Better::Higher) => "−",
        Some(Better::Same) => "±",
        Some(Better::Neither) | None => "",
    };
    either(
        sign,
        row.threshold_percent,
        row.threshold,
        row.metric.row().unit,
    )
}

/// A threshold in per cent, in the metric's unit, or both.
pub(super) fn either(sign: &str, percent: Option<f64>, own: Option<f64>, unit: Unit) -> String {
    let percent = percent.map(|t| format!("{sign}{t} %"));
    let own = own.map(|t| format!("{sign}{}", number(unit, t)));
    let both: Vec<String> = percent.into_iter().chain(own).collect();
    both.join(" and ")
}

pub(super) fn p(value: f64) -> String {
    if value < 0.001 {
        "< 0.001".into()
    } else {
        format!("{value:.3}")
    }
}

fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "REGRESSION",
        Verdict::Better => "better",
        Verdict::Within => "within the threshold",
        Verdict::Unclear => "beyond the threshold, may be chance",
        Verdict::TooFewRuns => "too few runs",
        Verdict::NotMeasured => "not measured",
        Verdict::NoVerdict => "no verdict",
    }
}
