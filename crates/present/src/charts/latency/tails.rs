//! Bind latency of a run in a few words.

use std::collections::BTreeMap;

use super::super::material::RunMaterial;
use crate::text::{joined, percentile};
use plan::metric::Phase;
use results::run_folder::{Latency, Percentile};

/// Bind latency, class by class: `whole-card p95: dedicated 963 ms, shared 979 ms`. The class with
/// most requests first, at most `most` classes and four teams of each.
pub fn tails(run: &RunMaterial, most: usize) -> Option<String> {
    // Requests in all, and each team with its own.
    type Class<'a> = (u64, Vec<(&'a str, &'a Latency)>);
    let mut classes: BTreeMap<&str, Class> = BTreeMap::new();
    for team in run.working() {
        for (class, phases) in &team.latency {
            if let Some(bound) = phases.get(&Phase::BindLatency) {
                let entry = classes.entry(class).or_default();
                entry.0 = entry.0.saturating_add(bound.count);
                entry.1.push((&team.name, bound));
            }
        }
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    let parts = classes
        .into_iter()
        .take(most)
        .filter_map(|(class, (_, teams))| {
            let p95 = teams.iter().all(|(_, l)| l.p95 != Percentile::TooFew);
            let value = |l: &Latency| percentile(if p95 { l.p95 } else { l.max });
            let each = teams.iter().take(4);
            let each = each.filter_map(|(team, l)| Some(format!("{team} {}", value(l)?)));
            let each = joined(each, ", ");
            let name = if p95 { "p95" } else { "longest" };
            (!each.is_empty()).then(|| format!("{class} {name}: {each}"))
        });
    let parts = joined(parts, "; ");
    Some(parts).filter(|parts| !parts.is_empty())
}
