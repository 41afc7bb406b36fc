//! The metrics: one catalogue, a row each. Whatever prints, judges, compares or documents a metric reads its row.
//!
//! In: nothing. Out: [`CATALOGUE`], [`Metric`] and [`MetricKey`], the name of a metric of a run, a team, a class of its
//! requests or a component. Values are not here: crate `results` has one extractor for each metric.

mod catalogue;
pub mod document;
mod key;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{nearest, shorten};
pub use catalogue::{CATALOGUE, Metric, Phase};
pub use key::{KeyError, MetricKey, Of};

/// What the catalogue says of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The metric.
    pub metric: Metric,
    /// Its name in files. It never changes its meaning.
    pub id: &'static str,
    /// Names it had in files of an older headroom.
    pub aliases: &'static [&'static str],
    /// The name that people read.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// What it is, in a sentence.
    pub definition: &'static str,
    /// What there is one value of.
    pub scope: Scope,
    /// Which way it should go.
    pub better: Better,
    /// How the repeats of an arm become one value.
    pub repeats: Repeats,
    /// What may be done with it.
    pub used: Use,
    /// Of a latency: which, and which value of its distribution.
    pub latency: Option<(Phase, Stat)>,
}

/// Unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Secs,
    /// Milliseconds.
    Ms,
    /// Cards × seconds.
    CardSeconds,
    /// A number of things.
    Count,
    /// Cards.
    Cards,
    /// API calls for each bound pod.
    Calls,
    /// Events an hour.
    PerHour,
    /// Events a second.
    PerSec,
    /// A share, 0 to 1.
    Share,
    /// MiB.
    Mib,
}

impl Unit {
    /// What stands behind a number; empty for counts and shares.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        self.texts().0
    }

    /// The unit in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.texts().1
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Secs => ("s", "seconds"),
            Self::Ms => ("ms", "milliseconds"),
            Self::CardSeconds => ("card·s", "card-seconds"),
            Self::Count => ("", "count"),
            Self::Cards => ("cards", "cards"),
            Self::Calls => ("", "calls per pod"),
            Self::PerHour => ("/h", "per hour"),
            Self::PerSec => ("/s", "per second"),
            Self::Share => ("", "share, 0 to 1"),
            Self::Mib => ("MiB", "MiB"),
        }
    }
}

/// What there is one value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The run.
    Run,
    /// Each team.
    Team,
    /// Each team, and each class of its requests.
    TeamAndClass,
    /// Each class of a team's requests.
    Class,
    /// Each component.
    Component,
}

/// Which way a metric should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Any change is for the worse: a metric that should come out the same.
    Same,
    /// Neither: it says what was asked for, or something that cuts both ways.
    Neither,
}

/// How the repeats of an arm become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// The median; of an even number the lower of the two in the middle, so that it is always a value that was measured.
    Median,
    /// All runs are counted together: of a rare event the median of runs says nothing.
    Pooled,
    /// The worst of the runs.
    Worst,
}

/// What may be done with a metric. Each allows what follows it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It is shown.
    Show,
    /// It is compared, and may be declared for comparison.
    Compare,
    /// `expect` may name it.
    Judge,
}

/// A value of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stat {
    /// Median.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// Largest.
    Max,
}

impl Metric {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        // The catalogue and the enum are one list.
        &CATALOGUE[self as usize]
    }

    /// Its name in files.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// The metric called `id`, today or in files of an older headroom.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        let called = |row: &&Row| row.id == id || row.aliases.contains(&id);
        CATALOGUE.iter().find(called).map(|row| row.metric)
    }

    /// The metric of a latency.
    #[must_use]
    pub fn latency(phase: Phase, stat: Stat) -> Option<Self> {
        let row = CATALOGUE.iter().find(|r| r.latency == Some((phase, stat)));
        row.map(|row| row.metric)
    }

    /// Whether it is of the whole run and of no team.
    #[must_use]
    pub fn of_run(self) -> bool {
        self.row().scope == Scope::Run
    }

    /// Whether it can be had for one class of request.
    #[must_use]
    pub fn by_class(self) -> bool {
        matches!(self.row().scope, Scope::Class | Scope::TeamAndClass)
    }
}

/// That no metric is called so, and which one may be meant.
fn unknown(id: &str) -> String {
    let near = nearest(id, CATALOGUE.iter().map(|row| row.id));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
    format!(
        "{:?} is no metric{near} (docs/metrics.md lists them)",
        shorten(id)
    )
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = Cow::<'de, str>::deserialize(deserializer)?;
        Self::by_id(&id).ok_or_else(|| D::Error::custom(unknown(&id)))
    }
}

impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    /// Of the metrics that `expect` may name.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let judged = CATALOGUE.iter().filter(|row| row.used == Use::Judge);
        let each: Vec<Schema> = judged
            .map(|row| json_schema!({ "const": row.id, "description": row.definition }))
            .collect();
        json_schema!({ "description": "A metric of the catalogue, docs/metrics.md.", "oneOf": each })
    }
}
