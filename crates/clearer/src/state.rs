//! What a clearing writes on the cluster's objects, and reads back after a restart.

use std::str::FromStr;

use interface::ClearerStrategy;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint, Toleration};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};

/// On a node: the clearing in progress, a [`State`]. On an evicted Workload and on the request's pod: its id.
pub const CLEARING: &str = "headroom.dev/clearing";

/// On a node: `namespace/name uid` of the request to which it was last handed over. Kept as evidence.
pub const CLEARED_FOR: &str = "headroom.dev/cleared-for";

/// On a pod: the node that was cleared for it. Kept as evidence. Such a pod is never evicted for another request.
pub const CLEARED_NODE: &str = "headroom.dev/cleared-node";

/// On a node: when it was last cleared in vain. It is not cleared again before the time limit has passed once more.
pub const FAILED_AT: &str = "headroom.dev/clearing-failed";

/// On a request's pod: name of the annotation that pins it to the cards of its node, if the clearer has set that one.
pub const PINNED_BY: &str = "headroom.dev/pinned-by";

/// On a request's pod or Workload: number of nodes cleared for it in vain.
pub const ATTEMPTS: &str = "headroom.dev/clearing-attempts";

/// On a Workload: card-seconds it has lost to clearings so far. They count when a node is chosen.
pub const LOST: &str = "headroom.dev/lost-card-seconds";

/// Key of the taint that reserves a node for one request; its value is the clearing's id.
pub const RESERVED: &str = "headroom.dev/reserved";

/// The request that a clearing is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestRef {
    /// Which kind of object it is.
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
    /// The guard is set, and tasks are being evicted.
    Clearing,
    /// Only the request can be bound to the node.
    HandedOver,
}

/// A clearing in progress, as the node's annotation [`CLEARING`] has it.
///
/// The PATCH that sets the guard writes it, and the PATCH that takes the guard off removes it. So a guarded node always
/// says why it is guarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Id of the clearing: value of the reservation taint.
    pub id: String,
    /// Namespace and name of the Lease of the clearer that began it. None from a version that named no owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The request it is for.
    pub request: RequestRef,
    /// The request's priority. No task above it is evicted.
    pub priority: i32,
    /// How the node is emptied.
    pub strategy: ClearerStrategy,
    /// How far it has come.
    pub phase: Phase,
    /// When it began.
    pub started: Timestamp,
    /// When the node is released if the request has not been placed.
    pub deadline: Timestamp,
    /// True if the clearing cordoned the node, and must uncordon it.
    pub cordoned: bool,
    /// UIDs of the pods listed before the guard (list-then-evict only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
}

/// A number among an object's annotations; 0 without one.
pub fn number<T: FromStr + Default>(object: &impl ResourceExt, annotation: &str) -> T {
    let text = object.annotations().get(annotation);
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

impl State {
    /// The clearing in progress on a node: `None` without one, an error text if the annotation cannot be read.
    pub fn of(node: &Node) -> Option<Result<Self, String>> {
        let text = node.annotations().get(CLEARING)?;
        Some(serde_json::from_str(text).map_err(|e| e.to_string()))
    }

    /// The annotation's text.
    pub fn text(&self) -> String {
        // Strings, numbers and enums only, which always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The taint that only this clearing's request tolerates.
    pub fn taint(&self) -> Taint {
        Taint {
            key: RESERVED.into(),
            value: Some(self.id.clone()),
            effect: "NoSchedule".into(),
            time_added: None,
        }
    }

    /// The toleration for that taint.
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
