//! The experiment file: one format for every experiment. `schemas/experiment.schema.json` is generated from here.
//!
//! A command-line option goes before the arm, the arm before the file, the file before the default given here.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::data_plane::DataPlaneDoc;
use super::expect::Expect;
use super::host::Host;
use super::stalls::StallsDoc;
use super::value::{Count, Limits, QuotaCards, RequestShape, RunTime};
use super::{ClearerPlan, ClientLimit, HardwarePlan, Policy, Preempt, QuotaUnit, yes};

/// An experiment: a cluster, its teams and what they submit, arms that differ in named settings, and what is expected.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// Name, as in `headroom bench NAME`: 1 to 40 of a-z, 0-9 and '-'.
    pub name: String,
    /// The question it answers, in one line.
    pub title: String,
    /// What it does and why, in a few sentences.
    #[serde(default)]
    pub description: String,
    /// Which programs run it, where its files go, and what is left behind.
    #[serde(default)]
    pub host: Host,
    /// Timeline minutes, and a data plane's seconds, are divided by this. Default: the timeline's `time_compression`; 1 if
    /// there is only a data plane.
    pub compress: Option<f64>,
    /// Seed of all random choices.
    #[serde(default = "one::<u64>")]
    pub seed: u64,
    /// Runs of each arm, interleaved.
    #[serde(default = "one::<u32>")]
    pub repeats: u32,
    /// Cores of the host that a run keeps busy, on average over the run, as measured. Runs of a session start together as long
    /// as theirs are no more than six tenths of the machine's; at another size or compression than the file's, each runs alone.
    /// Default: each runs alone.
    pub busy_cores: Option<f64>,
    /// Instead of `repeats`: run the arms in turn for this many seconds, each run on a cluster of its own, and count restarts
    /// over time. A run that would not end in time is not begun. Default: off.
    pub soak_secs: Option<f64>,
    /// The run ends this many seconds after the clock starts. Default: when all work is done.
    pub observe_secs: Option<f64>,
    /// The observation goes on this many seconds after all awaited work is done, to see what became of evicted work.
    /// `observe_secs` ends it all the same.
    #[serde(default)]
    pub linger_secs: f64,
    /// The run gives up this many seconds after the clock started, even if work is unfinished. Default: 3 times the ideal
    /// makespan of the slowest team plus 600.
    pub give_up_secs: Option<f64>,
    /// The machines of the fake cluster.
    #[serde(default)]
    pub cluster: ClusterDoc,
    /// HAMi's policies and limits.
    #[serde(default)]
    pub hami: HamiDoc,
    /// Kueue's settings.
    #[serde(default)]
    pub kueue: KueueDoc,
    /// kube-scheduler's settings.
    #[serde(default)]
    pub scheduler: SchedulerDoc,
    /// kube-controller-manager's settings.
    #[serde(default)]
    pub controller_manager: ControllerManagerDoc,
    /// What kwok plays on the fake machines.
    #[serde(default)]
    pub hardware: HardwarePlan,
    /// The delays of pods between bind and useful work, and between their end and free cards. Default: none.
    pub data_plane: Option<DataPlaneDoc>,
    /// The node clearer beside the run. Default: none.
    pub clearer: Option<ClearerPlan>,
    /// Stalls of the cluster's storage. Default: none.
    pub stalls: Option<StallsDoc>,
    /// The teams by name, in the order in which they are shown. Each background team is bound before the next is submitted.
    pub tenants: IndexMap<String, TenantDoc>,
    /// Arms by name, in the order in which they run. Default: one arm, `default`, without changes.
    #[serde(default)]
    pub arms: IndexMap<String, ArmDoc>,
    /// Published values, and the claims that must hold.
    #[serde(default)]
    pub expect: Expect,
}

fn one<T: From<u8>>() -> T {
    1.into()
}

/// The machines of the fake cluster: a number, or groups of them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ClusterDoc {
    /// Number of machines, all in one group `all`. Default 50. Not beside `groups`.
    pub nodes: Option<u32>,
    /// Groups of machines by name.
    pub groups: Option<IndexMap<String, GroupDoc>>,
    /// Scale the whole experiment to this many machines, as `--nodes` does: groups, and counts, quotas and rates of the
    /// teams, except those with `scale: false`.
    pub resize_to: Option<u32>,
}

/// A group of machines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupDoc {
    /// Number of machines.
    pub nodes: u32,
    /// Whether `--nodes` changes it.
    #[serde(default = "yes")]
    pub scale: bool,
}

/// HAMi's policies and limits.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HamiDoc {
    /// `--node-scheduler-policy`.
    pub node_policy: Policy,
    /// `--gpu-scheduler-policy`.
    pub gpu_policy: Policy,
    /// `--kube-qps` and `--kube-burst`: `raised` (100/200), `hami-default` (5/10), or both numbers.
    pub limits: Limits,
    /// Whether nodes are created with handshake annotations, which avoid HAMi's burst of calls at its start.
    pub stamp_handshake: bool,
}

impl Default for HamiDoc {
    fn default() -> Self {
        Self {
            node_policy: Policy::Spread,
            gpu_policy: Policy::Spread,
            limits: Limits::RAISED,
            stamp_handshake: true,
        }
    }
}

/// Kueue's settings.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct KueueDoc {
    /// `clientConnection` of the manager. Default: 50/100, what Kueue's released manifests set.
    pub limits: ClientLimit,
    /// What the ClusterQueues count.
    pub quota_unit: QuotaUnit,
}

