//! The runs of one side of a comparison, with their metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::alike::{self, Facts};
use super::{CompareError, SideFacts};
use plan::Component;
use plan::metric::Use;
use results::metrics::{self, Source, Values};
use results::run_folder::{RunInfo, Session};

/// Which side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// What is compared with.
    Baseline,
    /// What is compared.
    New,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline",
            Self::New => "new side",
        })
    }
}

/// A run as comparisons see it: the unit of all statistics, since pods within a run depend on each other.
#[derive(Debug, Clone, PartialEq)]
pub struct OneRun {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the arm.
    pub arm: String,
    /// Its session and its folder there.
    pub place: String,
    /// When it began, to the nanosecond.
    pub started: String,
    /// Its session among those of the side, from 0: its night.
    pub night: usize,
    /// Whether host or harness failed in it.
    pub disturbed: bool,
    /// Its metrics.
    pub metrics: Values,
    /// What it was made of.
    pub facts: Facts,
}

/// The runs of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Which.
    pub which: Which,
    /// Its runs, in the order they ran.
    pub runs: Vec<OneRun>,
    /// What was left out or is incomplete, one line each.
    pub notes: Vec<String>,
    facts: SideFacts,
}

impl OneRun {
    /// Whether both are one run: two that were made do not begin at the same nanosecond with the same outcome.
    fn is(&self, other: &Self) -> bool {
        (&self.started, &self.arm, &self.metrics) == (&other.started, &other.arm, &other.metrics)
    }
}

/// Two runs of those to be compared that are the same run, kept twice: where they are.
#[must_use]
pub fn copies<'a>(runs: &[&'a OneRun]) -> Option<(&'a str, &'a str)> {
    runs.iter().enumerate().find_map(|(i, run)| {
        let copy = runs[..i].iter().find(|earlier| earlier.is(run))?;
        Some((copy.place.as_str(), run.place.as_str()))
    })
}

impl Side {
    /// Reads the runs of `sessions`. Disturbed runs are left out and noted, unless they are asked for.
    ///
    /// # Errors
    /// If a session can't be read, or no run is left.
    pub fn read(which: Which, sessions: &[PathBuf], disturbed: bool) -> Result<Self, CompareError> {
        let mut side = Self {
            which,
            runs: Vec::new(),
            notes: Vec::new(),
            facts: SideFacts {
                sessions: Vec::new(),
                started: String::new(),
                runs: 0,
                disturbed: 0,
                hami: String::new(),
                versions: BTreeMap::new(),
                machine: String::new(),
            },
        };
        let mut loaded = Vec::new();
        for path in sessions {
            loaded.push((path, Session::load(path)?));
        }
        loaded.sort_by(|a, b| a.1.summary.started.cmp(&b.1.summary.started));
        for (night, (path, session)) in loaded.iter().enumerate() {
            side.add(night, path, session, disturbed);
        }
        if side.runs.is_empty() {
            let why = match side.notes.first() {
                Some(first) if side.notes.len() > 1 => {
                    format!("{first}; and {} more reasons", side.notes.len() - 1)
                }
                Some(first) => first.clone(),
                None => "no run of it came to its end".to_owned(),
            };
            let all = loaded.iter().flat_map(|(_, session)| &session.summary.runs);
            let shown = all.filter(|run| run.came_to_its_end()).count() > 0 && !disturbed;
            let why = if shown {
                format!("{why}; --disturbed shows disturbed runs, without a verdict")
            } else {
                why
            };
            return Err(CompareError::NoRuns { which, why });
        }
        side.facts.runs = side.runs.len();
        side.facts.disturbed = side.disturbed();
        Ok(side)
    }

