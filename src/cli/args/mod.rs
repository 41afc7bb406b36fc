//! The command line: its commands and options, with their help.

mod bench;
mod compare;
mod conformance;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub use self::bench::{BenchArgs, ShapeArgs, UpArgs};
pub use self::compare::{CompareArgs, NightlyArgs};
pub use self::conformance::ConformanceArgs;

/// Benchmark GPU-sharing policy on a real Kubernetes control plane with fake cards.
#[derive(Debug, Parser)]
#[command(
    name = "headroom",
    version,
    after_help = "Example: headroom bench regimes    (builds what is missing, runs, prints the results, tears down)"
)]
pub struct Cli {
    /// Folder for built components, live clusters and HAMi binaries [default: ~/.cache/headroom]
    #[arg(long, global = true, env = "HEADROOM_CACHE", value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Folder with programs to use instead of building them (upstream releases, an air-gapped mirror)
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
    /// Run experiments: by name, one regime alone (dedicated, shared, workstation), or your own file
    #[command(
        after_help = "Examples:\n  headroom bench regimes\n  headroom bench shared --compress 600 --hami ./scheduler\n  headroom bench regimes --quick\n  headroom bench all\n  headroom bench all --resume runs/20261129-154422-all\n  headroom bench restarts --arm quiet --soak 16h\n  headroom bench my-experiment.yaml --dry-run\n\nExit codes: 0 done, 1 a run failed, 2 usage, 3 done but disturbed, 130 interrupted with partial results kept."
    )]
    Bench(BenchArgs),
    /// Build the pinned components, or check them, and nothing else
    #[command(after_help = "Example: headroom setup --cache /var/tmp/headroom")]
    Setup,
    /// List what is missing or will disturb a run, each with a remedy
    #[command(after_help = "Example: headroom doctor")]
    Doctor,
    /// Bring up a cluster and leave it running, for kubectl
    #[command(after_help = "Example: eval \"$(headroom up)\" && kubectl get nodes; headroom down")]
    Up(UpArgs),
    /// List the running clusters and their components
    #[command(after_help = "Example: headroom status")]
    Status,
    /// Take down clusters that `up` or `bench --keep` left running
    #[command(after_help = "Examples:\n  headroom down\n  headroom down 20261129-154422-1234")]
    Down {
        /// Cluster to take down, as `status` names it [default: every kept one]
        id: Option<String>,
    },
    /// List the built-in experiments and how long each takes
    #[command(after_help = "Example: headroom list")]
    List,
    /// Explain an experiment: what it does, its arms, published values, and the claims that must hold
    #[command(after_help = "Example: headroom explain rate-limit")]
    Explain {
        /// Experiment, regime, or experiment file
        experiment: String,
    },
    /// Draw a session's charts as SVG and PNG
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
        /// File for the report
        #[arg(long, value_name = "FILE", default_value = "report.html")]
        out: PathBuf,
    },
    /// Compare new runs with earlier ones: which metrics became worse, beyond their threshold and beyond chance
    #[command(
        after_help = "Examples:\n  headroom compare latest~1 latest\n  headroom compare runs/a1 runs/a2 -- runs/b1 runs/b2\n  headroom compare --across hami runs/hami-2.9 runs/hami-2.10 --markdown hami.md\n  headroom compare --baseline nightly=14\n\nExit codes: 0 no regression (or too few runs to tell), 4 a regression, 2 not comparable."
    )]
    Compare(CompareArgs),
    /// Run a night's experiments, compare them with earlier nights, and write a report
    #[command(
        after_help = "Examples:\n  headroom nightly\n  headroom nightly --experiments rate-limit,placement --repeat 3\n  headroom nightly --dry-run\n\nExit codes: 0 no regression, 4 a regression, 3 disturbed, 1 an experiment failed."
    )]
    Nightly(NightlyArgs),
    /// Print a session's results, or the page of a `bench all`
    #[command(
        after_help = "Example: headroom show latest\n\nIf `bench all` made the latest session, latest means its page, and latest~0 the session."
    )]
    Show {
        /// Session: a folder, or latest, latest~1, …
        #[arg(value_name = "SESSION", default_value = "latest")]
        session: String,
    },
    /// List the sessions in a folder and one level below: what was run, and what disturbed it
    #[command(
        after_help = "Example: headroom runs\n\nThe latest session comes first; latest, latest~1, … count from there."
    )]
    Runs {
        /// Folder with sessions
        #[arg(value_name = "DIR", default_value = "runs")]
        dir: PathBuf,
    },
    /// Play the same scenarios with two HAMi schedulers, and say whether they are equivalent
    #[command(
        after_help = "Examples:\n  headroom conformance --hami ./scheduler --hami builtin\n  headroom conformance --hami ./v2.9/scheduler --hami ./v2.10/scheduler --scenario restart --repeat 5\n  headroom conformance --hami builtin --against outcomes.json\n\nExit codes: 0 equivalent, 1 not, 2 usage, 130 interrupted."
    )]
    Conformance(ConformanceArgs),
    /// Run the built-in HAMi-compatible scheduler extender alone (it takes HAMi's flags)
    ///
    /// It answers kube-scheduler's /filter and /bind for NVIDIA cards in shared mode as HAMi v2.10's scheduler does: with the
    /// same calls to the API server in the same order, and the same annotations, node lock, accounting, policies, events and
    /// client limit. It is not HAMi: it has no MIG, no cards of other vendors, no admission webhook and no TLS. `headroom
    /// conformance` says how close it is to your HAMi; docs/extender.md has the table.
    #[command(
        after_help = "Example: KUBECONFIG=… headroom extender --http_bind=127.0.0.1:9398 --node-scheduler-policy=spread --device-config-file=manifests/hami-device-config.yaml"
    )]
    Extender(extender::Args),
    /// Run the node clearer alone: it empties a machine for a whole-machine request that waits
    #[command(
        after_help = "Example: KUBECONFIG=… headroom clearer --scope headroom.dev/group=shared --allow background"
    )]
    Clearer(clearer::Args),
    /// Print the completion script of a shell
    #[command(
        after_help = "Examples:\n  source <(headroom completions bash)\n  headroom completions fish > ~/.config/fish/completions/headroom.fish"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write one for every command
    #[command(
        after_help = "Examples:\n  headroom man | man -l -\n  headroom man --dir ~/.local/share/man/man1"
    )]
    Man {
        /// Folder for a page of every command [default: print the first page]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

impl Command {
    /// Whether it has nothing to do with the clusters in the cache.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        matches!(
            self,
            Self::Extender(_) | Self::Clearer(_) | Self::Completions { .. } | Self::Man { .. }
        )
    }
}
