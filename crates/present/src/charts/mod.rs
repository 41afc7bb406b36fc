//! Pictures of sessions, drawn from their run folders alone.
//!
//! In: folders of sessions. Out: SVG and PNG, and SVG text for the report. It never touches a cluster, and it never
//! draws what the folders do not hold: titles are findings computed from the data.
//!
//! - [`material`]: a session and its runs, read once
//! - [`measured`], [`steps`]: a metric over repeats, a number over time
//! - of every experiment: [`cards_in_use`], [`cost`], [`latency`], [`waits`], [`components`]
//! - of those whose records carry it: [`bound_over_time`], [`placement`], [`quota`],
//!   [`placements`], [`lanes`], [`burst`], [`payment`]
//! - of several sessions: [`trend`]
//! - of simulated comparisons: [`power`]
//! - how they are drawn: [`theme`], [`scale`], [`words`], [`pen`], [`panel`], [`grid`], [`canvas`]

mod bars;
mod bound_over_time;
mod burst;
mod canvas;
mod cards_in_use;
mod components;
mod cost;
mod grid;
mod lanes;
mod latency;
mod material;
mod measured;
mod panel;
mod payment;
mod pen;
mod placement;
mod placements;
pub mod power;
mod quota;
mod scale;
mod steps;
pub(crate) mod theme;
mod trend;
mod waits;
mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use canvas::Chart;
pub(crate) use material::{Material, RunMaterial};
pub(crate) use measured::Measured;
pub(crate) use payment::bills;
pub use pen::DrawError;

use results::run_folder::ReadError;

/// Why charts could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A session can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No session was given.
    #[error("no session is given; name one or more folders, such as one under runs/")]
    NoSession,
    /// Nothing to draw.
    #[error("{} holds nothing to draw: no run of it left any records", .0.display())]
    Empty(PathBuf),
    /// A picture could not be drawn.
    #[error("{}: {error}", path.display())]
    Draw {
        /// Its file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        error: DrawError,
    },
    /// A picture could not be written.
    #[error("can't write {}: {error}", path.display())]
    Write {
        /// Its file.
        path: PathBuf,
        /// What the file system said.
        #[source]
        error: io::Error,
    },
}

impl host::usage::UserError for PlotError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Read(_))
    }
}

/// The charts of one session, as far as its records carry them.
pub(crate) fn charts(material: &Material) -> Vec<Box<dyn Chart>> {
    let mut all: Vec<Box<dyn Chart>> = Vec::new();
    add(&mut all, cards_in_use::CardsInUse::of(material));
    add(&mut all, cost::Cost::of(material));
    add(&mut all, latency::BoundLatency::of(material));
    add(&mut all, waits::WaitedFor::of(material));
    add(&mut all, bound_over_time::BoundOverTime::of(material));
    add(&mut all, placement::Placement::of(material));
    add(&mut all, quota::Quota::of(material));
    add(&mut all, placements::PlacedWhere::of(material));
    add(&mut all, lanes::Lanes::of(material));
    add(&mut all, burst::Burst::of(material));
    add(&mut all, payment::Payment::of(material));
    add(&mut all, components::Components::of(material));
    all
}

/// The charts over several sessions with their experiment: one for each that has more than one of `materials`.
pub(crate) fn trends(materials: &[Material]) -> Vec<(String, Box<dyn Chart>)> {
    let mut experiments: Vec<&str> = materials
        .iter()
        .map(|m| m.session.summary.experiment.as_str())
        .collect();
    experiments.sort_unstable();
    experiments.dedup();
    let trend = |experiment: &str| {
        let own = materials
            .iter()
            .filter(|m| m.session.summary.experiment == experiment);
        let trend = trend::Trend::of(&own.collect::<Vec<_>>())?;
        Some((experiment.to_owned(), Box::new(trend) as Box<dyn Chart>))
    };
    experiments.into_iter().filter_map(trend).collect()
}

fn add<C: Chart + 'static>(all: &mut Vec<Box<dyn Chart>>, some: impl IntoIterator<Item = C>) {
    all.extend(some.into_iter().map(|c| Box::new(c) as Box<dyn Chart>));
}

/// Draws every chart of `sessions` into `out` as SVG and PNG, and returns the files' paths.
///
/// Files are named `<experiment>-<chart>`; where two sessions are of the same experiment, `<session folder>-<chart>`, with
/// the folder above before it where that is the same, too.
///
/// # Errors
/// If a session can't be read or holds nothing to draw, or a file can't be drawn or written. Sessions are all read
/// before anything is written.
pub fn plot(sessions: &[PathBuf], out: &Path) -> Result<Vec<PathBuf>, PlotError> {
    if sessions.is_empty() {
        return Err(PlotError::NoSession);
    }
    let materials: Vec<Material> = sessions
        .iter()
        .map(|s| Material::load(s))
        .collect::<Result<_, _>>()?;
    let mut pictures: Vec<(String, Box<dyn Chart>)> = Vec::new();
    for (material, path) in materials.iter().zip(sessions) {
        let charts = charts(material);
        if charts.is_empty() {
            return Err(PlotError::Empty(path.clone()));
        }
        let prefix = prefix(material, &materials);
        pictures.extend(charts.into_iter().map(|chart| (prefix.clone(), chart)));
    }
    for (experiment, chart) in trends(&materials) {
        pictures.push((experiment, chart));
    }
    folder(out)?;
    let mut files: Vec<PathBuf> = Vec::new();
    for (prefix, chart) in pictures {
        let stem = file_name(&format!("{prefix}-{}", chart.name()));
        let mut path = out.join(format!("{stem}.svg"));
        let mut number = 1;
        while files.contains(&path) {
            number += 1;
            path = out.join(format!("{stem}-{number}.svg"));
        }
        files.extend(save(chart.as_ref(), path)?);
    }
    Ok(files)
}

/// Makes the folder for pictures.
fn folder(out: &Path) -> Result<(), PlotError> {
    fs::create_dir_all(out).map_err(|error| PlotError::Write {
        path: out.to_owned(),
        error,
    })
}

/// Saves a chart as the SVG file `path` and as a PNG file beside it.
fn save(chart: &dyn Chart, path: PathBuf) -> Result<[PathBuf; 2], PlotError> {
    let draw = |path: &Path, error| PlotError::Draw {
        path: path.to_owned(),
        error,
    };
    let svg = chart.svg().map_err(|e| draw(&path, e))?;
    if let Err(error) = fs::write(&path, svg) {
        return Err(PlotError::Write { path, error });
    }
    let png = path.with_extension("png");
    chart.png(&png).map_err(|e| draw(&png, e))?;
    Ok([path, png])
}

fn prefix(material: &Material, all: &[Material]) -> String {
    let experiment = &material.session.summary.experiment;
    let same = all
        .iter()
        .filter(|m| m.session.summary.experiment == *experiment)
        .count();
    let Some(folder) = material.folder().filter(|_| same > 1) else {
        return experiment.clone();
    };
    let path = material.session.dir.canonicalize().unwrap_or_default();
    let namesake = |m: &Material| {
        let other = m.session.dir.canonicalize().unwrap_or_default();
        m.folder().as_ref() == Some(&folder) && other != path
    };
    if !all.iter().any(namesake) {
        return folder;
    }
    let above = path.parent().and_then(Path::file_name);
    above.map_or_else(
        || folder.clone(),
        |above| format!("{}-{folder}", above.to_string_lossy()),
    )
}

/// `text` as a file's name: letters, digits and a few signs only, and never a hidden one.
fn file_name(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = text.chars().take(120).map(plain).collect();
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
