//! Reads sessions and runs back, whatever state a crash left them in.
//!
//! What is missing or damaged beyond use is one clear error; what is merely incomplete is read as far as it goes, with a
//! note that says so. A file of a run may have been gzipped to save room (`jobs.jsonl.gz`): it is read as if it were not.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::series::{Calls, ComponentExit, ComponentRow, CsvRow, UsageRow};
use super::summary::SCHEMA;
use super::upgrade;
use super::{Decision, Record, RestartRow, RunInfo, RunSummary, StorageRow, Summary, files};

/// Larger files are refused: an hour's records of ten thousand pods have some 20 MB.
const MOST_BYTES: u64 = 1 << 30;

const TOO_LARGE: &str = "larger than anything headroom writes";

/// Why a session or run can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such folder.
    #[error("{} does not exist; name a session's folder, such as one under runs/", .0.display())]
    Missing(PathBuf),
    /// The folder is something else.
    #[error("{} is no {what} of headroom: it has no {file}", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What was looked for: session or run.
        what: &'static str,
        /// The file that makes it one.
        file: &'static str,
    },
    /// The file system refuses.
    #[error("can't read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        #[source]
        error: io::Error,
    },
    /// Not what headroom writes.
    #[error("{} is damaged or not written by headroom: {error}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        error: String,
    },
    /// Written by a later headroom.
    #[error(
        "{} has schema {found}, this headroom reads up to {SCHEMA}; use a newer headroom",
        path.display()
    )]
    Future {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u64,
    },
}

impl host::usage::UserError for ReadError {}

/// A session read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its folder.
    pub dir: PathBuf,
    /// Its summary.
    pub summary: Summary,
}

impl Session {
    /// Reads a session's summary from its folder, or from the path of its `summary.json`.
    ///
    /// # Errors
    /// If it is missing, foreign, damaged or of a later schema.
    pub fn load(path: &Path) -> Result<Self, ReadError> {
        let dir = match path.file_name() {
            Some(name) if name == files::SUMMARY => path.parent().unwrap_or(path),
            _ => path,
        };
        let summary = versioned(dir, "session", files::SUMMARY, upgrade::summary)?;
        Ok(Self {
            dir: dir.to_owned(),
            summary,
        })
    }

    /// Reads `restarts.csv`, of a session that went on for a set time; a last row that is incomplete is left out.
    ///
    /// # Errors
    /// If it is missing or damaged.
    pub fn restarts(&self) -> Result<Vec<RestartRow>, ReadError> {
        let path = self.dir.join(files::RESTARTS_OVER_TIME);
        // Asked for by name, so that a file that is missing is an error and not a note.
        read(&path)?;
        csv(&path, &mut Vec::new())
    }

    /// Reads a run of the summary, and checks that it is still what was summarised.
    ///
    /// # Errors
    /// As [`Run::load`], or if a run that came to its end has more or fewer records than requests.
    pub fn summarised(&self, run: &RunSummary) -> Result<Run, ReadError> {
        let read = self.run(&run.folder)?;
        let requests: u64 = run.tenants.iter().map(|t| u64::from(t.submitted)).sum();
        let records = read.records.len() as u64;
        if run.came_to_its_end() && records != requests {
            return Err(ReadError::Corrupt {
                path: read.dir.join(files::JOBS),
                error: format!("it has {records} records, and {requests} were summarised"),
            });
        }
        Ok(read)
    }

    /// Reads the runs of the summary, and withdraws what it says of those whose records are gone, damaged or no longer those that
    /// were summarised. Returns the runs that the summary still has, in its order, and a sentence for each that was withdrawn.
    pub fn sound_runs(&mut self) -> (Vec<Run>, Vec<String>) {
        let (mut sound, mut withdrawn) = (Vec::new(), Vec::new());
        for run in &self.summary.runs {
            match self.summarised(run) {
                Ok(read) => sound.push(read),
                Err(error) => withdrawn.push((run.folder.clone(), error.to_string())),
            }
        }
        for (folder, why) in &withdrawn {
            self.summary.withdraw(folder, why);
        }
        let notes = withdrawn.into_iter().map(|(_, why)| why).collect();
        (sound, notes)
    }

    /// Reads the run whose folder is named `folder` in the summary.
    ///
    /// # Errors
    /// As [`Run::load`].
    pub fn run(&self, folder: &str) -> Result<Run, ReadError> {
        Run::load(&self.dir.join(folder))
    }
}

