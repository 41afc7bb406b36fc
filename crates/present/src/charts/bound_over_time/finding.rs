//! The title: in as many words as there is room for.

use super::super::theme::{MARGIN, TITLE, WIDTH};
use super::super::words::wrap;
use super::arm::Arm;
use crate::text::joined;
use plan::ClientLimit;

/// `a`, or `a to b` where the values differ when printed: the smallest and the largest.
fn span(mut values: Vec<f64>) -> Option<String> {
    values.sort_by(f64::total_cmp);
    let (first, last) = (values.first()?, values.last()?);
    let [first, last] = [first, last].map(|v| format!("{v:.0}"));
    Some(if first == last {
        first
    } else {
        format!("{first} to {last}")
    })
}

/// Lines of a title that are still readable.
const LINES: usize = 4;

/// Whether a title is shown whole.
pub(super) fn fits(title: &str) -> bool {
    let room = WIDTH.cast_signed() - 2 * MARGIN;
    wrap(title, TITLE, true, room, LINES + 1).len() <= LINES
}

/// Of each arm how many were bound and by when, and what HAMi's client limit allows where that is less than what was asked
/// for. In as many words as there is room for.
pub(super) fn finding(arms: &[Arm]) -> String {
    let each = |arm: &Arm| {
        let limit = arm.allowed().map(|n| {
            let ClientLimit { qps, burst } = arm.limit;
            format!(" (HAMi's limit of {qps} / {burst} allows {n:.0})")
        });
        arm.in_words() + &limit.unwrap_or_default()
    };
    let joined =
        |words: &dyn Fn(&Arm) -> String| format!("Bound: {}", joined(arms.iter().map(words), "; "));
    let allowed = || arms.iter().filter(|a| a.allowed().is_some());
    let mut limits: Vec<String> = allowed()
        .map(|a| format!("{} / {}", a.limit.qps, a.limit.burst))
        .collect();
    limits.dedup();
    let tail = span(allowed().filter_map(Arm::allowed).collect());
    let tail = tail.map(|n| format!(". HAMi's limit of {} allows {n}", limits.join(" or ")));
    let tail = tail.unwrap_or_default();
    let wordings = [
        joined(&each),
        joined(&Arm::in_words) + &tail,
        joined(&Arm::in_short) + &tail,
        joined(&Arm::in_short),
    ];
    let found = wordings.into_iter().find(|title| fits(title));
    found.unwrap_or_else(|| some(arms))
}

/// As many arms as there is room for; each panel says its own.
fn some(arms: &[Arm]) -> String {
    let title = |n: usize| {
        let each = joined(arms.iter().take(n).map(Arm::in_short), "; ");
        format!("Bound: {each}; and {} more arms", arms.len() - n)
    };
    let fitting = (1..arms.len()).rev().map(title).find(|title| fits(title));
    fitting.unwrap_or_else(|| title(arms.len().min(1)))
}
