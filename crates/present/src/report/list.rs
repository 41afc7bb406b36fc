//! The list of sessions.

use std::cmp::Ordering;
use std::path::Path;

use super::ReportError;
use crate::text::{clean, secs, short, table, to_the_second};
use plan::metric::Phase;
use results::run_folder::{RunSummary, Session, Summary, TenantSummary, sessions};

/// Lists the sessions that [`sessions::below`] finds in `root`, the latest first: time, experiment, HAMi, disturbed, headline
/// metric. A folder that can't be read gets a line that says why.
///
/// # Errors
/// If `root` can't be read.
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
    let mut text = String::new();
    if !all.found.is_empty() {
        let header = [
            "folder",
            "started",
            "experiment",
            "HAMi",
            "runs",
            "disturbed",
            "headline",
        ];
        let rows = all.found.into_iter().rev().map(|mut session| {
            broken.extend(session.sound_runs().1);
            row(root, &session)
        });
        text = table(&header, 0..0, rows) + "\n";
    }
    broken.sort();
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

/// Teams, and arms, that a headline names.
const TEAMS: usize = 3;
const ARMS: usize = 3;

/// Of the first arm each team's median makespan; where nothing has an end, where whole machines were placed that machines
/// were cleared for; else of each arm the median number of requests bound, of whole machines where there were any.
fn headline(summary: &Summary) -> String {
    let mut arms: Vec<(&str, Vec<&RunSummary>)> = Vec::new();
    for run in &summary.runs {
        match arms.iter_mut().find(|(arm, _)| *arm == run.arm) {
            Some((_, runs)) => runs.push(run),
            None => arms.push((&run.arm, vec![run])),
        }
    }
    let Some((arm, runs)) = arms.first() else {
        return "no run ended".into();
    };
    let makespan = |team: &TenantSummary| {
        let teams = runs.iter().flat_map(|run| &run.tenants);
        let own = teams.filter(|t| t.name == team.name && t.submitted > 0);
        let median = median(own.filter_map(|t| t.makespan_secs), f64::total_cmp)?;
        Some(format!("{} {}", team.name, secs(median)))
    };
    let makespans: Vec<String> = runs[0]
        .tenants
        .iter()
        .filter_map(makespan)
        .take(TEAMS)
        .collect();
    if !makespans.is_empty() {
        let of = if arms.len() > 1 {
            format!("{arm}: ")
        } else {
            String::new()
        };
        return format!("{of}{}", makespans.join(", "));
    }
    let cleared = summary.arms.iter().filter_map(|arm| {
        let right = arm.placements.as_ref()?.right;
        Some(format!("{} {} of {}", arm.name, right.count, right.of))
    });
    let cleared: Vec<String> = cleared.take(ARMS).collect();
    if !cleared.is_empty() {
        return format!("on the machine cleared for them: {}", cleared.join(", "));
    }
    let whole = summary.runs.iter().any(|r| bound(r, Some(WHOLE)).1 > 0);
    let each = arms.iter().take(ARMS).filter_map(|(arm, runs)| {
        let all = runs.iter().map(|run| bound(run, whole.then_some(WHOLE)));
        let (done, all) = median(all, Ord::cmp)?;
        Some(format!("{arm} {done} of {all}"))
    });
    let what = if whole {
        "whole machines bound"
    } else {
        "bound"
    };
    format!("{what}: {}", each.collect::<Vec<_>>().join(", "))
}

/// The median, of an even number the lower of the two in the middle.
fn median<T>(values: impl Iterator<Item = T>, order: impl Fn(&T, &T) -> Ordering) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(order);
    let middle = values.len().checked_sub(1)? / 2;
    Some(values.swap_remove(middle))
}

/// The class of requests for all cards of a machine.
const WHOLE: &str = "whole-machine";

/// Requests bound, and requests, of a class or of all.
fn bound(run: &RunSummary, class: Option<&str>) -> (u64, u64) {
    let latency = run.tenants.iter().flat_map(|t| &t.latency);
    let own = latency.filter(|(name, _)| class.is_none_or(|c| c == name.as_str()));
    let bound = own.filter_map(|(_, phases)| phases.get(&Phase::BindLatency));
    bound.fold((0, 0), |(done, all), l| {
        let observed = l.count.saturating_sub(l.censored);
        (done.saturating_add(observed), all.saturating_add(l.count))
    })
}
