//! Says what a run will do, and checks that before anything starts.
//!
//! In: an experiment file, a timeline file, command-line options. Out: a [`Plan`] for each arm, or an error that names file,
//! line, field and the accepted values. It never touches a cluster, a clock or the network.

mod check;
mod clearer;
mod component;
mod data_plane;
mod decode;
mod describe;
mod error;
pub mod expect;
mod expect_check;
mod expected;
mod experiment;
mod explain;
mod file;
mod hami;
mod host;
pub mod metric;
mod old;
mod order;
mod overrides;
mod quotas;
mod remarks;
mod resolve;
pub mod schedule;
pub mod schema;
mod sizing;
mod source;
mod stalls;
#[cfg(test)]
mod tests;
mod timeline;
mod tree;
mod turns;
mod value;
mod work;
pub mod workload;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use clearer::ClearerPlan;
pub use component::{Component, Program, Programs};
pub use data_plane::{DataPlane, DataPlanePlan};
pub use error::{Place, PlanError};
pub use expected::{expected_secs, minutes, run_secs};
pub use experiment::{Arm, Experiment, embedded, load, names, plans, published_restarts_per_hour};
pub use explain::list;
pub use hami::{HamiKind, HamiSource};
pub use host::Host;
pub use interface::{ClearerStrategy, ClearerTrigger, NamedLimits, Policy};
pub use old::Hint;
pub use order::{Order, Takes};
pub use overrides::Overrides;
pub use schedule::Capacity;
pub use stalls::Stall;
pub use turns::{Turn, Turns};
pub use workload::{Group, Request, Round, RoundStart, Stage, Via};

/// Cards in one fake machine: the article's nodes are 8 × RTX 4090.
pub const CARDS_PER_NODE: u32 = 8;

/// Memory of one fake card in MiB, as HAMi's device plugin registers an RTX 4090.
pub const CARD_MEMORY_MIB: u32 = 24_564;

/// One run's settings: the experiment file, its arm and the command line, merged and checked.
///
/// Each run's `run.json` has all of it. Everything later reads settings from here only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Name of the experiment, e.g. `regimes`.
    pub experiment: String,
    /// Name of the arm, e.g. `default`.
    pub arm: String,
    /// Timeline minutes are divided by this: at 120, one minute takes 0.5 s.
    pub compress: f64,
    /// True if `--quick` chose the compression: the results are only a first look.
    pub quick: bool,
    /// True if an option chose another compression than the experiment's own. Nothing was published for it.
    #[serde(default)]
    pub rescaled: bool,
    /// Seed of all random choices in the run.
    pub seed: u64,
    /// Runs of this arm in a session.
    pub repeats: u32,
    /// Cores that a run keeps busy, so that others can run beside it; `None` if it runs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_cores: Option<f64>,
    /// Instead of repeats: the session runs its arms in turn for this many seconds (`--soak`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak_secs: Option<f64>,
    /// The machines of the fake cluster.
    pub cluster: ClusterPlan,
    /// HAMi's policies and limits.
    pub hami: HamiPlan,
    /// Kueue's settings.
    pub kueue: KueuePlan,
    /// kube-scheduler's settings.
    pub scheduler: SchedulerPlan,
    /// kube-controller-manager's settings.
    pub controller_manager: ControllerManagerPlan,
    /// What kwok plays on the fake machines.
    pub hardware: HardwarePlan,
    /// The delays of pods between bind and useful work, and between their end and free cards; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_plane: Option<DataPlanePlan>,
    /// The node clearer beside the run, if there is one.
    pub clearer: Option<ClearerPlan>,
    /// Stalls of etcd that the harness causes, in order.
    #[serde(default)]
    pub stalls: Vec<Stall>,
    /// The teams, in display order.
    pub tenants: Vec<TenantPlan>,
    /// The run ends this many seconds after the clock starts, even if work is left; `None` if it ends when all work is done.
    pub observe_secs: Option<f64>,
    /// The observation goes on this many seconds after all awaited work is done.
    #[serde(default)]
    pub linger_secs: f64,
    /// The run gives up this many seconds after the clock started, and reports what is unfinished.
    pub give_up_secs: f64,
}

impl Plan {
    /// What a team may use at the same time: its group's machines, and on them the cards of its own quota and those that it
    /// may borrow.
    #[must_use]
    pub fn capacity(&self, team: &TenantPlan) -> Capacity {
        let in_group = |g: &&NodeGroup| team.group.as_ref().is_none_or(|own| *own == g.name);
        let nodes: u32 = self
            .cluster
            .groups
            .iter()
            .filter(in_group)
            .map(|g| g.nodes)
            .sum();
        let cards = nodes * CARDS_PER_NODE;
        let Some(quota) = &team.quota else {
            return Capacity { nodes, cards };
        };
        let lendable: u32 = self
            .tenants
            .iter()
            .filter(|other| other.name != team.name)
            .filter_map(|other| other.quota.as_ref())
            .filter(|other| other.cohort.is_some() && other.cohort == quota.cohort)
            .map(|other| {
                other
                    .lending_limit_cards
                    .unwrap_or(u32::MAX)
                    .min(other.nominal_cards)
            })
            .sum();
        let borrowable = quota
            .borrowing_limit_cards
            .unwrap_or(u32::MAX)
            .min(lendable);
        Capacity {
            nodes,
            cards: cards.min(quota.nominal_cards + borrowable),
        }
    }
}

impl Plan {
    /// Whether other teams' work is on a team's machines. Then its ideal schedule, which knows of no other team, says nothing
    /// of what the control plane cost.
    #[must_use]
    pub fn shares_machines(&self, team: &str) -> bool {
        let Some(own) = self.tenants.iter().find(|t| t.name == team) else {
            return false;
        };
        let mut others = self
            .tenants
            .iter()
            .filter(|t| t.name != team && !t.stages.is_empty());
        others.any(|t| t.group.is_none() || own.group.is_none() || t.group == own.group)
    }
}

