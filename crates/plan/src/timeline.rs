//! Timeline files: stages of rounds of equal Jobs, in real minutes, at fixed times or as a closed loop.

use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{self, Check};
use super::error::PlanError;
use super::tree::Node;
use super::workload::{Group, Request, Round, RoundStart, Stage, Via};
use super::{decode, source};

/// A timeline file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Timeline {
    /// Name of the timeline.
    pub name: String,
    /// Minutes are divided by this, unless the experiment or `--compress` sets another value.
    pub time_compression: f64,
    /// Closed loop: a round starts this long after the round before it has finished. Without it each round has its own
    /// `at_minutes`.
    pub think_minutes: Option<f64>,
    /// The stages in order.
    pub stages: Vec<TimelineStage>,
}

/// A stage of a timeline.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TimelineStage {
    /// Name, e.g. `explore`.
    pub name: String,
    /// Its rounds in order.
    pub rounds: Vec<TimelineRound>,
}

/// Jobs submitted at the same instant.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TimelineRound {
    /// When, in minutes from the start. Only without `think_minutes`, and never before the round above.
    pub at_minutes: Option<f64>,
    /// How many Jobs.
    pub count: u32,
    /// Whole cards each asks for.
    pub cards: u32,
    /// How long each runs.
    pub minutes: f64,
}

/// Reads and checks a timeline: the embedded one of that name, or a file.
pub(super) fn load(name_or_path: &str) -> Result<Timeline, PlanError> {
    let (name, text) = source::timeline(name_or_path)?;
    from_text(&name, &text)
}

/// Parses and checks a timeline. `name` is its name in errors.
pub(super) fn from_text(name: &str, text: &str) -> Result<Timeline, PlanError> {
    let tree = super::tree::parse(name, text)?;
    let timeline: Timeline = decode::decode(&tree)?;
    timeline.check(&tree)?;
    Ok(timeline)
}

impl Timeline {
    fn check(&self, tree: &Node) -> Result<(), PlanError> {
        let check = Check { tree };
        check.name("name", &self.name)?;
        check.number("time_compression", self.time_compression, check::COMPRESS)?;
        check.number("think_minutes", self.think_minutes, check::THINK_MINUTES)?;
        check.not_empty("stages", self.stages.len())?;
        let mut names = std::collections::BTreeSet::new();
        let mut before = 0.0;
        let mut jobs = 0;
        for (s, stage) in self.stages.iter().enumerate() {
            let path = format!("stages.{s}");
            check.name(&format!("{path}.name"), &stage.name)?;
            let new = names.insert(&stage.name);
            check.require(new, &format!("{path}.name"), || {
                format!("there is already a stage {:?}", stage.name)
            })?;
            check.not_empty(&format!("{path}.rounds"), stage.rounds.len())?;
            for (r, round) in stage.rounds.iter().enumerate() {
                let path = format!("{path}.rounds.{r}");
                self.check_round(check, &path, round, &mut before)?;
                jobs += round.count;
                check.whole(&format!("{path}.count"), jobs, check::COUNT)?;
            }
        }
        Ok(())
    }

    fn check_round(
        &self,
        check: Check<'_>,
        path: &str,
        round: &TimelineRound,
        before: &mut f64,
    ) -> Result<(), PlanError> {
        check.whole(&format!("{path}.count"), round.count, check::COUNT)?;
        check.cards(&format!("{path}.cards"), round.cards)?;
        check.number(&format!("{path}.minutes"), round.minutes, check::MINUTES)?;
        let field = format!("{path}.at_minutes");
        match (self.think_minutes, round.at_minutes) {
            (None, Some(at)) => {
                check.number(&field, at, check::AT_MINUTES)?;
                check.require(at >= *before, &field, || {
                    format!("{at} is before the round above, at {before}")
                })?;
                *before = at;
                Ok(())
            }
            (Some(_), None) => Ok(()),
            (None, None) => Err(check.wrong(
                &field,
                "is missing, and the timeline has no think_minutes either".to_owned(),
            )),
            (Some(_), Some(_)) => Err(check.wrong(
                &field,
                "cannot stand beside think_minutes: a timeline has fixed times or is a closed loop"
                    .to_owned(),
            )),
        }
    }

    /// The stages in seconds at this compression.
    pub(super) fn stages(&self, compress: f64, via: Via) -> Vec<Stage> {
        let secs = |minutes: f64| minutes * 60.0 / compress;
        let round = |round: &TimelineRound| Round {
            start: match (self.think_minutes, round.at_minutes) {
                (Some(think), _) => RoundStart::ThinkSecs(secs(think)),
                (None, at) => RoundStart::AtSecs(secs(at.unwrap_or(0.0))),
            },
            groups: vec![Group {
                count: round.count,
                request: Request {
                    cards: round.cards,
                    gpumem_mib: None,
                    gpucores: None,
                },
                run_secs: Some(secs(round.minutes)),
                via,
            }],
            interleave: false,
        };
        self.stages
            .iter()
            .map(|stage| Stage {
                name: stage.name.clone(),
                rounds: stage.rounds.iter().map(round).collect(),
            })
            .collect()
    }
}
