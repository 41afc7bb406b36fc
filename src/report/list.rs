//! The list of sessions.

use std::fs;
use std::path::{Path, PathBuf};

use comfy_table::{Table, presets};

use super::ReportError;
use crate::charts::text::{clean, secs, short, to_the_second};
use crate::run_folder::{ReadError, Session, Summary};

/// Lists the sessions below `root`, the latest first: time, experiment, HAMi, disturbed, headline figure. A folder that
/// can't be read gets a line that says why.
///
/// # Errors
/// If `root` can't be read.
pub fn runs(root: &Path) -> Result<String, ReportError> {
    let io_error = |error| ReportError::Io {
        path: root.to_owned(),
        error,
    };
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(root).map_err(io_error)? {
        let path = entry.map_err(io_error)?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    let mut rows = Vec::new();
    let mut broken = Vec::new();
    for folder in folders {
        match Session::load(&folder) {
            Ok(session) => rows.push((
                session.summary.started.clone(),
                row(&folder, &session.summary),
            )),
            // A folder of something else is none of this list's business.
            Err(ReadError::Foreign { .. }) => {}
            Err(error) => broken.push(error.to_string()),
        }
    }
    if rows.is_empty() && broken.is_empty() {
        return Ok(format!(
            "no session under {}; `headroom bench regimes` makes one\n",
            root.display()
        ));
    }
    rows.sort_by(|a, b| b.cmp(a));
    broken.sort();
    let mut text = String::new();
    if !rows.is_empty() {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "folder",
            "started",
            "experiment",
            "HAMi",
            "runs",
            "disturbed",
            "headline",
        ]);
        table.add_rows(rows.into_iter().map(|(_, row)| row));
        text = table.to_string() + "\n";
    }
    for error in broken {
        text.push_str("unreadable: ");
        text.push_str(&clean(&error));
        text.push('\n');
    }
    Ok(text)
}

fn row(folder: &Path, summary: &Summary) -> Vec<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let disturbed = summary
        .runs
        .iter()
        .filter(|r| !r.disturbed.is_empty())
        .count();
    let state = match (summary.complete, disturbed) {
        _ if !summary.failed.is_empty() => format!("{} failed", summary.failed.len()),
        (false, _) => "incomplete".to_owned(),
        (true, 0) => "no".to_owned(),
        (true, n) => format!("{n} of {} runs", summary.runs.len()),
    };
    let source = format!("{:?} {}", summary.hami.source, summary.hami.version).to_lowercase();
    let cells = [
        name.into_owned(),
        to_the_second(&summary.started),
        summary.experiment.clone(),
        source,
        summary.runs.len().to_string(),
        state,
        headline(summary),
    ];
    cells.iter().map(|c| short(&clean(c), 70)).collect()
}

/// The first run's makespans; where nothing has an end, how many requests were bound.
fn headline(summary: &Summary) -> String {
    let Some(run) = summary.runs.first() else {
        return "no run ended".into();
    };
    let working = || run.tenants.iter().filter(|t| t.experiments > 0);
    let makespans: Vec<String> = working()
        .filter_map(|t| Some(format!("{} {}", t.name, secs(t.makespan_secs?))))
        .take(3)
        .collect();
    if !makespans.is_empty() {
        return makespans.join(", ");
    }
    let bound = || {
        working()
            .flat_map(|t| t.latency.values())
            .filter_map(|phases| phases.get("bound"))
    };
    let all: u64 = bound().map(|l| l.count).fold(0, u64::saturating_add);
    let never: u64 = bound().map(|l| l.censored).fold(0, u64::saturating_add);
    format!("{}: {} of {all} bound", run.arm, all.saturating_sub(never))
}
