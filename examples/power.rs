//! How often a comparison errs, and what it can see: simulates comparisons from the like runs of one that `headroom compare
//! --json` wrote. docs/compare.md has its results.
//!
//! ```sh
//! cargo run --release --example power -- docs/data/aa.json --out plots
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

use compare::{Comparison, power};
use host::terminal::in_one;
use host::{errln, out, outln, text_file};
use present::charts;
use present::report::compared;
use results::run_folder::outputs;

/// A larger file is refused. A comparison of a thousand runs with a hundred metrics has a few MB.
const MOST_MIB: u64 = 64;

/// More simulated comparisons would take hours and show nothing new: with a million, shares are exact to a tenth of a per cent.
const MOST_DRAWS: i64 = 1_000_000;

/// Simulate comparisons from runs that differ by chance alone: shows false alarms and power.
#[derive(Debug, Parser)]
#[command(name = "power")]
struct Args {
    /// A comparison of like runs, written by `headroom compare --json`
    file: PathBuf,

    /// Number of simulated comparisons of each kind, at most a million
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=MOST_DRAWS))]
    draws: u32,

    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Folder for the chart
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Also write the results as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    match simulate(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            errln!("power: {}", in_one(&error));
            ExitCode::FAILURE
        }
    }
}

fn simulate(args: &Args) -> anyhow::Result<()> {
    let file = &args.file;
    let written = [
        ("--json", args.json.as_deref()),
        ("--markdown", args.markdown.as_deref()),
    ];
    outputs::apart(&written, std::slice::from_ref(file))?;
    let text = text_file::read(file, MOST_MIB)
        .map_err(|why| anyhow::anyhow!("cannot read {}: {why}", file.display()))?;
    let like: Comparison = serde_json::from_str(&text).with_context(|| {
        let file = file.display();
        format!("{file} is not a comparison that `headroom compare --json` wrote")
    })?;
    let found = power::power(&like, args.draws, args.seed)?;
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
    Ok(())
}

fn put(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from([&["power"], words].concat())
    }

    fn refused(words: &[&str]) -> String {
        in_one(&simulate(&parsed(words).unwrap()).unwrap_err())
    }

    #[test]
    fn it_reads_a_regular_file_and_leaves_it_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let device = refused(&["/dev/null"]);
        assert!(device.contains("not a regular file"), "{device}");
        assert!(refused(&["/nowhere"]).contains("/nowhere"));
        let file = root.path().join("aa.json");
        let recorded = include_str!("../docs/data/aa.json");
        let mut like: serde_json::Value = serde_json::from_str(recorded).unwrap();
        let write = |like: &serde_json::Value| std::fs::write(&file, like.to_string()).unwrap();
        write(&like);
        let name = file.to_str().unwrap();
        refused(&[name, "--draws", "1", "--json", name]);
        let plots = root.path().join("plots");
        let out = plots.to_str().unwrap();
        simulate(&parsed(&[name, "--draws", "1", "--out", out]).unwrap()).unwrap();
        assert!(plots.join("power.svg").is_file());
        like["arms"][0]["declared"][0]["base"] = serde_json::json!([]);
        like["arms"][0]["declared"][0]["new"] = serde_json::json!([]);
        write(&like);
        assert!(refused(&[name]).contains("0 values"));
    }

    #[test]
    fn draws_are_at_least_one_and_at_most_a_million() {
        for (draws, good) in [
            ("0", false),
            ("1", true),
            ("1000000", true),
            ("1000001", false),
        ] {
            let found = parsed(&["aa.json", "--draws", draws]);
            assert_eq!(found.is_ok(), good, "{draws}");
        }
    }
}
