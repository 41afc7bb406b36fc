//! The decision log: one JSON line per decision on standard output. It says which node was cleared for which request.

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
    /// The clearing it belongs to; none if it is about the clearer itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearing: Option<ClearingTag>,
    /// What was decided or seen.
    #[serde(flatten)]
    pub event: Event,
}

/// Which clearing. The same fields are in each of its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearingTag {
    /// Id. It is also the value of the taint and of the annotations.
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
    /// A request waits, and no node may be cleared for it.
    NoCandidate {
        /// Namespace of the request.
        namespace: String,
        /// Its name.
        request: String,
        /// Its UID.
        request_uid: String,
        /// Why none may be.
        #[serde(default)]
        why: String,
    },
    /// A node was chosen. Nothing has been changed yet.
    Chosen {
        /// Strategy.
        strategy: ClearerStrategy,
        /// Pods on it.
        victims: u32,
        /// Card-seconds that their eviction loses.
        card_seconds: f64,
        /// The same weighted by priority, with earlier losses. The choice minimises it.
        cost: f64,
    },
    /// A clearing that an earlier process began is resumed.
    Resumed,
    /// The node is cordoned or tainted, so that no new task comes.
    Guarded,
    /// A task was evicted.
    #[serde(alias = "stopped")]
    Evicted {
        /// The task and what it loses.
        #[serde(flatten)]
        victim: Victim,
    },
    /// An eviction was requested and its outcome is not known: the call failed, or its answer did not come in time. An
    /// `evicted` of the same task may follow.
    #[serde(alias = "stop-unanswered")]
    EvictionUnanswered {
        /// The task, and what it loses if it is evicted.
        #[serde(flatten)]
        victim: Victim,
    },
    /// A `PodDisruptionBudget` forbids an eviction for now. It is tried again, and logged once per pod.
    BudgetHolds {
        /// Namespace of the pod.
        victim_namespace: String,
        /// The pod.
        victim_pod: String,
    },
    /// The strategy takes the node to be empty.
    Emptied {
        /// Seconds since the clearing began.
        secs: f64,
    },
    /// The node is handed over: only the request can be bound to it.
    HandedOver {
        /// Seconds since the clearing began.
        secs: f64,
    },
    /// The request is placed: its pod is bound to the node cleared for it.
    #[serde(alias = "landed")]
    Placed {
        /// Seconds since the clearing began.
        secs: f64,
        /// The pod.
        pod: String,
        /// Its UID.
        pod_uid: String,
    },
    /// The clearing ended, and the request is not on the node.
    Failed {
        /// Why.
        reason: FailReason,
        /// Detail for people.
        detail: String,
        /// Seconds since the clearing began.
        secs: f64,
    },
    /// The node is released: it is as it was before the clearing. Written `put-back`.
    #[serde(rename = "put-back")]
    Released,
    /// An evicted Workload is active again, and queues.
    Reactivated {
        /// Its namespace.
        victim_namespace: String,
        /// Its name.
        workload: String,
        /// The clearing that evicted it.
        #[serde(alias = "stopped_by")]
        evicted_by: String,
    },
}

/// A task to be evicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Victim {
    /// Its namespace: the team.
    #[serde(rename = "victim_namespace")]
    pub namespace: String,
    /// Pod name.
    #[serde(rename = "victim_pod")]
    pub pod: String,
    /// Pod UID.
    #[serde(rename = "victim_uid")]
    pub uid: String,
    /// Its Workload, if Kueue runs it: it is evicted through Kueue, and otherwise through the eviction API.
    pub workload: Option<String>,
    /// Priority of the Workload, or of the pod.
    pub priority: i32,
    /// Cards it holds; parts of cards count as fractions.
    pub cards: f64,
    /// Seconds it has run.
    pub age_secs: f64,
    /// Card-seconds that its eviction loses, over all pods of its Workload.
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
    /// The request was placed on another node.
    #[serde(alias = "landed-elsewhere")]
    PlacedElsewhere,
    /// The node is gone.
    NodeGone,
    /// Somebody else changed the node after it was chosen.
    NodeChanged,
    /// Somebody else took the clearing's annotation or guard off the node.
    GuardLost,
    /// A task that must not be evicted came to the node.
    Blocked,
    /// The API server refuses a call.
    Refused,
    /// The operator ended it by `--put-back-all`.
    Ordered,
}

/// Where the lines go.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&Line) + Send + Sync>);

impl Log {
    /// To standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self::to(|line| {
            // A closed pipe must not end a clearing half-way; the annotations hold the evidence too.
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
    pub fn write(&self, time: Timestamp, clearing: Option<ClearingTag>, event: Event) {
        (self.0)(&Line {
            time,
            clearing,
            event,
        });
    }
}
