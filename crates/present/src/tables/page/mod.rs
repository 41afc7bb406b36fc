//! One page over several experiments: each published metric and each claim, what was measured, whether it holds.
//!
//! In: experiments, what was ordered, how each ended. Out: a [`Page`], as JSON and as Markdown. Pure. What could not be judged
//! stands on the page with the reason; nothing is left out.
//!
//! - [`rows`]: metrics and claims of one experiment
//! - [`folder`]: the page's files
//! - [`markdown`]: the page as text

mod folder;
mod markdown;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use folder::PageError;
use serde::{Deserialize, Serialize};

use crate::text::to_the_second;
use plan::metric::MetricKey;
use plan::{Experiment, Order};
use results::run_folder::{Ended, FailedRun, Percentile};

/// Version of the page's JSON.
pub const SCHEMA: u32 = 3;

/// How an experiment of several ended.
#[derive(Debug)]
pub enum Outcome {
    /// It has a summary, perhaps one with failed runs.
    Ended(Box<Ended>),
    /// Its folder could not be written.
    Failed(String),
}

impl Outcome {
    /// Whether the user cut it short.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        matches!(self, Self::Ended(ended) if ended.interrupted)
    }

    /// Whether it, or a run of it, failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        match self {
            Self::Ended(ended) => ended.failed(),
            Self::Failed(_) => true,
        }
    }

    /// Whether a run of it was disturbed.
    #[must_use]
    pub fn disturbed(&self) -> bool {
        matches!(self, Self::Ended(ended) if ended.disturbed())
    }
}

/// An experiment, what of it was ordered, and how it ended.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// What of it was ordered, or why nothing was.
    pub order: Result<&'a Order, &'a str>,
    /// How it ended; `None`: it has not begun.
    pub outcome: Option<&'a Outcome>,
}

/// The page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of headroom that wrote it.
    pub headroom: String,
    /// The command line.
    pub command: Vec<String>,
    /// The command lines that continued it after it was interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Vec<String>>,
    /// Which HAMi ran, by its label; more than one where the experiment files differ.
    pub hami: Vec<String>,
    /// When the first session started, RFC 3339; null if none did.
    pub started: Option<String>,
    /// Machines of the experiments' clusters, without repetition; arms about other sizes have them, too.
    pub machines: Vec<u32>,
    /// Whether `--quick` chose a compression: a first look only.
    pub quick: bool,
    /// The experiments, in the order they ran.
    pub experiments: Vec<Part>,
}

/// How an experiment went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All of its runs came to their end and nothing disturbed them.
    Done,
    /// All of its runs came to their end; something of the host or the harness disturbed one.
    Disturbed,
    /// It, or a run of it, failed.
    Failed,
    /// The user cut it short.
    Interrupted,
    /// It has not begun.
    NotBegun,
    /// It cannot be run as it was asked for.
    LeftOut,
}

/// An experiment on the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Name.
    pub experiment: String,
    /// What it asks.
    pub title: String,
    /// Its session's folder; null if there is none.
    pub folder: Option<String>,
    /// How it went.
    pub state: State,
    /// Why it failed as a whole or was left out; null unless it was.
    pub error: Option<String>,
    /// Runs that came to their end.
    pub runs: u32,
    /// Runs that failed.
    pub failed: Vec<FailedRun>,
    /// What disturbed it: run, kind, detail.
    pub disturbed: Vec<[String; 3]>,
    /// Every published metric, for each arm it was published for.
    pub metrics: Vec<MetricRow>,
    /// Every claim, for each arm it is about.
    pub claims: Vec<ClaimRow>,
    /// What it means for a user, if every claim held.
    pub meaning: String,
}

/// A published metric beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricRow {
    /// Arm.
    pub arm: String,
    /// Metric.
    pub metric: MetricKey,
    /// What was published.
    pub published: f64,
    /// Median of what was measured; null with the reason in `note`.
    pub measured: Option<Percentile>,
    /// Smallest and largest, of more than one run.
    pub range: Option<[Percentile; 2]>,
    /// Why there is nothing, or why it must not be compared; empty if neither.
    pub note: String,
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// Arm.
    pub arm: String,
    /// In words.
    pub claim: String,
    /// Whether it holds; null: not judged.
    pub holds: Option<bool>,
    /// The metrics it rests on, or why it was not judged.
    pub reason: String,
    /// Whether some run it rests on was disturbed.
    #[serde(default)]
    pub disturbed: bool,
    /// Whether it can fail, in words; null: not judged at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_fail: Option<String>,
}

