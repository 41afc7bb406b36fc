//! Figures by the names under which they are published, and what repeats say about one.

use std::collections::BTreeMap;

use super::material::{Material, RunMaterial};
use super::text::{percentile as percentile_text, secs, whole};
use crate::run_folder::{Latency, Percentile, Record, TenantSummary};

/// A figure's value in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// So much.
    Is(f64),
    /// More than this: it had not happened when the observation ended.
    Over(f64),
}

impl Value {
    /// The number in it.
    #[must_use]
    pub fn number(self) -> f64 {
        match self {
            Self::Is(v) | Self::Over(v) => v,
        }
    }
}

/// The unit that a figure's name ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Secs,
    /// Card-seconds.
    CardSecs,
    /// A number of things.
    Count,
}

impl Unit {
    /// The unit of the figure called `key`.
    #[must_use]
    pub fn of(key: &str) -> Self {
        let name = key.rsplit('.').next().unwrap_or(key);
        if name.starts_with("card_seconds_") {
            Self::CardSecs
        } else if name.ends_with("_secs") {
            Self::Secs
        } else {
            Self::Count
        }
    }

    /// A value with its unit.
    #[must_use]
    pub fn print(self, value: f64) -> String {
        match self {
            Self::Secs => secs(value),
            Self::CardSecs => format!("{} card·s", whole(value)),
            Self::Count => whole(value),
        }
    }
}

/// A figure in words: `whole-card: submit → bound, p95`.
#[must_use]
pub fn words(key: &str) -> String {
    let (class, name) = match key.split_once('.') {
        Some((class, name)) => (Some(class), name),
        None => (None, key),
    };
    let text = match name {
        "makespan_secs" => "makespan",
        "ideal_secs" => "ideal makespan (no control plane)",
        "card_seconds_reserved" => "reserved",
        "card_seconds_admitted" => "admitted (quota held)",
        "card_seconds_bound" => "bound",
        "card_seconds_running" => "running",
        "card_seconds_borrowed" => "borrowed",
        "card_seconds_lent" => "lent",
        "card_seconds_ideal" => "ideal of the timeline",
        "bound_count" => "requests bound",
        "bound_p50_secs" => "submit → bound, p50",
        "bound_p95_secs" => "submit → bound, p95",
        "bound_p99_secs" => "submit → bound, p99",
        "bound_max_secs" => "submit → bound, longest",
        "admitted_at_once" => "requests holding quota at once",
        "admitted_cards_at_once" => "cards holding quota at once",
        other => other,
    };
    match class {
        Some(class) => format!("{class}: {text}"),
        None => text.to_owned(),
    }
}

/// A team's figure in one run; `None` if the run does not have it.
#[must_use]
pub fn value(run: &RunMaterial, team: &TenantSummary, key: &str) -> Option<Value> {
    let (class, name) = match key.split_once('.') {
        Some((class, name)) => (Some(class), name),
        None => (None, key),
    };
    let cards = &team.card_seconds;
    let plain = match name {
        "makespan_secs" => team.makespan_secs,
        "ideal_secs" => team.ideal_secs,
        "card_seconds_reserved" => cards.reserved,
        "card_seconds_admitted" => Some(cards.admitted),
        "card_seconds_bound" => Some(cards.bound),
        "card_seconds_running" => Some(cards.running),
        "card_seconds_borrowed" => Some(cards.borrowed),
        "card_seconds_lent" => Some(cards.lent),
        "card_seconds_ideal" => Some(cards.ideal),
        "evictions" => Some(f64::from(team.evictions)),
        "bound_count" => bound_count(team, class),
        "admitted_at_once" => most_at_once(run, team, |_| 1.0),
        "admitted_cards_at_once" => most_at_once(run, team, |r| f64::from(r.request.cards)),
        _ => return percentile(team, class, name),
    };
    plain.filter(|v| v.is_finite()).map(Value::Is)
}

