//! What nodes and pods say about cards. It reads objects and decides nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Taint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt as _;
use serde::Deserialize;

use super::workload::{Quota, Workload};

/// Node annotation in which HAMi's device plugin registers the cards, as JSON (HAMi v2.8 on).
const REGISTER: &str = "hami.io/node-nvidia-register";

/// Pod annotation in which HAMi's filter writes the node it has chosen, before kube-scheduler binds.
const CLAIMED_NODE: &str = "hami.io/vgpu-node";

/// Pod annotation with the Unix seconds of that choice.
const CLAIMED_AT: &str = "hami.io/vgpu-time";

/// Pod label by which Kueue marks the pods of a Workload it has admitted.
const KUEUE_POD_SET: &str = "kueue.x-k8s.io/podset";

/// A node with its cards. They are read once per change of the node.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The node.
    pub node: Arc<Node>,
    /// Its cards.
    pub cards: NodeCards,
}

impl Machine {
    /// Reads a node's cards.
    pub fn new(node: Node, resource: &str) -> Self {
        let cards = node_cards(&node, resource);
        Self {
            node: Arc::new(node),
            cards,
        }
    }
}

/// A snapshot of what the clearer watches.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// All nodes.
    pub nodes: Vec<Machine>,
    /// All pods.
    pub pods: Vec<Arc<Pod>>,
    /// All Workloads.
    pub workloads: Vec<Arc<Workload>>,
    /// ClusterQueue of each LocalQueue (namespace, name). Empty unless pending Workloads are a trigger.
    pub local_queues: HashMap<(String, String), String>,
    /// Quota of each ClusterQueue. Empty unless pending Workloads are a trigger.
    pub quotas: HashMap<String, Quota>,
    /// Index into `workloads` by owner's UID.
    by_owner: HashMap<String, usize>,
    /// Indexes into `pods` by Workload's UID.
    pods_of: HashMap<String, Vec<usize>>,
}

impl World {
    /// A snapshot of these objects, indexed.
    pub fn new(nodes: Vec<Machine>, pods: Vec<Arc<Pod>>, workloads: Vec<Arc<Workload>>) -> Self {
        let owners = workloads.iter().enumerate();
        let by_owner = owners
            .flat_map(|(at, w)| w.owners.iter().map(move |uid| (uid.clone(), at)))
            .collect();
        let mut world = Self {
            nodes,
            pods,
            workloads,
            by_owner,
            ..Self::default()
        };
        let mut pods_of: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, pod) in world.pods.iter().enumerate() {
            if let Some(workload) = world.workload_of(pod) {
                pods_of.entry(workload.uid.clone()).or_default().push(at);
            }
        }
        world.pods_of = pods_of;
        world
    }

    /// The Workload of a pod, if it has one: its own, or its controller's.
    pub fn workload_of(&self, pod: &Pod) -> Option<&Arc<Workload>> {
        let own = pod.metadata.uid.iter();
        let owners = pod.owner_references().iter().map(|o| &o.uid);
        let at = own.chain(owners).find_map(|uid| self.by_owner.get(uid))?;
        self.workloads.get(*at)
    }

    /// The pods of a Workload.
    pub fn pods_of(&self, workload_uid: &str) -> impl Iterator<Item = &Arc<Pod>> {
        let indexes = self.pods_of.get(workload_uid);
        indexes
            .into_iter()
            .flatten()
            .filter_map(|at| self.pods.get(*at))
    }

    /// A node by name.
    pub fn node(&self, name: &str) -> Option<&Arc<Node>> {
        let mut nodes = self.nodes.iter().map(|m| &m.node);
        nodes.find(|n| n.metadata.name.as_deref() == Some(name))
    }
}

/// True if Kueue runs this pod, whether or not its Workload is known yet.
pub fn is_kueues(pod: &Pod) -> bool {
    pod.labels().contains_key(KUEUE_POD_SET)
}

/// Cards a pod asks for.
pub fn cards(spec: &PodSpec, resource: &str) -> u32 {
    let running: u32 = spec.containers.iter().map(|c| amount(c, resource)).sum();
    let init = spec.init_containers.iter().flatten();
    running.max(init.map(|c| amount(c, resource)).max().unwrap_or(0))
}

