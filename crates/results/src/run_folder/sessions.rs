//! The sessions in a folder such as `runs/`: one answer for the list of them, for `latest`, and for the nights before.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{ReadError, Session};

/// Folders whose sessions are not counted among those around them: the recorded examples, and what came of nights.
const APART: [&str; 2] = ["examples", "nightly"];

/// Sessions, in the order in which they began.
#[derive(Debug, Default)]
pub struct Sessions {
    /// Those that can be read.
    pub found: Vec<Session>,
    /// Why the others can't be.
    pub broken: Vec<ReadError>,
}

/// The sessions in `root`, and those one level below it in folders that are none themselves, as the folder is in which
/// `headroom bench all` keeps its sessions. What is no session is passed over.
///
/// # Errors
/// If `root` can't be read.
pub fn below(root: &Path) -> io::Result<Sessions> {
    let mut all = Sessions::default();
    for folder in folders(root)? {
        if all.take(&folder) || APART.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        // What can't be looked into has nothing to list.
        for inner in folders(&folder).unwrap_or_default() {
            all.take(&inner);
        }
    }
    // By time, not by name: a folder may have any name.
    all.found.sort_by_cached_key(|session| {
        let began: Option<Timestamp> = session.summary.started.parse().ok();
        (began, session.dir.clone())
    });
    Ok(all)
}

fn folders(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in root.read_dir()? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    Ok(folders)
}

impl Sessions {
    /// Takes a folder; false if it is something else than a session.
    fn take(&mut self, folder: &Path) -> bool {
        match Session::load(folder) {
            Ok(session) => self.found.push(session),
            Err(ReadError::Foreign { .. }) => return false,
            Err(error) => self.broken.push(error),
        }
        true
    }
}
