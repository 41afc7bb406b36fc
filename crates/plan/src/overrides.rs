//! The settings of the command line for an experiment.

use super::tree::{Node, Value};
use super::{Place, PlanError};

/// The settings of the command line. An option goes before the arm, the arm before the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `--compress`.
    pub compress: Option<f64>,
    /// `--timeline`: a name or a path. It replaces every timeline of the experiment.
    pub timeline: Option<String>,
    /// `--limits`: `raised` or `hami-default`.
    pub limits: Option<String>,
    /// `--node-policy`: `spread` or `binpack`.
    pub node_policy: Option<String>,
    /// `--nodes`: the experiment scaled to this many machines.
    pub nodes: Option<u32>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--quick`: timelines at compression [`QUICK_COMPRESS`]. Experiments without a timeline are not changed.
    pub quick: bool,
    /// `--repeat`.
    pub repeat: Option<u32>,
    /// `--soak`, seconds.
    pub soak_secs: Option<f64>,
    /// `--arm`, any number of times. If empty: all arms, except those that run only when named.
    pub arms: Vec<String>,
    /// One regime alone; `None` for the experiment's [`super::Experiment::regime`].
    pub regime: Option<String>,
}

/// Timeline compression of `--quick`.
pub const QUICK_COMPRESS: f64 = 1200.0;

/// The options, as changes of the document.
pub(super) fn options(overrides: &Overrides) -> Result<Vec<Node>, PlanError> {
    let text = |v: &String| Value::Text(v.clone());
    let set = [
        (
            "--compress",
            vec!["compress"],
            overrides.compress.map(Value::Float),
        ),
        (
            "--limits",
            vec!["hami", "limits"],
            overrides.limits.as_ref().map(text),
        ),
        (
            "--node-policy",
            vec!["hami", "node_policy"],
            overrides.node_policy.as_ref().map(text),
        ),
        (
            "--nodes",
            vec!["cluster", "resize_to"],
            overrides.nodes.map(|n| Value::Int(n.into())),
        ),
        (
            "--seed",
            vec!["seed"],
            overrides.seed.map(|n| Value::Int(n.into())),
        ),
        (
            "--repeat",
            vec!["repeats"],
            overrides.repeat.map(|n| Value::Int(n.into())),
        ),
        (
            "--soak",
            vec!["soak_secs"],
            overrides.soak_secs.map(Value::Float),
        ),
        (
            "--quick",
            vec!["compress"],
            overrides.quick.then_some(Value::Float(QUICK_COMPRESS)),
        ),
    ];
    if overrides.quick && overrides.compress.is_some() {
        return Err(PlanError::Field {
            at: Place::whole("--quick"),
            field: "compress".to_owned(),
            problem: format!("is {QUICK_COMPRESS} already; leave out --compress or --quick"),
        });
    }
    let set = set
        .into_iter()
        .filter_map(|(option, path, value)| Some(Node::option(option, value?).nest(&path)));
    // So many runs, and not as many as there is time for by the file.
    let repeat = overrides.repeat.filter(|_| overrides.soak_secs.is_none());
    let no_soak = repeat.map(|_| Node::option("--repeat", Value::Null).nest(&["soak_secs"]));
    Ok(set.chain(no_soak).collect())
}
