//! Finds the sessions that a user names: a folder, `latest`, or `latest~N` for the N-th that began before it, of all that
//! `headroom runs` lists.
//!
//! Each function adds a sentence to `notes` for whatever it leaves out.

use std::path::{Path, PathBuf};

use host::terminal::clean;
use host::usage::Usage;

use super::place::RUNS;
use super::{ReadError, Session, files, sessions};

/// The folder of the session with this name.
///
/// # Errors
/// There is no session for a name like `latest~9`, or the name is neither a folder nor of this form.
pub fn session(name: &str, notes: &mut Vec<String>) -> Result<PathBuf, Usage> {
    find(Path::new(RUNS), name, notes)
}

/// The folders of the sessions with these names.
///
/// # Errors
/// Those of [`session`].
pub fn all(names: &[String], notes: &mut Vec<String>) -> Result<Vec<PathBuf>, Usage> {
    names.iter().map(|name| session(name, notes)).collect()
}

/// As [`all`], but leaves out names without a session, with a note, if others have one. So `runs/*` may be given.
///
/// # Errors
/// Those of [`session`].
pub fn only_sessions(names: &[String], notes: &mut Vec<String>) -> Result<Vec<PathBuf>, Usage> {
    let (real, others): (Vec<PathBuf>, Vec<PathBuf>) = all(names, notes)?
        .into_iter()
        .partition(|path| !is_foreign(path));
    if real.is_empty() {
        return Ok(others);
    }
    notes.extend(others.iter().map(|path| {
        let path = clean(&path.display().to_string());
        format!("left out: {path} is not a session")
    }));
    Ok(real)
}

/// Whether the path exists and is not a session. A missing path is the user's mistake, and an error.
fn is_foreign(path: &Path) -> bool {
    matches!(Session::load(path), Err(ReadError::Foreign { .. }))
}

/// As [`session`], but if `headroom bench all` made the latest session, `latest` means the folder of all its sessions.
/// `latest~0` means the session.
///
/// # Errors
/// Those of [`session`].
pub fn session_or_all(name: &str, notes: &mut Vec<String>) -> Result<PathBuf, Usage> {
    let found = session(name, notes)?;
    Ok(if name == LATEST {
        all_of_it(found)
    } else {
        found
    })
}

/// The folder of the whole `bench all` of which a session is a part; else the session.
fn all_of_it(session: PathBuf) -> PathBuf {
    match session.parent() {
        Some(above) if above.join(files::PAGE).is_file() => above.to_owned(),
        _ => session,
    }
}

/// A folder with sessions.
///
/// # Errors
/// There is no such folder.
pub fn folder(path: PathBuf) -> Result<PathBuf, Usage> {
    if path.is_dir() {
        return Ok(path);
    }
    let name = path.display();
    Err(Usage::new(format!("{name}: there is no such folder")))
}

const LATEST: &str = "latest";

fn find(runs: &Path, name: &str, notes: &mut Vec<String>) -> Result<PathBuf, Usage> {
    let no = |problem: String| Usage::new(format!("{name}: {problem}"));
    let named = || {
        // As `headroom runs` prints it.
        let listed = runs.join(name);
        if Path::new(name).exists() {
            Ok(PathBuf::from(name))
        } else if listed.join(files::SUMMARY).is_file() || listed.join(files::PAGE).is_file() {
            Ok(listed)
        } else {
            Err(no(format!(
                "there is no such folder, and no such session in {}",
                runs.display()
            )))
        }
    };
    let Some(rest) = name.strip_prefix(LATEST) else {
        return named();
    };
    let back: usize = match rest.strip_prefix('~') {
        None if rest.is_empty() => 0,
        Some(number) => number
            .parse()
            .map_err(|_| no("a number follows ~".into()))?,
        None => return named(),
    };
    let all = sessions::below(runs).unwrap_or_default();
    if !all.broken.is_empty() {
        let (n, runs) = (all.broken.len(), runs.display());
        notes.push(format!(
            "left out: {n} of the sessions in {runs} cannot be read; `headroom runs` says why"
        ));
    }
    let count = all.found.len();
    let mut latest_first = all.found.into_iter().rev();
    latest_first
        .nth(back)
        .map(|session| session.dir)
        .ok_or_else(|| no(format!("there are {count} sessions in {}", runs.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::full;
    use crate::run_folder::{SessionWriter, Summary};

    /// A session that began then, below `folder`.
    fn begun(folder: &Path, name: &str, at: &str) {
        let summary = Summary {
            started: at.into(),
            ..full()
        };
        SessionWriter::create(&folder.join(name), &summary).unwrap();
    }

    fn find(runs: &Path, name: &str) -> Result<PathBuf, Usage> {
        super::find(runs, name, &mut Vec::new())
    }

    #[test]
    fn latest_goes_by_time_over_all_sessions_of_runs_and_as_they_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let runs = root.path().join("runs");
        let all = runs.join("20260103-000000-all");
        begun(&runs, "hami-2.9", "2026-01-01T00:00:00Z");
        begun(&runs, "20260102-000000-regimes", "2026-01-02T00:00:00.5Z");
        begun(&all, "regimes", "2026-01-03T00:00:00Z");
        begun(&all, "aa", "2026-01-03T01:00:00Z");
        begun(&runs.join("examples"), "regimes", "2026-01-09T00:00:00Z");
        begun(
            &runs.join("nightly"),
            "20260109-000000",
            "2026-01-09T00:00:00Z",
        );
        std::fs::create_dir(runs.join("20260109-000000-no-session")).unwrap();
        let broken = runs.join("20260109-000000-broken");
        std::fs::create_dir(&broken).unwrap();
        std::fs::write(broken.join(files::SUMMARY), "{}").unwrap();

        for (back, name) in [
            "20260103-000000-all/aa",
            "20260103-000000-all/regimes",
            "20260102-000000-regimes",
            "hami-2.9",
        ]
        .into_iter()
        .enumerate()
        {
            let folder = find(&runs, &format!("latest~{back}")).unwrap();
            assert_eq!(folder, runs.join(name));
            assert_eq!(find(&runs, name).unwrap(), folder);
        }
        let latest = find(&runs, "latest").unwrap();
        assert_eq!(latest, all.join("aa"));
        assert_eq!(all_of_it(latest.clone()), latest);
        std::fs::write(all.join(files::PAGE), "{}").unwrap();
        assert_eq!(all_of_it(latest), all);
        assert_eq!(find(&runs, "20260103-000000-all").unwrap(), all);
        let other = runs.join("hami-2.9");
        assert_eq!(all_of_it(other.clone()), other);
        let mut notes = Vec::new();
        super::find(&runs, "latest", &mut notes).unwrap();
        assert!(notes[0].contains("1 of the sessions"), "{notes:?}");
        let line = find(&runs, "latest~4").unwrap_err().to_string();
        assert!(line.contains("4 sessions"), "{line}");
    }

    #[test]
    fn names_that_stand_for_nothing_are_told() {
        let root = tempfile::tempdir().unwrap();
        let find = |name: &str| find(root.path(), name);
        assert!(find("latest~x").is_err());
        assert!(
            find("latest")
                .unwrap_err()
                .to_string()
                .contains("0 sessions")
        );
        let line = find("nosuch").unwrap_err().to_string();
        assert!(
            line.contains("no such folder, and no such session"),
            "{line}"
        );
        let path = root.path().to_str().unwrap();
        assert_eq!(find(path).unwrap(), root.path());
    }
}
