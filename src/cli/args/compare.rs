//! Options of `compare` and `nightly`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::ShapeArgs;
use ::compare::alike::Topic;
use ::compare::baseline::{self, Nights};

/// More simulated comparisons would take hours and show nothing new: with a million, shares are exact to a tenth of a per cent.
const MOST_DRAWS: i64 = 1_000_000;

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// BASE and NEW: folders, or latest, latest~1, …; only one side with --baseline or --
    #[arg(value_name = "SESSION")]
    pub sessions: Vec<String>,

    /// New sessions, after --, if a side has several: compare BASE… -- NEW…
    #[arg(value_name = "NEW", last = true)]
    pub new: Vec<String>,

    /// Compare with the last N eligible nightly sessions [N: 7]; SESSION is then the new side [default: latest]
    #[arg(long, value_name = "nightly[=N]")]
    pub baseline: Option<Nights>,

    /// Allow the two sides to differ in TOPIC
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TOPIC")]
    pub across: Vec<Topic>,

    /// Include disturbed runs; then there is no verdict
    #[arg(long)]
    pub disturbed: bool,

    /// Show also the metrics that are not declared
    #[arg(long)]
    pub all: bool,

    /// File of declared metrics and thresholds to use instead of headroom's own
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,

    /// Also write the comparison as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Also write the comparison as Markdown, with every metric
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Simulate comparisons instead, from the equal runs in FILE (written by --json): shows false alarms and power
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sessions", "new", "baseline", "across", "disturbed", "all", "metrics"])]
    pub power: Option<PathBuf>,

    /// Number of simulated comparisons of each kind, at most a million
    #[arg(long, value_name = "N", requires = "power", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=MOST_DRAWS))]
    pub draws: u32,

    /// Seed of the simulation
    #[arg(long, value_name = "N", requires = "power", default_value_t = 1)]
    pub seed: u64,

    /// Folder for the simulation's chart
    #[arg(long, value_name = "DIR", requires = "power")]
    pub out: Option<PathBuf>,
}

/// Options of `nightly`.
#[derive(Debug, Clone, Args)]
pub struct NightlyArgs {
    /// Experiments to run [default: those under nightly in the declared metrics]
    #[arg(long, value_delimiter = ',', value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,

    /// Run every arm this many times; fewer than 5 show only large regressions
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeat: u32,

    /// Number of earlier nights to compare with
    #[arg(long, value_name = "N", default_value_t = baseline::NIGHTS, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub nights: usize,

    /// Allow this night to differ from earlier ones in TOPIC, e.g. after an update
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TOPIC")]
    pub across: Vec<Topic>,

    /// File of declared metrics and thresholds to use instead of headroom's own
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,

    /// Which HAMi, and other options that shape the cluster.
    #[command(flatten)]
    pub shape: ShapeArgs,
}
