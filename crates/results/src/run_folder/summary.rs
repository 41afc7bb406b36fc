//! `summary.json`: what a session measured, schema-versioned. Its JSON Schema is generated from these types.

use std::collections::BTreeMap;

use plan::HamiSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placements::Placements;
use super::run_summary::{Percentile, RunSummary};
use super::soak::Soak;

/// Version of the schema that this program writes.
pub const SCHEMA: u32 = 2;

/// A session: one command, its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of headroom that wrote it.
    pub headroom: String,
    /// Name of the experiment.
    pub experiment: String,
    /// UTC time at which the session started, RFC 3339.
    pub started: String,
    /// The command line, to reproduce it.
    pub command: Vec<String>,
    /// When and by which commands it was continued after it had been interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// Which HAMi ran.
    pub hami: HamiSource,
    /// Timeline compression.
    pub compress: f64,
    /// True for a `--quick` first look, whose metrics are not comparable with a full run.
    pub quick: bool,
    /// False until the session has ended in order; one that was interrupted, crashed or had a failed run stays false.
    pub complete: bool,
    /// The runs, arms taking turns; where it was continued, those that were done again, too, stand where they belong.
    pub runs: Vec<RunSummary>,
    /// Runs that failed, in the order of their turns; what they had recorded by then is in their folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedRun>,
    /// What restarted over time, of a session that goes on for a set time; null for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Soak>,
    /// The arms, each over its repeats, judged against what was published.
    #[serde(default)]
    pub arms: Vec<ArmSummary>,
    /// What it means for a user, in one plain sentence; empty where the runs do not say.
    #[serde(default)]
    pub meaning: String,
}

/// That a session was continued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// UTC time, RFC 3339.
    pub started: String,
    /// The command line.
    pub command: Vec<String>,
}

/// A run that failed: its cluster did not come up, or fell over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedRun {
    /// Name of the arm.
    pub arm: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Folder of the run, relative to the session's.
    pub folder: String,
    /// Why, in one line.
    pub error: String,
}

/// An arm over its repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmSummary {
    /// Name.
    pub name: String,
    /// Runs.
    pub runs: u32,
    /// Its metrics by name: `<team>.<metric>` or `<team>.<class>.<metric>`.
    pub metrics: BTreeMap<String, Spread>,
    /// Where whole-machine requests were placed that a machine was cleared for, over all runs together; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placements: Option<Placements>,
    /// Published metrics, by the same names.
    pub published: BTreeMap<String, f64>,
    /// Whether every claim declared for the arm holds; null: none is, or one cannot be judged.
    pub claims_hold: Option<bool>,
    /// The verdict in one sentence, with the metrics it rests on.
    pub reason: String,
    /// The claims one by one.
    pub claims: Vec<Claim>,
}

/// A metric over the repeats of an arm. Of an even number of runs the median is the lower of the two in the middle; of
/// placements, which are rare events, it is what all runs have together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Median.
    pub median: Percentile,
    /// Smallest.
    pub min: Percentile,
    /// Largest.
    pub max: Percentile,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Summary {
    /// Withdraws a run, and what its arm's runs were said to show together.
    pub(super) fn withdraw(&mut self, folder: &str, why: &str) {
        let Some(at) = self.runs.iter().position(|run| run.folder == folder) else {
            return;
        };
        let run = self.runs.remove(at);
        self.meaning.clear();
        for arm in self.arms.iter_mut().filter(|arm| arm.name == run.arm) {
            arm.metrics.clear();
            arm.placements = None;
            arm.claims_hold = None;
            arm.reason = format!("cannot be judged: {why}");
            for claim in &mut arm.claims {
                claim.holds = None;
                claim.reason = format!("run {folder} can't be counted any more: {why}");
            }
        }
    }
}

/// A claim that an experiment declares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// In words.
    pub claim: String,
    /// Whether it holds; null: cannot be judged.
    pub holds: Option<bool>,
    /// The metrics it rests on.
    pub reason: String,
    /// Runs it was judged on; null in sessions of an older headroom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// Of these, runs that were disturbed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub disturbed_runs: u32,
    /// Whether it can fail; null: it has no control, or an older headroom judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

/// What a claim's control showed: an arm with settings under which the claim must not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// Name of the arm.
    pub arm: String,
    /// Whether the claim holds there, which shows that it can't fail; null: not known.
    pub holds: Option<bool>,
    /// The metrics that this rests on, or why it is not known.
    pub reason: String,
    /// When the earlier session began in which this was seen, UTC, RFC 3339; null: it was seen in this one, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

impl Claim {
    /// Whether it can fail, in words.
    #[must_use]
    pub fn can_fail(&self) -> String {
        let Some(Control {
            arm,
            holds,
            reason,
            seen,
        }) = &self.control
        else {
            return match self.holds {
                Some(false) => "no control, but it can fail: it did".into(),
                _ => "no control: not shown able to fail".into(),
            };
        };
        match (holds, seen) {
            (Some(false), None) => format!("its control, arm {arm}, fails it as due: {reason}"),
            (Some(false), Some(seen)) => {
                let day = seen.get(..10).unwrap_or(seen);
                format!("its control, arm {arm}, last failed it on {day}")
            }
            (Some(true), _) => format!("its control, arm {arm}, does not fail it: {reason}"),
            (None, _) => format!("not shown able to fail: {reason}"),
        }
    }
}

/// JSON Schema of `summary.json`, as committed in `schemas/summary.schema.json`.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Summary)
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
