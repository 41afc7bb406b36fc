//! Writes a session's folder and its runs' folders.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::append::{Appender, replace};
use super::series::{Calls, ComponentExit, ComponentRow, CsvRow, UsageRow};
use super::{Ordered, Record, RestartRow, RunInfo, StorageRow, Summary, files};

/// What could not be written.
#[derive(Debug, thiserror::Error)]
#[error("can't write {path}: {error}; free some disk space or choose another folder with --out", path = path.display())]
pub struct WriteError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the file system said.
    #[source]
    pub error: io::Error,
}

impl WriteError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |error| Self {
            path: path.to_owned(),
            error,
        }
    }

    /// Whether the disk (or a quota on it) is full.
    #[must_use]
    pub fn disk_full(&self) -> bool {
        matches!(
            self.error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }
}

/// Why a session can't be written on.
#[derive(Debug, thiserror::Error)]
pub enum ReopenError {
    /// Another headroom writes it.
    #[error("{} is being written by a headroom that is still running; wait for its end, or stop it first", .0.display())]
    Live(PathBuf),
    /// The file system refuses.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes a session's folder.
#[derive(Debug)]
pub struct SessionWriter {
    dir: PathBuf,
    /// `order.json`, locked for as long as the session goes on, so that nobody continues it meanwhile.
    lock: Option<File>,
}

impl SessionWriter {
    /// Makes the session's folder, with parents, and writes a first summary into it.
    ///
    /// # Errors
    /// If the folder holds a session already, or can't be made or written.
    pub fn create(dir: &Path, summary: &Summary) -> Result<Self, WriteError> {
        fs::create_dir_all(dir).map_err(WriteError::at(dir))?;
        let path = dir.join(files::SUMMARY);
        if path.exists() {
            let error = io::Error::new(io::ErrorKind::AlreadyExists, "it holds a session already");
            return Err(WriteError::at(dir)(error));
        }
        let session = Self {
            dir: dir.to_owned(),
            lock: None,
        };
        session.summary(summary)?;
        Ok(session)
    }

    /// Takes up a session that was interrupted, as it is.
    ///
    /// # Errors
    /// If another headroom writes it, or its `order.json` can't be opened.
    pub fn reopen(dir: &Path) -> Result<Self, ReopenError> {
        let path = dir.join(files::ORDER);
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(WriteError::at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                dir: dir.to_owned(),
                lock: Some(file),
            }),
            Err(TryLockError::WouldBlock) => Err(ReopenError::Live(dir.to_owned())),
            Err(TryLockError::Error(error)) => Err(WriteError::at(&path)(error).into()),
        }
    }

    /// Writes `order.json`, before the first run, and holds its lock from then on.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn order(&mut self, ordered: &Ordered<'_>) -> Result<(), WriteError> {
        let path = self.dir.join(files::ORDER);
        json(&path, ordered)?;
        // A file system without locks is no reason not to measure.
        self.lock = OpenOptions::new().read(true).write(true).open(&path).ok();
        if let Some(lock) = &self.lock {
            let _ = lock.try_lock();
        }
        Ok(())
    }

    /// Makes room for a run that is done again: what it left before stays, under another name.
    ///
    /// # Errors
    /// If the folder can't be renamed.
    pub fn set_aside(&self, folder: &str) -> Result<(), WriteError> {
        let from = self.dir.join(folder);
        if !from.exists() {
            return Ok(());
        }
        let mut names = (1_u32..).map(|n| self.dir.join(format!("{folder}.aside-{n}")));
        // The names have no end.
        let to = names.find(|path| !path.exists()).unwrap_or_default();
        fs::rename(&from, to).map_err(WriteError::at(&from))
    }

    /// The session's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the summary as it stands; after each run, and at the end with `complete`.
    ///
    /// # Errors
    /// If it can't be written; the last one stays.
    pub fn summary(&self, summary: &Summary) -> Result<(), WriteError> {
        json(&self.dir.join(files::SUMMARY), summary)
    }

    /// Writes `restarts.csv` as it stands.
    ///
    /// # Errors
    /// If it can't be written; the last one stays.
    pub fn restarts(&self, rows: &[RestartRow]) -> Result<(), WriteError> {
        let header = std::iter::once(RestartRow::HEADER.to_owned());
        let all = header.chain(rows.iter().map(RestartRow::to_csv));
        lines(&self.dir.join(files::RESTARTS_OVER_TIME), all)
    }

    /// Makes the folder of a run and opens its files.
    ///
    /// # Errors
    /// If the folder exists or can't be made or written.
    pub fn run(&self, folder: &str, info: &RunInfo) -> Result<RunWriter, WriteError> {
        RunWriter::create(&self.dir.join(folder), info)
    }
}

/// Writes a run's folder. Rows are kept in memory until [`RunWriter::flush`], which is called about once a second.
///
/// Rows never fail: what can't be written is kept and tried again. [`RunWriter::troubles`] says of all files what went
/// wrong, so that a run can go on and be marked.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    jobs: Appender,
    usage: Appender,
    restarts: Appender,
    components: Appender,
    storage: Appender,
    /// First error of each file, by file name.
    troubles: Mutex<BTreeMap<String, Trouble>>,
}

/// Evidence that could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Whether the disk (or a quota on it) was full.
    pub disk_full: bool,
    /// What could not be written, and why.
    pub detail: String,
}

