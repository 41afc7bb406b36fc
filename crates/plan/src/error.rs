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
    /// The error that what an option sets is wrong.
    pub(super) fn option(option: &str, field: &str, problem: String) -> Self {
        Self::Field {
            at: Place::whole(option),
            field: field.to_owned(),
            problem,
        }
    }

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

/// The accepted name that is most like `name`, if one is like it.
pub(super) fn nearest<'a>(name: &str, accepted: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    accepted
        .map(|a| (strsim::jaro_winkler(name, a), a))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, near)| near)
}

/// `; did you mean …? There are: …`.
pub(super) fn suggestion<S: AsRef<str>>(name: &str, accepted: &[S]) -> String {
    let all: Vec<&str> = accepted.iter().map(AsRef::as_ref).collect();
    let listed = all.join(", ");
    match nearest(name, all.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}? Accepted: {listed}"),
        None if all.is_empty() => "; none is accepted here".to_owned(),
        None => format!("; accepted: {listed}"),
    }
}

/// A user's text, shortened for one line of a message: no control characters, and at most 60 characters.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let escaped = |c: char| {
        if c.is_control() {
            c.escape_debug().to_string()
        } else {
            c.to_string()
        }
    };
    let mut short: String = text.chars().take(MOST).map(escaped).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

/// A number as a user would write it.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || (1e-6..1e15).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}
