//! Jobs, Workloads and pods, reduced to what a record needs.
//!
//! In: the API server's JSON. Out: small views. Parsing skips everything else in an object (managed fields, templates,
//! volumes), which keeps the harness small with thousands of events.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Deserializer};

pub use crate::tenants::{NAME_LABEL, TENANT_LABEL};

/// Annotation in which HAMi lists the cards it gave to a pod's containers.
const CARDS_ANNOTATION: &str = "hami.io/vgpu-devices-allocated";

/// The part of an object's metadata that is kept.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<SlimOwner>,
}

#[derive(Debug, Clone, Deserialize)]
struct SlimOwner {
    kind: String,
    name: String,
}

/// A condition of any kind of object.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    reason: String,
    last_transition_time: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimSpec {
    node_name: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimStatus {
    phase: String,
    conditions: Vec<Condition>,
}

impl SlimStatus {
    fn when_true(&self, kind: &str) -> Option<&Condition> {
        let mut all = self.conditions.iter();
        all.find(|c| c.kind == kind && c.status == "True")
    }

    /// Why a condition is false; `None` unless it is.
    fn when_false(&self, kind: &str) -> Option<String> {
        let mut all = self.conditions.iter();
        let found = all.find(|c| c.kind == kind && c.status == "False");
        found.map(|c| c.reason.clone())
    }
}

/// What all three kinds have in common on the wire.
#[derive(Debug, Clone, Deserialize)]
struct Wire {
    #[serde(default)]
    metadata: SlimMeta,
    #[serde(default, deserialize_with = "null_as_default")]
    spec: SlimSpec,
    #[serde(default, deserialize_with = "null_as_default")]
    status: SlimStatus,
}

fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A batch/v1 Job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobView {
    /// Namespace: the team.
    pub namespace: String,
    /// Name: the Job's.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Condition `Complete`.
    pub complete: bool,
    /// Condition `Failed`.
    pub failed: bool,
}

/// A Kueue Workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkloadView {
    /// Namespace: the team.
    pub namespace: String,
    /// Name of the Job that owns it.
    pub job: String,
    /// UID.
    pub uid: String,
    /// Since when `QuotaReserved` is true, whole seconds since 1970; `None` if it is not. It tells one reservation from the
    /// next and is never used for a latency.
    pub reserved_since: Option<i64>,
    /// Condition `Admitted`.
    pub admitted: bool,
    /// Reason of the condition `Evicted` while it is true, e.g. `Preempted`.
    pub evicted: Option<String>,
    /// Condition `Finished`.
    pub finished: bool,
}

/// Phase of a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PodPhase {
    /// Not started, or an unknown phase.
    #[default]
    Pending,
    /// Running.
    Running,
    /// Done.
    Succeeded,
    /// Failed.
    Failed,
}

/// A pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodView {
    /// Namespace: the team.
    pub namespace: String,
    /// Name of the Job, by its label.
    pub job: String,
    /// The pod's own name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// When it was created, whole seconds since 1970. It is compared with [`WorkloadView::reserved_since`] and never used for
    /// a latency.
    pub created_at: i64,
    /// Node it is bound to.
    pub node: Option<String>,
    /// Phase.
    pub phase: PodPhase,
    /// Condition `Ready`.
    pub ready: bool,
    /// Whether it is being deleted.
    pub deleted: bool,
    /// Condition `DisruptionTarget`: evicted through the API, preempted by kube-scheduler or deleted by a taint.
    pub disrupted: bool,
    /// Why condition `PodScheduled` is false; `None` unless it is.
    pub unscheduled: Option<String>,
    /// UUIDs of the cards that HAMi gave it, each once.
    pub cards: Vec<String>,
}

/// The cards in HAMi's annotation: `UUID,vendor,MiB,cores` for each card, `:` after each, `;` after each container.
fn cards(annotation: &str) -> Vec<String> {
    let mut cards: Vec<String> = annotation
        .split([':', ';'])
        .filter_map(|card| card.split_once(','))
        .map(|(uuid, _)| uuid.to_owned())
        .collect();
    cards.sort_unstable();
    cards.dedup();
    cards
}

/// A watched object: its view, and the metadata that kube's watcher needs.
#[derive(Debug, Clone)]
pub struct Watched<V> {
    meta: ObjectMeta,
    /// The view.
    pub view: V,
}

/// A watched kind of object.
pub trait Kind: Sized {
    /// API group.
    const GROUP: &'static str;
    /// API version.
    const VERSION: &'static str;
    /// Kind.
    const KIND: &'static str;
    /// Plural, as in the URL.
    const PLURAL: &'static str;
}

impl Kind for JobView {
    const GROUP: &'static str = "batch";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Job";
    const PLURAL: &'static str = "jobs";
}

impl Kind for WorkloadView {
    const GROUP: &'static str = "kueue.x-k8s.io";
    const VERSION: &'static str = "v1beta2";
    const KIND: &'static str = "Workload";
    const PLURAL: &'static str = "workloads";
}

impl Kind for PodView {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Pod";
    const PLURAL: &'static str = "pods";
}

impl<V: Kind> kube::Resource for Watched<V> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        V::KIND.into()
    }
    fn group((): &()) -> Cow<'_, str> {
        V::GROUP.into()
    }
    fn version((): &()) -> Cow<'_, str> {
        V::VERSION.into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        V::PLURAL.into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

