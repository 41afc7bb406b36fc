//! Who pays for room: each time a team's work was evicted for others, and what that comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Latency, Percentile};

/// Who evicted a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvictedBy {
    /// Kueue took its quota back.
    Kueue,
    /// The node clearer: it deactivated the task's Workload, or evicted its pod.
    Clearer,
    /// Something else: an eviction, a deletion, a lost machine.
    Other,
}

/// One attempt that was evicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Eviction {
    /// The team that pays.
    pub tenant: String,
    /// Job or bare pod.
    pub name: String,
    /// Who evicted it.
    pub by: EvictedBy,
    /// When its pod was gone, or with a data plane terminating, seconds since the run's clock started.
    pub at_secs: f64,
    /// Cards it held.
    pub cards: u32,
    /// Seconds it had run.
    pub age_secs: f64,
    /// Card-seconds of running that are to be done again.
    pub lost_card_seconds: f64,
    /// From being evicted to being bound again, seconds; null for a bare pod, which nobody starts again.
    pub rebound_secs: Percentile,
    /// From being evicted to useful work again, seconds; null as above. Only in a run with a data plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub useful_again_secs: Option<Percentile>,
    /// From being evicted to being done, seconds; null for a bare pod and for work that runs until the run's end.
    pub done_again_secs: Percentile,
}

/// What a team paid in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// Attempts evicted by Kueue.
    pub by_kueue: u32,
    /// Attempts evicted by the node clearer.
    pub by_clearer: u32,
    /// Attempts evicted by something else.
    pub by_other: u32,
    /// Of all of these, those of bare pods: nobody starts them again.
    pub lost_for_good: u32,
    /// Card-seconds of running to be done again (or lost for good).
    pub lost_card_seconds: f64,
    /// Card-seconds from being evicted until bound again, or until the observation's end.
    pub waited_card_seconds: f64,
    /// From being evicted to being bound again; null if nothing was evicted that starts again.
    pub rebound: Option<Latency>,
    /// From being evicted to useful work again. Only in a run with a data plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub useful_again: Option<Latency>,
    /// From being evicted to being done; null where no evicted work ends by itself.
    pub done_again: Option<Latency>,
}

impl Bill {
    /// Attempts evicted in all.
    #[must_use]
    pub fn evictions(&self) -> u32 {
        let two = self.by_kueue.saturating_add(self.by_clearer);
        two.saturating_add(self.by_other)
    }
}