/// Whole units of a resource that a container is limited to.
fn amount(container: &Container, resource: &str) -> u32 {
    let of = |map: &Option<BTreeMap<String, Quantity>>| {
        map.as_ref()?.get(resource)?.0.parse::<u32>().ok()
    };
    let mut resources = container.resources.iter();
    resources
        .find_map(|r| of(&r.limits).or_else(|| of(&r.requests)))
        .unwrap_or(0)
}

/// True if the pod asks for parts of cards rather than whole ones.
pub fn is_sliced(spec: &PodSpec, resource: &str) -> bool {
    let memory = format!("{resource}mem");
    spec.containers.iter().any(|c| amount(c, &memory) > 0)
}

/// Cards that a pod holds, in fractions: a tenth of a card's memory is a tenth of a card.
pub fn card_share(spec: &PodSpec, resource: &str, card_memory_mib: Option<u32>) -> f64 {
    let memory = format!("{resource}mem");
    let share = |c: &Container| {
        let part = match (amount(c, &memory), card_memory_mib) {
            (mib, Some(whole)) if mib > 0 && whole > 0 => f64::from(mib) / f64::from(whole),
            _ => 1.0,
        };
        f64::from(amount(c, resource)) * part.min(1.0)
    };
    spec.containers.iter().map(share).sum()
}

/// True if a bound pod holds cards. A terminating pod does until it is gone, as HAMi counts it.
pub fn holds_cards(pod: &Pod, resource: &str) -> bool {
    let phase = pod.status.as_ref().and_then(|s| s.phase.as_deref());
    !matches!(phase, Some("Succeeded" | "Failed"))
        && pod.spec.as_ref().is_some_and(|s| cards(s, resource) > 0)
}

/// The node a pod is bound to.
pub fn bound_to(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref();
    node.filter(|n| !n.is_empty())
}

/// The node whose cards HAMi has given to a pod, and when. After a failed bind the claim stays on the pod.
pub fn claim(pod: &Pod) -> Option<(&str, Timestamp)> {
    let annotations = pod.annotations();
    let secs = annotations.get(CLAIMED_AT)?.parse().ok()?;
    let at = Timestamp::from_second(secs).ok()?;
    Some((annotations.get(CLAIMED_NODE)?, at))
}

/// Since when kube-scheduler has called the pod unschedulable. `None` if it has not, or if the pod is being deleted.
pub fn unschedulable_since(pod: &Pod) -> Option<Timestamp> {
    if bound_to(pod).is_some() || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let condition = conditions.iter().find(|c| c.type_ == "PodScheduled")?;
    let unschedulable =
        condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable");
    let since = condition.last_transition_time.as_ref();
    let since = since.or(pod.metadata.creation_timestamp.as_ref());
    unschedulable.then(|| since.map_or(Timestamp::UNIX_EPOCH, |t| t.0))
}

/// Seconds a bound pod has run; 0 before its start.
pub fn run_secs(pod: &Pod, now: Timestamp) -> f64 {
    let status = pod.status.as_ref();
    let running = status.and_then(|s| s.phase.as_deref()) == Some("Running");
    let since = status
        .and_then(|s| s.start_time.as_ref())
        .or(pod.metadata.creation_timestamp.as_ref());
    match since {
        Some(since) if running => (now.duration_since(since.0).as_secs_f64()).max(0.0),
        _ => 0.0,
    }
}

/// A registered card, as HAMi's device plugin writes it.
#[derive(Debug, Deserialize)]
struct RegisteredCard {
    id: String,
    #[serde(default)]
    devmem: u32,
    #[serde(default)]
    health: bool,
}

/// The physical cards of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCards {
    /// How many are healthy.
    pub count: u32,
    /// Their UUIDs; empty if HAMi has not registered them.
    pub ids: Vec<String>,
    /// Memory of one, MiB.
    pub memory_mib: Option<u32>,
}

