//! Sessions as a user names them: a folder, `latest`, or `latest~N` for the N-th that began before it, over all that
//! `headroom runs` lists.

use host::errln;
use std::path::{Path, PathBuf};

use ::results::run_folder::place::RUNS;
use ::results::run_folder::{ReadError, Session, files, sessions};
use host::terminal::clean;
use host::usage::Usage;

/// The folders that these names stand for.
///
/// # Errors
/// A name like `latest~9` for which there is no session, or one that is neither a folder nor such a name.
pub fn sessions(names: &[String]) -> Result<Vec<PathBuf>, Usage> {
    names.iter().map(|name| session(name)).collect()
}

/// As [`sessions`]; what is no session is left out with a note if others are, so that `runs/*` may be given.
///
/// # Errors
/// As [`sessions`].
pub fn only_sessions(names: &[String]) -> Result<Vec<PathBuf>, Usage> {
    let (real, others): (Vec<PathBuf>, Vec<PathBuf>) = sessions(names)?
        .into_iter()
        .partition(|path| !is_foreign(path));
    if real.is_empty() {
        return Ok(others);
    }
    for path in others {
        errln!(
            "left out: {} is no session",
            clean(&path.display().to_string())
        );
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
pub fn session(name: &str) -> Result<PathBuf, Usage> {
    find(Path::new(RUNS), name)
}

/// A folder of sessions.
///
/// # Errors
/// If there is no such folder.
pub fn folder(path: PathBuf) -> Result<PathBuf, Usage> {
    if path.is_dir() {
        return Ok(path);
    }
    let path = path.display();
    Err(Usage::new(format!("{path}: there is no such folder")))
}

fn find(runs: &Path, name: &str) -> Result<PathBuf, Usage> {
    let no = |problem: String| Usage::new(format!("{name}: {problem}"));
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
    let all = sessions::below(runs).unwrap_or_default();
    if !all.broken.is_empty() {
        let (n, runs) = (all.broken.len(), runs.display());
        errln!("left out: {n} of the sessions in {runs} can't be read; `headroom runs` says why");
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
    use synthetic::Script;

    /// A session that began then, below `folder`.
    fn begun(folder: &Path, name: &'static str, at: &'static str) {
        let script = Script {
            folder: name,
            started: at,
            ..Script::default()
        };
        script.write(folder);
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

        let listed = present::report::runs(&runs).unwrap();
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
            // In the same order, by a name that can be given back.
            let row = listed.lines().nth(2 + back).unwrap();
            assert!(row.contains(&format!("| {name} ")), "{listed}");
            assert_eq!(find(&runs, name).unwrap(), folder);
        }
        assert_eq!(find(&runs, "latest").unwrap(), all.join("aa"));
        let line = find(&runs, "latest~4").unwrap_err().to_string();
        assert!(line.contains("4 sessions"), "{line}");
        assert!(
            !listed.contains("examples") && listed.contains("unreadable: "),
            "{listed}"
        );
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
        assert!(find("nosuch").unwrap_err().to_string().contains("neither"));
        let path = root.path().to_str().unwrap();
        assert_eq!(find(path).unwrap(), root.path());
    }
}
