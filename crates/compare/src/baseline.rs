//! The nights before: which earlier sessions a comparison may take as its baseline by itself.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::alike::{self, Topic};
use super::metrics::Declared;
use super::side::{Side, Which};
use super::{CompareError, Comparison, Options};
use results::run_folder::place::time_of;
use results::run_folder::{Session, Summary, sessions};

/// Nights that are taken unless a number is given: a week.
pub const NIGHTS: usize = 7;

/// A session that began later after a night did is not of that night, which was deleted.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

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

/// The sessions of the last nights in `runs` that the sessions `new` can be compared with: of the same experiment, ended in
/// order, at least one run of it undisturbed, of a night before theirs, and different from them in nothing but `across`. All
/// that are taken are like the last of them: across an update, the nights since the one before it. Several sessions of one
/// night are one night.
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
    let began = began(runs);
    let own = night(&began, &before);
    let earlier = nightly(runs, &experiment, |started| {
        started < before.as_str() && night(&began, started) != own
    });
    let fits = |path: &Path| eligible(path, &side, across);
    last_nights(runs, &experiment, most, earlier, fits)
}

/// The sessions of the last nights in `runs` that a session of `experiment` would be compared with, were it to begin now and to
/// differ from them in nothing.
///
/// # Errors
/// There is no such night. The message says what was passed over and why.
pub fn nights_so_far(
    runs: &Path,
    Nights(most): Nights,
    experiment: &str,
) -> Result<Vec<PathBuf>, CompareError> {
    let earlier = nightly(runs, experiment, |_| true);
    last_nights(runs, experiment, most, earlier, usable)
}

/// Compares a session with the nights before it. Returns also the sessions of those nights.
///
/// # Errors
/// Those of [`nights`] and of [`super::compare`].
pub fn with_nights(
    runs: &Path,
    session: &Path,
    most: Nights,
    declared: &Declared,
    across: &[Topic],
) -> Result<(Vec<PathBuf>, Comparison), CompareError> {
    let options = Options {
        across: across.to_vec(),
        disturbed: false,
    };
    let new = [session.to_owned()];
    let base = nights(runs, most, &new, across)?;
    let found = super::compare(&base, &new, declared, &options)?;
    Ok((base, found))
}

/// The nightly sessions of an experiment that started at a time that is wanted, in the order in which they began.
fn nightly(runs: &Path, experiment: &str, wanted: impl Fn(&str) -> bool) -> Vec<Session> {
    // What can't be read is no baseline; `headroom runs` says why.
    let all = sessions::below(runs).unwrap_or_default().found;
    let of = |Session { summary, .. }: &Session| {
        is_nightly(summary) && summary.experiment == experiment && wanted(&summary.started)
    };
    all.into_iter().filter(of).collect()
}

/// Of `earlier` the sessions of the last `most` nights that fit and are like the last of them.
fn last_nights(
    runs: &Path,
    experiment: &str,
    most: usize,
    earlier: Vec<Session>,
    fits: impl Fn(&Path) -> Result<Side, String>,
) -> Result<Vec<PathBuf>, CompareError> {
    let began = began(runs);
    let count = earlier.len();
    let mut taken = Vec::new();
    let mut taken_nights: Vec<String> = Vec::new();
    let mut last: Option<Side> = None;
    let mut passed_over: Vec<String> = Vec::new();
    for Session { dir: path, summary } in earlier.into_iter().rev() {
        let of = night(&began, &summary.started);
        let new_night = !taken_nights.contains(&of);
        if new_night && taken_nights.len() == most {
            break;
        }
        let found = fits(&path).and_then(|own| match &last {
            Some(last) => alike(&own, last, &[]).map(|()| own),
            None => Ok(own),
        });
        match found {
            Ok(own) => {
                last.get_or_insert(own);
                taken.push(path);
                taken_nights.extend(Some(of).filter(|_| new_night));
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

/// When the nights began whose results are kept in `runs`.
fn began(runs: &Path) -> Vec<Timestamp> {
    let entries = std::fs::read_dir(runs.join(NIGHTLY)).into_iter();
    let names = entries.flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| time_of(name.to_str()?)).collect()
}

/// The night of a session, by when it began: the last of `began` before the session, within [`LONGEST`]. A session of which
/// no night is known, since its results were deleted, is one of its own.
fn night(began: &[Timestamp], started: &str) -> String {
    let known = started.parse().ok().and_then(|at: Timestamp| {
        let before = began.iter().filter(|night| **night <= at);
        before
            .max()
            .filter(|night| at.duration_since(**night) < LONGEST)
    });
    known.map_or_else(|| started.to_owned(), ToString::to_string)
}

/// The session if `new` can be compared with it; else why not.
fn eligible(path: &Path, new: &Side, across: &[Topic]) -> Result<Side, String> {
    let side = usable(path)?;
    alike(&side, new, across).map(|()| side)
}

/// The session if it ended in order and was not disturbed throughout; else why not.
fn usable(path: &Path) -> Result<Side, String> {
    let own = [path.to_owned()];
    let session = Session::load(path).map_err(|e| e.to_string())?;
    if !session.summary.complete {
        return Err("it did not end in order".to_owned());
    }
    Side::read(Which::Baseline, &own, false).map_err(|e| match e {
        CompareError::NoRuns { .. } => "all its runs were disturbed or can't be read".to_owned(),
        other => other.to_string(),
    })
}

/// Whether two sides differ in nothing but `across`; else in what.
fn alike(side: &Side, other: &Side, across: &[Topic]) -> Result<(), String> {
    let all = alike::between(side, other, &other.arms());
    alike::declared(&all, across).map_err(|e| e.to_string())
}
