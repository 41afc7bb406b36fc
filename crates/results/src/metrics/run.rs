//! Metrics of the whole run.

use super::{Amount, Source, value};
use crate::run_folder::{Cause, EvidenceSource};

pub(super) fn restarts(source: &Source<'_>) -> Option<Amount> {
    value::count(total(source)?)
}

/// All restarts, if the components' exits are known.
fn total(source: &Source<'_>) -> Option<u32> {
    let summary = source.summary;
    let each = summary.restarts.values();
    let known = summary.evidence.has(EvidenceSource::ComponentExits);
    known.then(|| each.fold(0_u32, |sum, n| sum.saturating_add(*n)))
}

pub(super) fn restarts_per_hour(source: &Source<'_>) -> Option<Amount> {
    let hours = observed(source)? / 3600.0;
    Some(Amount::Is(f64::from(total(source)?) / hours))
}

pub(super) fn leases_lost(source: &Source<'_>) -> Option<Amount> {
    let causes = &source.summary.restart_causes;
    // An older headroom counted restarts and kept no causes.
    if total(source)? > 0 && causes.is_empty() {
        return None;
    }
    let all = causes.values().flatten();
    let lost = all.filter(|(cause, _)| cause.as_str() == Cause::LeaseLost.name());
    value::count(lost.map(|(_, n)| n).sum())
}

pub(super) fn idle_cards(source: &Source<'_>) -> Option<Amount> {
    Some(Amount::Is(
        source.summary.idle_card_seconds? / observed(source)?,
    ))
}

/// Seconds observed, if any.
fn observed(source: &Source<'_>) -> Option<f64> {
    let secs = source.summary.observed_secs;
    (secs > 0.0).then_some(secs)
}
