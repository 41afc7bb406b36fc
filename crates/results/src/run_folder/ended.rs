//! How a session ended.

use std::path::PathBuf;

use super::Summary;

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// Its summary, as written.
    pub summary: Summary,
    /// Its folder.
    pub dir: PathBuf,
    /// Whether it was cut short.
    pub interrupted: bool,
}

impl Ended {
    /// Whether any run failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        !self.summary.failed.is_empty()
    }

    /// Whether any run was disturbed.
    #[must_use]
    pub fn disturbed(&self) -> bool {
        self.summary
            .runs
            .iter()
            .any(|run| !run.disturbed.is_empty())
    }
}
