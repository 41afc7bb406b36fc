//! The page as Markdown, which is fit for a terminal, too.

use std::fmt::Write as _;

use super::{MetricRow, Page, Part, State, verdicts};
use crate::text::{amount, in_one_line, number, spread_of, table};
use results::metrics::Amount;
use results::run_folder::{Percentile, Spread};

pub fn page(page: &Page) -> String {
    let mut text = String::from("# Published and measured\n\n");
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "`{}`, headroom {}; {}\n",
        page.command.join(" "),
        page.headroom,
        page.hami.join("; "),
    );
    for command in &page.resumed {
        let _ = writeln!(text, "Continued by `{}`.\n", command.join(" "));
    }
    let sizes: Vec<String> = page.machines.iter().map(ToString::to_string).collect();
    let started = page.started.as_deref().unwrap_or("not at all");
    let _ = writeln!(
        text,
        "Started {started}; fake machines of 8 cards: {}; the machine that ran it and all versions are in each session's \
         `run.json`.\n",
        sizes.join(", ")
    );
    if page.quick {
        text.push_str(
            "QUICK: timelines at another compression than their own, a first look only.\n\n",
        );
    }
    let open = |part: &&Part| !matches!(part.state, State::Done | State::Disturbed);
    let open: Vec<&str> = page
        .experiments
        .iter()
        .filter(open)
        .map(|p| p.experiment.as_str())
        .collect();
    if !open.is_empty() {
        let _ = writeln!(text, "Not complete: {}.\n", open.join(", "));
    }
    let [yes, no, open] = page.verdicts(false);
    let [disturbed_yes, disturbed_no, disturbed_open] = page.verdicts(true);
    let _ = write!(
        text,
        "From undisturbed runs {yes} claims hold and {no} do not. "
    );
    if disturbed_yes + disturbed_no > 0 {
        let _ = write!(
            text,
            "From runs of which some were disturbed {disturbed_yes} hold and {disturbed_no} do not. "
        );
    }
    let _ = writeln!(text, "{} were not judged.\n", open + disturbed_open);
    let _ = writeln!(text, "{}", overview(page));
    for part in &page.experiments {
        write(part, &mut text);
    }
    text
}

fn overview(page: &Page) -> String {
    let rows = page.experiments.iter().map(|part| {
        let counts = verdicts(part.claims.iter()).map(|n| n.to_string());
        let [yes, no, open] = counts;
        let runs = part.runs.to_string();
        [part.experiment.clone(), runs, yes, no, open, state(part)]
    });
    let header = ["experiment", "runs", "yes", "NO", "not judged", "state"];
    table(&header, 1..5, rows)
}

fn state(part: &Part) -> String {
    match part.state {
        State::Done => "done".to_owned(),
        State::Disturbed => {
            let mut kinds: Vec<&str> = part.disturbed.iter().map(|[_, k, _]| k.as_str()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            format!("disturbed: {}", kinds.join(", "))
        }
        State::Failed if part.failed.is_empty() => "FAILED".to_owned(),
        State::Failed => failed(part),
        State::Interrupted if part.failed.is_empty() => "interrupted".to_owned(),
        State::Interrupted => format!("interrupted, {}", failed(part)),
        State::NotBegun => "not begun".to_owned(),
        State::LeftOut => "left out".to_owned(),
    }
}

fn failed(part: &Part) -> String {
    match part.failed.len() {
        1 => "1 run FAILED".to_owned(),
        n => format!("{n} runs FAILED"),
    }
}

fn write(part: &Part, text: &mut String) {
    let _ = writeln!(text, "\n## {}: {}\n", part.experiment, part.title);
    if matches!(part.state, State::NotBegun | State::LeftOut) {
        // Each of its rows would say the same.
        let why = part.error.as_deref().map(in_one_line);
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        let _ = writeln!(text, "- {}{why}", state(part));
        return;
    }
    if !part.metrics.is_empty() {
        let _ = writeln!(text, "{}\n", metrics(&part.metrics));
    }
    for row in &part.claims {
        let verdict = match row.holds {
            Some(true) => "**yes**",
            Some(false) => "**NO**",
            None => "not judged",
        };
        let can_fail = row.can_fail.as_deref();
        let can_fail = can_fail.map_or(String::new(), |words| format!("; {words}"));
        let _ = writeln!(
            text,
            "- {verdict}, {}: {} ({}){can_fail}",
            row.arm, row.claim, row.reason
        );
    }
    if !part.meaning.is_empty() {
        let _ = writeln!(text, "\nIn short: {}.", part.meaning);
    }
    let mut notes = Vec::new();
    let what = state(part).to_lowercase();
    let error = part.error.iter();
    notes.extend(error.map(|e| format!("{what}: {}", in_one_line(e))));
    notes.extend(part.failed.iter().map(|run| {
        let error = in_one_line(&run.error);
        format!("failed: arm {}, repeat {}: {error}", run.arm, run.repeat)
    }));
    let disturbed = part.disturbed.iter();
    notes
        .extend(disturbed.map(|[run, kind, detail]| format!("disturbed: {run}: {kind}: {detail}")));
    notes.extend(part.folder.iter().map(|dir| format!("session: {dir}")));
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "- {note}");
    }
}

fn metrics(rows: &[MetricRow]) -> String {
    let rows = rows.iter().map(|row| {
        let unit = row.metric.row().unit;
        let value = |of: Percentile| Some(amount(unit, Amount::of(of)?));
        let measured = row.measured.and_then(|of_arm| match row.range {
            Some([min, max]) => {
                let median = of_arm;
                spread_of(unit, &Spread { median, min, max })
            }
            None => value(of_arm),
        });
        let ratio = match row.measured {
            Some(Percentile::Secs(value)) if row.note.is_empty() && row.published > 0.0 => {
                format!("{:.2}", value / row.published)
            }
            _ => String::new(),
        };
        [
            row.arm.clone(),
            row.metric.words(),
            number(unit, row.published),
            measured.unwrap_or_default(),
            ratio,
            row.note.clone(),
        ]
    });
    let header = ["arm", "metric", "published", "measured", "÷", ""];
    table(&header, 2..5, rows)
}
