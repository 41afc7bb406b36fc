//! Options of `bench` and `up`, and those that shape the cluster.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use jiff::{Span, SpanRelativeTo, Unit};

use components::HamiChoice;
use components::image::Registry;
use plan::{NamedLimits, Policy};

/// Options of `bench`.
#[derive(Debug, Clone, Default, Args)]
#[allow(clippy::struct_excessive_bools)] // each is an option
pub struct BenchArgs {
    /// Experiments, regimes or experiment files, run one after the other; `all`: every experiment of `headroom list`, and
    /// one page with the published and the measured values at the end
    #[arg(value_name = "EXPERIMENT", default_value = "regimes")]
    pub experiments: Vec<String>,

    /// Arms to run [default: the experiment's own choice]
    #[arg(long = "arm", value_name = "ARM")]
    pub arms: Vec<String>,

    /// Divide the timeline's minutes by this [default: the timeline's, 120]
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    pub compress: Option<f64>,

    /// Take a first look at compression 1200; the results are marked as such
    #[arg(long)]
    pub quick: bool,

    /// Timeline to play instead of the experiment's own
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<String>,

    /// Options that shape the cluster.
    #[command(flatten)]
    pub shape: ShapeArgs,

    /// Run every arm this many times; the arms take turns
    #[arg(long, value_name = "N")]
    pub repeat: Option<u32>,

    /// Also run the arms in which the claims must fail, their controls
    #[arg(long)]
    pub controls: bool,

    /// Run one run after the other, also where runs that leave cores idle would start together
    #[arg(long)]
    pub alone: bool,

    /// Run the arms in turn for this long instead, e.g. 16h or 90m, and count restarts over time
    ///
    /// Every run has a cluster of its own, so nothing builds up in a cluster over hours. A run begins only if it can end in
    /// time, and no run is cut short.
    #[arg(long, value_name = "DURATION", value_parser = soak_secs, conflicts_with_all = ["repeat", "keep"])]
    pub soak: Option<f64>,

    /// Folder for the session [default: runs/<UTC time>-<experiment>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Continue the interrupted session, or `bench all`, in DIR: complete runs stay; missing, failed and cut-short ones run
    ///
    /// Name the same experiment and options as before. The plans, HAMi and all programs must be those with which it began.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "soak"])]
    pub resume: Option<PathBuf>,

    /// Leave the last run's cluster up
    #[arg(long)]
    pub keep: bool,

    /// Print the merged plan, the objects and the expected duration, and run nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Options of `up`.
#[derive(Debug, Clone, Args)]
pub struct UpArgs {
    /// Experiment whose cluster and teams are set up
    #[arg(value_name = "EXPERIMENT", default_value = "regimes")]
    pub experiment: String,

    /// Options that shape the cluster.
    #[command(flatten)]
    pub shape: ShapeArgs,
}

/// Options that shape the cluster under test.
#[derive(Debug, Clone, Default, Args)]
pub struct ShapeArgs {
    /// Which HAMi scheduler: auto (from the cache, else from the published image, else the built-in one), builtin, image
    /// with :TAG or @DIGEST, or a program's path [default: auto]
    #[arg(
        long,
        value_name = "auto|builtin|image[:TAG]|PATH",
        value_parser = checked::<HamiChoice>
    )]
    pub hami: Option<String>,

    /// Registry to pull HAMi's image from [default: where it is published]
    #[arg(long, value_name = "HOST", value_parser = checked::<Registry>)]
    pub registry: Option<String>,

    /// Take programs, registry and folders that the experiment file names under `host`
    #[arg(long)]
    pub trust_host: bool,

    /// HAMi's client limit: raised (100/200) or HAMi's default (5/10)
    #[arg(long, value_enum)]
    pub limits: Option<NamedLimits>,

    /// HAMi's node policy
    #[arg(long, value_enum)]
    pub node_policy: Option<Policy>,

    /// Number of machines; the experiment scales with it
    #[arg(long, value_name = "N")]
    pub nodes: Option<u32>,

    /// Seed of all random choices
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The text of a value, if it can be parsed. It is merged as text with the experiment file, and parsed after that.
fn checked<T: FromStr>(text: &str) -> Result<String, T::Err> {
    text.parse::<T>().map(|_| text.to_owned())
}

/// Seconds of a duration such as `16h`.
fn soak_secs(text: &str) -> Result<f64, String> {
    let days = SpanRelativeTo::days_are_24_hours();
    let span: Result<Span, _> = text.parse();
    let secs = span.and_then(|span| span.total((Unit::Second, days)));
    secs.ok()
        .filter(|secs| *secs > 0.0)
        .ok_or_else(|| "write a duration with its unit, such as 16h, 90m or 1h30m".to_owned())
}
