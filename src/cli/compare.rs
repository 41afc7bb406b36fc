//! `headroom compare`.

use super::experiments::say;
use host::{errln, out, outln};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::args::CompareArgs;
use super::bench::BadOptions;
use super::{Exit, named, outputs};
use ::compare::metrics::Declared;
use ::compare::{self, Comparison, Options, Outcome, baseline, power};
use ::results::run_folder::place::RUNS;
use host::terminal::in_one;
use host::text_file;
use present::charts;
use present::report::compared::{self, Style};

/// It is not clear which sessions are on which side.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsaid(String);

/// Compares sessions, or simulates comparisons with `--power`.
///
/// # Errors
/// A session cannot be read, the sides cannot be compared, or a file cannot be written.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    if let Some(file) = &args.power {
        return simulate(file, args);
    }
    let declared = declared(args.metrics.as_deref())?;
    let (base, new) = sides(args)?;
    let read: Vec<PathBuf> = [&base[..], &new, args.metrics.as_slice()].concat();
    apart(args, &read)?;
    let options = Options {
        across: args.across.clone(),
        disturbed: args.disturbed,
    };
    let found = compare::compare(&base, &new, &declared, &options)?;
    out!(
        "{}",
        compared::text(&found, Style::Terminal { all: args.all })
    );
    match (
        exit(&found),
        write(&found, args.json.as_deref(), args.markdown.as_deref()),
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
fn apart(args: &CompareArgs, read: &[PathBuf]) -> Result<(), BadOptions> {
    let written = [
        ("--json", args.json.as_deref()),
        ("--markdown", args.markdown.as_deref()),
    ];
    outputs::apart(&written, read)
}

/// The exit code for an outcome.
pub fn exit(found: &Comparison) -> Exit {
    match found.outcome {
        Outcome::Regression => Exit::Regression,
        Outcome::NoRegression | Outcome::NoVerdict => Exit::Done,
    }
}

/// The declared metrics: headroom's own, or those of a file.
///
/// # Errors
/// The file is wrong.
pub fn declared(file: Option<&Path>) -> anyhow::Result<Declared> {
    let declared = match file {
        Some(file) => Declared::read(file)?,
        None => Declared::own()?,
    };
    say(&declared.hints);
    Ok(declared)
}

/// Writes a comparison as JSON and as Markdown, each if a file is named.
///
/// # Errors
/// A file cannot be written. The other one is, all the same.
pub fn write(
    found: &Comparison,
    json: Option<&Path>,
    markdown: Option<&Path>,
) -> anyhow::Result<()> {
    let json = json.map_or(Ok(()), |file| {
        put(file, &(serde_json::to_string_pretty(found)? + "\n"))
    });
    let markdown = markdown.map_or(Ok(()), |file| {
        put(file, &compared::text(found, Style::Markdown))
    });
    json.and(markdown)
}

fn put(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("can't write {}", file.display()))
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
        let new = named::sessions(names)?;
        let base = baseline::nights(Path::new(RUNS), nights, &new, &args.across)?;
        return Ok((base, new));
    }
    let (base, new) = match (&args.sessions[..], &args.new[..]) {
        ([base, new], []) => (vec![base.clone()], vec![new.clone()]),
        (base @ [_, ..], new @ [_, ..]) => (base.to_vec(), new.to_vec()),
        ([], []) => {
            return Err(
                Unsaid("name the sessions to compare: headroom compare BASE NEW".into()).into(),
            );
        }
        ([one], []) => {
            return Err(Unsaid(format!(
                "name a session to compare {one} with: headroom compare BASE {one}, or headroom compare --baseline nightly {one}"
            ))
            .into());
        }
        ([], new) => {
            let new = new.join(" ");
            return Err(Unsaid(format!(
                "there is no baseline before --: headroom compare BASE… -- {new}"
            ))
            .into());
        }
        (several, []) => {
            return Err(Unsaid(format!(
                "which of {} are the baseline? Put -- before the new ones: headroom compare BASE… -- NEW…",
                several.join(", ")
            ))
            .into());
        }
    };
    Ok((named::sessions(&base)?, named::sessions(&new)?))
}

/// A larger file is refused. A comparison of a thousand runs with a hundred metrics has a few MB.
const MOST_MIB: u64 = 64;

/// Simulates comparisons, from the runs of a comparison that was written as JSON.
fn simulate(file: &Path, args: &CompareArgs) -> anyhow::Result<Exit> {
    apart(args, &[file.to_owned()])?;
    let text = text_file::read(file, MOST_MIB)
        .map_err(|why| Unsaid(format!("can't read {}: {why}", file.display())))?;
    let aa: Comparison = serde_json::from_str(&text).map_err(|e| {
        Unsaid(format!(
            "{} is not a comparison that --json wrote: {e}",
            file.display()
        ))
    })?;
    let found = power::power(&aa, args.draws, args.seed)?;
    let text = compared::power_text(&found);
    out!("{text}");
    if let Some(file) = &args.json {
        put(file, &(serde_json::to_string_pretty(&found)? + "\n"))?;
    }
    if let Some(file) = &args.markdown {
        put(file, &text)?;
    }
    if let Some(dir) = &args.out {
        for path in charts::power::draw(&found, dir)? {
            outln!("{}", path.display());
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