impl Default for KueueDoc {
    fn default() -> Self {
        Self {
            limits: ClientLimit::new(50.0, 100),
            quota_unit: QuotaUnit::Cards,
        }
    }
}

/// kube-scheduler's settings.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SchedulerDoc {
    /// `clientConnection`. Default: 50/100, kube-scheduler's own.
    pub limits: ClientLimit,
    /// Whether it holds a Lease and exits when it loses it, as in HAMi's chart.
    pub leader_elect: bool,
}

impl Default for SchedulerDoc {
    fn default() -> Self {
        Self {
            limits: ClientLimit::new(50.0, 100),
            leader_elect: true,
        }
    }
}

/// kube-controller-manager's settings.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ControllerManagerDoc {
    /// `--kube-api-qps` and `--kube-api-burst`. Default: 20/30, its own.
    pub limits: ClientLimit,
}

impl Default for ControllerManagerDoc {
    fn default() -> Self {
        Self {
            limits: ClientLimit::new(20.0, 30),
        }
    }
}

/// A team. With a quota it submits Jobs of one pod each, which Kueue admits. Without a quota it submits bare pods.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantDoc {
    /// The regime it belongs to. `headroom bench REGIME` runs the teams of that regime and those without one.
    pub regime: Option<String>,
    /// The group of machines it uses. Default: any machine.
    pub group: Option<String>,
    /// Its ClusterQueue. Default: none, its pods bypass Kueue.
    pub quota: Option<QuotaDoc>,
    /// Priority of its Jobs.
    #[serde(default)]
    pub priority: i32,
    /// Cards reserved for it during the whole run (for its reserved card-seconds).
    pub reserved_cards: Option<u32>,
    /// A team that only fills the cluster. Its work is submitted and bound before the clock starts, and not awaited at the
    /// end.
    #[serde(default)]
    pub background: bool,
    /// Whether the run goes on until its work is done. Background teams are never awaited.
    #[serde(default = "yes")]
    pub awaited: bool,
    /// Whether `--nodes` scales its quota, counts and rates.
    #[serde(default = "yes")]
    pub scale: bool,
    /// What it submits, one phase after the other.
    #[serde(default)]
    pub workload: Vec<Phase>,
}

/// Quota of a team: its ClusterQueue.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QuotaDoc {
    /// `nominalQuota` in cards (or in their memory, by `kueue.quota_unit`). `rest` is what the other teams leave of its
    /// group's cards.
    pub cards: QuotaCards,
    /// `cohortName`. Default: no borrowing or lending.
    pub cohort: Option<String>,
    /// `borrowingLimit` in cards. Default: no limit.
    pub borrowing_limit_cards: Option<u32>,
    /// `lendingLimit` in cards. Default: no limit.
    pub lending_limit_cards: Option<u32>,
    /// `preemption.reclaimWithinCohort`.
    #[serde(default)]
    pub reclaim_within_cohort: Preempt,
    /// `preemption.withinClusterQueue`; not `Any`.
    #[serde(default)]
    pub within_cluster_queue: Preempt,
}

/// A part of what a team submits.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Phase {
    /// A timeline: the name of an embedded one, or a path, relative to the experiment file's folder.
    Timeline(String),
    /// Requests submitted at one instant.
    Burst(Burst),
    /// Requests submitted one by one at a fixed rate.
    Stream(Stream),
}

/// Requests submitted at one instant.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Burst {
    /// Name of the stage in records.
    #[serde(default = "burst")]
    pub name: String,
    /// When, seconds after the clock starts.
    #[serde(default)]
    pub at_secs: f64,
    /// Submit in turn: first one of each group, then the second of each, and so on.
    #[serde(default)]
    pub interleave: bool,
    /// What is submitted.
    pub requests: Vec<Requests>,
}

fn burst() -> String {
    "burst".to_owned()
}

/// A number of equal requests.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Requests {
    /// How many.
    pub count: Count,
    /// What each asks for.
    pub request: RequestShape,
    /// How long each runs, seconds. Default: until the end of the run.
    pub run_secs: Option<RunTime>,
    /// How long each runs, timeline minutes (before compression).
    pub run_minutes: Option<RunTime>,
}

/// Requests submitted one by one at a fixed rate.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stream {
    /// Name of the stage in records.
    #[serde(default = "stream")]
    pub name: String,
    /// When the first is submitted, seconds after the clock starts.
    #[serde(default)]
    pub from_secs: f64,
    /// Seconds from one to the next.
    pub every_secs: f64,
    /// How many in all.
    pub count: u32,
    /// What each asks for.
    pub request: RequestShape,
    /// How long each runs, seconds. Default: until the end of the run.
    pub run_secs: Option<RunTime>,
    /// How long each runs, timeline minutes (before compression).
    pub run_minutes: Option<RunTime>,
}

fn stream() -> String {
    "stream".to_owned()
}

/// An arm: named changes to the settings above.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ArmDoc {
    /// What differs, in a sentence.
    pub description: String,
    /// Run it only when `--arm` names it.
    pub on_request: bool,
    /// Any part of the document except `name`, `title`, `description`, `arms` and `expect`. Mappings are merged, null removes
    /// a key, and everything else (lists too) replaces the value.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub changes: Option<serde::de::IgnoredAny>,
}
