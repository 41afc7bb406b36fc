//! Values' names in words, and the units that they tell.

use crate::text::{percent, secs, whole};

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
pub fn planes(data_plane: bool) -> &'static str {
    if data_plane {
        "control or data plane"
    } else {
        "control plane"
    }
}

/// As [`words`], of a run with or without a data plane.
pub fn words_with(key: &str, data_plane: bool) -> String {
    if data_plane && key == "ideal_secs" {
        return format!("ideal makespan (no {})", planes(true));
    }
    words(key)
}

/// A metric in words: `whole-card: submit → bound, p95`.
pub fn words(key: &str) -> String {
    let (class, name) = match key.split_once('.') {
        Some((class, name)) => (Some(class), name),
        None => (None, key),
    };
    let text = match name {
        "makespan_secs" => "makespan",
        "ideal_secs" => IDEAL,
        "card_seconds_reserved" => "reserved",
        "card_seconds_admitted" => "admitted (quota held)",
        "card_seconds_bound" => "bound",
        "card_seconds_running" => "running",
        "card_seconds_useful" => "at useful work",
        "card_seconds_borrowed" => "borrowed",
        "card_seconds_lent" => "lent",
        "card_seconds_ideal" => "ideal of the timeline",
        "submitted_count" => "requests submitted",
        "bound_count" => "requests bound",
        "bound_p50_secs" => "submit → bound, p50",
        "bound_p95_secs" => "submit → bound, p95",
        "useful_p50_secs" => "submit → useful work, p50",
        "useful_p95_secs" => "submit → useful work, p95",
        "useful_max_secs" => "submit → useful work, longest",
        "prepare_p50_secs" => "bound → useful work, p50",
        "prepare_p95_secs" => "bound → useful work, p95",
        "prepare_max_secs" => "bound → useful work, longest",
        "stop_p50_secs" => "told to stop → cards free, p50",
        "stop_max_secs" => "told to stop → cards free, longest",
        "bound_p99_secs" => "submit → bound, p99",
        "bound_max_secs" => "submit → bound, longest",
        "admitted_at_once" => "requests holding quota at once",
        "card_seconds_lost" => "evicted, to be done again",
        "card_seconds_waited" => "evicted, waited to run again",
        "admitted_cards_at_once" => "cards holding quota at once",
        "evictions" => "evictions",
        "placed_right" => "on the machine cleared for them",
        "placed_free" => "on another machine that was empty",
        "placed_wrong" => "on another machine that was not",
        "placed_never" => "on no machine",
        "not_placed_right" => "not on the machine cleared for them",
        "placed_right_share" => "share on the machine cleared for them",
        "placed_elsewhere_share" => "share on another machine than the one cleared for them",
        "restarts" => "restarts of components",
        "restarts_per_hour" => "restarts of components an hour",
        "clearing_p50_secs" => "clearing begun → bound, p50",
        other => other,
    };
    match class {
        Some(class) => format!("{class}: {text}"),
        None => text.to_owned(),
    }
}

/// A metric by its whole name in words: of a team, of a class of its requests, or of the whole run, in words.
pub fn in_full(key: &str) -> String {
    match key.split_once('.') {
        Some(("calls_per_pod", component)) => format!("API calls a bound pod, {component}"),
        Some((team, rest)) => format!("{team} {}", words(rest)),
        None => match key {
            "leases_lost" => "restarts for a lost Lease".into(),
            "idle_cards" => "cards without a pod, mean".into(),
            "bring_up_secs" => "bring-up".into(),
            "bound_per_sec" => "pods bound a second".into(),
            other => words(other),
        },
    }
}
