//! What a team submits: stages of rounds, each a number of equal Jobs. All times are already compressed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CARD_MEMORY_MIB, CARDS_PER_NODE};

/// A named part of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// Name, e.g. `explore`.
    pub name: String,
    /// Its rounds in order.
    pub rounds: Vec<Round>,
}

impl Stage {
    /// All that is submitted in it, in order.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.rounds.iter().flat_map(|round| &round.groups)
    }
}

/// Jobs submitted at the same instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// When.
    pub start: RoundStart,
    /// What is submitted, in submission order. A mixed burst has several groups.
    pub groups: Vec<Group>,
    /// Submit one of each group in turn (first of each, second of each, …) and not group by group.
    pub interleave: bool,
}

/// A number of equal Jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// How many.
    pub count: u32,
    /// What each asks for.
    pub request: Request,
    /// How long each runs once its pod runs, seconds; `None` if until the end of the run.
    pub run_secs: Option<f64>,
    /// As which object each is submitted.
    pub via: Via,
}

impl Group {
    /// Whether it can be in an ideal schedule: it asks for whole cards and ends.
    #[must_use]
    pub(crate) fn has_ideal(&self) -> bool {
        self.request.gpumem_mib.is_none() && self.run_secs.is_some()
    }
}

/// When a round is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundStart {
    /// This many seconds after the run's clock starts.
    AtSecs(f64),
    /// This many seconds after every Job of the round before has finished (a closed loop). For the first round, after the
    /// run's clock starts.
    ThinkSecs(f64),
}

/// As which object something is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// One batch/v1 Job of one pod, suspended until Kueue admits it.
    Job,
    /// A bare pod.
    Pod,
}

/// What one Job asks of the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// `nvidia.com/gpu`: distinct cards, 1 to [`CARDS_PER_NODE`].
    pub cards: u32,
    /// `nvidia.com/gpumem`: MiB on each card; `None` for the whole card.
    pub gpumem_mib: Option<u32>,
    /// `nvidia.com/gpucores`: percent of each card.
    pub gpucores: Option<u32>,
}

impl Request {
    /// Name of the request's class in records and tables: `whole-card`, `whole-machine`, `tenth`, `4-card`, or `slice` for
    /// any other part of a card.
    #[must_use]
    pub fn class(&self) -> String {
        match (self.cards, self.gpumem_mib) {
            (1, None) => "whole-card".into(),
            (CARDS_PER_NODE, None) => "whole-machine".into(),
            (n, None) => format!("{n}-card"),
            (1, Some(mib)) if mib == CARD_MEMORY_MIB / 10 => "tenth".into(),
            (_, Some(_)) => "slice".into(),
        }
    }
}
