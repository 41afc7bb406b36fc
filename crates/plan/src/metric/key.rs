//! The name of one value: `<id>`, `<team>.<id>`, `<team>.<class>.<id>` or `<id>.<component>`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Metric, Row, Scope, unknown};

/// Of what a value is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Of {
    /// The run.
    Run,
    /// A team.
    Team(String),
    /// A class of a team's requests.
    Class {
        /// The team.
        team: String,
        /// The class.
        class: String,
    },
    /// A component.
    Component(String),
}

/// A metric, and of what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricKey {
    /// Of what.
    pub of: Of,
    /// The metric.
    pub metric: Metric,
}

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

impl MetricKey {
    /// A metric, and of what it is.
    #[must_use]
    pub fn new(of: Of, metric: Metric) -> Self {
        Self { of, metric }
    }

    /// A metric of the run.
    #[must_use]
    pub fn run(metric: Metric) -> Self {
        Self::new(Of::Run, metric)
    }

    /// A metric of a team.
    #[must_use]
    pub fn team(team: &str, metric: Metric) -> Self {
        Self::new(Of::Team(team.to_owned()), metric)
    }

    /// A metric of a class of a team's requests.
    #[must_use]
    pub fn class(team: &str, class: &str, metric: Metric) -> Self {
        let (team, class) = (team.to_owned(), class.to_owned());
        Self::new(Of::Class { team, class }, metric)
    }

    /// A metric of a component.
    #[must_use]
    pub fn component(component: &str, metric: Metric) -> Self {
        Self::new(Of::Component(component.to_owned()), metric)
    }

    /// The metric as an experiment file names it: with a team, and perhaps a class, unless it is of the whole run.
    #[must_use]
    pub fn of(team: &str, class: Option<&str>, metric: Metric) -> Self {
        match class {
            _ if metric.of_run() => Self::run(metric),
            Some(class) => Self::class(team, class, metric),
            None => Self::team(team, metric),
        }
    }

    /// The key of a team's metric as [`MetricKey::in_team`] wrote it.
    ///
    /// # Errors
    /// If it names no metric.
    pub fn parse_in_team(team: &str, text: &str) -> Result<Self, KeyError> {
        match team {
            "" => text.parse(),
            _ => format!("{team}.{text}").parse(),
        }
    }

    /// The key without its team: `makespan_secs`, `whole-card.bound_count`.
    #[must_use]
    pub fn in_team(&self) -> String {
        let id = self.metric.id();
        match &self.of {
            Of::Class { class, .. } => format!("{class}.{id}"),
            Of::Component(component) => format!("{id}.{component}"),
            Of::Run | Of::Team(_) => id.to_owned(),
        }
    }

    /// Its team, if it has one.
    #[must_use]
    pub fn team_name(&self) -> Option<&str> {
        match &self.of {
            Of::Team(team) | Of::Class { team, .. } => Some(team),
            Of::Run | Of::Component(_) => None,
        }
    }

    /// Its class of request, if it has one.
    #[must_use]
    pub fn class_name(&self) -> Option<&str> {
        match &self.of {
            Of::Class { class, .. } => Some(class),
            _ => None,
        }
    }

    /// The same team or class (or run, or component) with another metric.
    #[must_use]
    pub fn with(&self, metric: Metric) -> Self {
        Self::new(self.of.clone(), metric)
    }

    /// Its metric's row.
    #[must_use]
    pub fn row(&self) -> &'static Row {
        self.metric.row()
    }

    /// What people read: `shared whole-card: bind latency, p95`.
    #[must_use]
    pub fn words(&self) -> String {
        let name = self.row().name;
        match &self.of {
            Of::Run => name.to_owned(),
            Of::Team(team) => format!("{team} {name}"),
            Of::Class { team, class } => format!("{team} {class}: {name}"),
            Of::Component(component) => format!("{name}, {component}"),
        }
    }
}

impl fmt::Display for MetricKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(team) = self.team_name() {
            write!(f, "{team}.")?;
        }
        f.write_str(&self.in_team())
    }
}

impl FromStr for MetricKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        // Of a component: the id stands first. No team is called as a metric is: ids have an underscore, names of
        // teams can't.
        if let Some((id, component)) = text.split_once('.')
            && let Some(metric) = Metric::by_id(id)
            && metric.row().scope == Scope::Component
        {
            return Ok(Self::component(component, metric));
        }
        let (of, id) = text.rsplit_once('.').unwrap_or(("", text));
        let metric = Metric::by_id(id).ok_or_else(|| KeyError(unknown(id)))?;
        let key = match of.split_once('.') {
            _ if id == text => Self::run(metric),
            // A team's name has no dot.
            Some((team, class)) => Self::class(team, class, metric),
            None => Self::team(of, metric),
        };
        let scope = metric.row().scope;
        let fits = match key.of {
            Of::Run => scope == Scope::Run,
            Of::Team(_) => matches!(scope, Scope::Team | Scope::TeamAndClass),
            Of::Class { .. } => matches!(scope, Scope::Class | Scope::TeamAndClass),
            Of::Component(_) => scope == Scope::Component,
        };
        if fits {
            return Ok(key);
        }
        let form = form(metric.row());
        Err(KeyError(format!("{text:?}: {metric} is written {form}")))
    }
}

/// How the keys of a metric look.
pub(super) fn form(row: &Row) -> String {
    let id = row.id;
    match row.scope {
        Scope::Run => id.to_owned(),
        Scope::Team => format!("<team>.{id}"),
        Scope::TeamAndClass => format!("<team>.{id} or <team>.<class>.{id}"),
        Scope::Class => format!("<team>.<class>.{id}"),
        Scope::Component => format!("{id}.<component>"),
    }
}

impl Serialize for MetricKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MetricKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
