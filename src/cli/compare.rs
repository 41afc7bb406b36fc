//! `headroom compare`.

use super::hints::say;
use host::{errln, out};
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use super::args::CompareArgs;
use super::{Exit, read};
use ::compare::metrics::Declared;
use ::compare::{self, Comparison, Options, Outcome, baseline};
use ::results::run_folder::outputs;
use ::results::run_folder::{named, place::RUNS};
use host::terminal::in_one;
use host::usage::{OrUsage as _, Usage};
use present::report::compared::{self, Style};

/// Compares sessions.
///
/// # Errors
/// A session cannot be read, the sides cannot be compared, or a file cannot be written.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let declared = Declared::of_file(args.metrics.as_deref()).or_usage()?;
    say(&declared.hints);
    let (base, new) = sides(args)?;
    let read: Vec<PathBuf> = [&base[..], &new, args.metrics.as_slice()].concat();
    apart(args, &read)?;
    let options = Options {
        across: args.across.clone(),
        disturbed: args.disturbed,
    };
    let found = compare::compare(&base, &new, &declared, &options).or_usage()?;
    out!(
        "{}",
        compared::text(&found, Style::Terminal { all: args.all })
    );
    let written = compared::write(&found, args.json.as_deref(), args.markdown.as_deref());
    match (exit(&found), written) {
        // A regression is the news that a script waits for, whatever became of the files.
        (Exit::Regression, Err(error)) => {
            errln!("headroom: {}", in_one(&error.into()));
            Ok(Exit::Regression)
        }
        (exit, written) => Ok(written.map(|()| exit)?),
    }
}

/// Checks that no file is both read and written.
fn apart(args: &CompareArgs, read: &[PathBuf]) -> anyhow::Result<()> {
    let written = [
        ("--json", args.json.as_deref()),
        ("--markdown", args.markdown.as_deref()),
    ];
    Ok(outputs::apart(&written, read)?)
}

/// The exit code for an outcome.
fn exit(found: &Comparison) -> Exit {
    match found.outcome {
        Outcome::Regression => Exit::Regression,
        Outcome::NoRegression | Outcome::NoVerdict => Exit::Done,
    }
}

/// Which sessions are on which side.
fn sides(args: &CompareArgs) -> anyhow::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    if let Some(nights) = args.baseline {
        let mut names: Vec<String> = args.sessions.iter().chain(&args.new).cloned().collect();
        if names.is_empty() {
            names.push("latest".to_owned());
        }
        let new = all(&names)?;
        let base = baseline::nights(Path::new(RUNS), nights, &new, &args.across).or_usage()?;
        return Ok((base, new));
    }
    let problem = match (&args.sessions[..], &args.new[..]) {
        ([base, new], []) => return Ok((all(from_ref(base))?, all(from_ref(new))?)),
        (base @ [_, ..], new @ [_, ..]) => return Ok((all(base)?, all(new)?)),
        ([], []) => "name the sessions to compare: headroom compare BASE NEW".to_owned(),
        ([one], []) => format!(
            "name a session to compare {one} with: headroom compare BASE {one}, or headroom compare --baseline nightly {one}"
        ),
        ([], new) => format!(
            "there is no baseline before --: headroom compare BASE… -- {}",
            new.join(" ")
        ),
        (several, []) => format!(
            "which of {} are the baseline? Put -- before the new ones: headroom compare BASE… -- NEW…",
            several.join(", ")
        ),
    };
    Err(Usage::new(problem).into())
}

fn all(names: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    Ok(read::find(|notes| named::all(names, notes))?)
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
