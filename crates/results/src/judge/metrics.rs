//! Values of a run by name: `<team>.<metric>` or `<team>.<class>.<metric>`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::placements;
use crate::run_folder::{
    Attempt, Cause, Latency, Percentile, Placement, Record, RunSummary, Source, TenantSummary,
};
use plan::expect::Metric;

/// A metric's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Known.
    Is(f64),
    /// Larger than this: it falls on a sample that was still waiting when the observation ended.
    Over(f64),
}

impl Amount {
    /// A percentile's; none with too few samples.
    #[must_use]
    pub fn of(percentile: Percentile) -> Option<Self> {
        match percentile {
            Percentile::Secs(secs) => Some(Self::Is(secs)),
            Percentile::Over { over } => Some(Self::Over(over)),
            Percentile::TooFew => None,
        }
    }

    /// What is known for certain: the value, or what it exceeds.
    #[must_use]
    pub fn at_least(self) -> f64 {
        match self {
            Self::Is(value) | Self::Over(value) => value,
        }
    }

    /// By value; what is over a value comes after the value itself.
    #[must_use]
    pub fn order(a: &Self, b: &Self) -> Ordering {
        let over = |x: &Self| matches!(x, Self::Over(_));
        a.at_least()
            .total_cmp(&b.at_least())
            .then(over(a).cmp(&over(b)))
    }
}

impl From<Amount> for Percentile {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Is(secs) => Self::Secs(secs),
            Amount::Over(over) => Self::Over { over },
        }
    }
}

/// Values by name. What a run does not have (too few samples, an unfinished makespan) is absent.
pub type Values = BTreeMap<String, Amount>;

/// Name of a metric of a team, of one class of a team's requests, or of a run.
#[must_use]
pub fn key(tenant: &str, class: Option<&str>, metric: Metric) -> String {
    match class {
        _ if metric.of_run() => metric.name().to_owned(),
        Some(class) => format!("{tenant}.{class}.{}", metric.name()),
        None => format!("{tenant}.{}", metric.name()),
    }
}

/// Name of the number of requests submitted or due, of a team or of one class: what [`Metric::BoundCount`] is out of.
pub const SUBMITTED: &str = "submitted_count";

/// Name of the mean number of cards of the whole cluster on which no pod was bound.
pub const IDLE_CARDS: &str = "idle_cards";

/// What the supervisor calls the cause of an exit for a lost Lease.
const LEASE_LOST: &str = Cause::LeaseLost.name();

/// Every metric of a run. `records` are the run's own.
#[must_use]
pub fn metrics(run: &RunSummary, records: &[Record]) -> Values {
    let mut all = Values::new();
    if let Some(idle) = run.idle_card_seconds.filter(|_| run.observed_secs > 0.0) {
        all.insert(IDLE_CARDS.to_owned(), Amount::Is(idle / run.observed_secs));
    }
    let exits = run.evidence.has(Source::ComponentExits);
    let restarts: u32 = run.restarts.values().sum();
    let mut of_run = |metric, value: f64| {
        if exits {
            all.insert(key("", None, metric), Amount::Is(value));
        }
    };
    of_run(Metric::Restarts, f64::from(restarts));
    if run.observed_secs > 0.0 {
        let hours = run.observed_secs / 3600.0;
        of_run(Metric::RestartsPerHour, f64::from(restarts) / hours);
    }
    // An older headroom counted restarts and kept no causes.
    if restarts == 0 || !run.restart_causes.is_empty() {
        let causes = run.restart_causes.values().flatten();
        let lost = causes.filter(|(cause, _)| cause.as_str() == LEASE_LOST);
        of_run(
            Metric::LeasesLost,
            f64::from(lost.map(|(_, n)| n).sum::<u32>()),
        );
    }
    for team in run.tenants.iter().filter(|t| t.submitted > 0) {
        let own: Vec<&Record> = records.iter().filter(|r| r.tenant == team.name).collect();
        of_team(&mut all, team, &own);
        let placements: Vec<&Placement> = run
            .placements
            .iter()
            .filter(|l| l.tenant == team.name)
            .collect();
        if !placements.is_empty() {
            placements::put(&mut all, &team.name, &placements);
        }
        for (class, phases) in &team.latency {
            let Some(bound) = phases.get("bound") else {
                continue;
            };
            of_class(&mut all, &team.name, class, bound, phases.get("useful"));
        }
    }
    all
}

