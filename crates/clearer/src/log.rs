//! The decision log: one JSON line a decision on standard output, evidence of which node was cleared for whom.

use std::io::Write as _;
use std::sync::Arc;

use interface::ClearerStrategy;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Wall-clock time, UTC.
    pub time: Timestamp,
    /// The clearing it belongs to; empty for what concerns the clearer itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearing: Option<ClearingTag>,
    /// What was decided or seen.
    #[serde(flatten)]
    pub event: Event,
}

/// Which clearing: the same fields stand in every line of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearingTag {
    /// Id, also value of the taint and of the annotations.
    pub id: String,
    /// The node.
    pub node: String,
    /// Namespace of the request.
    pub namespace: String,
    /// Name of the request's pod (or Workload, under the trigger `pending-workload`).
    pub request: String,
    /// UID of that object.
    pub request_uid: String,
}

/// What was decided or seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// This process leads: it holds the Lease.
    Leading {
        /// Its identity in the Lease.
        identity: String,
    },
    /// A request waits and no node may be cleared for it.
    NoCandidate {
        /// Namespace of the request.
        namespace: String,
        /// Its name.
        request: String,
        /// Its UID.
        request_uid: String,
    },
    /// A node was chosen; nothing has been changed yet.
    Chosen {
        /// Strategy.
        strategy: ClearerStrategy,
        /// Pods on it.
        victims: u32,
        /// Card-seconds that stopping them loses.
        card_seconds: f64,
        /// The same weighted by priority, earlier losses counted: what the choice minimised.
        cost: f64,
    },
    /// A clearing found on a node at start is taken up again.
    Resumed,
    /// No new task is to come to the node from here on: cordoned, or tainted.
    Guarded,
    /// A task was told to stop.
    Stopped {
        /// The task and what it loses.
        #[serde(flatten)]
        victim: StoppedTask,
    },
    /// A task was told to stop and the answer is not known: it failed, came too late or was waited for no longer. The task may be
    /// stopping or not; a `stopped` of the same task may follow.
    StopUnanswered {
        /// The task and what it loses if it stops.
        #[serde(flatten)]
        victim: StoppedTask,
    },
    /// A `PodDisruptionBudget` forbids an eviction for now; it is tried again. Said once a pod.
    BudgetHolds {
        /// Namespace of the pod.
        victim_namespace: String,
        /// The pod.
        victim_pod: String,
    },
    /// The strategy holds the node to be empty.
    Emptied {
        /// Seconds since the clearing began.
        secs: f64,
    },
    /// The node is the request's, and only the request's.
    HandedOver {
        /// Seconds since the clearing began.
        secs: f64,
    },
    /// The request's pod is bound to the node cleared for it.
    Landed {
        /// Seconds since the clearing began.
        secs: f64,
        /// The pod.
        pod: String,
        /// Its UID.
        pod_uid: String,
    },
    /// The clearing ended without the request on the node.
    Failed {
        /// Why.
        reason: FailReason,
        /// Detail for people.
        detail: String,
        /// Seconds since the clearing began.
        secs: f64,
    },
    /// The node is as it was before the clearing.
    PutBack,
    /// A Workload that was stopped is active again and queues.
    Reactivated {
        /// Its namespace.
        victim_namespace: String,
        /// Its name.
        workload: String,
        /// The clearing that stopped it.
        stopped_by: String,
    },
}

/// A task that was told to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoppedTask {
    /// Its namespace: the team.
    pub victim_namespace: String,
    /// Pod name.
    pub victim_pod: String,
    /// Pod UID.
    pub victim_uid: String,
    /// Its Workload, if it was stopped through Kueue; else it was evicted.
    pub workload: Option<String>,
    /// Its priority.
    pub priority: i32,
    /// Cards' worth it held.
    pub cards: f64,
    /// Seconds it had run.
    pub age_secs: f64,
    /// Card-seconds lost.
    pub card_seconds: f64,
}

/// Why a clearing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailReason {
    /// The time limit passed.
    TimeLimit,
    /// The request is gone: deleted, finished, or its admission taken back.
    RequestGone,
    /// The request landed on another node.
    LandedElsewhere,
    /// The node is gone.
    NodeGone,
    /// The node is not as it was when it was chosen, or somebody else changed it meanwhile.
    NodeChanged,
    /// The clearing's annotation or guard was taken off the node by somebody else.
    GuardLost,
    /// A task that must not be stopped came in.
    Blocked,
    /// The API server refuses a call.
    Refused,
    /// Put back on the operator's command.
    Ordered,
}

/// Where lines go.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&Line) + Send + Sync>);

impl Log {
    /// To standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self::to(|line| {
            // A closed pipe must not stop a clearing half-way; the annotations hold the evidence too.
            if let Ok(text) = serde_json::to_string(line) {
                let _ = writeln!(std::io::stdout().lock(), "{text}");
            }
        })
    }

    /// To a function of the caller's.
    pub fn to(sink: impl Fn(&Line) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Writes a line.
    pub fn write(&self, time: Timestamp, clearing: Option<&ClearingTag>, event: Event) {
        (self.0)(&Line {
            time,
            clearing: clearing.cloned(),
            event,
        });
    }
}
