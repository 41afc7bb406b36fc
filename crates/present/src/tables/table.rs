//! The table that ends a run: what each team's work took and cost, beside what was published.
//!
//! Pure: from a [`Summary`], a run's metrics and its plan to text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{events, waits};
use crate::listing::{components, is_brief, is_worth, of_components, of_run, of_team};
use crate::text::{amount, name, number, out_of, table};
use plan::Plan;
use plan::metric::{Metric, MetricKey, Row, Unit};
use results::metrics::{Amount, Values};
use results::run_folder::{RunSummary, Summary};

/// Renders one run of a session: what it is, its metrics, what restarted, what disturbed it. `plan` is the run's own.
#[must_use]
pub fn run_table(run: &RunSummary, metrics: &Values, plan: &Plan, session: &Summary) -> String {
    let mut text = format!(
        "{} / {}, repeat {}, compression {}{}\nHAMi: {}\n",
        session.experiment,
        run.arm,
        run.repeat,
        session.compress,
        plan.not_comparable(),
        session.hami.label(),
    );
    if let Some(data_plane) = &plan.data_plane {
        let by = data_plane.compressed_by;
        let _ = writeln!(text, "data plane: played, its seconds divided by {by}");
    }
    if !run.beside.is_empty() {
        let _ = writeln!(
            text,
            "at the same time, on clusters of their own: {}",
            run.beside.join(", ")
        );
    }
    let of_run = of_run().filter(|key| is_brief(key.metric));
    let of_run = of_run.filter_map(|key| Some([name(&key), shown(metrics, &key)?]));
    for table in [
        teams(run, metrics, plan),
        of_components_table(run, metrics),
        table(&["run", ""], 1..2, of_run),
    ] {
        let _ = writeln!(text, "{table}\n");
    }
    let _ = writeln!(text, "restarts: {}", events::restarts(run));
    if let Some(lag) = run.accuracy.watch_lag_ms {
        let _ = writeln!(
            text,
            "watch lag p50/p99/max: {:.1}/{:.1}/{:.1} ms; harness: {:.1} s CPU, {:.0} MiB, {} late submits (worst {:.1} ms)",
            lag.p50,
            lag.p99,
            lag.max,
            run.harness.cpu_secs,
            run.harness.peak_rss_mib,
            run.harness.late_submits,
            run.harness.max_submit_lateness_ms,
        );
    }
    if let Some(sentence) = waits::sentence(run, plan) {
        let _ = writeln!(text, "where time went: {sentence}");
    }
    text += &events::stalls(run);
    text += &events::unplaced(run);
    for disturbance in &run.disturbed {
        let _ = writeln!(
            text,
            "DISTURBED ({}): {} → {}",
            disturbance.kind, disturbance.detail, disturbance.remedy
        );
    }
    text
}

/// What a cell shows when there is nothing to show.
const NOTHING: &str = "-";

/// A value in words, if it is worth a line.
fn shown(metrics: &Values, key: &MetricKey) -> Option<String> {
    let value = metrics.get(key).copied();
    if !is_worth(key.metric, value) {
        return None;
    }
    out_of(key, |key| Some(amount(key.row().unit, *metrics.get(key)?)))
}