    fn add(&mut self, night: usize, path: &Path, session: &Session, disturbed: bool) {
        let name = name(path);
        let summary = &session.summary;
        if self.facts.started.is_empty() {
            self.facts.started.clone_from(&summary.started);
        }
        let (before, notes_before) = (self.runs.len(), self.notes.len());
        for run in &summary.runs {
            let of = format!("{name}/{}", run.folder);
            if !run.came_to_its_end() {
                self.notes
                    .push(format!("{of} is left out: it was cut short"));
                continue;
            }
            if let Some(first) = run.disturbed.first().filter(|_| !disturbed) {
                self.notes.push(format!(
                    "{of} is left out as disturbed ({}: {})",
                    first.kind, first.detail
                ));
                continue;
            }
            match session.summarised(run) {
                Ok(read) => {
                    self.notes
                        .extend(read.notes.iter().map(|n| format!("{of}: {n}")));
                    self.facts.add(&read.info);
                    self.runs.push(OneRun {
                        experiment: summary.experiment.clone(),
                        arm: run.arm.clone(),
                        started: read.info.started.clone(),
                        place: of,
                        night,
                        disturbed: !run.disturbed.is_empty(),
                        metrics: metrics::values(&Source::of(run, &read), Use::Compare),
                        facts: alike::facts(&read.info),
                    });
                }
                Err(error) => self.notes.push(format!("{of} is left out: {error}")),
            }
        }
        if !summary.complete {
            // Where none of its runs is taken, the reasons are said already.
            let (at, taken) = match (summary.runs.is_empty(), self.runs.len() > before) {
                (true, _) => (notes_before, ": no run of it ended"),
                (false, true) => (notes_before, ": those of its runs that ended are taken"),
                (false, false) => (self.notes.len(), ""),
            };
            let note = format!("{name} did not end in order{taken}");
            self.notes.insert(at, note);
        }
        if self.runs.len() > before {
            self.facts.sessions.push(name);
        }
    }

    /// Names of its arms, in the order they first ran.
    #[must_use]
    pub fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !arms.contains(&run.arm.as_str()) {
                arms.push(&run.arm);
            }
        }
        arms
    }

    /// The runs of an arm.
    #[must_use]
    pub fn of_arm(&self, arm: &str) -> Vec<&OneRun> {
        self.runs.iter().filter(|r| r.arm == arm).collect()
    }

    /// The first run of an arm.
    #[must_use]
    pub fn first_of(&self, arm: &str) -> Option<&OneRun> {
        self.runs.iter().find(|r| r.arm == arm)
    }

    /// Number of disturbed runs that were taken.
    #[must_use]
    pub fn disturbed(&self) -> usize {
        self.runs.iter().filter(|r| r.disturbed).count()
    }

    /// What it was made of.
    #[must_use]
    pub fn facts(&self) -> SideFacts {
        self.facts.clone()
    }

    /// Checks that its runs of one arm are alike.
    ///
    /// # Errors
    /// If they are not.
    pub fn alike(&self) -> Result<(), CompareError> {
        for arm in self.arms() {
            let Some(first) = self.first_of(arm) else {
                continue;
            };
            for run in self.runs.iter().filter(|r| r.arm == arm) {
                let differences = alike::differences(&first.facts, &run.facts);
                if !differences.is_empty() {
                    return Err(CompareError::Mixed {
                        which: self.which,
                        what: alike::in_words(&differences),
                    });
                }
            }
        }
        Ok(())
    }
}

impl SideFacts {
    /// Takes them from the first run: the others of a side are like it, or it is not compared.
    fn add(&mut self, info: &RunInfo) {
        if !self.hami.is_empty() {
            return;
        }
        self.hami = info.hami.label();
        let versions = info
            .components
            .iter()
            .filter(|(name, _)| *name != Component::Hami.program());
        self.versions = versions
            .map(|(n, p)| (n.clone(), p.version.clone()))
            .collect();
        self.versions
            .insert("headroom".into(), info.headroom.clone());
        let machine = |key: &str| match info.machine.get(key) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "?".to_owned(),
        };
        self.machine = format!(
            "{}, {} cores, {} MiB, kernel {}",
            machine("cpu"),
            machine("cores"),
            machine("memory_mib"),
            machine("kernel")
        );
    }
}

fn name(path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = match real.file_name() {
        Some(file) if file == "summary.json" => real.parent().and_then(Path::file_name),
        other => other,
    };
    folder.unwrap_or_default().to_string_lossy().into_owned()
}
