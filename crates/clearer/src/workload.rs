//! What clearing reads of Kueue's Workloads and ClusterQueues.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodSpec;
use kube::ResourceExt as _;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde::Deserialize as _;
use serde_json::Value;

use super::state::{ATTEMPTS, CLEARING, LOST, number};

/// Kueue's API group and the version read and written here.
const GROUP: &str = "kueue.x-k8s.io";
const VERSION: &str = "v1beta2";

/// Kueue's objects of this kind.
pub fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, kind))
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
    pub fn read(object: &DynamicObject) -> Option<Self> {
        let (spec, status) = (&object.data["spec"], &object.data["status"]);
        let condition = |kind: &str| {
            let mut all = status["conditions"].as_array().into_iter().flatten();
            all.any(|c| c["type"] == kind && c["status"] == "True")
        };
        let single_pod = match spec["podSets"].as_array().map(Vec::as_slice) {
            Some([set]) if set["count"] == 1 => PodSpec::deserialize(&set["template"]["spec"]).ok(),
            _ => None,
        };
        let priority = spec["priority"].as_i64();
        let created = object.creation_timestamp();
        let owners = object.owner_references().iter();
        Some(Self {
            namespace: object.namespace()?,
            name: object.name_any(),
            uid: object.uid()?,
            resource_version: object.resource_version(),
            created: created.map_or(Timestamp::UNIX_EPOCH, |t| t.0),
            owners: owners.map(|o| o.uid.clone()).collect(),
            active: spec["active"] != false,
            priority: priority.and_then(|p| p.try_into().ok()).unwrap_or(0),
            queue: spec["queueName"].as_str().unwrap_or_default().to_owned(),
            quota_reserved: condition("QuotaReserved"),
            admitted: condition("Admitted"),
            finished: condition("Finished"),
            evicted_by: object.annotations().get(CLEARING).cloned(),
            lost_card_seconds: number(object, LOST),
            attempts: number(object, ATTEMPTS),
            single_pod,
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
    pub fn read<'a>(cluster_queue: &'a DynamicObject, resource: &str) -> Self {
        let list = |value: &'a Value| value.as_array().into_iter().flatten();
        let sum = |flavors: &'a Value, field: &str| -> i64 {
            let all = list(flavors).flat_map(|flavor| list(&flavor["resources"]));
            let ours = all.filter(|r| r["name"] == resource);
            ours.map(|r| cards_value(&r[field])).sum()
        };
        let groups = list(&cluster_queue.data["spec"]["resourceGroups"]);
        Self {
            nominal: groups.map(|g| sum(&g["flavors"], "nominalQuota")).sum(),
            reserved: sum(&cluster_queue.data["status"]["flavorsReservation"], "total"),
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
