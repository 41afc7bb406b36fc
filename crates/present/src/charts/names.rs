//! Values' names in words, and the units that they tell.

use plan::metric::{Metric, MetricKey, Of};

use super::text::{percent, secs, whole};

/// The unit that a metric's name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Secs,
    /// Card-seconds.
    CardSecs,
    /// A number of things.
    Count,
    /// A share of 1.
    Share,
}

impl Unit {
    /// The unit of the metric called `key`.
    #[must_use]
    pub fn of(key: &str) -> Self {
        let name = key.rsplit('.').next().unwrap_or(key);
        if name.starts_with("card_seconds_") {
            Self::CardSecs
        } else if name.ends_with("_secs") {
            Self::Secs
        } else if name.ends_with("_share") {
            Self::Share
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
            Self::Count if value.fract() != 0.0 && value.abs() < 1000.0 => format!("{value:.2}"),
            Self::Count => whole(value),
            Self::Share => percent(value),
        }
    }
}

/// The ideal makespan of a run in which nothing is played on the machines.
const IDEAL: &str = "ideal makespan (no control plane)";

/// What an ideal leaves out, and so what is measured beyond it, of a run with or without a data plane.
#[must_use]
pub fn planes(data_plane: bool) -> &'static str {
    if data_plane {
        "control or data plane"
    } else {
        "control plane"
    }
}

/// As [`words`], of a run with or without a data plane.
#[must_use]
pub fn words_with(key: &str, data_plane: bool) -> String {
    if data_plane && key == "ideal_secs" {
        return format!("ideal makespan (no {})", planes(true));
    }
    words(key)
}

/// A metric in words: `whole-card: submit → bound, p95`.
#[must_use]
pub fn words(key: &str) -> String {
    let (class, name) = match key.split_once('.') {
        Some((class, name)) => (Some(class), name),
        None => (None, key),
    };
    let text = match name {
        "ideal_secs" => IDEAL,
        name => Metric::by_id(name).map_or(name, |m| m.row().name),
    };
    match class {
        Some(class) => format!("{class}: {text}"),
        None => text.to_owned(),
    }
}

/// A metric by its whole name in words: of a team, of a class of its requests, or of the whole run, in words.
#[must_use]
pub fn in_full(key: &str) -> String {
    match key.parse::<MetricKey>().map(|key| key.of) {
        Ok(Of::Team(team) | Of::Class { team, .. }) => {
            let rest = key.strip_prefix(&format!("{team}.")).unwrap_or(key);
            format!("{team} {}", words(rest))
        }
        Ok(Of::Component(component)) => {
            let id = key.strip_suffix(&format!(".{component}")).unwrap_or(key);
            format!("{}, {component}", words(id))
        }
        _ => words(key),
    }
}
