//! The nights before: which earlier sessions a comparison may take as its baseline by itself.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::CompareError;
use super::alike::{self, Topic};
use super::side::{Side, Which};
use crate::run_folder::{Session, Summary};

/// Nights that are taken unless a number is given: a week.
pub const NIGHTS: usize = 7;

/// Word by which a session's command line shows that it is a nightly one.
pub const NIGHTLY: &str = "nightly";

/// A baseline by rule: `nightly` or `nightly=N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nights(pub usize);

impl FromStr for Nights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let n = match text.strip_prefix(NIGHTLY) {
            Some("") => Some(NIGHTS),
            Some(rest) => rest.strip_prefix('=').and_then(|n| n.parse().ok()),
            None => None,
        };
        n.filter(|n| *n > 0)
            .map(Self)
            .ok_or_else(|| format!("{text:?} is no baseline; write nightly or nightly=N, N from 1"))
    }
}

/// Whether a session was made by `headroom nightly`.
#[must_use]
pub fn is_nightly(summary: &Summary) -> bool {
    summary.command.get(1).is_some_and(|word| word == NIGHTLY)
}

/// The last nightly sessions in `runs` that the sessions `new` can be compared with: of the same experiment, ended in
/// order, at least one run of it undisturbed, started before them, and different from them in nothing but `across`. All that are
/// taken are like the last of them: across an update, the nights since the one before it.
///
/// # Errors
/// If `new` can't be read, or there is no such night; the message says what was passed over and why.
pub fn nights(
    runs: &Path,
    Nights(most): Nights,
    new: &[PathBuf],
    across: &[Topic],
) -> Result<Vec<PathBuf>, CompareError> {
    let side = Side::read(Which::New, new, true)?;
    let mut first = None;
    for path in new {
        let summary = Session::load(path)?.summary;
        first = first
            .into_iter()
            .chain([(summary.started, summary.experiment)])
            .min();
    }
    let Some((before, experiment)) = first else {
        return Err(CompareError::NoBaseline(
            "no session is given to compare".to_owned(),
        ));
    };
    let mut earlier: Vec<(String, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        // What can't be read is no baseline; `headroom runs` says why.
        let Ok(session) = Session::load(&entry.path()) else {
            continue;
        };
        let summary = session.summary;
        if is_nightly(&summary) && summary.experiment == experiment && summary.started < before {
            earlier.push((summary.started, entry.path()));
        }
    }
    earlier.sort();
    let count = earlier.len();
    let mut taken = Vec::new();
    let mut last: Option<Side> = None;
    let mut passed_over: Vec<String> = Vec::new();
    for (_, path) in earlier.into_iter().rev() {
        if taken.len() == most {
            break;
        }
        let found = eligible(&path, &side, across).and_then(|own| match &last {
            Some(last) => alike(&own, last, &[]).map(|()| own),
            None => Ok(own),
        });
        match found {
            Ok(own) => {
                last.get_or_insert(own);
                taken.push(path);
            }
            Err(why) => {
                if !passed_over.contains(&why) {
                    passed_over.push(why);
                }
            }
        }
    }
    if taken.is_empty() {
        return Err(CompareError::NoBaseline(if count == 0 {
            format!(
                "there is no earlier nightly session of {experiment} in {}; `headroom nightly` makes them, and compares from the second on",
                runs.display()
            )
        } else {
            format!(
                "none of {count} earlier nightly sessions of {experiment} can be compared with: {}",
                passed_over.join("; ")
            )
        }));
    }
    taken.reverse();
    Ok(taken)
}

/// The session if it can be compared with; else why not.
fn eligible(path: &Path, new: &Side, across: &[Topic]) -> Result<Side, String> {
    let own = [path.to_owned()];
    let session = Session::load(path).map_err(|e| e.to_string())?;
    if !session.summary.complete {
        return Err("it did not end in order".to_owned());
    }
    let side = Side::read(Which::Baseline, &own, false).map_err(|e| match e {
        CompareError::NoRuns { .. } => "all its runs were disturbed or can't be read".to_owned(),
        other => other.to_string(),
    })?;
    alike(&side, new, across).map(|()| side)
}

/// Whether two sides differ in nothing but `across`; else in what.
fn alike(side: &Side, other: &Side, across: &[Topic]) -> Result<(), String> {
    let all = alike::between(side, other, &other.arms());
    alike::declared(&all, across).map_err(|e| e.to_string())
}