/// A run read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its folder.
    pub dir: PathBuf,
    /// Its `run.json`.
    pub info: RunInfo,
    /// Its records; after a crash, those that had ended.
    pub records: Vec<Record>,
    /// Its usage series.
    pub usage: Vec<UsageRow>,
    /// Its components' CPU and memory.
    pub components: Vec<ComponentRow>,
    /// etcd's disk; empty in a run of an older headroom.
    pub storage: Vec<StorageRow>,
    /// Exits of its components.
    pub exits: Vec<ComponentExit>,
    /// Decisions of its node clearer; empty if it had none.
    pub decisions: Vec<Decision>,
    /// Its API calls; `None` if the run did not get that far or has no audit log.
    pub calls: Option<Calls>,
    /// What was incomplete, one sentence each.
    pub notes: Vec<String>,
}

impl Run {
    /// Reads a run's folder.
    ///
    /// # Errors
    /// If `run.json` is missing, foreign, damaged or of a later schema, or if the records are damaged anywhere but at their
    /// end. Another file that is damaged costs what it tells, with a note.
    pub fn load(dir: &Path) -> Result<Self, ReadError> {
        let info: RunInfo = versioned(dir, "run", files::RUN, upgrade::run)?;
        let mut notes = Vec::new();
        let records: Vec<Record> = lines(&dir.join(files::JOBS), &mut notes, json_line)?;
        let exits = lines(&dir.join(files::RESTARTS), &mut notes, json_line);
        let exits = or_without(exits, &mut notes);
        let usage = csv(&dir.join(files::USAGE), &mut notes);
        let usage = or_without(usage, &mut notes);
        let components = csv(&dir.join(files::COMPONENTS), &mut notes);
        let components = or_without(components, &mut notes);
        // Older runs have none, which is no gap of theirs.
        let storage = match dir.join(files::ETCD) {
            path if path.exists() || gzipped(&path).exists() => {
                or_without(csv(&path, &mut notes), &mut notes)
            }
            _ => Vec::new(),
        };
        let decisions = match info.plan.clearer {
            Some(_) => lines(&dir.join(files::DECISIONS), &mut notes, json_line),
            None => Ok(Vec::new()),
        };
        let decisions = or_without(decisions, &mut notes);
        let path = dir.join(files::CALLS);
        let calls = match read(&path) {
            Ok(text) => parse(&path, &text).map(Some),
            Err(ReadError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        };
        let calls = or_without(calls, &mut notes);
        Ok(Self {
            dir: dir.to_owned(),
            info,
            records: last_of_each(records),
            usage,
            components,
            storage,
            exits,
            decisions,
            calls,
            notes,
        })
    }
}

/// A part of a run's evidence; one that can't be read is left out, with a note.
fn or_without<T: Default>(part: Result<T, ReadError>, notes: &mut Vec<String>) -> T {
    part.unwrap_or_else(|error| {
        notes.push(format!("{error}; it was left out"));
        T::default()
    })
}

/// Reads a node clearer's decisions, of a run that may still be going on: a last line that is incomplete is left out.
///
/// # Errors
/// If the file can't be read or is damaged.
pub fn decisions(path: &Path) -> Result<Vec<Decision>, ReadError> {
    // Asked for by name, so that a file that is missing is an error and not a note.
    read(path)?;
    lines(path, &mut Vec::new(), json_line)
}

/// While running, a record is appended again should its object turn up after all; the later one holds.
fn last_of_each(records: Vec<Record>) -> Vec<Record> {
    let mut kept: Vec<Record> = Vec::with_capacity(records.len());
    let mut index: HashMap<_, usize> = HashMap::new();
    for record in records {
        let key = (record.tenant.clone(), record.name.clone());
        if let Some(&i) = index.get(&key) {
            kept[i] = record;
        } else {
            index.insert(key, kept.len());
            kept.push(record);
        }
    }
    kept
}

/// Reads a JSON file whose `schema` must be one that this program knows.
pub(super) fn versioned<T: DeserializeOwned>(
    dir: &Path,
    what: &'static str,
    file: &'static str,
    upgrade: fn(&mut Value),
) -> Result<T, ReadError> {
    if !dir.exists() {
        return Err(ReadError::Missing(dir.to_owned()));
    }
    let path = dir.join(file);
    let text = match read(&path) {
        Err(ReadError::Missing(_)) => {
            return Err(ReadError::Foreign {
                path: dir.to_owned(),
                what,
                file,
            });
        }
        other => other?,
    };
    // The schema's number first: a later schema may lack what this one asks for.
    let mut value: Value = parse(&path, &text)?;
    match value.get("schema").and_then(Value::as_u64) {
        Some(found) if found > u64::from(SCHEMA) => Err(ReadError::Future { path, found }),
        Some(found) if found < u64::from(SCHEMA) => {
            upgrade(&mut value);
            // As text again: one way to read is half the code of two.
            parse(&path, value.to_string().as_bytes())
        }
        // From the text, so that an error says where.
        Some(_) => parse(&path, &text),
        None => Err(ReadError::Corrupt {
            path,
            error: "it has no schema number".to_owned(),
        }),
    }
}

/// Reads a file, or the gzipped one beside where it would be.
fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    match bytes(path) {
        Err(ReadError::Missing(_)) => {}
        other => return other,
    }
    let zipped = gzipped(path);
    let read = match bytes(&zipped) {
        Err(ReadError::Missing(_)) => return Err(ReadError::Missing(path.to_owned())),
        other => other?,
    };
    let mut text = Vec::new();
    // One byte more, so that what is too large is refused and not cut.
    let mut whole = MultiGzDecoder::new(&*read).take(MOST_BYTES + 1);
    let error = match whole.read_to_end(&mut text) {
        Ok(_) if text.len() as u64 > MOST_BYTES => TOO_LARGE.to_owned(),
        Ok(_) => return Ok(text),
        Err(error) => format!("it can't be unpacked: {error}"),
    };
    Err(ReadError::Corrupt {
        path: zipped,
        error,
    })
}