#[allow(clippy::cast_precision_loss)] // counts far below 2^52
fn bound_count(team: &TenantSummary, class: Option<&str>) -> Option<f64> {
    let of_class = |(name, _): &(&String, _)| class.is_none_or(|c| c == name.as_str());
    let counts: Vec<f64> = team
        .latency
        .iter()
        .filter(of_class)
        .filter_map(|(_, phases)| phases.get("bound"))
        .map(|l| l.count.saturating_sub(l.censored) as f64)
        .collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

/// The class's percentile, or that of the team's only class.
fn percentile(team: &TenantSummary, class: Option<&str>, name: &str) -> Option<Value> {
    let phases = match class {
        Some(class) => team.latency.get(class)?,
        None if team.latency.len() == 1 => team.latency.values().next()?,
        None => return None,
    };
    let name = name.strip_suffix("_secs")?;
    let (phase, percentile) = name.rsplit_once('_')?;
    let latency = phases.get(phase)?;
    let found = match percentile {
        "p50" => latency.p50,
        "p95" => latency.p95,
        "p99" => latency.p99,
        "max" => latency.max,
        _ => return None,
    };
    match found {
        Percentile::Secs(v) if v.is_finite() => Some(Value::Is(v)),
        Percentile::Over { over } if over.is_finite() => Some(Value::Over(over)),
        _ => None,
    }
}

/// The most that the team's records held admitted at one time, each counted as `weight` says.
fn most_at_once(run: &RunMaterial, team: &TenantSummary, weight: fn(&Record) -> f64) -> Option<f64> {
    let own = run.run.records.iter().filter(|r| r.tenant == team.name);
    let steps = admitted_over_time(own, run.summary.observed_secs, weight);
    steps.into_iter().map(|(_, held)| held).reduce(f64::max)
}

/// What `records` held admitted over time, as steps from 0 to `end_secs`.
pub fn admitted_over_time<'a>(
    records: impl Iterator<Item = &'a Record>,
    end_secs: f64,
    weight: fn(&Record) -> f64,
) -> Vec<(f64, f64)> {
    let mut changes = Vec::new();
    for record in records {
        for attempt in &record.attempts {
            if let Some(from) = attempt.admitted_secs {
                changes.push((from, weight(record)));
                changes.push((attempt.released_secs.unwrap_or(end_secs), -weight(record)));
            }
        }
    }
    steps(changes, end_secs)
}

/// Adds up changes over time to steps from 0 to `end_secs`. Of changes at one instant the losses come first.
#[must_use]
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

/// A team's figure over the repeats of an arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// The median; over when it falls on one that is.
    pub median: Value,
    /// The values, sorted.
    pub values: Vec<Value>,
    /// What was published for it.
    pub published: Option<f64>,
}

impl Repeats {
    /// Collects a figure; `None` if no run of the arm has it.
    #[must_use]
    pub fn of(material: &Material, arm: &str, team: &str, key: &str) -> Option<Self> {
        let runs = material.runs.iter().filter(|r| r.summary.arm == arm);
        let mut values = Vec::new();
        let mut published = None;
        for run in runs {
            published = published.or_else(|| run.published(team, key));
            let tenant = run.summary.tenants.iter().find(|t| t.name == team);
            values.extend(tenant.and_then(|t| value(run, t, key)));
        }
        // What is over comes after what is: it took longer than any that ended.
        values.sort_by(|a, b| {
            let over = |v: &Value| matches!(v, Value::Over(_));
            over(a).cmp(&over(b)).then(a.number().total_cmp(&b.number()))
        });
        let median = median(&values)?;
        Some(Self { median, values, published })
    }

    /// `451.5 s`, with the range over the repeats where there are several: `451.5 s (449.8–455.0)`.
    #[must_use]
    pub fn print(&self, unit: Unit) -> String {
        let one = |v: Value| match v {
            Value::Is(v) => unit.print(v),
            Value::Over(v) => format!("> {}", unit.print(v)),
        };
        match self.values[..] {
            [first, .., last] => format!("{} ({} – {})", one(self.median), one(first), one(last)),
            _ => one(self.median),
        }
    }

    /// Measured ÷ published.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let published = self.published.filter(|p| *p > 0.0)?;
        match self.median {
            Value::Is(v) => Some(v / published),
            Value::Over(_) => None,
        }
    }
}

/// The middle of sorted values; between the two middle ones where there are two.
fn median(sorted: &[Value]) -> Option<Value> {
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    if n % 2 == 1 {
        return Some(upper);
    }
    Some(match (sorted[n / 2 - 1], upper) {
        (Value::Is(a), Value::Is(b)) => Value::Is(f64::midpoint(a, b)),
        (lower, Value::Over(_)) => Value::Over(lower.number()),
        (lower, _) => lower,
    })
}

/// How long requests took to be bound, class by class: `whole-card p95: dedicated 963 ms, shared 979 ms`. The class with
/// most requests first, at most two classes and four teams of each.
#[must_use]
pub fn tails(run: &RunMaterial) -> Option<String> {
    let mut classes: BTreeMap<&str, (u64, Vec<(&str, &Latency)>)> = BTreeMap::new();
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
        .take(2)
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
    use super::*;

    #[test]
    fn steps_add_up_and_end_at_the_end() {
        let all = steps(vec![(3.0, 8.0), (1.0, 8.0), (3.0, -8.0), (99.0, 1.0)], 10.0);
        assert_eq!(all, [(0.0, 0.0), (1.0, 8.0), (3.0, 0.0), (3.0, 8.0), (10.0, 8.0)]);
    }

    #[test]
    fn a_median_that_falls_on_a_censored_value_is_over() {
        let is = Value::Is;
        assert_eq!(median(&[is(1.0), is(2.0), Value::Over(90.0)]), Some(is(2.0)));
        assert_eq!(median(&[is(1.0), Value::Over(90.0)]), Some(Value::Over(1.0)));
        assert_eq!(median(&[is(1.0), is(3.0)]), Some(is(2.0)));
        assert_eq!(median(&[]), None);
    }
}
