//! Which metrics a table lists, and in which order: the catalogue's.

use plan::metric::{CATALOGUE, Metric, MetricKey, Of, Phase, Row, Scope, Use};
use results::metrics::Amount;

/// Metrics of a team, then those of each of its classes of request.
pub fn of_team<'a>(team: &str, classes: impl IntoIterator<Item = &'a str>) -> Vec<MetricKey> {
    let own = |row: &&Row| matches!(row.scope, Scope::Team | Scope::TeamAndClass);
    let own = CATALOGUE.iter().filter(own);
    let mut keys: Vec<MetricKey> = own.map(|row| MetricKey::team(team, row.metric)).collect();
    for class in classes {
        let of_class = CATALOGUE.iter().filter(|row| row.metric.by_class());
        keys.extend(of_class.map(|row| MetricKey::class(team, class, row.metric)));
    }
    keys
}

/// Metrics of the run.
pub fn of_run() -> impl Iterator<Item = MetricKey> {
    let own = CATALOGUE.iter().filter(|row| row.metric.of_run());
    own.map(|row| MetricKey::run(row.metric))
}

/// Metrics of components, as rows of the catalogue.
pub fn of_components() -> impl Iterator<Item = &'static Row> {
    CATALOGUE.iter().filter(|row| row.scope == Scope::Component)
}

/// The components that `keys` are of.
pub fn components<'a>(keys: impl Iterator<Item = &'a MetricKey>) -> Vec<&'a str> {
    let of_components = keys.filter_map(|key| match &key.of {
        Of::Component(name) => Some(name.as_str()),
        _ => None,
    });
    let mut names: Vec<&str> = of_components.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Spans that a terminal has room for.
const BRIEF: [Phase; 5] = [
    Phase::BindLatency,
    Phase::SchedulingLatency,
    Phase::Useful,
    Phase::Prepare,
    Phase::Termination,
];

/// Whether a terminal has room for it: no span but the main ones, nothing that host and harness measured of themselves.
pub fn is_brief(metric: Metric) -> bool {
    let row = metric.row();
    match row.latency {
        Some((phase, _)) => BRIEF.contains(&phase),
        None => row.used >= Use::Compare || row.scope != Scope::Run,
    }
}

/// Whether a value is worth a line. What a team has nothing of, such as loans, is not; that nothing was bound is.
pub fn is_worth(metric: Metric, value: Option<Amount>) -> bool {
    match metric {
        // It stands beside what was bound.
        Metric::SubmittedCount => false,
        Metric::BoundCount => value.is_some(),
        _ => value.is_some_and(|v| v != Amount::Is(0.0)),
    }
}