impl RunWriter {
    /// Makes the folder of a run, its `logs` folder and its files.
    ///
    /// # Errors
    /// If it exists or can't be made or written.
    pub fn create(dir: &Path, info: &RunInfo) -> Result<Self, WriteError> {
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(WriteError::at(parent))?;
        }
        fs::create_dir(dir).map_err(WriteError::at(dir))?;
        let logs = dir.join(files::LOGS);
        fs::create_dir(&logs).map_err(WriteError::at(&logs))?;
        let open = |name: &str| {
            let path = dir.join(name);
            Appender::create(&path).map_err(WriteError::at(&path))
        };
        let run = Self {
            dir: dir.to_owned(),
            jobs: open(files::JOBS)?,
            usage: open(files::USAGE)?,
            restarts: open(files::RESTARTS)?,
            components: open(files::COMPONENTS)?,
            storage: open(files::ETCD)?,
            troubles: Mutex::default(),
        };
        run.usage.line(UsageRow::HEADER);
        run.components.line(ComponentRow::HEADER);
        run.storage.line(StorageRow::HEADER);
        run.info(info)?;
        run.flush();
        Ok(run)
    }

    /// The run's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder for components' logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.dir.join(files::LOGS)
    }

    /// Path of the run's `latency.hlog`.
    #[must_use]
    pub fn hlog(&self) -> PathBuf {
        self.dir.join(files::HLOG)
    }

    /// Path of the run's `clearer.jsonl`, which the node clearer itself writes.
    #[must_use]
    pub fn decisions(&self) -> PathBuf {
        self.dir.join(files::DECISIONS)
    }

    /// Writes `run.json`, again when something in it has become known.
    ///
    /// # Errors
    /// If it can't be written; the last one stays.
    pub fn info(&self, info: &RunInfo) -> Result<(), WriteError> {
        self.noted(json(&self.dir.join(files::RUN), info))
    }

    /// Adds a record that is final but for the audit log's stamps.
    pub fn job(&self, record: &Record) {
        self.jobs.line(&line(record));
    }

    /// Adds a row to `usage.csv`.
    pub fn usage(&self, row: &UsageRow) {
        self.usage.line(&row.to_csv());
    }

    /// Adds a row to `components.csv`.
    pub fn component(&self, row: &ComponentRow) {
        self.components.line(&row.to_csv());
    }

    /// Adds a row to `etcd.csv`.
    pub fn storage(&self, row: &StorageRow) {
        self.storage.line(&row.to_csv());
    }

    /// Adds a line to `restarts.jsonl`.
    pub fn exit(&self, exit: &ComponentExit) {
        self.restarts.line(&line(exit));
    }

    /// Writes all rows that are pending. May wait for the disk.
    pub fn flush(&self) {
        for file in self.series() {
            let written = file.flush().map_err(WriteError::at(file.path()));
            // Noted is enough here: the lines are kept and tried again.
            let _ = self.noted(written);
        }
    }

    /// Replaces `jobs.jsonl` by the final records, in order of submission.
    ///
    /// # Errors
    /// If it can't be written; what was appended while running stays.
    ///
    /// Nothing may be added by [`RunWriter::job`] afterwards: it would go to the file that was replaced.
    pub fn records(&self, records: &[Record]) -> Result<(), WriteError> {
        self.flush();
        let path = self.dir.join(files::JOBS);
        self.noted(lines(&path, records.iter().map(line)))
    }

    /// Writes `calls.json`.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn calls(&self, calls: &Calls) -> Result<(), WriteError> {
        self.noted(json(&self.dir.join(files::CALLS), calls))
    }

    /// Writes `latency.hlog`.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn latencies(&self, log: &[u8]) -> Result<(), WriteError> {
        self.noted(write(&self.hlog(), log))
    }

    /// What could not be written so far, at least for a while.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        let troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = troubles.values().cloned().collect();
        let lost: u64 = self.series().iter().map(|f| f.lost_lines()).sum();
        if lost > 0 {
            all.push(Trouble {
                disk_full: false,
                detail: format!("{lost} lines of the run's series could not be kept"),
            });
        }
        all
    }

    /// Remembers what went wrong, the first time for each file.
    fn noted(&self, written: Result<(), WriteError>) -> Result<(), WriteError> {
        if let Err(error) = &written {
            let name = error.path.file_name().unwrap_or_default();
            let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
            let known = troubles
                .entry(name.to_string_lossy().into_owned())
                .or_insert_with(|| Trouble {
                    disk_full: false,
                    detail: error.to_string(),
                });
            known.disk_full |= error.disk_full();
        }
        written
    }

    fn series(&self) -> [&Appender; 5] {
        let Self {
            jobs,
            usage,
            restarts,
            components,
            storage,
            ..
        } = self;
        [jobs, usage, restarts, components, storage]
    }
}

/// Writes a value as a JSON file, replacing it whole.
fn json(path: &Path, value: &impl Serialize) -> Result<(), WriteError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(io::Error::from)
        .map_err(WriteError::at(path))?;
    text.push(b'\n');
    write(path, &text)
}

fn lines(path: &Path, all: impl Iterator<Item = String>) -> Result<(), WriteError> {
    let text: String = all.map(|line| line + "\n").collect();
    write(path, text.as_bytes())
}

fn write(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    replace(path, content).map_err(WriteError::at(path))
}

/// A value as one line of JSON. Records and exits have string keys and finite shapes only, so it can't fail; were it to,
/// the empty line is skipped by readers.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
