//! `headroom compare`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::args::CompareArgs;
use super::{Exit, results};
use crate::charts;
use crate::compare::metrics::Declared;
use crate::compare::{self, Comparison, Options, Outcome, baseline, power};
use crate::report::compared::{self, Style};
use crate::run_folder::place::RUNS;

/// Sessions that do not say which side they are on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsaid(String);

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
    let options = Options {
        across: args.across.clone(),
        disturbed: args.disturbed,
    };
    let found = compare::compare(&base, &new, &declared, &options)?;
    out!(
        "{}",
        compared::text(&found, Style::Terminal { all: args.all })
    );
    write(&found, args.json.as_deref(), args.markdown.as_deref())?;
    Ok(exit(&found))
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
        Some(file) => Declared::read(file)?,
        None => Declared::own()?,
    })
}

/// Writes a comparison as JSON and as Markdown, where a file is named.
///
/// # Errors
/// If a file can't be written.
pub fn write(
    found: &Comparison,
    json: Option<&Path>,
    markdown: Option<&Path>,
) -> anyhow::Result<()> {
    if let Some(file) = json {
        put(file, &(serde_json::to_string_pretty(found)? + "\n"))?;
    }
    if let Some(file) = markdown {
        put(file, &compared::text(found, Style::Markdown))?;
    }
    Ok(())
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
        let new = results::sessions(names)?;
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
                "{one} is to be compared with what? headroom compare BASE {one}, or headroom compare --baseline nightly {one}"
            ))
            .into());
        }
        (several, _) => {
            return Err(Unsaid(format!(
                "which of {} are the baseline? Put -- before the new ones: headroom compare BASE… -- NEW…",
                several.join(", ")
            ))
            .into());
        }
    };
    Ok((results::sessions(&base)?, results::sessions(&new)?))
}

/// Simulates comparisons from the runs of one that is kept as JSON.
fn simulate(file: &Path, args: &CompareArgs) -> anyhow::Result<Exit> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
    let aa: Comparison = serde_json::from_str(&text).map_err(|e| {
        Unsaid(format!(
            "{} is no comparison that --json wrote: {e}",
            file.display()
        ))
    })?;
    let found = power::power(&aa, args.draws, args.seed)?;
    out!("{}", compared::power_text(&found));
    if let Some(file) = &args.json {
        put(file, &(serde_json::to_string_pretty(&found)? + "\n"))?;
    }
    if let Some(file) = &args.markdown {
        put(file, &compared::power_text(&found))?;
    }
    if let Some(dir) = &args.out {
        for path in charts::power::draw(&found, dir)? {
            outln!("{}", path.display());
        }
    }
    Ok(Exit::Done)
}
