//! What was published, experiment by experiment, so that a reader finds each of the article's numbers: also those that no
//! run at hand has measured.
//!
//! The metrics come from the experiment files that are part of this program.

use std::collections::BTreeSet;

use serde::Serialize;

use super::tables::{ArmTable, Row, in_words};
use crate::charts::Material;
use plan::expect::Published;
use plan::{self, Experiment};

/// What stands where a metric would have been measured.
const NOT_RUN: &str = "not run";

/// The same where the run was tried.
const FAILED: &str = "failed; see the findings";

/// An experiment: what was published, and how much of it was measured.
#[derive(Debug, Serialize)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub title: String,
    /// What it does, and what was published.
    pub description: String,
    /// Values of arms that did not run.
    pub rows: Vec<Row>,
}

/// The experiment of that name that comes along with headroom.
pub fn experiment(name: &str) -> Option<Experiment> {
    // Not `load`: a summary's text must never make this read a file.
    plan::embedded().find(|known| known.name == name)
}

/// Whether anything was published of a session's experiment. What one of its own claims was published nowhere.
pub fn was_published(material: &Material) -> bool {
    let summary = &material.session.summary;
    let here = summary.arms.iter().any(|arm| !arm.published.is_empty());
    here || experiment(&summary.experiment).is_some_and(|e| !e.expect.published.is_empty())
}

/// Tables of what was published of a session's experiment and stands in none of its own `tables`: arms and teams that did
/// not run, or ran at a size or compression for which nothing was published.
pub fn missing(material: &Material, tables: &[ArmTable]) -> Vec<ArmTable> {
    let summary = &material.session.summary;
    let Some(experiment) = experiment(&summary.experiment) else {
        return Vec::new();
    };
    let ran = material.arms();
    let stands = |p: &Published| {
        let key = p.key();
        let mut rows = tables
            .iter()
            .filter(|t| p.arm.as_ref().is_none_or(|arm| *arm == t.arm))
            .flat_map(|t| &t.published);
        rows.any(|r| r.key == key && r.value == Some(p.value))
    };
    let mut missing: Vec<ArmTable> = Vec::new();
    for published in experiment.expect.published.iter().filter(|p| !stands(p)) {
        let arm = published.arm.clone().unwrap_or_default();
        let team_ran = || {
            let teams = summary.runs.iter().flat_map(|r| &r.tenants);
            let mut names = teams.map(|t| &t.name);
            published.tenant.is_empty() || names.any(|name| *name == published.tenant)
        };
        let tried = summary
            .failed
            .iter()
            .any(|f| arm.is_empty() || f.arm == arm);
        let ended = if arm.is_empty() {
            !ran.is_empty()
        } else {
            ran.contains(&arm.as_str())
        };
        let other = ended && team_ran();
        let measured = other.then(|| at_another_size(material, published));
        let none = if tried && !ended { FAILED } else { NOT_RUN };
        let row = row(published, measured.as_deref().unwrap_or(none));
        match missing.iter_mut().find(|t| t.arm == arm) {
            Some(table) => table.published.push(row),
            None => missing.push(ArmTable {
                arm,
                runs: 0,
                played: None,
                published: vec![row],
                all: Vec::new(),
            }),
        }
    }
    missing
}

/// The experiments of which `materials` hold no session.
pub fn elsewhere(materials: &[Material]) -> Vec<Told> {
    let here: BTreeSet<&str> = materials
        .iter()
        .map(|m| m.session.summary.experiment.as_str())
        .collect();
    let others = plan::embedded().filter(|e| !here.contains(e.name.as_str()));
    let told = others.map(|experiment| {
        let rows = experiment.expect.published.iter().map(|published| {
            let mut row = row(published, NOT_RUN);
            if let Some(arm) = &published.arm {
                row.metric = format!("{arm}: {}", row.metric);
            }
            row
        });
        Told {
            rows: rows.collect(),
            name: experiment.name,
            title: experiment.title,
            description: experiment.description,
        }
    });
    told.collect()
}

/// What was measured where nothing was published for the size or the compression that ran.
fn at_another_size(material: &Material, published: &Published) -> String {
    let arm = published
        .arm
        .as_deref()
        .or(material.arms().first().copied());
    let measured = arm.and_then(|arm| in_words(material, arm, &published.key()));
    let measured = measured.unwrap_or_else(|| "not measured".into());
    format!("{measured}, at another size or compression")
}

fn row(published: &Published, measured: &str) -> Row {
    Row::new(
        published.key(),
        measured.to_owned(),
        Some(published.value),
        None,
    )
}
