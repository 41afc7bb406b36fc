//! Values over time and over repeats.

use std::collections::BTreeMap;

use super::material::{Material, RunMaterial};
use super::names::Unit;
use crate::text::percentile as percentile_text;
use results::judge::{Amount, Values};
use results::run_folder::{Latency, Percentile, Record, RunSummary};

/// Of which phases what is shown and not judged. Those but the first are there in a run with a data plane only.
const WAITS: [(&str, &[&str]); 4] = [
    ("bound", &["p99", "max"]),
    ("useful", &["max"]),
    ("prepare", &["p50", "p95", "max"]),
    ("stop", &["p50", "max"]),
];

/// Values that are shown but never judged, by the same names.
pub fn more(run: &RunSummary) -> Values {
    let mut all = Values::new();
    for team in &run.tenants {
        let cards = &team.card_seconds;
        let plain = [
            ("ideal_secs", team.ideal_secs),
            ("card_seconds_running", Some(cards.running)),
            ("card_seconds_useful", cards.useful),
            ("card_seconds_borrowed", Some(cards.borrowed)),
            ("card_seconds_lent", Some(cards.lent)),
        ];
        for (name, value) in plain {
            all.extend(value.map(|v| (format!("{}.{name}", team.name), Amount::Is(v))));
        }
        for (class, phases) in &team.latency {
            for (phase, which) in WAITS {
                let Some(wait) = phases.get(phase) else {
                    continue;
                };
                let all_of = [
                    ("p50", wait.p50),
                    ("p95", wait.p95),
                    ("p99", wait.p99),
                    ("max", wait.max),
                ];
                for (name, value) in all_of.into_iter().filter(|(name, _)| which.contains(name)) {
                    let name = format!("{}.{class}.{phase}_{name}_secs", team.name);
                    all.extend(Amount::of(value).map(|amount| (name, amount)));
                }
            }
        }
    }
    all
}

/// What `records` held admitted over time, as steps from 0 to `end_secs`.
pub fn admitted_over_time<'a>(
    records: impl Iterator<Item = &'a Record>,
    end_secs: f64,
) -> Vec<(f64, f64)> {
    let mut changes = Vec::new();
    for record in records {
        let cards = f64::from(record.request.cards);
        for attempt in &record.attempts {
            if let Some(from) = attempt.admitted_secs {
                changes.push((from, cards));
                changes.push((attempt.released_secs.unwrap_or(f64::MAX), -cards));
            }
        }
    }
    steps(changes, end_secs)
}

/// Adds up changes over time to steps from 0 to `end_secs`. Of changes at one instant the losses come first.
pub fn steps(mut changes: Vec<(f64, f64)>, end_secs: f64) -> Vec<(f64, f64)> {
    changes.retain(|(at, _)| at.is_finite());
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut held = 0.0;
    let mut steps = vec![(0.0, 0.0)];
    for (at, change) in changes {
        if at > end_secs {
            break;
        }
        held += change;
        steps.push((at.max(0.0), held));
    }
    steps.push((end_secs, held));
    steps
}

/// A team's metric over the repeats of an arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// The median, of an even number the lower of the two in the middle: always a metric that was measured.
    pub median: Amount,
    /// The values, sorted.
    pub values: Vec<Amount>,
    /// What was published for it.
    pub published: Option<f64>,
}

impl Repeats {
    /// Collects a team's metric, or with no team one of the whole run; `None` if no run of the arm has it.
    pub fn of(material: &Material, arm: &str, team: &str, key: &str) -> Option<Self> {
        let name = match team {
            "" => key.to_owned(),
            _ => format!("{team}.{key}"),
        };
        let runs = || material.runs.iter().filter(|r| r.summary.arm == arm);
        let published = runs().find_map(|run| run.published(team, key));
        // Of placements, which are rare events, the median of runs says nothing: all runs are counted together.
        if key.contains("placed_") {
            let arms = material.session.summary.arms.iter();
            let together = arms
                .filter(|a| a.name == arm)
                .find_map(|a| a.metrics.get(&name));
            if let Some(Percentile::Secs(value)) = together.map(|spread| spread.median) {
                let value = Amount::Is(value);
                return Some(Self {
                    median: value,
                    values: vec![value],
                    published,
                });
            }
        }
        let mut values: Vec<Amount> = runs()
            .filter_map(|run| run.metrics.get(&name).copied())
            .filter(|v| v.at_least().is_finite())
            .collect();
        values.sort_by(Amount::order);
        Some(Self {
            median: *values.get(values.len().checked_sub(1)? / 2)?,
            values,
            published,
        })
    }

