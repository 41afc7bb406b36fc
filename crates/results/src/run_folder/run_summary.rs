//! A run's part of `summary.json`.

use std::collections::BTreeMap;

use crate::waits::Waits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evictions::{Bill, Eviction};
use super::evidence::Evidence;
use super::placements::Placement;
use super::record::Phase;
use super::storage::{StallLatency, StallSummary, Storage};

/// One run: one cluster bring-up of one arm and repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Name of the arm.
    pub arm: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Folder of the run, relative to the session's.
    pub folder: String,
    /// Folders of the runs that started with it, on a cluster of their own each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// UTC time at which its bring-up started, RFC 3339; null in a run of an older headroom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// From the start of bring-up to the first Job admissible, seconds.
    pub bring_up_secs: f64,
    /// From the start of bring-up to the end of tear-down, seconds.
    pub wall_secs: f64,
    /// Seconds from the run's clock starting to the observation's end.
    pub observed_secs: f64,
    /// What the metrics rest on; empty in a run of an older headroom.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Faults of host or harness that the experiment did not ask for.
    pub disturbed: Vec<Disturbance>,
    /// Each team's metrics.
    pub tenants: Vec<TenantSummary>,
    /// Restarts of each supervised component; empty without evidence of how components ended.
    pub restarts: BTreeMap<String, u32>,
    /// The same by component, then cause.
    #[serde(default)]
    pub restart_causes: BTreeMap<String, BTreeMap<String, u32>>,
    /// etcd's disk over the observation; null without evidence of it.
    pub storage: Option<Storage>,
    /// Stalls of etcd that the experiment asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<StallSummary>,
    /// Submit to bound inside and outside of them; null without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_in_stalls: Option<StallLatency>,
    /// API calls per bound pod, by component, then `verb resource[/subresource]`.
    pub calls_per_pod: BTreeMap<String, BTreeMap<String, f64>>,
    /// Pods bound a second, and what the components' client limits allow.
    #[serde(default)]
    pub bind_rate: BindRate,
    /// Whole machines that were never placed, with the state of the machines at the time.
    #[serde(default)]
    pub unplaced: Vec<Unplaced>,
    /// Whole-machine requests that the node clearer answered for, in order of submission; empty without a clearer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// Every attempt that was evicted, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evictions: Vec<Eviction>,
    /// Card-seconds of the whole cluster on which no pod was bound, over the observation; null in a run of an older headroom.
    pub idle_card_seconds: Option<f64>,
    /// How well the live view agreed with the audit log.
    pub accuracy: Accuracy,
    /// What the harness itself used.
    pub harness: Harness,
}

/// Kinds of [`Disturbance`] that end a run before its end. What it had not seen by then says nothing, so no claim is judged
/// by it.
pub mod cut {
    /// The user stopped it.
    pub const INTERRUPTED: &str = "interrupted";
    /// A component that nobody starts again died.
    pub const COMPONENT_LOST: &str = "component-lost";
}

impl RunSummary {
    /// Whether it was observed for as long as it was meant to be.
    #[must_use]
    pub fn came_to_its_end(&self) -> bool {
        let cut = [cut::INTERRUPTED, cut::COMPONENT_LOST];
        let mut kinds = self.disturbed.iter().map(|d| d.kind.as_str());
        !kinds.any(|kind| cut.contains(&kind))
    }
}

/// Pods bound a second, measured and allowed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BindRate {
    /// Pods bound after the clock's start ÷ seconds from the first of them being submitted to the last being bound; null
    /// with fewer than two.
    pub measured_per_sec: Option<f64>,
    /// Each component's client limit, calls a second ÷ its API calls per bound pod, watches excepted: what it can sustain
    /// once its burst is used up. Components without a limit of their own are left out.
    pub ceiling_per_sec: BTreeMap<String, f64>,
}

/// A whole machine that was never placed: the machines it could have had, at its first try and at the observation's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unplaced {
    /// Team.
    pub tenant: String,
    /// Job or bare pod.
    pub name: String,
    /// When its pod was created, and so first tried.
    pub first_try: FreeCards,
    /// At the observation's end.
    pub at_end: FreeCards,
}

