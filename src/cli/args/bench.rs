//! Options of `bench` and `up`, and those that shape the cluster.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use jiff::{Span, SpanRelativeTo, Unit};

use components::HamiChoice;
use components::image::Registry;
use plan::{NamedLimits, Policy};

/// Options of `bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Experiments, regimes or experiment files, run one after the other; `all`: every experiment of `headroom list`, and
    /// at the end one page with what was published and what was measured
    #[arg(value_name = "EXPERIMENT", default_value = "regimes")]
    pub experiments: Vec<String>,

    /// Arms to run [default: the experiment's own choice]
    #[arg(long = "arm", value_name = "ARM")]
    pub arms: Vec<String>,

    /// Divide the timeline's minutes by this [default: the timeline's, 120]
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    pub compress: Option<f64>,

    /// A first look at compression 1200, labelled as such
    #[arg(long)]
    pub quick: bool,

    /// Timeline to play instead of the experiment's
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<String>,

    /// What shapes the cluster.
    #[command(flatten)]
    pub shape: ShapeArgs,

    /// Run every arm this many times, arms interleaved
    #[arg(long, value_name = "N")]
    pub repeat: Option<u32>,

    /// Instead: run it over and over for this long, e.g. 16h or 90m, and count restarts over time
    ///
    /// Every run has a cluster of its own, so what builds up in one cluster over hours begins anew with each run. A run is
    /// begun only if it can end in time; the one that is going on is never cut short. Arms take turns.
    #[arg(long, value_name = "DURATION", value_parser = soak_secs, conflicts_with_all = ["repeat", "keep"])]
    pub soak: Option<f64>,

    /// Folder of the session [default: runs/<UTC time>-<experiment>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Leave the last run's cluster up, to look into
    #[arg(long)]
    pub keep: bool,

    /// Print the merged plan, the objects and the expected duration, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// Options of `up`.
#[derive(Debug, Clone, Args)]
pub struct UpArgs {
    /// Experiment whose cluster and teams to set up
    #[arg(value_name = "EXPERIMENT", default_value = "regimes")]
    pub experiment: String,

    /// What shapes the cluster.
    #[command(flatten)]
    pub shape: ShapeArgs,
}

/// Options that shape the cluster under test.
#[derive(Debug, Clone, Args)]
pub struct ShapeArgs {
    /// Which HAMi scheduler: auto (one in the cache, else the published image's, else the built-in), builtin, image with
    /// :TAG or @DIGEST, or a program's path [default: auto]
    #[arg(
        long,
        value_name = "auto|builtin|image[:TAG]|PATH",
        value_parser = checked::<HamiChoice>
    )]
    pub hami: Option<String>,

    /// Registry to pull HAMi's image from [default: where it is published]
    #[arg(long, value_name = "HOST", value_parser = checked::<Registry>)]
    pub registry: Option<String>,

    /// HAMi's client rate limit: raised (100/200) or HAMi's default (5/10)
    #[arg(long, value_enum)]
    pub limits: Option<NamedLimits>,

    /// HAMi's node policy
    #[arg(long, value_enum)]
    pub node_policy: Option<Policy>,

    /// Number of machines; experiments scale with it
    #[arg(long, value_name = "N")]
    pub nodes: Option<u32>,

    /// Seed of every random choice
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The text of a value that can be parsed: what the experiment file says is merged with it, as text, before it is.
fn checked<T: FromStr>(text: &str) -> Result<String, T::Err> {
    text.parse::<T>().map(|_| text.to_owned())
}

/// Seconds of a duration as people write it.
fn soak_secs(text: &str) -> Result<f64, String> {
    let days = SpanRelativeTo::days_are_24_hours();
    let span: Result<Span, _> = text.parse();
    let secs = span.and_then(|span| span.total((Unit::Second, days)));
    secs.ok()
        .filter(|secs| *secs > 0.0)
        .ok_or_else(|| "write a duration with its unit, such as 16h, 90m or 1h30m".to_owned())
}
