//! Pictures of sessions, drawn from their run folders alone.
//!
//! In: folders of sessions. Out: SVG and PNG, and SVG text for the report. It never touches a cluster, and it never
//! draws what the folders do not hold: titles are findings computed from the data.
//!
//! - [`material`]: a session and its runs, read once
//! - [`figures`]: figures by their published names, over repeats
//! - the charts: [`cards_in_use`], [`cost`], [`latency`], [`components`]
//! - how they are drawn: [`theme`], [`text`], [`scale`], [`panel`], [`canvas`]

pub mod canvas;
pub mod cards_in_use;
pub mod components;
pub mod cost;
pub mod figures;
pub mod latency;
pub mod material;
pub mod panel;
pub mod scale;
#[cfg(test)]
pub mod synthetic;
pub mod text;
pub mod theme;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use canvas::{Chart, DrawError};
pub use material::Material;

use crate::run_folder::ReadError;

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

/// The charts of one session, as far as its records carry them.
#[must_use]
pub fn charts(material: &Material) -> Vec<Box<dyn Chart>> {
    let mut all: Vec<Box<dyn Chart>> = Vec::new();
    add(&mut all, cards_in_use::CardsInUse::of(material));
    add(&mut all, cost::Cost::of(material));
    add(&mut all, latency::BoundLatency::of(material));
    add(&mut all, components::Components::of(material));
    all
}

fn add<C: Chart + 'static>(all: &mut Vec<Box<dyn Chart>>, some: Vec<C>) {
    all.extend(some.into_iter().map(|c| Box::new(c) as Box<dyn Chart>));
}

/// Draws every chart of `sessions` into `out` as SVG and PNG, and returns the files' paths.
///
/// Files are named `<experiment>-<chart>`; where two sessions are of the same experiment, `<session folder>-<chart>`.
///
/// # Errors
/// If a session can't be read or holds nothing to draw, or a file can't be drawn or written. Sessions are all read
/// before anything is written.
pub fn plot(sessions: &[PathBuf], out: &Path) -> Result<Vec<PathBuf>, PlotError> {
    if sessions.is_empty() {
        return Err(PlotError::NoSession);
    }
    let mut all = Vec::new();
    for path in sessions {
        let material = Material::load(path)?;
        let charts = charts(&material);
        if charts.is_empty() {
            return Err(PlotError::Empty(path.clone()));
        }
        all.push((material, charts));
    }
    let write = |path: &Path, error| PlotError::Write { path: path.to_owned(), error };
    fs::create_dir_all(out).map_err(|e| write(out, e))?;
    let mut files = Vec::new();
    for (material, charts) in &all {
        let prefix = prefix(material, all.iter().map(|(m, _)| m));
        for chart in charts {
            let stem = file_name(&format!("{prefix}-{}", chart.name()));
            let draw = |path: &Path, error| PlotError::Draw { path: path.to_owned(), error };
            let path = out.join(format!("{stem}.svg"));
            let svg = chart.svg().map_err(|e| draw(&path, e))?;
            fs::write(&path, svg).map_err(|e| write(&path, e))?;
            files.push(path);
            let path = out.join(format!("{stem}.png"));
            chart.png(&path).map_err(|e| draw(&path, e))?;
            files.push(path);
        }
    }
    Ok(files)
}

fn prefix<'a>(material: &Material, all: impl Iterator<Item = &'a Material>) -> String {
    let experiment = &material.session.summary.experiment;
    let same = all.filter(|m| m.session.summary.experiment == *experiment).count();
    let folder = material.session.dir.canonicalize().ok();
    let folder = folder.as_deref().and_then(Path::file_name);
    match folder {
        Some(folder) if same > 1 => folder.to_string_lossy().into_owned(),
        _ => experiment.clone(),
    }
}

/// `text` as a file's name: letters, digits and a few signs only, and never a hidden one.
fn file_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = text.chars().take(120).map(plain).collect();
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
