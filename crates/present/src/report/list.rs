//! The list of sessions.

use std::path::Path;

use comfy_table::{Table, presets};

use super::ReportError;
use crate::text::{clean, secs, short, to_the_second};
use results::run_folder::{RunSummary, Session, Summary, sessions};

/// Lists the sessions that [`sessions::below`] finds in `root`, the latest first: time, experiment, HAMi, disturbed, headline
/// metric. A folder that can't be read gets a line that says why.
pub fn runs(root: &Path) -> Result<String, ReportError> {
    let io_error = |error| ReportError::Io {
        path: root.to_owned(),
        error,
    };
    let all = sessions::below(root).map_err(io_error)?;
    if all.found.is_empty() && all.broken.is_empty() {
        return Ok(format!(
            "no session under {}; `headroom bench regimes` makes one\n",
            root.display()
        ));
    }
    let mut broken: Vec<String> = all.broken.iter().map(ToString::to_string).collect();
    broken.sort();
    let mut text = String::new();
    if !all.found.is_empty() {
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
        table.add_rows(all.found.iter().rev().map(|session| row(root, session)));
        text = table.to_string() + "\n";
    }
    for error in broken {
        text.push_str("unreadable: ");
        text.push_str(&clean(&error));
        text.push('\n');
    }
    Ok(text)
}

fn row(root: &Path, Session { dir, summary }: &Session) -> Vec<String> {
    // As it can be named to the other commands.
    let name = dir.strip_prefix(root).unwrap_or(dir).to_string_lossy();
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

/// Arms that a headline names.
const ARMS: usize = 3;

/// XX
fn headline(summary: &Summary) -> String {
    let Some(run) = summary.runs.first() else {
        return "no run ended".into();
    };
    let working = run.tenants.iter().filter(|t| t.submitted > 0);
    let makespans: Vec<String> = working
        .filter_map(|t| Some(format!("{} {}", t.name, secs(t.makespan_secs?))))
        .take(3)
        .collect();
    if !makespans.is_empty() {
        return makespans.join(", ");
    }
    let cleared = summary.arms.iter().filter_map(|arm| {
        let right = arm.placements.as_ref()?.right;
        Some(format!("{} {} of {}", arm.name, right.count, right.of))
    });
    let cleared: Vec<String> = cleared.take(ARMS).collect();
    if !cleared.is_empty() {
        return format!("on the machine cleared for them: {}", cleared.join(", "));
    }
    let mut first: Vec<&RunSummary> = Vec::new();
    for run in &summary.runs {
        if first.iter().all(|r| r.arm != run.arm) {
            first.push(run);
        }
    }
    let whole = summary.runs.iter().any(|r| bound(r, Some(WHOLE)).1 > 0);
    let each = first.iter().take(ARMS).map(|run| {
        let (done, all) = bound(run, whole.then_some(WHOLE));
        format!("{} {done} of {all}", run.arm)
    });
    let what = if whole {
        "whole machines bound"
    } else {
        "bound"
    };
    format!("{what}: {}", each.collect::<Vec<_>>().join(", "))
}

/// The class of requests for all cards of a machine.
const WHOLE: &str = "whole-machine";

/// Requests bound, and requests, of a class or of all.
fn bound(run: &RunSummary, class: Option<&str>) -> (u64, u64) {
    let latency = run.tenants.iter().flat_map(|t| &t.latency);
    let own = latency.filter(|(name, _)| class.is_none_or(|c| c == name.as_str()));
    let bound = own.filter_map(|(_, phases)| phases.get("bound"));
    bound.fold((0, 0), |(done, all), l| {
        let observed = l.count.saturating_sub(l.censored);
        (done.saturating_add(observed), all.saturating_add(l.count))
    })
}
