//! A comparison in words and tables: for the terminal, and as Markdown.

mod cells;
mod power;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::ReportError;
use crate::text::{self, clean, count};
use compare::nights::Test;
use compare::rank::{self, MOST_EXACT};
use compare::verdict::runs_needed;
use compare::{Comparison, Outcome, Row, SideFacts, Verdict};

pub use cells::cells;
use cells::{change, p, threshold};
pub use power::power_text;

/// The most differences of the sides that a headline names.
const HEADLINE: usize = 3;

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// For the terminal; with every metric if so.
    Terminal {
        /// Show the metrics that are not declared, too.
        all: bool,
    },
    /// As Markdown, with every metric.
    Markdown,
}

/// Writes a comparison as JSON and as Markdown, each if a file is named.
///
/// # Errors
/// A file cannot be written. The other one is, all the same.
pub fn write(
    of: &Comparison,
    json: Option<&Path>,
    markdown: Option<&Path>,
) -> Result<(), ReportError> {
    let json = json.map_or(Ok(()), |file| {
        let text = serde_json::to_string_pretty(of).map_err(io::Error::from);
        put(file, text.map(|text| text + "\n"))
    });
    let markdown = markdown.map_or(Ok(()), |file| put(file, Ok(text(of, Style::Markdown))));
    json.and(markdown)
}

fn put(file: &Path, text: io::Result<String>) -> Result<(), ReportError> {
    let written = text.and_then(|text| std::fs::write(file, text));
    written.map_err(|error| ReportError::Io {
        path: file.to_owned(),
        error,
    })
}

/// A comparison as text.
#[must_use]
pub fn text(of: &Comparison, style: Style) -> String {
    let markdown = style == Style::Markdown;
    let mut lines: Vec<String> = Vec::new();
    let title = headline(of);
    lines.push(if markdown {
        format!("# {title}")
    } else {
        title
    });
    lines.push(String::new());
    lines.push(side("baseline", &of.base, markdown));
    lines.push(side("new", &of.new, markdown));
    lines.extend(of.across.iter().skip(HEADLINE).map(|d| {
        let more = format!(
            "also across {}: {}: {} → {}",
            d.topic.name(),
            d.what,
            d.base,
            d.new
        );
        if markdown { format!("- {more}") } else { more }
    }));
    for arm in &of.arms {
        lines.push(String::new());
        let runs = format!("arm {}: {} + {} runs", arm.arm, arm.base_runs, arm.new_runs);
        lines.push(if markdown { format!("## {runs}") } else { runs });
        lines.push(String::new());
        if !arm.declared.is_empty() {
            lines.extend(table(&arm.declared, true, markdown));
        }
        let rest: Vec<Row> = arm.rest.iter().filter(|r| changed(r)).cloned().collect();
        let all = style != Style::Terminal { all: false };
        if all && !rest.is_empty() {
            lines.push(String::new());
            lines.push("Not declared, each alone at 95 %; metrics that are the same in every run are left out:".into());
            lines.push(String::new());
            lines.extend(table(&rest, false, markdown));
        } else if !rest.is_empty() {
            lines.push(format!(
                "{} not declared: --all shows them",
                count(rest.len() as u64, "other metric")
            ));
        }
    }
    lines.push(String::new());
    lines.push(if markdown {
        format!("**{}**", verdict(of))
    } else {
        verdict(of)
    });
    lines.push(String::new());
    lines.push(method(of));
    if !of.notes.is_empty() {
        lines.push(String::new());
    }
    lines.extend(of.notes.iter().map(|n| format!("- {n}")));
    let plain = |line: &String| {
        let line = clean(line);
        if markdown {
            line.replace('<', "&lt;")
        } else {
            line
        }
    };
    lines.iter().map(plain).collect::<Vec<_>>().join("\n") + "\n"
}

/// What is compared: the declared differences, which a reader must see first, or that there are none.
#[must_use]
pub fn headline(of: &Comparison) -> String {
    let named: Vec<String> = of
        .across
        .iter()
        .take(HEADLINE)
        .map(|d| format!("{} {} → {}", d.what, d.base, d.new))
        .collect();
    match &named[..] {
        [] => format!(
            "{}: new runs against earlier ones of the same kind",
            of.experiment
        ),
        _ => format!("{}: {}", of.experiment, named.join("; ")),
    }
}

fn side(name: &str, facts: &SideFacts, markdown: bool) -> String {
    let sessions = match &facts.sessions[..] {
        [] => "no session".to_owned(),
        [one] => one.clone(),
        [first, .., last] => format!("{} sessions, {first} to {last}", facts.sessions.len()),
    };
    let disturbed = match facts.disturbed {
        0 => String::new(),
        n => format!(", {n} of them disturbed"),
    };
    format!(
        "{}{name:<8}  {}{disturbed}: {sessions}; {}",
        if markdown { "- " } else { "" },
        count(facts.runs as u64, "run"),
        facts.hami
    )
}

