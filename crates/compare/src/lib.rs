//! Whether one set of runs is worse than another, beyond what runs differ by chance.
//!
//! In: folders of sessions, declared metrics. Out: a [`Comparison`]. Pure: it reads folders and nothing else, draws no
//! chance but from fixed seeds, and never compares what is not alike unless that was asked for.
//!
//! - [`metrics`]: which metrics can fail a comparison, declared beforehand in `manifests/metrics.yaml`
//! - [`side`]: the runs of a side, with their metrics
//! - [`alike`]: what makes two runs different before anything is measured
//! - [`nights`]: nights as the unit, and what is tested where
//! - [`rank`]: the exact permutation test over runs and the interval it gives
//! - [`thresholds`]: one metric: how much, how likely by chance
//! - [`verdict`]: the declared metrics together (Holm's correction)
//! - [`baseline`]: the nights before
//! - [`power`]: how often it errs and what it can see, from runs that differ by chance alone

pub mod alike;
pub mod baseline;
pub mod metrics;
mod metrics_file;
pub mod nights;
pub mod power;
mod power_types;
pub mod rank;
pub mod side;
pub mod thresholds;
pub mod verdict;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use alike::{Difference, Topic};
use metrics::{Declared, MetricsError};
use results::run_folder::ReadError;
use side::{OneRun, Side, Which};
pub use verdict::{ArmRows, Family, Interval, Row, Verdict};

/// Version of the schema of a comparison's JSON.
pub const SCHEMA: u32 = 2;

/// Why two sides can't be compared. Each is for the user to put right.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A session can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The declared metrics are wrong.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A side has no run to compare.
    #[error("the {which} has no run that can be compared: {why}")]
    NoRuns {
        /// The side.
        which: Which,
        /// Why not.
        why: String,
    },
    /// A session is named twice.
    #[error("{} is named twice; a run can't be compared with itself", .0.display())]
    Twice(PathBuf),
    /// A run is among the others twice.
    #[error("{0} and {1} are copies of one run; a run counts once")]
    Copies(String, String),
    /// The sessions are of different experiments.
    #[error("these are different experiments: {0}; compare sessions of one")]
    Experiments(String),
    /// No arm ran on both sides.
    #[error("no arm ran on both sides: the baseline has {base}, the new runs have {new}")]
    NoCommonArm {
        /// Arms of the baseline.
        base: String,
        /// Arms of the new runs.
        new: String,
    },
    /// The runs of one side are not alike.
    #[error("the {which} is mixed: {what}; name sessions that are alike")]
    Mixed {
        /// The side.
        which: Which,
        /// What differs.
        what: String,
    },
    /// The sides differ in what was not declared.
    #[error("not comparable: {what}. If that is what you want to compare, add {options}")]
    Undeclared {
        /// What differs.
        what: String,
        /// The options that declare it.
        options: String,
    },
    /// There are no nights to compare with.
    #[error("{0}")]
    NoBaseline(String),
}

impl host::usage::UserError for CompareError {}

/// What a user may ask of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Differences that are meant.
    pub across: Vec<Topic>,
    /// Take disturbed runs too; then no verdict is given.
    pub disturbed: bool,
}

/// Two sets of runs, compared arm by arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of headroom that compared.
    pub headroom: String,
    /// Name of the experiment.
    pub experiment: String,
    /// What differs between the sides, as declared: what the comparison is about.
    pub across: Vec<Difference>,
    /// The runs compared with.
    pub base: SideFacts,
    /// The runs compared.
    pub new: SideFacts,
    /// Share of comparisons without a difference that may be called a regression, over all declared metrics together.
    pub alpha: f64,
    /// What was tested together; null in a comparison of an older headroom.
    #[serde(default)]
    pub family: Option<Family>,
    /// What was found.
    pub outcome: Outcome,
    /// Each arm that ran on both sides.
    pub arms: Vec<ArmRows>,
    /// What a reader must know: runs left out, arms on one side only.
    pub notes: Vec<String>,
}

/// What a side was made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFacts {
    /// Names of the sessions' folders.
    pub sessions: Vec<String>,
    /// UTC time at which the first session started.
    pub started: String,
    /// Runs taken.
    pub runs: usize,
    /// Of these, disturbed (with [`Options::disturbed`]).
    pub disturbed: usize,
    /// Which HAMi ran.
    pub hami: String,
    /// Versions of the other programs.
    pub versions: std::collections::BTreeMap<String, String>,
    /// The machine.
    pub machine: String,
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// No declared metric is worse beyond its threshold and beyond chance.
    NoRegression,
    /// At least one is.
    Regression,
    /// There are too few runs, none that count, or no declared metric: metrics without a verdict.
    NoVerdict,
}

