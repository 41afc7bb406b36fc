//! What clearing reads of Kueue's Workloads and ClusterQueues.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodSpec;
use kube::ResourceExt as _;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

use super::state::{ATTEMPTS, CLEARING, LOST};

/// Kueue's API group and the version read and written here.
const GROUP: &str = "kueue.x-k8s.io";
const VERSION: &str = "v1beta2";

/// Kueue's Workloads.
#[must_use]
pub fn workloads_resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, "Workload"))
}

/// Kueue's ClusterQueues.
#[must_use]
pub fn cluster_queues_resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, "ClusterQueue"))
}

/// Kueue's `LocalQueue`s.
#[must_use]
pub fn local_queues_resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, "LocalQueue"))
}

/// A Workload.
#[allow(
    clippy::struct_excessive_bools,
    reason = "Kueue's conditions are independent of each other"
)]
#[derive(Debug, Clone)]
pub struct Workload {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion when read.
    pub resource_version: Option<String>,
    /// When it was created.
    pub created: Timestamp,
    /// UIDs of its owners: the Job, or the pod itself.
    pub owners: Vec<String>,
    /// `spec.active`.
    pub active: bool,
    /// `spec.priority`, 0 if unset.
    pub priority: i32,
    /// `spec.queueName`.
    pub queue: String,
    /// Condition `QuotaReserved`.
    pub quota_reserved: bool,
    /// Condition `Admitted`.
    pub admitted: bool,
    /// Condition `Finished`.
    pub finished: bool,
    /// Id of the clearing that evicted it.
    pub evicted_by: Option<String>,
    /// Card-seconds lost to clearings so far.
    pub lost_card_seconds: f64,
    /// Number of nodes cleared for it in vain.
    pub attempts: u32,
    /// The pod's spec, if the Workload has one pod set of exactly one pod.
    pub single_pod: Option<PodSpec>,
}

impl Workload {
    /// Reads a Workload; `None` if it has no namespace or UID.
    #[must_use]
    pub fn read(object: &DynamicObject) -> Option<Self> {
        let data = &object.data;
        let annotation = |key: &str| object.annotations().get(key);
        let condition = |kind: &str| {
            data.pointer("/status/conditions")
                .and_then(Value::as_array)
                .is_some_and(|all| {
                    all.iter()
                        .any(|c| c["type"] == kind && c["status"] == "True")
                })
        };
        let pod_sets = data.pointer("/spec/podSets").and_then(Value::as_array);
        let single = pod_sets
            .filter(|sets| sets.len() == 1)
            .map(|sets| &sets[0])
            .filter(|set| set["count"] == 1);
        Some(Self {
            namespace: object.namespace()?,
            name: object.name_any(),
            uid: object.uid()?,
            resource_version: object.resource_version(),
            created: object
                .creation_timestamp()
                .map_or(Timestamp::UNIX_EPOCH, |t| t.0),
            owners: object
                .owner_references()
                .iter()
                .map(|o| o.uid.clone())
                .collect(),
            active: data.pointer("/spec/active") != Some(&Value::Bool(false)),
            priority: data
                .pointer("/spec/priority")
                .and_then(Value::as_i64)
                .and_then(|p| i32::try_from(p).ok())
                .unwrap_or(0),
            queue: data
                .pointer("/spec/queueName")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            quota_reserved: condition("QuotaReserved"),
            admitted: condition("Admitted"),
            finished: condition("Finished"),
            evicted_by: annotation(CLEARING).cloned(),
            lost_card_seconds: annotation(LOST).and_then(|v| v.parse().ok()).unwrap_or(0.0),
            attempts: annotation(ATTEMPTS)
                .and_then(|v| v.parse().ok())
                .unwrap_or(0),
            single_pod: single.and_then(|set| {
                serde_json::from_value(set.pointer("/template/spec")?.clone()).ok()
            }),
        })
    }
}

/// Cards of a ClusterQueue: its own quota, and what is reserved of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Sum of `nominalQuota` over flavors.
    pub nominal: i64,
    /// Sum of reservations over flavors, borrowed cards included.
    pub reserved: i64,
}

impl Quota {
    /// Reads a ClusterQueue's quota of `resource`, in whole cards.
    #[must_use]
    pub fn read(cluster_queue: &DynamicObject, resource: &str) -> Self {
        let sum = |entries: Option<&Value>, field: &str| -> i64 {
            entries
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .flat_map(|flavor| flavor["resources"].as_array().into_iter().flatten())
                .filter(|r| r["name"] == resource)
                .map(|r| cards_value(&r[field]))
                .sum()
        };
        let data = &cluster_queue.data;
        let groups = data
            .pointer("/spec/resourceGroups")
            .and_then(Value::as_array);
        Self {
            nominal: groups
                .into_iter()
                .flatten()
                .map(|g| sum(g.get("flavors"), "nominalQuota"))
                .sum(),
            reserved: sum(data.pointer("/status/flavorsReservation"), "total"),
        }
    }
}

/// A quantity of cards, in JSON a number or a string.
fn cards_value(value: &Value) -> i64 {
    value
        .as_i64()
        .or_else(|| value.as_str().and_then(|s| s.parse().ok()))
        .unwrap_or(0)
}