/// The name that `gzip` gives a file.
fn gzipped(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

fn bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let regular = |metadata: fs::Metadata| match metadata.len() {
        // Opening a pipe would wait for ever, a device may never end.
        _ if !metadata.is_file() => Err(io::Error::other("not a regular file")),
        len if len > MOST_BYTES => Err(io::Error::other(TOO_LARGE)),
        _ => Ok(()),
    };
    let bytes = fs::metadata(path)
        .and_then(regular)
        .and_then(|()| fs::read(path));
    bytes.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            ReadError::Missing(path.to_owned())
        }
        _ => ReadError::Io {
            path: path.to_owned(),
            error,
        },
    })
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(text).map_err(|error| ReadError::Corrupt {
        path: path.to_owned(),
        error: error.to_string(),
    })
}

fn json_line<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_slice(line.as_bytes()).map_err(|error| error.to_string())
}

/// Reads whole lines. A last line without its end is left out and noted, a missing file is noted, an empty line skipped.
fn lines<T>(
    path: &Path,
    notes: &mut Vec<String>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, ReadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = match read(path) {
        Err(ReadError::Missing(_)) => {
            notes.push(format!("{name} is missing"));
            return Ok(Vec::new());
        }
        other => other?,
    };
    let whole = match bytes.iter().rposition(|b| *b == b'\n') {
        Some(end) => &bytes[..=end],
        None => &[],
    };
    if whole.len() < bytes.len() {
        notes.push(format!(
            "{name}: the last line is incomplete and was left out"
        ));
    }
    let corrupt = |number: usize, error: String| ReadError::Corrupt {
        path: path.to_owned(),
        error: format!("line {number}: {error}"),
    };
    let mut rows = Vec::new();
    for (i, line) in whole.split(|b| *b == b'\n').enumerate() {
        let line = std::str::from_utf8(line).map_err(|e| corrupt(i + 1, e.to_string()))?;
        if !line.trim().is_empty() {
            rows.push(parse(line).map_err(|e| corrupt(i + 1, e))?);
        }
    }
    Ok(rows)
}

fn csv<R: CsvRow>(path: &Path, notes: &mut Vec<String>) -> Result<Vec<R>, ReadError> {
    let rows = lines(path, notes, |line| {
        // An older headroom called some columns otherwise; the first one is the same in every header.
        if line == R::HEADER || line.starts_with("secs,") {
            return Ok(None);
        }
        R::from_csv(line).map(Some)
    })?;
    Ok(rows.into_iter().flatten().collect())
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
