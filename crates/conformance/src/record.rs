//! The files: a session's record, with times; and the recorded outcomes of one extender, without times, with which another can
//! be compared on any host.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::compare::Verdict;
use super::counted::Counted;
use super::latency::Latency;
use super::observed::Observed;
use super::play::Played;
use super::scenario::{Judged, Scenario};
use host::text_file;
use plan::HamiSource;
use results::run_folder::replace;

/// Version of both files' format.
pub const SCHEMA: u32 = 1;

/// Outcomes of one extender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Which extender.
    pub hami: HamiSource,
    /// Plays of each scenario.
    pub plays: u32,
    /// The outcomes by scenario.
    pub scenarios: BTreeMap<String, Outcome>,
}

/// Outcomes of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Each outcome seen, once.
    Exactly(Vec<Observed>),
    /// The counts of each play.
    Loosely(Vec<Counted>),
}

impl Outcome {
    /// The outcomes of plays of a scenario, in the form in which they are judged.
    #[must_use]
    pub fn of(judged: Judged, plays: &[Observed]) -> Self {
        match judged {
            Judged::Loosely(_) => Self::Loosely(plays.iter().map(Counted::of).collect()),
            Judged::Exactly => {
                let mut seen: Vec<Observed> = Vec::new();
                for play in plays {
                    if !seen.contains(play) {
                        seen.push(play.clone());
                    }
                }
                Self::Exactly(seen)
            }
        }
    }
}

/// Larger files are refused. The outcomes of all scenarios have a few kB.
const MOST_MIB: u64 = 16;

/// A file of recorded outcomes cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("--against {path}: {problem}")]
pub struct BadRecord {
    path: String,
    problem: String,
}

impl host::usage::UserError for BadRecord {}

impl Recorded {
    /// Reads a file that `--record` wrote.
    ///
    /// # Errors
    /// It is missing, or not such a file.
    pub fn read(path: &Path) -> Result<Self, BadRecord> {
        let bad = |problem: String| BadRecord {
            path: path.display().to_string(),
            problem,
        };
        let text = text_file::read(path, MOST_MIB).map_err(bad)?;
        let recorded: Self = serde_json::from_str(&text)
            .map_err(|error| bad(format!("not what --record writes: {error}")))?;
        if recorded.schema == SCHEMA {
            Ok(recorded)
        } else {
            let problem = format!("schema {}, not {SCHEMA}: record it anew", recorded.schema);
            Err(bad(problem))
        }
    }

    /// The scenarios that are not in it.
    #[must_use]
    pub fn lacking(&self, scenarios: &[Scenario]) -> Vec<&'static str> {
        let known = |scenario: &&Scenario| !self.scenarios.contains_key(scenario.name);
        scenarios
            .iter()
            .filter(known)
            .map(|scenario| scenario.name)
            .collect()
    }
}

/// A session's record.
#[derive(Debug, Clone, Serialize)]
pub struct Session {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of headroom.
    pub headroom: String,
    /// UTC time of the start.
    pub started: String,
    /// The two extenders. The second is compared with the first.
    pub sides: Vec<HamiSource>,
    /// The recorded outcomes that replaced the first, if there were any.
    pub against: Option<String>,
    /// Every play, in order.
    pub plays: Vec<PlayRecord>,
    /// The result of each scenario; empty if there was nothing to compare.
    pub verdicts: Vec<Verdict>,
    /// The comparisons of how fast the two were.
    pub latency: Vec<Latency>,
    /// Whether the two are equivalent; null if there was nothing to compare or not all was played.
    pub equivalent: Option<bool>,
}

impl Session {
    /// What a side did in a scenario, play by play.
    pub(crate) fn observed(&self, side: usize, scenario: &Scenario) -> Vec<Observed> {
        let own = |play: &&PlayRecord| play.side == side && play.scenario == scenario.name;
        let plays = self.plays.iter().filter(own);
        plays.map(|play| play.played.observed.clone()).collect()
    }
}

/// One play.
#[derive(Debug, Clone, Serialize)]
pub struct PlayRecord {
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Which extender: its index among the sides.
    pub side: usize,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Its outcome.
    #[serde(flatten)]
    pub played: Played,
}

/// Writes JSON with one value per line, for readable diffs. A file is never left half written.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    replace(path, text.as_bytes()).with_context(|| format!("can't write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_plays_are_written_once_and_loose_ones_as_counts() {
        let plays = [Observed::default(), Observed::default()];
        let [exactly, loosely] =
            [Judged::Exactly, Judged::Loosely("chance")].map(|judged| Outcome::of(judged, &plays));
        assert!(matches!(exactly, Outcome::Exactly(seen) if seen.len() == 1));
        assert!(matches!(loosely, Outcome::Loosely(counts) if counts.len() == 2));
    }

    #[test]
    fn a_file_of_another_kind_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        assert!(
            Recorded::read(&path)
                .unwrap_err()
                .to_string()
                .contains("x.json")
        );
        std::fs::write(&path, "{}").unwrap();
        assert!(
            Recorded::read(&path)
                .unwrap_err()
                .to_string()
                .contains("--record")
        );
    }
}
