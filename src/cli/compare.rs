//! `headroom compare`.

use host::{errln, out, outln};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::args::CompareArgs;
use super::{Exit, named, outputs};
use ::compare::metrics::Declared;
use ::compare::{self, Comparison, Options, Outcome, baseline, power};
use ::results::run_folder::place::RUNS;
use host::terminal::in_one;
use host::text_file;
use host::usage::{OrUsage as _, Usage};
use present::charts;
use present::report::compared::{self, Style};

/// Compares sessions, or simulates comparisons with `--power`.
///
/// # Errors
/// If a session can't be read, the sides can't be compared, or a file can't be written.
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
    let found = compare::compare(&base, &new, &declared, &options).or_usage()?;
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

/// Checks that nothing that is read is written.
fn apart(args: &CompareArgs, read: &[PathBuf]) -> Result<(), Usage> {
    let written = [
        ("--json", args.json.as_deref()),
        ("--markdown", args.markdown.as_deref()),
    ];
    outputs::apart(&written, read)
}

/// What an outcome means for the exit code.
pub fn exit(found: &Comparison) -> Exit {
    match found.outcome {
        Outcome::Regression => Exit::Regression,
        Outcome::NoRegression | Outcome::NoVerdict => Exit::Done,
    }
}

/// The declared metrics: headroom's own, or those of a file.
///
/// # Errors
/// If the file is wrong.
pub fn declared(file: Option<&Path>) -> anyhow::Result<Declared> {
    Ok(match file {
        Some(file) => Declared::read(file).or_usage()?,
        None => Declared::own().or_usage()?,
    })
}

/// Writes a comparison as JSON and as Markdown, where a file is named.
///
/// # Errors
/// If a file can't be written; the other is, all the same.
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

/// Which sessions stand on which side.
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
                "{one} is to be compared with what? headroom compare BASE {one}, or headroom compare --baseline nightly {one}"
            ))
            .into());
        }
        ([], new) => {
            let new = new.join(" ");
            return Err(Usage::new(format!(
                "what is before -- is the baseline, and nothing is: headroom compare BASE… -- {new}"
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
    Ok((named::sessions(&base)?, named::sessions(&new)?))
}

/// A larger comparison is refused: a thousand runs of a hundred metrics have a few MB.
const MOST_MIB: u64 = 64;

/// Simulates comparisons from the runs of one that is kept as JSON.
fn simulate(file: &Path, args: &CompareArgs) -> anyhow::Result<Exit> {
    apart(args, &[file.to_owned()])?;
    let text = text_file::read(file, MOST_MIB)
        .map_err(|why| Usage::new(format!("can't read {}: {why}", file.display())))?;
    let aa: Comparison = serde_json::from_str(&text).map_err(|e| {
        Usage::new(format!(
            "{} is no comparison that --json wrote: {e}",
            file.display()
        ))
    })?;
    let found = power::power(&aa, args.draws, args.seed).or_usage()?;
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