/// A column for each team, a row for each metric of any, with what is to be read beside it.
fn teams(run: &RunSummary, metrics: &Values, plan: &Plan) -> String {
    let teams: Vec<&str> = run
        .tenants
        .iter()
        .filter(|t| t.submitted > 0)
        .map(|t| t.name.as_str())
        .collect();
    let mut classes: Vec<&str> = run
        .tenants
        .iter()
        .flat_map(|t| t.latency.keys().map(String::as_str))
        .collect();
    classes.sort_unstable();
    classes.dedup();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut put = |label: String, cells: Vec<Option<String>>| {
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|c| c.unwrap_or(NOTHING.into()));
            rows.push(std::iter::once(label).chain(cells).collect());
        }
    };
    // Of which team does not matter here: each column has its own.
    for key in of_team("", classes)
        .iter()
        .filter(|key| is_brief(key.metric))
    {
        let each = |of: &dyn Fn(&MetricKey) -> Option<String>| -> Vec<Option<String>> {
            teams
                .iter()
                .map(|team| of(&of_team_named(key, team)))
                .collect()
        };
        put(name(key), each(&|key| shown(metrics, key)));
        let published = |key: &MetricKey| published(plan, key);
        let unit = key.row().unit;
        let has = |key: &MetricKey| metrics.contains_key(key);
        put(
            "  published".into(),
            each(&|key| Some(number(unit, published(key).filter(|_| has(key))?))),
        );
        if key.metric == Metric::MakespanSecs {
            let known = |key: &MetricKey| match metrics.get(key) {
                Some(Amount::Is(secs)) => Some(*secs),
                _ => None,
            };
            let dedicated = MetricKey::team("dedicated", key.metric);
            let base = known(&dedicated);
            put("  ÷ dedicated".into(), each(&|key| ratio(known(key), base)));
            let base = published(&dedicated).filter(|_| base.is_some());
            put(
                "  published ÷ dedicated".into(),
                each(&|key| ratio(published(key), base)),
            );
            put(
                share_of_planes(plan).into(),
                each(&|key| {
                    let alone = !plan.shares_machines(key.team_name()?);
                    let over = known(key)? - known(&key.with(Metric::IdealSecs))?;
                    alone.then(|| number(Unit::Secs, over))
                }),
            );
        }
    }
    let header: Vec<&str> = std::iter::once("").chain(teams.iter().copied()).collect();
    table(&header, 1..header.len(), rows)
}

/// The same metric of that team.
fn of_team_named(key: &MetricKey, team: &str) -> MetricKey {
    MetricKey::of(team, key.class_name(), key.metric)
}

fn published(plan: &Plan, key: &MetricKey) -> Option<f64> {
    let team = key.team_name()?;
    let own = plan.tenants.iter().find(|t| t.name == team)?;
    own.published.get(&key.in_team()).copied()
}

/// What is measured beyond the ideal makespan.
fn share_of_planes(plan: &Plan) -> &'static str {
    match plan.data_plane {
        None => "  control plane's share",
        Some(_) => "  control and data plane's share",
    }
}

/// Who spends its client limit on what: the metrics of components, and the most frequent calls.
fn of_components_table(run: &RunSummary, metrics: &Values) -> String {
    let columns: Vec<&Row> = of_components().collect();
    let mut header = vec!["component"];
    header.extend(columns.iter().map(|row| row.name));
    header.push("most of its calls");
    let rows = components(metrics.keys()).into_iter().map(|component| {
        let value = |row: &&Row| {
            let value = metrics.get(&MetricKey::component(component, row.metric));
            value.map_or(NOTHING.into(), |v| amount(row.unit, *v))
        };
        let mut cells = vec![component.to_owned()];
        cells.extend(columns.iter().map(value));
        cells.push(run.calls_per_pod.get(component).map_or(String::new(), most));
        cells
    });
    let numbers = 1..columns.len() + 1;
    table(&header, numbers, rows)
}

/// The three most frequent calls.
fn most(calls: &BTreeMap<String, f64>) -> String {
    let mut by_verb: Vec<(&String, &f64)> = calls.iter().collect();
    by_verb.sort_by(|a, b| b.1.total_cmp(a.1));
    let most = by_verb.iter().take(3);
    let most: Vec<String> = most.map(|(verb, n)| format!("{verb} {n:.2}")).collect();
    most.join(", ")
}

fn ratio(value: Option<f64>, base: Option<f64>) -> Option<String> {
    let ratio = value? / base.filter(|base| *base > 0.0)?;
    Some(format!("{ratio:.3}"))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
