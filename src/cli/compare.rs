//! `headroom compare`.

use super::hints::say;
use host::{errln, out};
use std::path::{Path, PathBuf};

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
    match (
        exit(&found),
        compared::write(&found, args.json.as_deref(), args.markdown.as_deref())
            .map_err(anyhow::Error::from),
    ) {
        // A regression is the news that a script waits for, whatever became of the files.
        (Exit::Regression, Err(error)) => {
            errln!("headroom: {}", in_one(&error));
            Ok(Exit::Regression)
        }
        (exit, written) => written.map(|()| exit),
    }
}

/// Checks that no file is both read and written.
fn apart(args: &CompareArgs, read: &[PathBuf]) -> anyhow::Result<()> {
    let written = [
        ("--json", args.json.as_deref()),
        ("--markdown", args.markdown.as_deref()),
    ];
    outputs::apart(&written, read).or_usage()
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
    let latest = ["latest".to_owned()];
    if let Some(nights) = args.baseline {
        let names: Vec<String> = args.sessions.iter().chain(&args.new).cloned().collect();
        let names = if names.is_empty() {
            &latest[..]
        } else {
            &names
        };
        let new = all(names)?;
        let base = baseline::nights(Path::new(RUNS), nights, &new, &args.across).or_usage()?;
        return Ok((base, new));
    }
    let (base, new) = match (&args.sessions[..], &args.new[..]) {
        ([base, new], []) => (vec![base.clone()], vec![new.clone()]),
        (base @ [_, ..], new @ [_, ..]) => (base.to_vec(), new.to_vec()),
        ([], []) => {
            return Err(
                Usage::new("name the sessions to compare: headroom compare BASE NEW").into(),
            );
        }
        ([one], []) => {
            return Err(Usage::new(format!(
                "name a session to compare {one} with: headroom compare BASE {one}, or headroom compare --baseline nightly {one}"
            ))
            .into());
        }
        ([], new) => {
            let new = new.join(" ");
            return Err(Usage::new(format!(
                "there is no baseline before --: headroom compare BASE… -- {new}"
            ))
            .into());
        }
        (several, []) => {
            return Err(Usage::new(format!(
                "which of {} are the baseline? Put -- before the new ones: headroom compare BASE… -- NEW…",
                several.join(", ")
            ))
            .into());
        }
    };
    Ok((all(&base)?, all(&new)?))
}

fn all(names: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    read::find(|notes| named::all(names, notes)).or_usage()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
