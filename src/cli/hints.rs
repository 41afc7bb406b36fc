//! Old words of a file, each said with the new one.

use host::errln;
use host::usage::OrUsage as _;
use plan::{Experiment, Hint};

/// The experiment of that name or file. Each old word in the file gives a line.
///
/// # Errors
/// There is no such experiment, or its file is wrong.
pub fn loaded(name: &str) -> anyhow::Result<Experiment> {
    let experiment = plan::load(name).or_usage()?;
    say(&experiment.hints);
    Ok(experiment)
}

/// Says which words of a file are old.
pub fn say(hints: &[Hint]) {
    for hint in hints {
        errln!("{hint}");
    }
}
