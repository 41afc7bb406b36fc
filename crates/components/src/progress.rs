//! How a set-up goes on, for a terminal or a log.

use std::fmt;
use std::time::Duration;

use host::{errln, terminal};
use indicatif::{ProgressBar, ProgressStyle};

/// Prints how a set-up goes on: on a terminal one line that is overwritten, elsewhere plain lines.
pub fn printed() -> impl FnMut(Progress) + Send {
    let bar = terminal::watched().then(|| {
        let style = ProgressStyle::with_template("{wide_msg}");
        ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
    });
    move |news| match (&bar, &news) {
        (Some(bar), Progress::Running { .. }) => bar.set_message(news.to_string()),
        (Some(bar), _) => bar.println(news.to_string()),
        // Each second would be too much for a log.
        (None, Progress::Running { elapsed, .. }) if elapsed.as_secs() % 10 != 0 => {}
        (None, _) => errln!("{news}"),
    }
}

/// A piece of news from a set-up. Its `Display` is one plain line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Another set-up is using the same cache; this one goes on when that one is done.
    Waiting {
        /// Process id of the other one, if known.
        holder: Option<u32>,
    },
    /// A component's build begins.
    Started {
        /// Component.
        name: &'static str,
        /// Its version.
        version: &'static str,
        /// Its number in this set-up, from 1.
        number: usize,
        /// Number of components to build.
        of: usize,
        /// Seconds that it takes on two cores.
        typical_secs: u32,
    },
    /// A component is being built: each second.
    Running {
        /// Component.
        name: &'static str,
        /// Its number in this set-up, from 1.
        number: usize,
        /// Number of components to build.
        of: usize,
        /// Since it began.
        elapsed: Duration,
        /// Seconds that it takes on two cores.
        typical_secs: u32,
    },
    /// A component is in the cache.
    Finished {
        /// Component.
        name: &'static str,
        /// Its version.
        version: &'static str,
        /// Its number in this set-up, from 1.
        number: usize,
        /// Number of components to build.
        of: usize,
        /// Since it began.
        elapsed: Duration,
    },
    /// Everything is built; the build cache, gigabytes in small files, is being removed.
    Clearing,
    /// Something the user should know, e.g. a supplied program of another version.
    Warning(String),
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting { holder: Some(pid) } => {
                write!(
                    f,
                    "waiting for another set-up of the same cache (process {pid})"
                )
            }
            Self::Waiting { holder: None } => {
                write!(f, "waiting for another set-up of the same cache")
            }
            Self::Started {
                name,
                version,
                number,
                of,
                typical_secs,
            } => write!(
                f,
                "building {name} {version} ({number} of {of}, typically {typical_secs} s on two cores)"
            ),
            Self::Running {
                name,
                number,
                of,
                elapsed,
                typical_secs,
            } => write!(
                f,
                "building {name} ({number} of {of}): {} s of typically {typical_secs} s",
                elapsed.as_secs()
            ),
            Self::Finished {
                name,
                version,
                number,
                of,
                elapsed,
            } => {
                write!(
                    f,
                    "built {name} {version} ({number} of {of}) in {} s",
                    elapsed.as_secs()
                )
            }
            Self::Clearing => write!(f, "removing the build cache"),
            Self::Warning(text) => write!(f, "warning: {text}"),
        }
    }
}