/// The machines of the fake cluster: groups of identical ones, named `gpu-00`, `gpu-01`, … in group order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterPlan {
    /// Groups of machines. A node has the label `headroom.dev/group: <name>`.
    pub groups: Vec<NodeGroup>,
}

impl ClusterPlan {
    /// Names of its machines in order, with the group of each.
    #[must_use]
    pub fn node_names(&self) -> Vec<(String, String)> {
        self.groups
            .iter()
            .flat_map(|g| (0..g.nodes).map(|_| g.name.clone()))
            .enumerate()
            .map(|(i, group)| (format!("gpu-{i:02}"), group))
            .collect()
    }

    /// Number of machines in all groups.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.groups.iter().map(|g| g.nodes).sum()
    }
}

/// A group of machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeGroup {
    /// Value of the label `headroom.dev/group`.
    pub name: String,
    /// Number of machines.
    pub nodes: u32,
}

/// A client limit: how many calls a component may make. It is a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientLimit {
    /// Tokens per second.
    pub qps: f64,
    /// Size of the bucket.
    pub burst: u32,
}

impl ClientLimit {
    pub(crate) const fn new(qps: f64, burst: u32) -> Self {
        Self { qps, burst }
    }
}

/// HAMi's policies and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HamiPlan {
    /// `--node-scheduler-policy`.
    pub node_policy: Policy,
    /// `--gpu-scheduler-policy`.
    pub gpu_policy: Policy,
    /// `--kube-qps` and `--kube-burst`.
    pub limit: ClientLimit,
    /// Whether nodes are created with handshake annotations, which avoid HAMi's burst of calls at its start.
    pub stamp_handshake: bool,
}

/// What a ClusterQueue's quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuotaUnit {
    /// `nvidia.com/gpu`: cards.
    Cards,
    /// GiB of card memory: `gpumem` × cards, by a Kueue resource transformation with `multiplyBy`.
    Memory,
    /// `gpumem` as in the pod, without `multiplyBy`: one card's memory, whatever the number of cards.
    MemoryRaw,
    /// Both cards and memory must fit.
    Both,
}

/// Kueue's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KueuePlan {
    /// `clientConnection` of the Kueue manager.
    pub limit: ClientLimit,
    /// What the ClusterQueues count.
    pub quota_unit: QuotaUnit,
}

/// kube-scheduler's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerPlan {
    /// `clientConnection` of kube-scheduler.
    pub limit: ClientLimit,
    /// Whether kube-scheduler holds a Lease and exits when it loses it, as in HAMi's chart.
    pub leader_elect: bool,
}

/// kube-controller-manager's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerManagerPlan {
    /// `--kube-api-qps` and `--kube-api-burst`.
    pub limit: ClientLimit,
}

/// What kwok plays on the fake machines, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HardwarePlan {
    /// Delay from HAMi's bind to the device plugin's answer (lock release, `bind-phase: success`).
    pub device_plugin_delay_secs: f64,
}

/// When a ClusterQueue may take back quota by preemption, in Kueue's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Preempt {
    /// Never.
    #[default]
    Never,
    /// Workloads of lower priority.
    LowerPriority,
    /// Any workload.
    Any,
}

/// Quota of a team: its ClusterQueue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaPlan {
    /// `nominalQuota` in cards.
    pub nominal_cards: u32,
    /// `cohortName`; `None`: no borrowing or lending.
    pub cohort: Option<String>,
    /// `borrowingLimit` in cards; `None`: no limit.
    pub borrowing_limit_cards: Option<u32>,
    /// `lendingLimit` in cards; `None`: no limit.
    pub lending_limit_cards: Option<u32>,
    /// `preemption.reclaimWithinCohort`.
    pub reclaim_within_cohort: Preempt,
    /// `preemption.withinClusterQueue` (`Any` is not valid here).
    pub within_cluster_queue: Preempt,
}

/// A team: a namespace, a LocalQueue, a ClusterQueue, perhaps its own machines, and what it submits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantPlan {
    /// Name of namespace, LocalQueue and ClusterQueue.
    pub name: String,
    /// Group of machines that its ResourceFlavor (or the nodeSelector of its bare pods) names; `None` if it uses all.
    pub group: Option<String>,
    /// Its ClusterQueue; `None` if its pods are bare and bypass Kueue.
    pub quota: Option<QuotaPlan>,
    /// `WorkloadPriorityClass` value of its Jobs.
    pub priority: i32,
    /// Cards reserved for it during the whole run, for its reserved card-seconds; `None` if none are.
    pub reserved_cards: Option<u32>,
    /// True for a team that only fills the cluster. Its work is submitted and bound before the clock starts, one such team
    /// after the other in the order of [`Plan::tenants`], and is not awaited at the end.
    pub background: bool,
    /// Whether the run goes on until its work is done. A background team's work is never awaited.
    #[serde(default = "yes")]
    pub awaited: bool,
    /// What it submits. Empty for a team that only owns quota.
    pub stages: Vec<Stage>,
    /// Makespan of the ideal schedule (without a control plane) on this team's cards, seconds; `None` without stages.
    pub ideal_secs: Option<f64>,
    /// Published values to print beside the measured ones, by metric, e.g. `makespan_secs`.
    pub published: BTreeMap<String, f64>,
}

fn yes() -> bool {
    true
}

impl TenantPlan {
    /// All its groups of Jobs, in the order of submission.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.stages.iter().flat_map(Stage::groups)
    }
}
