//! Commands that only read what was recorded: `show`, `runs`, `plot`, `report`.

use host::{errln, out, outln};
use std::path::{Path, PathBuf};

use super::Exit;
use ::results::run_folder::{named, outputs};
use host::usage::OrUsage as _;
use present::{charts, report};

/// Finds sessions by their names, and prints what was left out.
///
/// # Errors
/// Those of `find`.
pub fn find<T, E>(find: impl FnOnce(&mut Vec<String>) -> Result<T, E>) -> Result<T, E> {
    let mut notes = Vec::new();
    let found = find(&mut notes);
    for note in notes {
        errln!("{note}");
    }
    found
}

/// Prints a session.
///
/// # Errors
/// It cannot be read.
pub fn show(session: &str) -> anyhow::Result<Exit> {
    let session = find(|notes| named::session_or_all(session, notes))?;
    out!("{}", report::show(&session).or_usage()?);
    Ok(Exit::Done)
}

/// Prints the list of sessions.
///
/// # Errors
/// The folder cannot be read.
pub fn runs(dir: PathBuf) -> anyhow::Result<Exit> {
    out!("{}", report::runs(&named::folder(dir)?).or_usage()?);
    Ok(Exit::Done)
}

/// Draws charts.
///
/// # Errors
/// A session cannot be read, or a chart cannot be drawn or written.
pub fn plot(sessions: &[String], out: &Path) -> anyhow::Result<Exit> {
    let sessions = find(|notes| named::only_sessions(sessions, notes))?;
    for path in charts::plot(&sessions, out).or_usage()? {
        outln!("{}", path.display());
    }
    Ok(Exit::Done)
}

/// Writes a report.
///
/// # Errors
/// A session cannot be read, or the file cannot be written.
pub fn report(sessions: &[String], out: &Path) -> anyhow::Result<Exit> {
    let sessions = find(|notes| named::only_sessions(sessions, notes))?;
    // A report may be put into a session's folder, but not in place of a file of it.
    if out.extension().is_none_or(|end| end != "html") {
        outputs::apart(&[("--out", Some(out))], &sessions)?;
    }
    report::write(&sessions, out).or_usage()?;
    outln!("{}", out.display());
    Ok(Exit::Done)
}
