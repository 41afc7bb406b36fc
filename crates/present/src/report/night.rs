//! What came of a night: a comparison for each session, and a report on all of them.

use std::path::{Path, PathBuf};

use super::compared::{self, Style};
use super::{ReportError, WithEarlier, nightly};
use crate::text::clean;
use compare::{CompareError, Comparison, Outcome, together};

/// What came of a night so far.
#[derive(Debug, Default)]
pub struct Night {
    /// Its sessions that ended.
    pub sessions: Vec<PathBuf>,
    /// What came of comparing them.
    pub earlier: WithEarlier,
}

impl Night {
    /// Adds a session and its comparison with the sessions before.
    pub fn take(
        &mut self,
        experiment: &str,
        session: PathBuf,
        found: Result<(Vec<PathBuf>, Comparison), CompareError>,
    ) {
        self.sessions.push(session);
        match found {
            Ok((base, found)) => {
                self.earlier.sessions.extend(base);
                self.earlier.comparisons.push(found);
            }
            // The first night, or all its runs disturbed: there is a report all the same.
            Err(why) => {
                let why = format!("{experiment}: not compared: {}", clean(&why.to_string()));
                self.earlier.not_compared.push(why);
            }
        }
    }

    /// Judges all comparisons together, since a night is allowed its false alarms once, and writes them into `out`. Returns what
    /// to print, and whether it could be written.
    pub fn judge(&mut self, out: &Path) -> Vec<(String, Result<(), ReportError>)> {
        together(&mut self.earlier.comparisons);
        let not_compared = self.earlier.not_compared.iter();
        let not_compared = not_compared.map(|why| (format!("{why}\n"), Ok(())));
        let compared = self.earlier.comparisons.iter().map(|found| {
            let text = compared::text(found, Style::Terminal { all: false });
            let file = |end: &str| out.join(format!("compare-{}.{end}", found.experiment));
            let written = compared::write(found, Some(&file("json")), Some(&file("md")));
            (text, written)
        });
        not_compared.chain(compared).collect()
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