impl Page {
    /// The page over all `experiments`. `ordered`: those that were ordered, with their ends so far. `left_out`: those that were
    /// not, and why.
    #[must_use]
    pub fn over(
        experiments: &[Experiment],
        ordered: &[(&Order, Option<&Outcome>)],
        left_out: &[(String, String)],
    ) -> Self {
        let inputs = experiments.iter().map(|experiment| {
            let mut orders = ordered.iter();
            let found = orders.find(|(order, _)| order.experiment == experiment.name);
            let mut left_out = left_out.iter();
            let why = left_out.find(|(name, _)| *name == experiment.name);
            Input {
                experiment,
                order: match (found, why) {
                    (Some((order, _)), _) => Ok(*order),
                    (None, Some((_, why))) => Err(why.as_str()),
                    (None, None) => Err("was not ordered"),
                },
                outcome: found.and_then(|(_, outcome)| *outcome),
            }
        });
        Self::new(&inputs.collect::<Vec<_>>())
    }

    /// The page over these experiments.
    #[must_use]
    pub fn new(inputs: &[Input<'_>]) -> Self {
        let ended = |input: &Input<'_>| match input.outcome {
            Some(Outcome::Ended(ended)) => Some(ended.summary.hami.label()),
            _ => None,
        };
        let mut hami: Vec<String> = inputs.iter().filter_map(ended).collect();
        hami.dedup();
        let mut commands = commands(inputs).into_iter();
        let started = inputs.iter().find_map(|input| match input.outcome {
            Some(Outcome::Ended(ended)) => Some(to_the_second(&ended.summary.started)),
            _ => None,
        });
        let plans = || {
            let orders = inputs.iter().filter_map(|input| input.order.ok());
            orders.flat_map(|order| &order.plans)
        };
        let machines: BTreeSet<u32> = plans().map(|plan| plan.cluster.nodes()).collect();
        Self {
            schema: SCHEMA,
            headroom: env!("CARGO_PKG_VERSION").into(),
            command: commands.next().unwrap_or_default(),
            resumed: commands.collect(),
            hami,
            started,
            machines: machines.into_iter().collect(),
            quick: plans().any(|plan| plan.quick),
            experiments: inputs.iter().map(part).collect(),
        }
    }

    /// Claims that hold, that do not, and that were not judged: from undisturbed runs alone, or from others.
    #[must_use]
    pub fn verdicts(&self, disturbed: bool) -> [usize; 3] {
        let claims = self.experiments.iter().flat_map(|part| &part.claims);
        verdicts(claims.filter(|claim| claim.disturbed == disturbed))
    }

    /// The page as Markdown, which is fit for a terminal, too.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::page(self)
    }

    /// The page as JSON.
    ///
    /// # Errors
    /// None for what a run can measure: every number is finite.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// The command lines that made the sessions, each once: first the one that began, then those that continued.
fn commands(inputs: &[Input<'_>]) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut add = |command: &[String]| {
        if !command.is_empty() && all.iter().all(|known| known != command) {
            all.push(command.to_owned());
        }
    };
    for input in inputs {
        if let Some(Outcome::Ended(ended)) = input.outcome {
            add(&ended.summary.command);
            let resumed = ended.summary.resumed.iter();
            resumed.for_each(|resumed| add(&resumed.command));
        }
    }
    let orders = inputs.iter().filter_map(|input| input.order.ok());
    orders.for_each(|order| add(&order.command));
    all
}

fn verdicts<'a>(claims: impl Iterator<Item = &'a ClaimRow>) -> [usize; 3] {
    let mut counts = [0; 3];
    for claim in claims {
        let [yes, no, open] = &mut counts;
        *match claim.holds {
            Some(true) => yes,
            Some(false) => no,
            None => open,
        } += 1;
    }
    counts
}

fn part(input: &Input<'_>) -> Part {
    let Input {
        experiment,
        outcome,
        ..
    } = *input;
    let state = match outcome {
        None if input.order.is_err() => State::LeftOut,
        None => State::NotBegun,
        Some(outcome) if outcome.interrupted() => State::Interrupted,
        Some(outcome) if outcome.failed() => State::Failed,
        Some(outcome) if outcome.disturbed() => State::Disturbed,
        Some(_) => State::Done,
    };
    let (ended, error) = match outcome {
        Some(Outcome::Ended(ended)) => (Some(ended), None),
        Some(Outcome::Failed(error)) => (None, Some(error.clone())),
        None => (None, input.order.err().map(str::to_owned)),
    };
    let summary = ended.map(|ended| &ended.summary);
    let runs = summary.map_or(&[][..], |s| &s.runs);
    let disturbed = runs.iter().flat_map(|run| {
        let each = run.disturbed.iter();
        each.map(|d| [run.folder.clone(), d.kind.clone(), d.detail.clone()])
    });
    Part {
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        folder: ended.map(|ended| ended.dir.display().to_string()),
        state,
        error,
        runs: u32::try_from(runs.iter().filter(|run| run.came_to_its_end()).count())
            .unwrap_or(u32::MAX),
        failed: summary.map(|s| s.failed.clone()).unwrap_or_default(),
        disturbed: disturbed.collect(),
        metrics: rows::metrics(input),
        claims: rows::claims(input),
        meaning: summary.map(|s| s.meaning.clone()).unwrap_or_default(),
    }
}