/// Compares the sessions `new` with the sessions `base`.
///
/// # Errors
/// If a session can't be read or the sides can't be compared; see [`CompareError`].
pub fn compare(
    base: &[PathBuf],
    new: &[PathBuf],
    declared: &Declared,
    options: &Options,
) -> Result<Comparison, CompareError> {
    named_once(base.iter().chain(new))?;
    let base = Side::read(Which::Baseline, base, options.disturbed)?;
    let new = Side::read(Which::New, new, options.disturbed)?;
    sides(&base, &new, declared, options)
}

/// Compares sides that are already read.
///
/// # Errors
/// If they can't be compared.
pub fn sides(
    base: &Side,
    new: &Side,
    declared: &Declared,
    options: &Options,
) -> Result<Comparison, CompareError> {
    let experiment = same_experiment(base, new)?;
    let all: Vec<&OneRun> = base.runs.iter().chain(&new.runs).collect();
    if let Some((one, copy)) = side::copies(&all) {
        return Err(CompareError::Copies(one.to_owned(), copy.to_owned()));
    }
    let arms: Vec<&str> = base
        .arms()
        .into_iter()
        .filter(|arm| new.arms().contains(arm))
        .collect();
    if arms.is_empty() {
        return Err(CompareError::NoCommonArm {
            base: base.arms().join(", "),
            new: new.arms().join(", "),
        });
    }
    base.alike()?;
    new.alike()?;
    let across = alike::between(base, new, &arms);
    alike::declared(&across, &options.across)?;

    let mut notes: Vec<String> = base.notes.iter().chain(&new.notes).cloned().collect();
    for (side, other) in [(base, new), (new, base)] {
        for arm in side.arms() {
            if !other.arms().contains(&arm) {
                notes.push(format!("arm {arm} ran in the {} only", side.which));
            }
        }
    }
    for topic in &options.across {
        if !across.iter().any(|d| d.topic == *topic) {
            notes.push(format!(
                "--across {} was given, but both sides are the same in that",
                topic.name()
            ));
        }
    }
    let metrics = declared.of(&experiment);
    if metrics.is_empty() {
        notes.push(format!(
            "no metric is declared for experiment {experiment}: metrics without a verdict; declare some with --metrics FILE"
        ));
    }
    let mut arms: Vec<ArmRows> = arms
        .iter()
        .map(|arm| verdict::rows(arm, &base.of_arm(arm), &new.of_arm(arm), metrics))
        .collect();
    let blind = base.disturbed() + new.disturbed() > 0;
    if blind {
        notes.push("disturbed runs were taken too: metrics without a verdict".to_owned());
    }
    let family = verdict::judge(&mut arms, declared.alpha, blind);
    let outcome = verdict::outcome(&arms);
    Ok(Comparison {
        schema: SCHEMA,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        experiment,
        across,
        base: base.facts(),
        new: new.facts(),
        alpha: declared.alpha,
        family: Some(family),
        outcome,
        arms,
        notes,
    })
}

/// Judges the comparisons of one night again, all together: its alpha is shared over the metrics of all its experiments.
pub fn together(comparisons: &mut [Comparison]) {
    let Some(alpha) = comparisons.first().map(|of| of.alpha) else {
        return;
    };
    let blind = comparisons
        .iter()
        .any(|of| of.base.disturbed + of.new.disturbed > 0);
    let family = verdict::judge(
        comparisons.iter_mut().flat_map(|of| &mut of.arms),
        alpha,
        blind,
    );
    for of in comparisons {
        of.outcome = verdict::outcome(&of.arms);
        of.family = Some(family.clone());
    }
}

fn named_once<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<(), CompareError> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths {
        let folder = path.parent().filter(|_| path.ends_with("summary.json"));
        let folder = folder.unwrap_or(path);
        let real = folder
            .canonicalize()
            .unwrap_or_else(|_| Path::to_owned(folder));
        if seen.contains(&real) {
            return Err(CompareError::Twice(path.clone()));
        }
        seen.push(real);
    }
    Ok(())
}

fn same_experiment(base: &Side, new: &Side) -> Result<String, CompareError> {
    let mut names: Vec<&str> = base
        .runs
        .iter()
        .chain(&new.runs)
        .map(|r| r.experiment.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [one] => Ok(one.to_owned()),
        _ => Err(CompareError::Experiments(names.join(", "))),
    }
}
