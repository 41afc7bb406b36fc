//! Errors of plans. Each is one line that says where, what is wrong, and what would be right.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a value was written: a place in a file, or a command-line option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it (`regimes` for an embedded one), or the option, e.g. `--compress`.
    pub source: Arc<str>,
    /// Line from 1; 0 when the source has no lines.
    pub line: u64,
    /// Column from 1; 0 when the source has no lines.
    pub column: u64,
}

impl Place {
    /// A place without lines: an option, or a whole file.
    #[must_use]
    pub fn whole(source: &str) -> Self {
        Self {
            source: source.into(),
            line: 0,
            column: 0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}", self.source)
        } else {
            write!(f, "{}:{}:{}", self.source, self.line, self.column)
        }
    }
}

/// Why no plan could be made. Each is a usage error, and nothing has been started.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file could not be read.
    #[error("cannot read {}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What was wrong with it, in words.
        why: String,
    },
    /// The file is not valid YAML.
    #[error("{at}: {problem}")]
    Syntax {
        /// Where.
        at: Place,
        /// What was wrong.
        problem: String,
    },
    /// A field has the wrong name, type or value.
    #[error("{}: {problem}", where_of(at, field))]
    Field {
        /// Where.
        at: Place,
        /// Path of the field, e.g. `tenants.shared.quota.cards`.
        field: String,
        /// What was wrong, and what would be right.
        problem: String,
    },
    /// Nothing has this name.
    #[error("no {kind} named {name:?}{}", suggestion(name, accepted))]
    Unknown {
        /// What was looked for, e.g. `experiment`.
        kind: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        accepted: Vec<String>,
    },
}

impl host::usage::UserError for PlanError {}

impl PlanError {
    /// The error for an unknown name, with the accepted ones.
    pub(super) fn unknown<S: AsRef<str>>(
        kind: &'static str,
        name: &str,
        accepted: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::Unknown {
            kind,
            name: shorten(name),
            accepted: accepted
                .into_iter()
                .map(|a| a.as_ref().to_owned())
                .collect(),
        }
    }
}

/// The place, and the field unless the place is an option, which says it already.
fn where_of(at: &Place, field: &str) -> String {
    if at.line == 0 && at.source.starts_with("--") {
        at.to_string()
    } else {
        format!("{at}: {field}")
    }
}

/// `; did you mean …? There are: …`.
pub(super) fn suggestion<S: AsRef<str>>(name: &str, accepted: &[S]) -> String {
    let near = accepted
        .iter()
        .map(|a| (strsim::jaro_winkler(name, a.as_ref()), a.as_ref()))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let all: Vec<&str> = accepted.iter().map(AsRef::as_ref).collect();
    match (near, all.is_empty()) {
        (Some((_, near)), _) => {
            format!("; did you mean {near:?}? Accepted: {}", all.join(", "))
        }
        (None, false) => format!("; accepted: {}", all.join(", ")),
        (None, true) => "; none is accepted here".to_owned(),
    }
}

/// A user's text, shortened for one line of a message: no control characters, and at most 60 characters.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
        .chars()
        .flat_map(|c| {
            let escaped: String = if c.is_control() {
                c.escape_debug().collect()
            } else {
                c.to_string()
            };
            escaped.chars().collect::<Vec<_>>()
        })
        .collect()
}

/// A number as a user would write it.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || (1e-6..1e15).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}