/// Idle cards on the machines that a request could have had. A card with any slice in use is not idle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeCards {
    /// When, seconds since the run's clock started.
    pub at_secs: f64,
    /// Machines by number of idle cards.
    pub machines: BTreeMap<u32, u32>,
    /// Idle cards in all.
    pub idle_cards: u32,
    /// Share of the idle cards on machines that are not wholly idle, which no whole-machine request can use: fragmentation
    /// as FGD measures it (Weng et al., USENIX ATC 2023), for that one request; null with no idle card.
    pub unusable_share: Option<f64>,
}

/// A fault of the host or the harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// Kind, e.g. `late-submit`, `clock-jump`, `lost-evidence`, `overloaded`, `interrupted`.
    pub kind: String,
    /// What was seen, with its metric.
    pub detail: String,
    /// What to do about it.
    pub remedy: String,
}

/// A team's metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantSummary {
    /// Name.
    pub name: String,
    /// From the run's clock starting to the team's last Job seen done; null if any is unfinished.
    pub makespan_secs: Option<f64>,
    /// Makespan of the ideal list schedule of its timeline on its cards, without a control plane.
    pub ideal_secs: Option<f64>,
    /// Experiments submitted or due.
    pub submitted: u32,
    /// Of these, failed or refused.
    pub failed: u32,
    /// Of these, not done when the observation ended.
    pub unfinished: u32,
    /// Attempts ended by preemption or eviction.
    pub evictions: u32,
    /// What the team paid for others' room.
    #[serde(default)]
    pub bill: Bill,
    /// Card-seconds by account.
    pub card_seconds: CardSeconds,
    /// Latency by class of request, then phase.
    pub latency: BTreeMap<String, BTreeMap<Phase, Latency>>,
    /// What its requests waited for; null of a background team, and where the calls were not counted by the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

/// Card-seconds by account. One card held for one second is one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CardSeconds {
    /// Cards set aside × makespan; null where nothing is set aside.
    pub reserved: Option<f64>,
    /// Quota held: admission → given back.
    pub admitted: f64,
    /// Pod bound → pod ended.
    pub bound: f64,
    /// Pod running → pod ended.
    pub running: f64,
    /// Useful work begun → its own end or its eviction. Only in a run with a data plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub useful: Option<f64>,
    /// Of admitted, on quota of other teams.
    pub borrowed: f64,
    /// Own quota used by other teams of the cohort.
    pub lent: f64,
    /// Cards × run time of every Job of the timeline.
    pub ideal: f64,
}

/// Distribution of one latency, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Samples, censored ones included.
    pub count: u64,
    /// Of these, still waiting when the observation ended.
    pub censored: u64,
    /// Median.
    pub p50: Percentile,
    /// 95th percentile; null below 20 samples.
    pub p95: Percentile,
    /// 99th percentile; null below 100 samples.
    pub p99: Percentile,
    /// Largest.
    pub max: Percentile,
    /// The samples themselves, sorted, where there are fewer than 20; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Percentile>,
}

/// A percentile: seconds, `{"over": secs}` when it falls on a censored sample, or null with too few samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Percentile {
    /// Seconds.
    Secs(f64),
    /// It had not happened after this many seconds.
    Over {
        /// Seconds waited in vain.
        over: f64,
    },
    /// Too few samples.
    TooFew,
}

/// How well the live view agreed with the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accuracy {
    /// Watch receipt of a binding minus the audit log's stamp of its request (so it holds the call's own duration too); null without audit evidence.
    pub watch_lag_ms: Option<Lag>,
    /// Times a watch was lost and re-listed.
    pub relists: u32,
    /// Times a watch broke and was taken up again where it broke: nothing lost, but some stamps late.
    pub interruptions: u32,
    /// Stamps of the records that must exist (the Job was done) but were not seen.
    pub missing_stamps: u32,
    /// Bindings in the audit log that no record matched, or the reverse; null without audit evidence.
    pub unmatched_bindings: Option<u32>,
}

/// Distribution of a lag in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lag {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// What the harness itself used during a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Harness {
    /// CPU time of the harness process over the observation, seconds.
    pub cpu_secs: f64,
    /// Peak resident memory, MiB.
    pub peak_rss_mib: f64,
    /// Submissions sent more than 50 ms after their intended time.
    pub late_submits: u32,
    /// The latest submission's lateness, milliseconds.
    pub max_submit_lateness_ms: f64,
    /// Times its one-second tick came more than 500 ms late.
    pub late_ticks: u32,
}
