//! Sessions in words: one HTML file to hand on, and text for the terminal.
//!
//! In: folders of sessions. Out: text. Everything said is computed from the folders; nothing is fetched, run or changed.
//!
//! - [`findings`]: what a session found, in plain sentences
//! - [`tables`]: its metrics beside the published ones
//! - [`article`]: what was published, also where nothing was measured
//! - [`played`]: what was played on its machines, and not measured
//! - [`soak`]: what restarted over the hours of one that went on for a set time
//! - [`health`]: what host and harness measured of themselves
//! - [`page`]: the self-contained HTML file
//! - [`compared`]: a comparison, for the terminal and as Markdown
//! - [`night`]: what came of a night
//! - [`show`], [`runs`]: a session, and a list of sessions, for the terminal

mod article;
pub mod compared;
#[cfg(test)]
mod damage_tests;
mod findings;
mod health;
mod list;
pub mod night;
mod page;
mod played;
mod shown;
mod soak;
mod tables;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use list::runs;
pub use shown::show;

use crate::charts::{DrawError, Material};
use compare::Comparison;
use results::run_folder::ReadError;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A session can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No session was given.
    #[error("no session is given; name one or more folders, such as one under runs/")]
    NoSession,
    /// A chart of it could not be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// The page could not be put together.
    #[error("can't put the page together: {0}")]
    Page(#[from] minijinja::Error),
    /// A file or folder can't be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// It.
        path: PathBuf,
        /// What the file system said.
        #[source]
        error: io::Error,
    },
}

impl host::usage::UserError for ReportError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Read(_))
    }
}

/// Writes a report on `sessions` as one self-contained HTML file.
///
/// # Errors
/// If a session can't be read, or the file can't be written. Nothing is written unless all sessions can be read.
pub fn write(sessions: &[PathBuf], out_file: &Path) -> Result<(), ReportError> {
    nightly(sessions, &WithEarlier::default(), out_file)
}

/// What came of comparing sessions with earlier ones.
#[derive(Debug, Default)]
pub struct WithEarlier {
    /// The comparisons.
    pub comparisons: Vec<Comparison>,
    /// Sessions that were compared with, for the trend.
    pub sessions: Vec<PathBuf>,
    /// Of each experiment that could not be compared, a sentence that says why.
    pub not_compared: Vec<String>,
}

/// As [`write`], led by what came of comparing them with earlier ones.
///
/// # Errors
/// As [`write`].
pub fn nightly(
    sessions: &[PathBuf],
    earlier: &WithEarlier,
    out_file: &Path,
) -> Result<(), ReportError> {
    if sessions.is_empty() {
        return Err(ReportError::NoSession);
    }
    let load = |sessions: &[PathBuf]| -> Result<Vec<Material>, ReadError> {
        sessions.iter().map(|s| Material::load(s)).collect()
    };
    let html = page::html(load(sessions)?, load(&earlier.sessions)?, earlier)?;
    let io_error = |path: &Path, error| ReportError::Io {
        path: path.to_owned(),
        error,
    };
    if let Some(parent) = out_file.parent() {
        fs::create_dir_all(parent).map_err(|e| io_error(parent, e))?;
    }
    fs::write(out_file, html).map_err(|e| io_error(out_file, e))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod wording_tests;
