//! A row of a comparison in words.

use crate::charts::names::{Unit, in_full};
use crate::text::{clean, secs};
use compare::metrics::Better;
use compare::{Row, Verdict};
use results::judge::Amount;
use results::run_folder::Percentile;

/// A row in words: metric, baseline, new, change, interval, threshold, p, verdict.
pub fn cells(row: &Row) -> [String; 8] {
    [
        in_full(&row.metric),
        value(&row.metric, row.base_median, &row.base),
        value(&row.metric, row.new_median, &row.new),
        change(row),
        interval(row),
        threshold(row),
        row.p_corrected.map_or_else(|| "-".into(), p),
        row.verdict.map_or("", verdict_word).into(),
    ]
    .map(|text| clean(&text))
}

/// A number in the metric's unit.
pub(super) fn number(key: &str, v: f64) -> String {
    match Unit::of(key) {
        Unit::Count if v.fract() != 0.0 => format!("{v:.2}"),
        unit => unit.print(v),
    }
}

/// The median, with the range where there are several runs.
fn value(key: &str, median: Percentile, all: &[Percentile]) -> String {
    let print = |v: Amount| match v {
        Amount::Is(v) => number(key, v),
        Amount::Over(v) => format!("> {}", number(key, v)),
    };
    let Some(middle) = Amount::of(median) else {
        return "-".into();
    };
    let mut values: Vec<Amount> = all.iter().filter_map(|v| Amount::of(*v)).collect();
    values.sort_by(Amount::order);
    match values[..] {
        [first, .., last] if first != last => {
            format!("{} ({} – {})", print(middle), print(first), print(last))
        }
        _ => print(middle),
    }
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn signed(key: &str, v: f64) -> String {
    let sign = if v < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number(key, v.abs()))
}

/// How the medians differ.
pub(super) fn change(row: &Row) -> String {
    let text = match (row.change, row.difference) {
        (Some(share), _) => signed_percent(share),
        (None, Some(0.0)) => "0".into(),
        (None, Some(difference)) => signed(&row.metric, difference),
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
                signed(&row.metric, v)
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
        None => "",
    };
    let percent = row.limit_percent.map(|l| format!("{sign}{l} %"));
    let absolute = row.limit.map(|l| match Unit::of(&row.metric) {
        Unit::Secs => format!("{sign}{}", secs(l)),
        _ => format!("{sign}{l}"),
    });
    percent
        .into_iter()
        .chain(absolute)
        .collect::<Vec<_>>()
        .join(" and ")
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
