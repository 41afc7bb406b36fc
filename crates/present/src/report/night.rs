//! What came of a night: a comparison for each session, and a report on all of them.

use std::path::{Path, PathBuf};

use super::compared::{self, Style};
use super::{ReportError, WithEarlier, nightly};
use crate::text::clean;
use compare::{CompareError, Comparison, Outcome};

/// What came of a night so far.
#[derive(Debug, Default)]
pub struct Night {
    /// Its sessions that ended.
    pub sessions: Vec<PathBuf>,
    /// What came of comparing them.
    pub earlier: WithEarlier,
}

impl Night {
    /// Adds a session and its comparison with the sessions before, and writes the comparison into `out`. Returns what to
    /// print, and whether it could be written.
    pub fn take(
        &mut self,
        experiment: &str,
        session: PathBuf,
        found: Result<(Vec<PathBuf>, Comparison), CompareError>,
        out: &Path,
    ) -> (String, Result<(), ReportError>) {
        self.sessions.push(session);
        match found {
            Ok((base, found)) => {
                let text = compared::text(&found, Style::Terminal { all: false });
                let file = |end: &str| out.join(format!("compare-{}.{end}", found.experiment));
                let written = compared::write(&found, Some(&file("json")), Some(&file("md")));
                self.earlier.sessions.extend(base);
                self.earlier.comparisons.push(found);
                (text, written)
            }
            // The first night, or all its runs disturbed: there is a report all the same.
            Err(why) => {
                let why = format!("{experiment}: not compared: {}", clean(&why.to_string()));
                let text = format!("{why}\n");
                self.earlier.not_compared.push(why);
                (text, Ok(()))
            }
        }
    }

    /// Writes the report on the night.
    ///
    /// # Errors
    /// Those of [`nightly`].
    pub fn report(&self, file: &Path) -> Result<(), ReportError> {
        nightly(&self.sessions, &self.earlier, file)
    }

    /// Whether any session is a regression.
    #[must_use]
    pub fn regression(&self) -> bool {
        let mut found = self.earlier.comparisons.iter();
        found.any(|found| found.outcome == Outcome::Regression)
    }
}
