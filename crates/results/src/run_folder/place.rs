//! Where new folders of results go: under `runs/`, named by their time, so that the order of names is that of time.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use host::usage::Usage;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::files;

/// Where sessions are kept unless `--out` says otherwise.
pub const RUNS: &str = "runs";

const STAMP: &str = "%Y%m%d-%H%M%S";

/// A time in a folder's name, UTC to the second.
#[must_use]
pub fn stamp(time: Timestamp) -> String {
    time.strftime(STAMP).to_string()
}

/// The time that [`stamp`] wrote; `None` if it wrote no such text.
#[must_use]
pub fn time_of(stamp: &str) -> Option<Timestamp> {
    let time = DateTime::strptime(STAMP, stamp).ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}

/// The name for what began at this time; a number follows where that one and others are taken. Endless.
fn names(parent: &Path, began: Timestamp, what: &str) -> impl Iterator<Item = PathBuf> {
    let first = parent.join(format!("{}-{what}", stamp(began)));
    let numbered = {
        let first = first.display().to_string();
        (2_u32..).map(move |n| PathBuf::from(format!("{first}-{n}")))
    };
    std::iter::once(first).chain(numbered)
}

/// A folder that is not there yet.
#[must_use]
pub fn free(parent: &Path, began: Timestamp, what: &str) -> PathBuf {
    let mut names = names(parent, began, what);
    // The names have no end.
    names.find(|path| !path.exists()).unwrap_or_default()
}

/// Makes a folder of its own, also where two begin in one second.
///
/// # Errors
/// With the path that can't be made.
pub fn make(parent: &Path, began: Timestamp, what: &str) -> Result<PathBuf, (PathBuf, io::Error)> {
    std::fs::create_dir_all(parent).map_err(|error| (parent.to_owned(), error))?;
    let mut names = names(parent, began, what);
    loop {
        // As above.
        let dir = names.next().unwrap_or_default();
        match std::fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err((dir, error)),
        }
    }
}

/// Checks that a session's folder is new or empty.
///
/// # Errors
/// If it is not.
pub fn untaken(path: &Path) -> Result<(), Usage> {
    let problem = match path.read_dir().map(|mut entries| entries.next().is_some()) {
        Ok(true) if path.join(files::SUMMARY).exists() => "it holds a session already",
        Ok(true) => "there are files in it",
        Err(error) if error.kind() == ErrorKind::NotADirectory => "it is not a folder",
        _ => return Ok(()),
    };
    let path = path.display();
    Err(Usage::new(format!(
        "--out {path}: {problem}; name a new folder or an empty one"
    )))
}

/// Checks that files can be made in a folder, which need not be there yet; it makes none.
///
/// # Errors
/// What the file system says.
pub fn writable(folder: &Path) -> io::Result<()> {
    let mut there = folder
        .ancestors()
        .filter(|path| path.symlink_metadata().is_ok());
    let nearest = there.next().unwrap_or(Path::new("."));
    tempfile::tempfile_in(nearest).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_begin_in_one_second_get_folders_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let runs = parent.path().join("runs");
        let began: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        let name = |dir: PathBuf| dir.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(name(free(&runs, began, "all")), "20260304-050607-all");
        assert_eq!(time_of(&stamp(began)), Some(began));
        assert_eq!(time_of("20260304-050607-all"), None);
        assert!(!runs.exists());
        for expected in ["20260304-050607-all", "20260304-050607-all-2"] {
            assert_eq!(name(make(&runs, began, "all").unwrap()), expected);
        }
        assert_eq!(name(free(&runs, began, "all")), "20260304-050607-all-3");
    }

    #[test]
    fn what_can_not_be_made_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let runs = parent.path().join("runs");
        std::fs::write(&runs, "").unwrap();
        let (path, _) = make(&runs, Timestamp::UNIX_EPOCH, "all").unwrap_err();
        assert_eq!(path, runs);
    }
}