fn of_team(all: &mut Values, team: &TenantSummary, records: &[&Record]) {
    let mut put = |metric, value: Option<f64>| {
        if let Some(value) = value {
            all.insert(key(&team.name, None, metric), Amount::Is(value));
        }
    };
    let cards = &team.card_seconds;
    put(Metric::MakespanSecs, team.makespan_secs);
    put(Metric::CardSecondsReserved, cards.reserved);
    put(Metric::CardSecondsAdmitted, Some(cards.admitted));
    put(Metric::CardSecondsBound, Some(cards.bound));
    put(Metric::CardSecondsIdeal, Some(cards.ideal));
    put(Metric::Evictions, Some(f64::from(team.evictions)));
    // An older headroom counted evictions and billed none.
    let bill = Some(&team.bill).filter(|b| team.evictions == 0 || b.evictions() > 0);
    put(Metric::CardSecondsLost, bill.map(|b| b.lost_card_seconds));
    let waited = bill.map(|b| b.waited_card_seconds);
    put(Metric::CardSecondsWaited, waited);
    let bound: u64 = team
        .latency
        .values()
        .filter_map(|phases| phases.get("bound"))
        .map(|bound| bound.count.saturating_sub(bound.censored))
        .sum();
    put(Metric::BoundCount, Some(count(bound)));
    let submitted = Amount::Is(f64::from(team.submitted));
    let (requests, held) = at_once(records);
    put(Metric::AdmittedAtOnce, Some(f64::from(requests)));
    put(Metric::AdmittedCardsAtOnce, Some(f64::from(held)));
    all.insert(format!("{}.{SUBMITTED}", team.name), submitted);
}

fn of_class(all: &mut Values, team: &str, class: &str, bound: &Latency, useful: Option<&Latency>) {
    all.insert(
        format!("{team}.{class}.{SUBMITTED}"),
        Amount::Is(count(bound.count)),
    );
    let mut put = |metric, amount| all.insert(key(team, Some(class), metric), amount);
    put(
        Metric::BoundCount,
        Amount::Is(count(bound.count.saturating_sub(bound.censored))),
    );
    let bound = [
        (Metric::BoundP50Secs, bound.p50),
        (Metric::BoundP95Secs, bound.p95),
    ];
    let useful = useful.into_iter().flat_map(|useful| {
        [
            (Metric::UsefulP50Secs, useful.p50),
            (Metric::UsefulP95Secs, useful.p95),
        ]
    });
    for (metric, percentile) in bound.into_iter().chain(useful) {
        if let Some(amount) = Amount::of(percentile) {
            put(metric, amount);
        }
    }
}

/// Most requests, and most cards, that held quota at the same time.
fn at_once(records: &[&Record]) -> (u32, u32) {
    let mut steps: Vec<(f64, bool, u32)> = Vec::new();
    for record in records {
        let cards = record.request.cards;
        for Attempt {
            admitted_secs,
            released_secs,
            ..
        } in &record.attempts
        {
            if let Some(from) = admitted_secs {
                steps.push((*from, true, cards));
                steps.push((released_secs.unwrap_or(f64::INFINITY), false, cards));
            }
        }
    }
    // What is given back at an instant is free at that instant.
    steps.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most) = ((0_u32, 0_u32), (0, 0));
    for (_, taken, cards) in steps {
        if taken {
            now = (now.0 + 1, now.1.saturating_add(cards));
            most = (most.0.max(now.0), most.1.max(now.1));
        } else {
            // A damaged record may give back before it takes.
            now = (now.0.saturating_sub(1), now.1.saturating_sub(cards));
        }
    }
    most
}

/// Medians of the runs' metrics; of an even number of runs the lower of the two in the middle, so that a median is always
/// a metric that was measured.
#[must_use]
pub fn medians(runs: &[&Values]) -> Values {
    let mut all: BTreeMap<&String, Vec<Amount>> = BTreeMap::new();
    for (key, amount) in runs.iter().flat_map(|run| run.iter()) {
        all.entry(key).or_default().push(*amount);
    }
    let mut medians: Values = all
        .into_iter()
        .map(|(key, mut values)| {
            values.sort_by(Amount::order);
            (key.clone(), values[(values.len() - 1) / 2])
        })
        .collect();
    placements::pool(&mut medians, runs);
    medians
}

/// Counts here are far below 2⁵².
#[allow(clippy::cast_precision_loss)] // as said
fn count(n: u64) -> f64 {
    n as f64
}
