//! What restarted over the hours of a session that went on for a set time.

use serde::Serialize;

use crate::charts::Material;
use crate::tables::soak;
use crate::text::{clean, count};
use plan;
use results::run_folder::RestartRow;

/// The most restarts that are listed one by one.
const ROWS: usize = 60;

/// Names of the columns of [`Soaked::hours`].
pub const HOURS: [&str; 3] = soak::HOURS;

/// Names of the columns of [`Soaked::restarts`].
pub const RESTARTS: [&str; 6] = ["at", "run", "component", "cause", "exit", "had run for"];

/// What it came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Soaked {
    /// In sentences.
    pub sentences: Vec<String>,
    /// A row for each hour.
    pub hours: Vec<[String; 3]>,
    /// A row for each restart, as far as there is room.
    pub restarts: Vec<[String; 6]>,
    /// What the rows do not hold; empty where they hold it all.
    pub note: String,
}

/// What a session's soak came to; `None` for a session that was none.
pub fn soaked(material: &Material) -> Option<Soaked> {
    let summary = &material.session.summary;
    let soak = summary.soak.as_ref()?;
    let published = plan::published_restarts_per_hour();
    let (rows, note) = match material.session.restarts() {
        Ok(rows) => {
            let note = match rows.len().saturating_sub(ROWS) {
                0 => String::new(),
                n => format!("{} stand in restarts.csv.", count(n as u64, "more restart")),
            };
            (rows, note)
        }
        Err(error) => (Vec::new(), clean(&error.to_string())),
    };
    Some(Soaked {
        sentences: soak::sentences(soak, &summary.runs, published),
        hours: soak::hours(soak),
        restarts: rows.iter().take(ROWS).map(row).collect(),
        note,
    })
}

fn row(row: &RestartRow) -> [String; 6] {
    let run = if row.run_secs < 0.0 {
        format!("{}, before its clock", row.run)
    } else {
        format!("{}, {:.0} s", row.run, row.run_secs)
    };
    [
        format!("{:.0} s", row.secs),
        run,
        row.component.clone(),
        row.cause.clone(),
        row.exit.clone(),
        format!("{:.0} s", row.uptime_secs),
    ]
    .map(|text| clean(&text))
}
