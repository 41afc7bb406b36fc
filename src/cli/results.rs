//! Sessions as a user names them: a folder, `latest`, or `latest~N` for the N-th before it.

use std::path::{Path, PathBuf};

use crate::run_folder::place::RUNS;
use crate::run_folder::{ReadError, Session, files};

/// A name that stands for no session.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct NoSession {
    name: String,
    problem: String,
}

/// The folders that these names stand for.
///
/// # Errors
/// A name like `latest~9` for which there is no session, or one that is neither a folder nor such a name.
pub fn sessions(names: &[String]) -> Result<Vec<PathBuf>, NoSession> {
    names.iter().map(|name| session(name)).collect()
}

/// As [`sessions`]; what is no session is left out with a note if others are, so that `runs/*` may be given.
///
/// # Errors
/// As [`sessions`].
pub fn only_sessions(names: &[String]) -> Result<Vec<PathBuf>, NoSession> {
    let (real, others): (Vec<PathBuf>, Vec<PathBuf>) = sessions(names)?
        .into_iter()
        .partition(|path| !is_foreign(path));
    if real.is_empty() {
        return Ok(others);
    }
    for path in others {
        errln!("left out: {} is no session", path.display());
    }
    Ok(real)
}

/// Whether something is there that is no session. What is missing is the user's mistake, and told as such.
fn is_foreign(path: &Path) -> bool {
    matches!(Session::load(path), Err(ReadError::Foreign { .. }))
}

/// The folder that this name stands for.
///
/// # Errors
/// As [`sessions`].
pub fn session(name: &str) -> Result<PathBuf, NoSession> {
    find(Path::new(RUNS), name)
}

/// A folder of sessions.
///
/// # Errors
/// If there is no such folder.
pub fn folder(path: PathBuf) -> Result<PathBuf, NoSession> {
    if path.is_dir() {
        return Ok(path);
    }
    Err(NoSession {
        name: path.display().to_string(),
        problem: "there is no such folder".into(),
    })
}

fn find(runs: &Path, name: &str) -> Result<PathBuf, NoSession> {
    let no = |problem: String| NoSession {
        name: name.to_owned(),
        problem,
    };
    let named = || {
        // As `headroom runs` prints it.
        let listed = runs.join(name);
        if Path::new(name).exists() {
            Ok(PathBuf::from(name))
        } else if listed.join(files::SUMMARY).is_file() {
            Ok(listed)
        } else {
            Err(no(format!(
                "there is neither such a folder nor such a session in {}",
                runs.display()
            )))
        }
    };
    let Some(rest) = name.strip_prefix("latest") else {
        return named();
    };
    let back: usize = match rest.strip_prefix('~') {
        None if rest.is_empty() => 0,
        Some(number) => number
            .parse()
            .map_err(|_| no("a number follows ~".into()))?,
        None => return named(),
    };
    let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
    // Sessions are named by their time, so the order of names is that of time.
    let mut folders: Vec<PathBuf> = entries
        .map(|e| e.path())
        .filter(|p| p.join(files::SUMMARY).is_file())
        .collect();
    folders.sort();
    let count = folders.len();
    folders
        .into_iter()
        .rev()
        .nth(back)
        .ok_or_else(|| no(format!("there are {count} sessions in {}", runs.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_counts_back_over_sessions_only() {
        let runs = tempfile::tempdir().unwrap();
        for name in [
            "20260101-000000-a",
            "20260102-000000-b",
            "20260103-000000-no-session",
        ] {
            std::fs::create_dir(runs.path().join(name)).unwrap();
            if !name.ends_with("no-session") {
                std::fs::write(runs.path().join(name).join(files::SUMMARY), "{}").unwrap();
            }
        }
        let find = |name: &str| find(runs.path(), name);
        assert!(find("latest").unwrap().ends_with("20260102-000000-b"));
        assert!(find("latest~1").unwrap().ends_with("20260101-000000-a"));
        assert!(
            find("latest~2")
                .unwrap_err()
                .to_string()
                .contains("2 sessions")
        );
        assert!(find("latest~x").is_err());
        assert!(find("nosuch").unwrap_err().to_string().contains("neither"));
        let path = runs.path().join("20260101-000000-a");
        assert_eq!(find(path.to_str().unwrap()).unwrap(), path);
        assert!(find("20260101-000000-a").unwrap().starts_with(runs.path()));
    }
}
