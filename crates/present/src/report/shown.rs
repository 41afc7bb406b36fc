//! A session for the terminal.

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::findings::findings;
use super::soak::{self, soaked};
use super::tables::{ArmTable, tables};
use crate::charts::Material;
use crate::text::{clean, shell, table, to_the_second};
use results::run_folder::{ReadError, RunSummary};

/// A session in words and tables, for the terminal.
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
        let rows = |columns: &[&str], rows: Vec<&[String]>| match rows.len() {
            0 => String::new(),
            _ => plain_table(columns, &rows),
        };
        let hours = soaked.hours.iter().map(<[_; 3]>::as_slice).collect();
        rows(&soak::HOURS, hours).lines().for_each(&mut line);
        let restarts = soaked.restarts.iter().map(<[_; 6]>::as_slice).collect();
        rows(&soak::RESTARTS, restarts).lines().for_each(&mut line);
        if !soaked.note.is_empty() {
            line(&soaked.note);
        }
    }
    for table in tables(&material) {
        let runs = if table.runs == 1 {
            "1 run".into()
        } else {
            format!("{} runs, median (range)", table.runs)
        };
        line("");
        line(&format!("arm {}: {runs}", table.arm));
        if let Some(played) = &table.played {
            line(played);
        }
        for row in text_table(&table).lines() {
            line(row);
        }
    }
    let warnings =
        warnings(&summary.runs).chain(material.notes.iter().map(|n| format!("note: {n}")));
    for warning in warnings {
        line(&warning);
    }
    Ok(text)
}

fn plain_table(columns: &[&str], rows: &[&[String]]) -> String {
    let mut text = Table::new();
    text.load_style(presets::ASCII_MARKDOWN);
    text.set_header(columns);
    for row in rows {
        text.add_row(row.iter().map(|cell| clean(cell)));
    }
    text.to_string()
}

fn text_table(table: &ArmTable) -> String {
    let mut text = Table::new();
    text.load_style(presets::ASCII_MARKDOWN);
    text.set_header(["team", "metric", "measured", "published", "÷ published"]);
    for row in &table.all {
        let right = |s: &str| Cell::new(clean(s)).set_alignment(CellAlignment::Right);
        text.add_row([
            Cell::new(clean(&row.team)),
            Cell::new(clean(&row.metric)),
            right(&row.measured),
            right(row.published.as_deref().unwrap_or("-")),
            right(row.ratio.as_deref().unwrap_or("-")),
        ]);
    }
    text.to_string()
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
