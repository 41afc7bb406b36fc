//! A session's metrics as rows: measured, published, ratio.

use serde::Serialize;

use super::played::played;
use crate::charts::{Material, Measured, RunMaterial};
use crate::listing::{components, is_worth, of_components, of_run, of_team};
use crate::text::{name, number, out_of, owner};
use plan::DataPlanePlan;
use plan::metric::{Better, MetricKey};

/// A metric in an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The metric.
    #[serde(skip)]
    pub key: MetricKey,
    /// The published value.
    #[serde(skip)]
    pub value: Option<f64>,
    /// Team or component that it is of; empty for one of the run.
    pub of: String,
    /// The metric in words.
    pub metric: String,
    /// What it is, in a sentence.
    pub definition: &'static str,
    /// Which way it should go.
    pub better: &'static str,
    /// The value of the arm, with its unit and the range over the repeats.
    pub measured: String,
    /// What was published, with its unit.
    pub published: Option<String>,
    /// Measured ÷ published.
    pub ratio: Option<String>,
}

impl Row {
    /// A row; `measured` says what was, or why nothing.
    pub fn new(
        key: MetricKey,
        measured: String,
        published: Option<f64>,
        ratio: Option<f64>,
    ) -> Self {
        let row = key.row();
        Self {
            of: owner(&key).to_owned(),
            metric: name(&key),
            definition: row.definition,
            better: match row.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Same => "same",
                Better::Neither => "–",
            },
            measured,
            published: published.map(|v| number(row.unit, v)),
            ratio: ratio.map(|r| format!("{r:.3}")),
            value: published,
            key,
        }
    }
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

/// The tables of every arm.
pub fn tables(material: &Material) -> Vec<ArmTable> {
    let arms = material.arms().into_iter();
    arms.map(|arm| {
        let all = rows(material, arm);
        let published = all.iter().filter(|r| r.value.is_some());
        ArmTable {
            arm: arm.to_owned(),
            runs: material.of_arm(arm).len(),
            played: data_plane(material, arm).map(played),
            published: published.cloned().collect(),
            all,
        }
    })
    .collect()
}

/// What was played on the machines of an arm.
pub(super) fn data_plane<'a>(material: &'a Material, arm: &str) -> Option<&'a DataPlanePlan> {
    let own = material.of_arm(arm);
    own.into_iter().find_map(RunMaterial::data_plane)
}

/// In the order of the catalogue: each team's with those of its classes, the components', the run's.
fn rows(material: &Material, arm: &str) -> Vec<Row> {
    let own = material.of_arm(arm);
    let Some(run) = own.first() else {
        return Vec::new();
    };
    let mut keys: Vec<MetricKey> = Vec::new();
    for team in &run.summary.tenants {
        let classes = team.latency.keys().map(String::as_str);
        keys.extend(of_team(&team.name, classes));
    }
    for component in components(own.iter().flat_map(|run| run.metrics.keys())) {
        keys.extend(of_components().map(|row| MetricKey::component(component, row.metric)));
    }
    keys.extend(of_run());
    let rows = keys.into_iter().filter_map(|key| {
        let measured = Measured::of(material, arm, &key);
        let published = material.published(arm, &key);
        let worth = is_worth(key.metric, measured.as_ref().map(|m| m.of_arm));
        (worth || published.is_some()).then(|| {
            let text = in_words(material, arm, &key).unwrap_or_else(|| "not measured".into());
            Row::new(key, text, published, measured.and_then(|m| m.ratio()))
        })
    });
    rows.collect()
}

/// What was measured of a metric, with what it is out of.
pub(super) fn in_words(material: &Material, arm: &str, key: &MetricKey) -> Option<String> {
    out_of(key, |key| {
        Some(Measured::of(material, arm, key)?.print(key.row().unit))
    })
}