/// Reads a node's cards from HAMi's registration. Without one they are read from `allocatable`, where a plain device plugin
/// puts them.
pub fn node_cards(node: &Node, resource: &str) -> NodeCards {
    if let Some(text) = node.annotations().get(REGISTER)
        && let Ok(all) = serde_json::from_str::<Vec<RegisteredCard>>(text)
    {
        let healthy: Vec<RegisteredCard> = all.into_iter().filter(|c| c.health).collect();
        return NodeCards {
            count: u32::try_from(healthy.len()).unwrap_or(u32::MAX),
            memory_mib: healthy.first().map(|c| c.devmem),
            ids: healthy.into_iter().map(|c| c.id).collect(),
        };
    }
    let mut allocatable = node.status.iter().flat_map(|s| &s.allocatable);
    let count = allocatable.find_map(|a| a.get(resource)?.0.parse().ok());
    NodeCards {
        count: count.unwrap_or(0),
        ids: Vec::new(),
        memory_mib: None,
    }
}

/// True if the node is Ready and not being deleted.
pub fn is_ready(node: &Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|s| &s.conditions).flatten();
    node.metadata.deletion_timestamp.is_none()
        && conditions.any(|c| c.type_ == "Ready" && c.status == "True")
}

/// A node's taints.
pub fn taints(node: &Node) -> &[Taint] {
    let spec = node.spec.as_ref();
    spec.and_then(|s| s.taints.as_deref()).unwrap_or_default()
}

/// True if the node is cordoned.
pub fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().and_then(|s| s.unschedulable) == Some(true)
}

/// True if the pod's selectors and the node's taints let kube-scheduler bind the pod to the node.
pub fn fits(spec: &PodSpec, node: &Node) -> bool {
    let labels = node.labels();
    let mut selectors = spec.node_selector.iter().flatten();
    let selected = selectors.all(|(key, value)| labels.get(key) == Some(value));
    let affinity = spec.affinity.iter().flat_map(|a| &a.node_affinity);
    let mut required =
        affinity.flat_map(|a| &a.required_during_scheduling_ignored_during_execution);
    let near = required.all(|r| r.node_selector_terms.iter().any(|t| term_fits(t, node)));
    selected && near && taints(node).iter().all(|taint| tolerates(spec, taint))
}

fn term_fits(term: &NodeSelectorTerm, node: &Node) -> bool {
    let name = BTreeMap::from([("metadata.name".to_owned(), node.name_any())]);
    let labels = term.match_expressions.iter().flatten();
    let fields = term.match_fields.iter().flatten();
    let mut all = labels
        .map(|e| expression_fits(e, node.labels()))
        .chain(fields.map(|e| expression_fits(e, &name)))
        .peekable();
    // A term without requirements selects no node.
    all.peek().is_some() && all.all(|fits| fits)
}

fn expression_fits(e: &NodeSelectorRequirement, on: &BTreeMap<String, String>) -> bool {
    let value = on.get(&e.key);
    let listed = || value.is_some_and(|v| e.values.iter().flatten().any(|x| x == v));
    let number = |text: Option<&String>| text.and_then(|t| t.parse::<i64>().ok());
    let wanted = || number(e.values.as_ref().and_then(|v| v.first()));
    match e.operator.as_str() {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => matches!((number(value), wanted()), (Some(a), Some(b)) if a > b),
        "Lt" => matches!((number(value), wanted()), (Some(a), Some(b)) if a < b),
        // An unknown operator: do not clear a node that may not fit.
        _ => false,
    }
}

fn tolerates(spec: &PodSpec, taint: &Taint) -> bool {
    taint.effect == "PreferNoSchedule"
        || spec.tolerations.iter().flatten().any(|t| {
            let effect = t.effect.as_deref().unwrap_or_default();
            let key = t.key.as_deref().unwrap_or_default();
            let exists = t.operator.as_deref() == Some("Exists");
            (effect.is_empty() || effect == taint.effect)
                && (key == taint.key || (key.is_empty() && exists))
                && (exists
                    || t.value.as_deref().unwrap_or_default()
                        == taint.value.as_deref().unwrap_or_default())
        })
}
