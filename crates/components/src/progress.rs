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
        (Some(bar), Progress::Running(..)) => bar.set_message(news.to_string()),
        (Some(bar), _) => bar.println(news.to_string()),
        // Each second would be too much for a log.
        (None, Progress::Running(_, since)) if since.as_secs() % 10 != 0 => {}
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
    Started(Step),
    /// A component is being built, since when: each second.
    Running(Step, Duration),
    /// A component is in the cache, and its build took this long.
    Finished(Step, Duration),
    /// Everything is built; the build cache, gigabytes in small files, is being removed.
    Clearing,
    /// Something the user should know, e.g. a supplied program of another version.
    Warning(String),
}

/// A component's place in a set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Component.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its number in this set-up, from 1.
    pub number: usize,
    /// Number of components to build.
    pub of: usize,
    /// Seconds that it takes on two cores.
    pub typical_secs: u32,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting { holder } => {
                f.write_str("waiting for another set-up of the same cache")?;
                holder.map_or(Ok(()), |pid| write!(f, " (process {pid})"))
            }
            Self::Started(it) => write!(
                f,
                "building {} {} ({} of {}, typically {} s on two cores)",
                it.name, it.version, it.number, it.of, it.typical_secs
            ),
            Self::Running(it, since) => write!(
                f,
                "building {} ({} of {}): {} s of typically {} s",
                it.name,
                it.number,
                it.of,
                since.as_secs(),
                it.typical_secs
            ),
            Self::Finished(it, took) => write!(
                f,
                "built {} {} ({} of {}) in {} s",
                it.name,
                it.version,
                it.number,
                it.of,
                took.as_secs()
            ),
            Self::Clearing => write!(f, "removing the build cache"),
            Self::Warning(text) => write!(f, "warning: {text}"),
        }
    }
}
