//! Files that only grow, whole lines at a time, and files that are replaced whole.
//!
//! A reader never sees half a line that a writer went on from: a write that fails (a full disk) is taken back, its lines
//! are kept and tried again at the next flush.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines kept while they cannot be written; beyond, lines are lost and counted. Half an hour of a busy run's series.
const KEEP_BYTES: usize = 4 << 20;

/// A file that grows by whole lines. Adding a line never waits for the disk.
#[derive(Debug)]
pub struct Appender {
    path: PathBuf,
    queue: Mutex<Queue>,
    out: Mutex<Out>,
}

#[derive(Debug, Default)]
struct Queue {
    lines: Vec<u8>,
    lost: u64,
}

#[derive(Debug)]
struct Out {
    file: File,
    written: u64,
    /// Taken from the queue, not written yet.
    pending: Vec<u8>,
}

impl Appender {
    /// Opens a new, empty file.
    ///
    /// # Errors
    /// If it cannot be created, or exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Self {
            path: path.to_owned(),
            queue: Mutex::default(),
            out: Mutex::new(Out {
                file,
                written: 0,
                pending: Vec::new(),
            }),
        })
    }

    /// Adds a line; it is written by the next [`Appender::flush`].
    pub fn line(&self, line: &str) {
        let mut queue = lock(&self.queue);
        if queue.lines.len() + line.len() >= KEEP_BYTES {
            queue.lost += 1;
            return;
        }
        queue.lines.extend_from_slice(line.as_bytes());
        queue.lines.push(b'\n');
    }

    /// Writes what is pending.
    ///
    /// # Errors
    /// What the file system says; the lines are kept for the next call.
    pub fn flush(&self) -> io::Result<()> {
        let mut out = lock(&self.out);
        if out.pending.len() < KEEP_BYTES {
            let lines = std::mem::take(&mut lock(&self.queue).lines);
            out.pending.extend_from_slice(&lines);
        }
        out.write()
    }

    /// Lines that could not be kept.
    #[must_use]
    pub fn lost_lines(&self) -> u64 {
        lock(&self.queue).lost
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Out {
    fn write(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(&self.pending) {
            // Take back what part of it came through. Should even that fail, the reader names the damaged line.
            let _ = self.file.set_len(self.written);
            let _ = self.file.seek(SeekFrom::Start(self.written));
            return Err(error);
        }
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

/// A panic elsewhere must not cost evidence: queue and file hold whole lines at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces a file's content as a whole: a reader, or a crash, sees the old content or the new.
///
/// # Errors
/// What the file system says; the old content stays.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = path.with_file_name(name);
    let written = (|| {
        let mut file = File::create(&temporary)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_replace_leaves_the_old_content_and_no_litter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("summary.json");
        replace(&path, b"old").unwrap();
        // A folder in the way of the temporary file makes the write fail.
        fs::create_dir(dir.path().join("summary.json.new")).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn lines_survive_a_file_that_cannot_be_written_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.jsonl");
        let out = Appender::create(&path).unwrap();
        out.line("one");
        out.flush().unwrap();
        // A handle that cannot write stands in for a full disk.
        let good = std::mem::replace(&mut lock(&out.out).file, File::open(&path).unwrap());
        out.line("two");
        assert!(out.flush().is_err());
        out.line("three");
        lock(&out.out).file = good;
        out.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_partial_write_is_taken_back() {
        // /dev/full takes nothing; a limit by quota can not be had unprivileged, so the part is put there by hand.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("usage.csv");
        let out = Appender::create(&path).unwrap();
        out.line("1,shared");
        out.flush().unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full");
        let Ok(full) = full else {
            return;
        };
        let good = std::mem::replace(&mut lock(&out.out).file, full);
        out.line("2,shared");
        let error = out.flush().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        lock(&out.out).file = good;
        out.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1,shared\n2,shared\n");
    }
}
