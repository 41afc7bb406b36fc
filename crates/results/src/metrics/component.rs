//! Metrics of components.

use std::collections::BTreeSet;

use super::{Amount, Source, value};

/// Every component that something is known of.
pub(super) fn names(source: &Source<'_>) -> BTreeSet<String> {
    let summary = source.summary;
    let limits = source.client_limits.into_iter().flat_map(|l| l.keys());
    let calls = summary.calls_per_pod.keys();
    let all = calls
        .chain(summary.restarts.keys())
        .chain(summary.bind_rate.ceiling_per_sec.keys());
    all.chain(limits).cloned().collect()
}

pub(super) fn calls_per_pod(source: &Source<'_>, component: &str) -> Option<Amount> {
    let calls = source.summary.calls_per_pod.get(component)?;
    Some(Amount::Is(calls.values().sum()))
}

pub(super) fn ceiling(source: &Source<'_>, component: &str) -> Option<Amount> {
    let ceilings = &source.summary.bind_rate.ceiling_per_sec;
    ceilings.get(component).copied().map(Amount::Is)
}

pub(super) fn restarts(source: &Source<'_>, component: &str) -> Option<Amount> {
    value::count(*source.summary.restarts.get(component)?)
}

pub(super) fn limit_share(source: &Source<'_>, component: &str) -> Option<Amount> {
    let limit = source.client_limits?.get(component)?.as_ref()?;
    let calls = source.calls.filter(|calls| calls.to_secs > 0.0)?;
    let made: u64 = match calls.total.get(component) {
        Some(whats) => whats.values().sum(),
        None => 0,
    };
    // Counts of calls are far below 2⁵².
    #[allow(clippy::cast_precision_loss)]
    let per_sec = made as f64 / calls.to_secs;
    (limit.qps > 0.0).then(|| Amount::Is(per_sec / limit.qps))
}

pub(super) fn busiest(source: &Source<'_>) -> Option<Amount> {
    let components = source.client_limits?.keys();
    let shares = components.filter_map(|name| limit_share(source, name));
    shares.max_by(Amount::order)
}
