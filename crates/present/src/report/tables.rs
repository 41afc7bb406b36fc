//! A session's metrics as rows: measured, published, ratio.

use serde::Serialize;

use super::played::played;
use crate::charts::metrics::Repeats;
use crate::charts::names::{Unit, words, words_with};
use crate::charts::{Material, RunMaterial};
use plan::DataPlanePlan;

/// A metric of a team in an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Team.
    pub team: String,
    /// The metric in words.
    pub metric: String,
    /// The median over repeats, with its unit and the range.
    pub measured: String,
    /// What was published, with its unit.
    pub published: Option<String>,
    /// Measured ÷ published.
    pub ratio: Option<String>,
}

/// The rows of an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmTable {
    /// The arm.
    pub arm: String,
    /// Number of its runs.
    pub runs: usize,
    /// What was played on its machines, where anything was.
    pub played: Option<String>,
    /// Values that were published.
    pub published: Vec<Row>,
    /// Every metric.
    pub all: Vec<Row>,
}

/// Values of every team.
const ALWAYS: [&str; 10] = [
    "makespan_secs",
    "ideal_secs",
    "card_seconds_reserved",
    "card_seconds_admitted",
    "card_seconds_bound",
    "card_seconds_running",
    "card_seconds_useful",
    "card_seconds_borrowed",
    "card_seconds_lent",
    "card_seconds_ideal",
];

/// Values of every class of request.
const BY_CLASS: [&str; 13] = [
    "bound_count",
    "bound_p50_secs",
    "bound_p95_secs",
    "bound_p99_secs",
    "bound_max_secs",
    "useful_p50_secs",
    "useful_p95_secs",
    "useful_max_secs",
    "prepare_p50_secs",
    "prepare_p95_secs",
    "prepare_max_secs",
    "stop_p50_secs",
    "stop_max_secs",
];

/// The tables of every arm.
pub fn tables(material: &Material) -> Vec<ArmTable> {
    let arms = material.arms().into_iter();
    arms.map(|arm| {
        let all = rows(material, arm);
        ArmTable {
            arm: arm.to_owned(),
            runs: material
                .runs
                .iter()
                .filter(|r| r.summary.arm == arm)
                .count(),
            played: data_plane(material, arm).map(played),
            published: all
                .iter()
                .filter(|r| r.published.is_some())
                .cloned()
                .collect(),
            all,
        }
    })
    .collect()
}

/// What was played on the machines of an arm.
pub(super) fn data_plane<'a>(material: &'a Material, arm: &str) -> Option<&'a DataPlanePlan> {
    let mut own = material.runs.iter().filter(|r| r.summary.arm == arm);
    own.find_map(RunMaterial::data_plane)
}

fn rows(material: &Material, arm: &str) -> Vec<Row> {
    let Some(run) = material.runs.iter().find(|r| r.summary.arm == arm) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for team in &run.summary.tenants {
        let plan = run
            .run
            .info
            .plan
            .tenants
            .iter()
            .find(|t| t.name == team.name);
        let mut keys: Vec<String> = ALWAYS.map(String::from).into();
        if team.evictions > 0 {
            keys.push("evictions".into());
        }
        for class in team.latency.keys() {
            keys.extend(BY_CLASS.map(|name| format!("{class}.{name}")));
        }
        let extra = plan.into_iter().flat_map(|p| p.published.keys());
        keys.extend(extra.filter(|k| !ALWAYS.contains(&k.as_str())).cloned());
        keys.dedup();
        for key in keys {
            let row = row(material, arm, &team.name, &key);
            // What a team has nothing of, such as loans, is left out unless something was published for it.
            // That nothing of what was asked for was bound is something.
            let asked = key.ends_with(BOUND);
            let worth = row.filter(|r| asked || r.published.is_some() || !is_zero(&r.measured));
            rows.extend(worth.filter(|r| !rows.contains(r)));
        }
    }
    // Published of the whole run, and of no team.
    let arms = material.session.summary.arms.iter();
    let published = arms.filter(|a| a.name == arm).flat_map(|a| &a.published);
    for (key, value) in published.filter(|(key, _)| !key.contains('.')) {
        let repeats = Repeats::of(material, arm, "", key);
        let measured = repeats.as_ref().map(|r| r.print(Unit::of(key)));
        let ratio = repeats
            .and_then(|r| Some(r.known()? / value))
            .filter(|r| r.is_finite());
        rows.push(Row {
            team: String::new(),
            metric: words(key),
            measured: measured.unwrap_or_else(|| "not measured".into()),
            published: Some(Unit::of(key).print(*value)),
            ratio: ratio.map(|r| format!("{r:.3}")),
        });
    }
    rows
}

/// How names of metrics end that are out of something: requests bound.
const BOUND: &str = "bound_count";

/// What was measured of a metric, with what it is out of.
pub(super) fn measured(material: &Material, arm: &str, team: &str, key: &str) -> Option<String> {
    let unit = Unit::of(key);
    let repeats = Repeats::of(material, arm, team, key)?;
    let asked = key
        .strip_suffix(BOUND)
        .map(|class| format!("{class}submitted_count"))
        .and_then(|key| Repeats::of(material, arm, team, &key));
    Some(match asked {
        Some(asked) => format!("{} of {}", repeats.print(unit), asked.print(unit)),
        None => repeats.print(unit),
    })
}

fn is_zero(measured: &str) -> bool {
    measured.starts_with("0 ") || measured == "0"
}

fn row(material: &Material, arm: &str, team: &str, key: &str) -> Option<Row> {
    let unit = Unit::of(key);
    let repeats = Repeats::of(material, arm, team, key);
    let published = material
        .runs
        .iter()
        .filter(|r| r.summary.arm == arm)
        .find_map(|r| r.published(team, key));
    if repeats.is_none() && published.is_none() {
        return None;
    }
    Some(Row {
        team: team.to_owned(),
        metric: words_with(key, data_plane(material, arm).is_some()),
        measured: measured(material, arm, team, key).unwrap_or_else(|| "not measured".into()),
        published: published.map(|p| unit.print(p)),
        ratio: repeats.and_then(|r| r.ratio()).map(|r| format!("{r:.3}")),
    })
}
