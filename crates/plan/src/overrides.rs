//! The settings of the command line for an experiment.

use super::file::HamiDoc;
use super::tree::{Node, Value};
use super::value::Limits;
use super::{NamedLimits, PlanError, Policy};

/// The settings of the command line. An option goes before the arm, the arm before the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `--compress`.
    pub compress: Option<f64>,
    /// `--timeline`: a name or a path. It replaces every timeline of the experiment.
    pub timeline: Option<String>,
    /// `--limits`.
    pub limits: Option<NamedLimits>,
    /// `--node-policy`.
    pub node_policy: Option<Policy>,
    /// `--nodes`: the experiment scaled to this many machines.
    pub nodes: Option<u32>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--quick`: timelines at compression 1200. Experiments without a timeline are not changed.
    pub quick: bool,
    /// `--alone`: no run beside another.
    pub alone: bool,
    /// `--repeat`.
    pub repeat: Option<u32>,
    /// `--soak`, seconds.
    pub soak_secs: Option<f64>,
    /// `--arm`, any number of times. If empty: all arms, except those that run only when named.
    pub arms: Vec<String>,
    /// `--controls`: also the arms that claims name as their controls.
    pub controls: bool,
    /// One regime alone; `None` for the experiment's [`super::Experiment::regime`].
    pub regime: Option<String>,
}

/// Timeline compression of `--quick`.
const QUICK_COMPRESS: f64 = 1200.0;

impl Overrides {
    /// Sets what has a type of its own and so can't be wrong.
    pub(super) fn set(&self, hami: &mut HamiDoc) {
        hami.node_policy = self.node_policy.unwrap_or(hami.node_policy);
        hami.limits = self.limits.map_or(hami.limits, Limits::Named);
    }
}

/// The other options, as changes of the document: where one is wrong, the error names it.
pub(super) fn options(overrides: &Overrides) -> Result<Vec<Node>, PlanError> {
    let whole = |n: Option<u32>| n.map(|n| Value::Int(n.into()));
    let quick = overrides.quick.then_some(QUICK_COMPRESS);
    let seed = overrides.seed.map(|n| Value::Int(n.into()));
    let set: [(_, &[&str], _); 6] = [
        (
            "--compress",
            &["compress"],
            overrides.compress.map(Value::Float),
        ),
        ("--nodes", &["cluster", "resize_to"], whole(overrides.nodes)),
        ("--seed", &["seed"], seed),
        ("--repeat", &["repeats"], whole(overrides.repeat)),
        (
            "--soak",
            &["soak_secs"],
            overrides.soak_secs.map(Value::Float),
        ),
        ("--quick", &["compress"], quick.map(Value::Float)),
    ];
    if overrides.quick && overrides.compress.is_some() {
        let problem = format!("is {QUICK_COMPRESS} already; leave out --compress or --quick");
        return Err(PlanError::option("--quick", "compress", problem));
    }
    let set = set
        .into_iter()
        .filter_map(|(option, path, value)| Some(Node::option(option, value?).nest(path)));
    // So many runs, and not as many as there is time for by the file.
    let repeat = overrides.repeat.filter(|_| overrides.soak_secs.is_none());
    let no_soak = repeat.map(|_| Node::option("--repeat", Value::Null).nest(&["soak_secs"]));
    Ok(set.chain(no_soak).collect())
}