/// Whether anything of it is worth a line: a metric that is one and the same in all runs is not.
fn changed(row: &Row) -> bool {
    let mut values = row.base.iter().chain(&row.new);
    let first = values.next();
    values.any(|v| Some(v) != first)
}

fn table(rows: &[Row], declared: bool, markdown: bool) -> Vec<String> {
    let header = [
        "metric",
        "baseline",
        "new",
        "change",
        "interval",
        "threshold",
        "p",
        "verdict",
    ];
    let shown = if declared { 8 } else { 5 };
    let rows = rows.iter().map(|row| {
        let cells = cells(row).into_iter().take(shown);
        cells.map(|text| {
            if markdown {
                text.replace('|', "\\|")
            } else {
                text
            }
        })
    });
    // The metric's name and the verdict are words, all between are numbers.
    let table = text::table(&header[..shown], 1..7, rows);
    table.lines().map(str::to_owned).collect()
}

/// The outcome in one sentence.
#[must_use]
pub fn verdict(of: &Comparison) -> String {
    let declared = || {
        of.arms
            .iter()
            .flat_map(|a| a.declared.iter().map(move |r| (a, r)))
    };
    let with = |verdict| declared().filter(move |(_, r)| r.verdict == Some(verdict));
    let named = |verdict: Verdict| {
        let each = with(verdict).map(|(arm, row)| {
            let of_arm = if of.arms.len() > 1 {
                format!("{}: ", arm.arm)
            } else {
                String::new()
            };
            format!(
                "{of_arm}{} {} (threshold {})",
                row.metric.words(),
                change(row),
                threshold(row)
            )
        });
        each.collect::<Vec<_>>().join("; ")
    };
    let tested = declared().filter(|(_, r)| r.p.is_some()).count();
    let mut text = match of.outcome {
        Outcome::Regression => format!("Regression: {}.", named(Verdict::Regression)),
        Outcome::NoRegression => format!(
            "No regression: none of {} is worse by more than its threshold and by more than chance.",
            count(tested as u64, "declared metric")
        ),
        Outcome::NoVerdict if of.base.disturbed + of.new.disturbed > 0 => {
            return "No verdict: disturbed runs give none.".into();
        }
        Outcome::NoVerdict if tested == 0 => {
            return "No verdict: no declared metric was measured on both sides.".into();
        }
        Outcome::NoVerdict => "No verdict.".into(),
    };
    if with(Verdict::Better).next().is_some() {
        text.push_str(&format!(" Better: {}.", named(Verdict::Better)));
    }
    if let Some(rare) = of.family.as_ref().and_then(|family| family.rare.as_ref()) {
        text.push_str(&format!(
            " Rare events: {} in the new runs, {} in the baseline, p {} (level {} %).",
            rare.new,
            rare.base,
            p(rare.p),
            percents(rare.alpha)
        ));
    }
    if let Some((arm, _)) = with(Verdict::TooFewRuns).next() {
        let (metrics, alpha) = family(of, tested);
        let n = runs_needed(metrics, alpha);
        text.push_str(&format!(
            " Too few runs for a verdict on {} of {tested} declared metrics: with {} + {} runs p is at least {}, times {metrics} metrics; {n} + {n} runs are enough.",
            with(Verdict::TooFewRuns).count(),
            arm.base_runs,
            arm.new_runs,
            p(rank::smallest_p(arm.base_runs, arm.new_runs))
        ));
    }
    text
}

/// How many metrics are corrected for, and the level of all together.
fn family(of: &Comparison, tested: usize) -> (usize, f64) {
    let family = of.family.as_ref();
    family.map_or((tested, of.alpha), |family| (family.metrics, family.alpha))
}

/// A share in per cent, without the last bits that a product leaves.
fn percents(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

/// How verdict and interval come about.
fn method(of: &Comparison) -> String {
    let arms = || of.arms.iter();
    let most = arms().map(|a| a.base_runs + a.new_runs).max().unwrap_or(0);
    let tests: BTreeSet<Test> = arms()
        .flat_map(|a| &a.declared)
        .map(|row| row.test)
        .collect();
    let tests = tests.into_iter().map(|test| match test {
        Test::Runs if most > MOST_EXACT => {
            "permutation test over runs by ranks, 20000 assignments drawn from a fixed seed; how nights differ is not known"
        }
        Test::Runs => "exact permutation test over runs by ranks; how nights differ is not known",
        Test::Nights => "exact permutation test over whole nights by ranks",
        Test::Prediction => "each night counts once, by its median: prediction interval for a new night (Student's t), and permutation of runs; the larger p counts",
        Test::Pooled => "rare events: exact test of their number, of all kinds and arms together",
    });
    let (metrics, alpha) = family(of, 0);
    format!(
        "Medians (range). p, one-sided: how likely chance alone makes the metric worse by more than its threshold. Tests: {}. \
         Corrected for {metrics} declared metrics (Holm, {} % for all together). The interval inverts the test at its corrected \
         level.",
        tests.collect::<Vec<_>>().join("; "),
        percents(alpha)
    )
}
