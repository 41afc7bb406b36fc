//! The command line: what a user may type, with help.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::{Span, SpanRelativeTo, Unit};

use crate::compare::alike::Topic;
use crate::compare::baseline::{self, Nights};
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
        after_help = "Examples:\n  headroom bench regimes\n  headroom bench shared --compress 600 --hami ./scheduler\n  headroom bench regimes --quick\n  headroom bench all\n  headroom bench restarts --arm quiet --soak 16h\n  headroom bench my-experiment.yaml --dry-run\n\nExit codes: 0 done, 1 a run failed, 2 usage, 3 done but disturbed, 130 interrupted with partial results kept."
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
    /// Compare new runs with earlier ones: what became worse, beyond its limit and beyond chance
    #[command(
        after_help = "Examples:\n  headroom compare latest~1 latest\n  headroom compare runs/a1 runs/a2 -- runs/b1 runs/b2\n  headroom compare --across hami runs/hami-2.9 runs/hami-2.10 --markdown hami.md\n  headroom compare --baseline nightly=14\n\nExit codes: 0 no regression (or too few runs to tell), 4 a regression, 2 not comparable."
    )]
    Compare(CompareArgs),
    /// Run the experiments, compare them with earlier nights and write a report
    #[command(
        after_help = "Examples:\n  headroom nightly\n  headroom nightly --experiments rate-limit,placement --repeat 3\n\nExit codes: 0 no regression, 4 a regression, 3 disturbed, 1 an experiment failed."
    )]
    Nightly(NightlyArgs),
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
    /// Play the same scenarios with two HAMi schedulers and say whether they are equivalent
    #[command(
        after_help = "Examples:\n  headroom conformance --hami ./scheduler --hami builtin\n  headroom conformance --hami ./v2.9/scheduler --hami ./v2.10/scheduler --scenario restart --repeat 5\n  headroom conformance --hami builtin --against outcomes.json\n\nExit codes: 0 equivalent, 1 not, 2 usage, 130 interrupted."
    )]
    Conformance(ConformanceArgs),
    /// Run the built-in HAMi-compatible scheduler extender alone (it takes HAMi's flags)
    ///
    /// It answers kube-scheduler's /filter and /bind for NVIDIA cards in shared mode as HAMi v2.10's scheduler does: the same
    /// calls to the API server in the same order, the same annotations, node lock, accounting, policies, events and
    /// client-side limit. It is not HAMi: MIG, other vendors' cards, the admission webhook and TLS are left out. `headroom
    /// conformance` says how close it is to a HAMi of yours; docs/extender.md has the table.
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

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// BASE and NEW: folders, or latest, latest~1, …; with --baseline or -- only one side
    #[arg(value_name = "SESSION")]
    pub sessions: Vec<String>,

    /// New sessions, after --, where either side has several: compare BASE… -- NEW…
    #[arg(value_name = "NEW", last = true)]
    pub new: Vec<String>,

    /// Compare with the last N eligible nightly sessions [N: 7]; the sessions named are the new ones [default: latest]
    #[arg(long, value_name = "nightly[=N]")]
    pub baseline: Option<Nights>,

    /// A difference that is meant: then it is what the comparison is about
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TOPIC")]
    pub across: Vec<Topic>,

    /// Take disturbed runs too; then no verdict is given
    #[arg(long)]
    pub disturbed: bool,

    /// Show the figures that are not declared, too
    #[arg(long)]
    pub all: bool,

    /// Declared metrics to use instead of headroom's own
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,

    /// Also write it as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Also write it as Markdown, with every figure
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Instead: simulate comparisons from the like runs in FILE (written by --json), to see false alarms and power
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sessions", "new", "baseline", "across", "disturbed", "all", "metrics"])]
    pub power: Option<PathBuf>,

    /// Simulated comparisons of each kind
    #[arg(long, value_name = "N", requires = "power", default_value_t = 2000)]
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

    /// Run every arm this many times; with fewer than 5 only large regressions show
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeat: u32,

    /// Nights to compare with
    #[arg(long, value_name = "N", default_value_t = baseline::NIGHTS)]
    pub nights: usize,

    /// Declared metrics to use instead of headroom's own
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,

    /// Which HAMi, and other options that shape the cluster.
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

/// Seconds of a duration as people write it.
fn soak_secs(text: &str) -> Result<f64, String> {
    let days = SpanRelativeTo::days_are_24_hours();
    let span: Result<Span, _> = text.parse();
    let secs = span.and_then(|span| span.total((Unit::Second, days)));
    secs.ok()
        .filter(|secs| *secs > 0.0)
        .ok_or_else(|| "write a duration with its unit, such as 16h, 90m or 1h30m".to_owned())
}

/// The text of a value that can be parsed: what the experiment file says is merged with it, as text, before it is.
fn checked<T: FromStr>(text: &str) -> Result<String, T::Err> {
    text.parse::<T>().map(|_| text.to_owned())
}

/// Options of `conformance`.
#[derive(Debug, Clone, Args)]
pub struct ConformanceArgs {
    /// A HAMi scheduler, given twice; the first is the measure. builtin, auto, image[:TAG] or a program's path
    #[arg(long, value_name = "HAMI")]
    pub hami: Vec<HamiChoice>,

    /// Registry to pull HAMi's image from [default: where it is published]
    #[arg(long, value_name = "HOST")]
    pub registry: Option<Registry>,

    /// Play every scenario this many times with each, taking turns; how fast bursts are is judged from 5 on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,

    /// Play only this scenario; may be given more than once
    #[arg(long = "scenario", value_name = "NAME")]
    pub scenarios: Vec<String>,

    /// Hold the only --hami to outcomes that --record wrote
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,

    /// Write the (first) --hami's outcomes, without times, to hold others to
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// List the scenarios and stop
    #[arg(long)]
    pub list: bool,

    /// Folder for the record and the logs [default: runs/<UTC time>-conformance]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
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
