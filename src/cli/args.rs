//! The command line: what a user may type, with help.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::components::HamiChoice;
use crate::components::image::Registry;
use crate::plan::Policy;
use crate::{clearer, extender};

/// Benchmark GPU-sharing policy on a real Kubernetes control plane with fake cards.
#[derive(Debug, Parser)]
#[command(
    name = "headroom",
    version,
    after_help = "Example: headroom bench regimes    (everything: builds what is missing, runs, prints, tears down)"
)]
pub struct Cli {
    /// Folder for built components, live clusters and HAMi binaries [default: ~/.cache/headroom]
    #[arg(long, global = true, env = "HEADROOM_CACHE", value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Use the programs found here instead of building them (upstream releases, an air-gapped mirror)
    #[arg(long, global = true, env = "HEADROOM_COMPONENTS", value_name = "DIR")]
    pub components: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[allow(clippy::large_enum_variant)] // there is one of it
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment: regimes, one regime alone (dedicated, shared, workstation), or an experiment file
    #[command(
        after_help = "Examples:\n  headroom bench regimes\n  headroom bench shared --compress 600 --hami ./scheduler\n  headroom bench regimes --quick\n  headroom bench my-experiment.yaml --dry-run"
    )]
    Bench(BenchArgs),
    /// Build or check the pinned components, and nothing else
    #[command(after_help = "Example: headroom setup --cache /var/tmp/headroom")]
    Setup,
    /// Say what is missing or will disturb a run, each with its remedy
    #[command(after_help = "Example: headroom doctor")]
    Doctor,
    /// Bring a cluster up and leave it running, to look into with kubectl
    #[command(after_help = "Example: eval \"$(headroom up)\" && kubectl get nodes; headroom down")]
    Up(UpArgs),
    /// List the clusters that are running and their components
    #[command(after_help = "Example: headroom status")]
    Status,
    /// Take down clusters that were left running by `up` or `bench --keep`
    #[command(after_help = "Examples:\n  headroom down\n  headroom down 20261129-154422-1234")]
    Down {
        /// Cluster to take down, as `status` names it [default: every kept one]
        id: Option<String>,
    },
    /// List the experiments that come with headroom, and how long each takes
    #[command(after_help = "Example: headroom list")]
    List,
    /// Say what an experiment does, its arms, what was published and what must hold
    #[command(after_help = "Example: headroom explain rate-limit")]
    Explain {
        /// Experiment, regime, or experiment file
        experiment: String,
    },
    /// Draw a session's charts, SVG and PNG
    #[command(
        after_help = "Examples:\n  headroom plot latest\n  headroom plot runs/20261129-154422-regimes --out plots"
    )]
    Plot {
        /// Sessions: folders, or latest, latest~1, …
        #[arg(value_name = "SESSION", default_value = "latest")]
        sessions: Vec<String>,
        /// Folder for the charts
        #[arg(long, value_name = "DIR", default_value = "plots")]
        out: PathBuf,
    },
    /// Write a session's report: one HTML file with findings, tables and charts
    #[command(after_help = "Example: headroom report latest --out report.html")]
    Report {
        /// Sessions: folders, or latest, latest~1, …
        #[arg(value_name = "SESSION", default_value = "latest")]
        sessions: Vec<String>,
        /// The file
        #[arg(long, value_name = "FILE", default_value = "report.html")]
        out: PathBuf,
    },
    /// Print what a session measured
    #[command(after_help = "Example: headroom show latest")]
    Show {
        /// Session: a folder, or latest, latest~1, …
        #[arg(value_name = "SESSION", default_value = "latest")]
        session: String,
    },
    /// List the sessions in a folder, with what was run and what disturbed it
    #[command(after_help = "Example: headroom runs")]
    Runs {
        /// Folder of sessions
        #[arg(value_name = "DIR", default_value = "runs")]
        dir: PathBuf,
    },
    /// Run the built-in HAMi-compatible scheduler extender alone (it takes HAMi's flags)
    #[command(
        after_help = "Example: KUBECONFIG=… headroom extender --http_bind=127.0.0.1:9398 --node-scheduler-policy=spread --device-config-file=manifests/hami-device-config.yaml"
    )]
    Extender(extender::Args),
    /// Run the node clearer alone: it empties a machine for a waiting whole-machine request
    #[command(
        after_help = "Example: KUBECONFIG=… headroom clearer --scope headroom.dev/group=shared --allow background"
    )]
    Clearer(clearer::Args),
}

/// Options of `bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Experiments, regimes or experiment files, run one after the other
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
    pub limits: Option<LimitsArg>,

    /// HAMi's node policy
    #[arg(long, value_enum)]
    pub node_policy: Option<PolicyArg>,

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

/// HAMi's client rate limit by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LimitsArg {
    /// 100 calls a second, bursts of 200.
    Raised,
    /// 5 calls a second, bursts of 10.
    HamiDefault,
}

/// A policy by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyArg {
    /// Prefer the emptiest.
    Spread,
    /// Prefer the fullest.
    Binpack,
}

impl From<PolicyArg> for Policy {
    fn from(policy: PolicyArg) -> Self {
        match policy {
            PolicyArg::Spread => Self::Spread,
            PolicyArg::Binpack => Self::Binpack,
        }
    }
}
