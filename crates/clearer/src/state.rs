//! What a clearing leaves on the cluster's objects, and reads back after a restart.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint, Toleration};
use kube::ResourceExt as _;
use serde::{Deserialize, Serialize};

use super::owner::Owner;
use interface::ClearerStrategy;

/// On a node: the clearing in progress, a [`State`]. On a Workload it stopped and on the request's pod: its id.
pub const CLEARING: &str = "headroom.dev/clearing";

/// On a node: `namespace/name uid` of the request it was last handed over to. Kept as evidence.
pub const CLEARED_FOR: &str = "headroom.dev/cleared-for";

/// On a pod: the node that was cleared for it. Kept as evidence; such a pod is never stopped for another request.
pub const CLEARED_NODE: &str = "headroom.dev/cleared-node";

/// On a node: when it was last cleared in vain; it is left alone for a time limit.
pub const FAILED_AT: &str = "headroom.dev/clearing-failed";

/// On a request's pod: the annotation that pins it to the cards of its node, if the clearer has put it there.
pub const PINNED_BY: &str = "headroom.dev/pinned-by";

/// On a request's pod or Workload: nodes cleared for it in vain.
pub const ATTEMPTS: &str = "headroom.dev/clearing-attempts";

/// On a Workload: card-seconds it has lost to clearings so far; they count as work when victims are chosen.
pub const LOST: &str = "headroom.dev/lost-card-seconds";

/// Key of the taint that reserves a node for one request; its value is the clearing's id.
pub const RESERVED: &str = "headroom.dev/reserved";

/// The request that a clearing is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestRef {
    /// What the name names.
    pub kind: RequestKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// Kind of object that is the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// A pending pod.
    Pod,
    /// A pending Workload, whose pod does not exist yet.
    Workload,
}

/// How far a clearing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The guard is in force, tasks are being stopped.
    Clearing,
    /// The node is the request's.
    HandedOver,
}

/// A clearing in progress, as it stands in the node's annotation [`CLEARING`].
///
/// Written by the same PATCH that puts the guard in force, removed by the one that lifts it: there is no moment at
/// which a node is guarded and nobody can tell why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Id of the clearing: value of the reservation taint.
    pub id: String,
    /// Namespace and name of the Lease of the clearer that began it; none from a version that named no owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// For whom.
    pub request: RequestRef,
    /// The request's priority: nothing above it is stopped.
    pub priority: i32,
    /// How.
    pub strategy: ClearerStrategy,
    /// How far.
    pub phase: Phase,
    /// When it began.
    pub started: Timestamp,
    /// When the node is put back if the request has not landed.
    pub deadline: Timestamp,
    /// True if the clearing cordoned the node, and must uncordon it.
    pub cordoned: bool,
    /// UIDs of the pods listed before the guard (list-then-evict only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
}

impl State {
    /// A clearing that begins now.
    #[must_use]
    pub fn begin(
        owner: &Owner,
        node: &str,
        request: RequestRef,
        priority: i32,
        strategy: ClearerStrategy,
        now: Timestamp,
        limit: std::time::Duration,
    ) -> Self {
        let seed = format!("{} {node} {}", request.uid, now.as_nanosecond());
        Self {
            id: owner.new_id(&seed),
            owner: Some(owner.lease().to_owned()),
            request,
            priority,
            strategy,
            phase: Phase::Clearing,
            started: now,
            // Saturates at the end of time: `--time-limit` is a day at most.
            deadline: now.checked_add(limit).unwrap_or(Timestamp::MAX),
            cordoned: false,
            listed: Vec::new(),
        }
    }

    /// The clearing in progress on a node: `None` without one, an error text if the annotation is not ours to read.
    pub fn of(node: &Node) -> Option<Result<Self, String>> {
        let text = node.annotations().get(CLEARING)?;
        Some(serde_json::from_str(text).map_err(|e| e.to_string()))
    }

    /// The annotation's text.
    #[must_use]
    pub fn text(&self) -> String {
        // Strings, numbers and enums only: there is nothing in it that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The taint that only this clearing's request tolerates.
    #[must_use]
    pub fn taint(&self) -> Taint {
        Taint {
            key: RESERVED.into(),
            value: Some(self.id.clone()),
            effect: "NoSchedule".into(),
            time_added: None,
        }
    }

    /// The toleration that belongs to it.
    #[must_use]
    pub fn toleration(&self) -> Toleration {
        Toleration {
            key: Some(RESERVED.into()),
            operator: Some("Equal".into()),
            value: Some(self.id.clone()),
            effect: Some("NoSchedule".into()),
            toleration_seconds: None,
        }
    }
}
