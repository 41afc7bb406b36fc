//! The stamp beside cached programs: what they are, and whether they are still what they were.
//!
//! Checking reads no program whose size and time of change are the noted ones: that finds one that was cut short, replaced or
//! edited. One of another time is read, since copying or unpacking a cache changes times. Reading all of them (half a
//! gigabyte) is `doctor`'s work.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::cache::is_executable;
use super::pins::hex;

/// What a stamp's file is named.
const FILE: &str = "stamp.json";

/// What is known of a folder of programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// How it was made: build arguments, or the folder it describes. Another recipe makes it stale.
    pub recipe: Vec<String>,
    /// `go version` of the compiler that built it; empty if it was supplied.
    pub go: String,
    /// The files.
    pub files: Vec<StampFile>,
}

/// What is known of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StampFile {
    /// Name of the program; empty for other files.
    pub program: String,
    /// Version it reports; empty for other files.
    pub version: String,
    /// Path, relative to the stamp's folder or absolute.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// Time of last change, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// SHA-256 of its content, hex.
    pub sha256: String,
}

impl StampFile {
    /// Looks at `base`/`path` and reads it wholly.
    pub(crate) fn of(base: &Path, path: &Path, program: &str, version: &str) -> io::Result<Self> {
        let full = base.join(path);
        let (size, mtime_ns) = size_and_mtime(&full)?;
        Ok(Self {
            program: program.to_owned(),
            version: version.to_owned(),
            path: path.to_owned(),
            size,
            mtime_ns,
            sha256: sha256_of(&full)?,
        })
    }

    /// Whether the file is the noted one; its noted time is brought up to date.
    fn check(&mut self, base: &Path) -> bool {
        let full = base.join(&self.path);
        let Ok((size, mtime_ns)) = size_and_mtime(&full) else {
            return false;
        };
        let intact = size == self.size
            && (mtime_ns == self.mtime_ns
                || sha256_of(&full).is_ok_and(|seen| seen == self.sha256))
            && (self.program.is_empty() || is_executable(&full));
        self.mtime_ns = mtime_ns;
        intact
    }
}

impl Stamp {
    /// Reads the stamp in `folder`; `None` if there is none that can be read.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    /// Reads the stamp in `folder` if it has this recipe and its files are as noted.
    pub(crate) fn read_valid(folder: &Path, recipe: &[String]) -> Option<Self> {
        let noted = Self::read(folder).filter(|stamp| stamp.recipe == recipe)?;
        let mut seen = noted.clone();
        if !seen.files.iter_mut().all(|file| file.check(folder)) {
            return None;
        }
        if seen != noted {
            // If it cannot be written, the files are read again next time.
            let _ = seen.write(folder);
        }
        Some(seen)
    }

    /// Writes the stamp into `folder`.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&file, self)?;
        file.as_file().sync_all()?;
        file.persist(folder.join(FILE))?;
        Ok(())
    }

    /// Reads every file and names the first whose content is not as noted.
    pub(crate) fn corrupt_file(&self, folder: &Path) -> Option<PathBuf> {
        let mut files = self.files.iter();
        files.find_map(|file| {
            let path = folder.join(&file.path);
            let intact = sha256_of(&path).is_ok_and(|found| found == file.sha256);
            (!intact).then_some(path)
        })
    }
}

fn size_and_mtime(path: &Path) -> io::Result<(u64, i128)> {
    let metadata = fs::metadata(path)?;
    let mtime = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Ok((metadata.len(), mtime))
}

/// SHA-256 of a file's content, lower-case hex.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    loop {
        let bytes = file.fill_buf()?;
        let read = bytes.len();
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(bytes);
        file.consume(read);
    }
}