    /// `451.5 s`, with the range over the repeats where there are several: `451.5 s (449.8 s – 455.0 s)`.
    pub fn print(&self, unit: Unit) -> String {
        let one = |v: Amount| match v {
            Amount::Is(v) => unit.print(v),
            Amount::Over(v) => format!("> {}", unit.print(v)),
        };
        match self.values[..] {
            [first, .., last] if one(first) != one(last) => {
                format!("{} ({} – {})", one(self.median), one(first), one(last))
            }
            _ => one(self.median),
        }
    }

    /// The median, if it is not only known to be larger than something.
    pub fn known(&self) -> Option<f64> {
        match self.median {
            Amount::Is(v) => Some(v),
            Amount::Over(_) => None,
        }
    }

    /// Measured ÷ published; `None` where the measured is only known to be larger than something.
    pub fn ratio(&self) -> Option<f64> {
        let published = self.published.filter(|p| *p > 0.0)?;
        Some(self.known()? / published)
    }
}

/// How long requests took to be bound, class by class: `whole-card p95: dedicated 963 ms, shared 979 ms`. The class with
/// most requests first, at most `most` classes and four teams of each.
pub fn tails(run: &RunMaterial, most: usize) -> Option<String> {
    // Requests in all, and each team with its own.
    type Class<'a> = (u64, Vec<(&'a str, &'a Latency)>);
    let mut classes: BTreeMap<&str, Class> = BTreeMap::new();
    for team in run.working() {
        for (class, phases) in &team.latency {
            if let Some(bound) = phases.get("bound") {
                let entry = classes.entry(class).or_default();
                entry.0 = entry.0.saturating_add(bound.count);
                entry.1.push((&team.name, bound));
            }
        }
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    let parts: Vec<String> = classes
        .into_iter()
        .take(most)
        .filter_map(|(class, (_, teams))| {
            let p95 = teams.iter().all(|(_, l)| l.p95 != Percentile::TooFew);
            let value = |l: &Latency| percentile_text(if p95 { l.p95 } else { l.max });
            let each: Vec<String> = teams
                .iter()
                .take(4)
                .filter_map(|(team, l)| Some(format!("{team} {}", value(l)?)))
                .collect();
            let name = if p95 { "p95" } else { "longest" };
            (!each.is_empty()).then(|| format!("{class} {name}: {}", each.join(", ")))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::names::words;
    use super::*;

    #[test]
    fn steps_add_up_and_end_at_the_end() {
        let all = steps(vec![(3.0, 8.0), (1.0, 8.0), (3.0, -8.0), (99.0, 1.0)], 10.0);
        assert_eq!(
            all,
            [(0.0, 0.0), (1.0, 8.0), (3.0, 0.0), (3.0, 8.0), (10.0, 8.0)]
        );
    }

    #[test]
    fn metrics_print_with_their_range_and_never_hide_what_is_over() {
        let repeats = Repeats {
            median: Amount::Over(90.0),
            values: vec![Amount::Is(80.0), Amount::Over(90.0)],
            published: Some(29.0),
        };
        assert_eq!(
            repeats.print(Unit::of("bound_p95_secs")),
            "> 90 s (80 s – > 90 s)"
        );
        assert_eq!(repeats.ratio(), None);
        assert_eq!(
            words("whole-card.bound_p95_secs"),
            "whole-card: submit → bound, p95"
        );
    }
}
