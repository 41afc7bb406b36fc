//! A session for the terminal.

use std::fmt::Write as _;
use std::path::Path;

use super::findings::findings;
use super::soak::{self, soaked};
use super::tables::{ArmTable, tables};
use crate::charts::Material;
use crate::listing::is_brief;
use crate::text::{clean, shell, table, to_the_second};
use results::run_folder::{ReadError, RunSummary};

/// A session in words and tables, for the terminal.
///
/// # Errors
/// If the session can't be read.
pub fn show(session: &Path) -> Result<String, ReadError> {
    let material = Material::load(session)?;
    let summary = &material.session.summary;
    let mut text = String::new();
    let mut line = |words: &str| {
        text.push_str(&clean(words));
        text.push('\n');
    };
    line(&format!(
        "{}, started {}, {}",
        summary.experiment,
        to_the_second(&summary.started),
        material.session.dir.display()
    ));
    line(&format!(
        "on {}, headroom {}",
        summary.hami.label(),
        summary.headroom
    ));
    line(&format!("$ {}", shell(&summary.command)));
    line("");
    for finding in findings(&material) {
        line(&format!("- {finding}"));
    }
    if let Some(soaked) = soaked(&material) {
        line("");
        soaked.sentences.iter().for_each(|s| line(s));
        for rows in [
            table(&soak::HOURS, 0..3, &soaked.hours),
            table(&soak::RESTARTS, 0..0, &soaked.restarts),
        ] {
            rows.lines().for_each(&mut line);
        }
        if !soaked.note.is_empty() {
            line(&soaked.note);
        }
    }
    for arm in tables(&material) {
        let runs = if arm.runs == 1 {
            "1 run".into()
        } else {
            format!("{} runs, median (range)", arm.runs)
        };
        line("");
        line(&format!("arm {}: {runs}", arm.arm));
        if let Some(played) = &arm.played {
            line(played);
        }
        metrics(&arm).lines().for_each(&mut line);
    }
    let warnings =
        warnings(&summary.runs).chain(material.notes.iter().map(|n| format!("note: {n}")));
    for warning in warnings {
        line(&warning);
    }
    Ok(text)
}

/// What a terminal has room for, and all that was published.
fn metrics(arm: &ArmTable) -> String {
    let rows = arm.all.iter();
    let rows = rows.filter(|row| row.value.is_some() || is_brief(row.key.metric));
    let cells = rows.map(|row| {
        let or_none = |text: &'_ Option<String>| text.clone().unwrap_or_else(|| "-".into());
        let (published, ratio) = (or_none(&row.published), or_none(&row.ratio));
        [
            row.of.clone(),
            row.metric.clone(),
            row.measured.clone(),
            published,
            ratio,
        ]
    });
    let header = ["of", "metric", "measured", "published", "÷ published"];
    table(&header, 2..5, cells)
}

fn warnings(runs: &[RunSummary]) -> impl Iterator<Item = String> {
    runs.iter().flat_map(|run| {
        run.disturbed.iter().map(|d| {
            let mut text = format!("disturbed: {}: {}: {}", run.folder, d.kind, d.detail);
            // Writing to a string can't fail.
            let _ = write!(text, "; {}", d.remedy);
            text
        })
    })
}