impl<'de, V: From<Slim>> Deserialize<'de> for Watched<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        Ok(Self {
            meta: ObjectMeta {
                name: wire.metadata.name.clone(),
                namespace: wire.metadata.namespace.clone(),
                uid: wire.metadata.uid.clone(),
                resource_version: wire.metadata.resource_version.clone(),
                ..ObjectMeta::default()
            },
            view: V::from(Slim(wire)),
        })
    }
}

/// An object on its way to a view.
#[derive(Debug)]
pub struct Slim(Wire);

impl From<Slim> for JobView {
    fn from(Slim(wire): Slim) -> Self {
        Self {
            complete: wire.status.when_true("Complete").is_some(),
            failed: wire.status.when_true("Failed").is_some(),
            namespace: wire.metadata.namespace.unwrap_or_default(),
            name: wire.metadata.name.unwrap_or_default(),
            uid: wire.metadata.uid.unwrap_or_default(),
        }
    }
}

impl From<Slim> for WorkloadView {
    fn from(Slim(wire): Slim) -> Self {
        let status = &wire.status;
        let mut owners = wire.metadata.owner_references.into_iter();
        Self {
            reserved_since: status
                .when_true("QuotaReserved")
                .map(|c| c.last_transition_time.map_or(0, Timestamp::as_second)),
            admitted: status.when_true("Admitted").is_some(),
            evicted: status.when_true("Evicted").map(|c| c.reason.clone()),
            finished: status.when_true("Finished").is_some(),
            namespace: wire.metadata.namespace.unwrap_or_default(),
            job: owners
                .find(|owner| owner.kind == "Job")
                .map_or_else(String::new, |owner| owner.name),
            uid: wire.metadata.uid.unwrap_or_default(),
        }
    }
}

impl From<Slim> for PodView {
    fn from(Slim(mut wire): Slim) -> Self {
        let created = wire.metadata.creation_timestamp;
        let given = wire.metadata.annotations.get(CARDS_ANNOTATION);
        Self {
            job: wire.metadata.labels.remove(NAME_LABEL).unwrap_or_default(),
            created_at: created.map_or(0, Timestamp::as_second),
            phase: match wire.status.phase.as_str() {
                "Running" => PodPhase::Running,
                "Succeeded" => PodPhase::Succeeded,
                "Failed" => PodPhase::Failed,
                _ => PodPhase::Pending,
            },
            ready: wire.status.when_true("Ready").is_some(),
            deleted: wire.metadata.deletion_timestamp.is_some(),
            disrupted: wire.status.when_true("DisruptionTarget").is_some(),
            unscheduled: wire.status.when_false("PodScheduled"),
            cards: given.map_or_else(Vec::new, |text| cards(text)),
            node: wire.spec.node_name.filter(|name| !name.is_empty()),
            namespace: wire.metadata.namespace.unwrap_or_default(),
            name: wire.metadata.name.unwrap_or_default(),
            uid: wire.metadata.uid.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_of_several_containers_are_each_named_once() {
        let text = "GPU-a,NVIDIA,2456,10:GPU-b,NVIDIA,2456,10:;GPU-a,NVIDIA,100,5:;";
        assert_eq!(cards(text), ["GPU-a", "GPU-b"]);
        assert_eq!(cards(""), Vec::<String>::new());
    }

    #[test]
    fn a_workload_is_read_by_its_conditions_and_its_owner() {
        let json = r#"{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
            "metadata":{"name":"job-a-1","namespace":"shared","uid":"w1","resourceVersion":"7",
              "managedFields":[{"manager":"kueue","fieldsV1":{"f:x":{}}}],
              "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"j1"}]},
            "spec":{"podSets":[{"name":"main","count":1}]},
            "status":{"conditions":[
              {"type":"QuotaReserved","status":"True","reason":"QuotaReserved","message":"",
               "lastTransitionTime":"2026-01-01T00:00:05Z"},
              {"type":"Admitted","status":"True","reason":"Admitted","message":"",
               "lastTransitionTime":"2026-01-01T00:00:05Z"},
              {"type":"Evicted","status":"False","reason":"QuotaReserved","message":"",
               "lastTransitionTime":"2026-01-01T00:00:05Z"}]}}"#;
        let workload: Watched<WorkloadView> = serde_json::from_str(json).unwrap();
        assert_eq!(workload.meta.resource_version.as_deref(), Some("7"));
        assert_eq!(
            workload.view,
            WorkloadView {
                namespace: "shared".into(),
                job: "a".into(),
                uid: "w1".into(),
                reserved_since: Some(1_767_225_605),
                admitted: true,
                evicted: None,
                finished: false,
            }
        );
    }

    #[test]
    fn a_pod_is_read_whether_fresh_or_bound() {
        let fresh: Watched<PodView> = serde_json::from_str(
            r#"{"metadata":{"name":"a-x","namespace":"shared","uid":"p1","labels":{"headroom.dev/name":"a"},
                "creationTimestamp":"2026-01-01T00:00:05Z"},"spec":{"nodeName":""},"status":{"phase":"Pending"}}"#,
        )
        .unwrap();
        assert_eq!(fresh.view.node, None);
        assert_eq!(fresh.view.job, "a");
        let evicted: Watched<PodView> = serde_json::from_str(
            r#"{"metadata":{"name":"a-x","namespace":"shared","uid":"p1"},"spec":{"nodeName":"gpu-00"},
                "status":{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True",
                "reason":"EvictionByEvictionAPI"}]}}"#,
        )
        .unwrap();
        assert_eq!(evicted.view.node.as_deref(), Some("gpu-00"));
        assert_eq!(evicted.view.phase, PodPhase::Failed);
        assert!(evicted.view.disrupted);
    }
}
