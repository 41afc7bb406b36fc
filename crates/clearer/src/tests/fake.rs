//! A small cluster in memory: API server, Kueue, Job controller, kubelet and scheduler. It moves in steps of 100 ms of
//! paused time. Its watches are up to one step behind, as real ones are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::api::{Api, ApiError};
use crate::facts::{Machine, World};
use crate::workload::{Quota, Workload};

/// Length of a step.
pub const STEP: Duration = Duration::from_millis(100);

/// Whether a hook runs before the call is carried out, or after that and before its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Before,
    After,
}

/// What happens at a call.
#[derive(Clone)]
pub enum Hook {
    /// The caller never hears back: the process is dead.
    Crash,
    /// Something else happens in the cluster.
    Do(Arc<dyn Fn(&mut Cluster) + Send + Sync>),
}

type Name = (String, String);

/// The cluster's contents.
#[derive(Default)]
pub struct Cluster {
    pub nodes: BTreeMap<String, Value>,
    pub pods: BTreeMap<Name, Value>,
    pub workloads: BTreeMap<Name, Value>,
    pub lease: Option<Lease>,
    /// Names of pods whose process ignores its eviction.
    pub stubborn: Vec<String>,
    /// Namespaces whose `PodDisruptionBudget` forbids evictions.
    pub budget: Vec<String>,
    /// Names of pods whose eviction is never answered, and never carried out.
    pub unanswered: Vec<String>,
    /// Cards that Kueue may give out.
    pub quota: i64,
    /// Whether Kueue is up.
    pub kueue_up: bool,
    version: u64,
    /// Version that the watches have seen.
    seen: u64,
    /// Version at which a step last changed nothing.
    idle_at: Option<u64>,
    serial: u64,
    /// Calls so far, by name.
    pub calls: Vec<&'static str>,
    hook: Option<(usize, When, Hook)>,
    snapshot: Arc<World>,
    /// Calls that fail with a transient error.
    pub flaky: bool,
}

/// Handle to the cluster, and the [`Api`] on it.
#[derive(Clone)]
pub struct Fake {
    cluster: Arc<Mutex<Cluster>>,
    changes: watch::Sender<u64>,
    pub crashed: Arc<Notify>,
    epoch: Instant,
}

/// 2026-01-01, the fake's time at its start.
const START_SECS: i64 = 1_767_225_600;

impl Cluster {
    fn bump(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    /// A node of 8 cards.
    pub fn add_node(&mut self, name: &str) {
        let cards: Vec<Value> = (0..8)
            .map(|i| json!({"id": format!("GPU-{name}-{i}"), "devmem": 24564, "count": 10, "health": true}))
            .collect();
        let version = self.bump();
        let node = json!({
            "metadata": {
                "name": name, "uid": format!("node-{name}"), "resourceVersion": version,
                "labels": {"gpu": "on"},
                "annotations": {"hami.io/node-nvidia-register": json!(cards).to_string()},
            },
            "spec": {"taints": [{"key": "old", "value": "x", "effect": "PreferNoSchedule"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        self.nodes.insert(name.into(), node);
    }

    /// A pod, bound and running since `age_secs` if a node is given.
    pub fn add_pod(
        &mut self,
        namespace: &str,
        name: &str,
        cards: u32,
        node: Option<&str>,
        now: Timestamp,
        age_secs: i64,
    ) -> String {
        let version = self.bump();
        self.serial += 1;
        let uid = format!("pod-{}", self.serial);
        let started = now - jiff::SignedDuration::from_secs(age_secs);
        let mut pod = json!({
            "metadata": {
                "namespace": namespace, "name": name, "uid": uid, "resourceVersion": version,
                "creationTimestamp": started.to_string(), "annotations": {}, "labels": {},
            },
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": cards.to_string()}}}], "tolerations": []},
            "status": {"phase": "Pending"},
        });
        if let Some(node) = node {
            pod["spec"]["nodeName"] = json!(node);
            pod["status"] = json!({"phase": "Running", "startTime": started.to_string()});
        }
        self.pods.insert((namespace.into(), name.into()), pod);
        uid
    }

    /// A Workload with its Job's pod; admitted if the pod exists.
    pub fn add_job(
        &mut self,
        namespace: &str,
        name: &str,
        cards: u32,
        node: Option<&str>,
        now: Timestamp,
        age_secs: i64,
    ) {
        self.add_workload(namespace, name, cards, true, now);
        self.add_pod(namespace, &format!("{name}-0"), cards, node, now, age_secs);
        self.own(namespace, name, &format!("{name}-0"));
    }

    /// A Workload.
    pub fn add_workload(
        &mut self,
        namespace: &str,
        name: &str,
        cards: u32,
        admitted: bool,
        now: Timestamp,
    ) {
        let version = self.bump();
        let status = if admitted { "True" } else { "False" };
        let workload = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {
                "namespace": namespace, "name": name, "uid": format!("wl-{namespace}-{name}"), "resourceVersion": version,
                "creationTimestamp": now.to_string(), "annotations": {},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": format!("job-{namespace}-{name}")}],
            },
            "spec": {
                "active": true, "queueName": namespace, "priority": 0,
                "podSets": [{"count": 1, "template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": cards.to_string()}}}]}}}],
            },
            "status": {"conditions": [{"type": "QuotaReserved", "status": status}, {"type": "Admitted", "status": status}]},
        });
        self.workloads
            .insert((namespace.into(), name.into()), workload);
    }

    fn own(&mut self, namespace: &str, job: &str, pod: &str) {
        let key = (namespace.to_owned(), pod.to_owned());
        let pod = self.pods.get_mut(&key).unwrap();
        pod["metadata"]["ownerReferences"] = json!([
            {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": format!("job-{namespace}-{job}"), "controller": true}
        ]);
        pod["metadata"]["labels"] = json!({"kueue.x-k8s.io/podset": "main"});
    }

    fn used(&self, node: &str) -> i64 {
        let on = |p: &&Value| {
            p["spec"]["nodeName"] == node
                || p["metadata"]["annotations"]["hami.io/vgpu-node"] == node
        };
        self.pods.values().filter(on).map(cards).sum()
    }

    /// True if the scheduler would put the pod on the node now.
    pub fn accepts(&self, node: &str, pod: &Value) -> bool {
        let Some(n) = self.nodes.get(node) else {
            return false;
        };
        let tolerates = |taint: &Value| {
            taint["effect"] == "PreferNoSchedule"
                || pod["spec"]["tolerations"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|t| t["key"] == taint["key"] && t["value"] == taint["value"])
        };
        let open = n["spec"]["unschedulable"] != true
            && n["spec"]["taints"]
                .as_array()
                .into_iter()
                .flatten()
                .all(tolerates);
        let pin = pod["metadata"]["annotations"]["nvidia.com/use-gpuuuid"]
            .as_str()
            .unwrap_or_default();
        let pinned_elsewhere = !pin.is_empty()
            && !pin
                .split(',')
                .any(|id| id.starts_with(&format!("GPU-{node}-")));
        open && !pinned_elsewhere && self.used(node) + cards(pod) <= 8
    }

    /// Binds a pod whatever the node says: a decision made earlier takes effect.
    pub fn bind(&mut self, namespace: &str, name: &str, node: &str, now: Timestamp) {
        let version = self.bump();
        if let Some(pod) = self.pods.get_mut(&(namespace.to_owned(), name.to_owned())) {
            pod["spec"]["nodeName"] = json!(node);
            pod["metadata"]["resourceVersion"] = json!(version);
            pod["status"] = json!({"phase": "Running", "startTime": now.to_string()});
        }
    }

    /// A single-card pod of team `small` that the scheduler puts on the node at once, if the node lets it.
    pub fn arrive(&mut self, node: &str, now: Timestamp) {
        self.serial += 1;
        let name = format!("arrival-{}", self.serial);
        self.add_pod("small", &name, 1, None, now, 0);
        let pod = self.pods[&("small".to_owned(), name.clone())].clone();
        if self.accepts(node, &pod) {
            self.bind("small", &name, node, now);
        }
    }

    fn delete_pod(&mut self, key: &Name, now: Timestamp) {
        let version = self.bump();
        if let Some(pod) = self.pods.get_mut(key) {
            pod["metadata"]["resourceVersion"] = json!(version);
            pod["metadata"]["deletionTimestamp"] = json!(now.to_string());
        }
    }

    /// One step of everybody else; true if the watches have something new.
    fn step(&mut self, now: Timestamp) -> bool {
        // Nothing moves but for a change, so that a quiet cluster costs no time.
        if self.idle_at == Some(self.version) {
            return false;
        }
        let before = self.version;
        self.kubelet();
        if self.kueue_up {
            self.kueue(now);
        }
        self.scheduler(now);
        self.idle_at = (self.version == before).then_some(before);
        let news = self.seen != self.version;
        if news {
            self.seen = self.version;
            self.snapshot = Arc::new(self.world());
        }
        news
    }

    fn kubelet(&mut self) {
        let stubborn = self.stubborn.clone();
        let before = self.pods.len();
        self.pods.retain(|(_, name), pod| {
            pod["metadata"]["deletionTimestamp"].is_null() || stubborn.contains(name)
        });
        self.version += u64::from(self.pods.len() != before);
    }

    fn kueue(&mut self, now: Timestamp) {
        let keys: Vec<Name> = self.workloads.keys().cloned().collect();
        for key in keys {
            let workload = &self.workloads[&key];
            let active = workload["spec"]["active"] == true;
            let reserved = workload["status"]["conditions"][0]["status"] == "True";
            let cards = cards(&workload["spec"]["podSets"][0]["template"]);
            let job = format!("job-{}-{}", key.0, key.1);
            if !active && reserved {
                let owned: Vec<Name> = self
                    .pods
                    .iter()
                    .filter(|(_, p)| p["metadata"]["ownerReferences"][0]["uid"] == job)
                    .map(|(k, _)| k.clone())
                    .collect();
                for pod in owned {
                    self.delete_pod(&pod, now);
                }
                self.set_quota(&key, false);
                self.quota += cards;
            } else if active && !reserved && self.quota >= cards {
                self.quota -= cards;
                self.set_quota(&key, true);
                self.serial += 1;
                let pod = format!("{}-{}", key.1, self.serial);
                self.add_pod(&key.0, &pod, u32::try_from(cards).unwrap(), None, now, 0);
                self.own(&key.0, &key.1, &pod);
            }
        }
    }

    fn set_quota(&mut self, key: &Name, held: bool) {
        let version = self.bump();
        let workload = self.workloads.get_mut(key).unwrap();
        let status = if held { "True" } else { "False" };
        workload["metadata"]["resourceVersion"] = json!(version);
        workload["status"]["conditions"] = json!([{"type": "QuotaReserved", "status": status}, {"type": "Admitted", "status": status}]);
    }

    fn scheduler(&mut self, now: Timestamp) {
        let pending: Vec<Name> = self
            .pods
            .iter()
            .filter(|(_, p)| {
                p["spec"]["nodeName"].is_null()
                    && p["metadata"]["deletionTimestamp"].is_null()
                    && p["metadata"]["annotations"]["hami.io/vgpu-node"].is_null()
            })
            .map(|(k, _)| k.clone())
            .collect();
        for key in pending {
            let pod = self.pods[&key].clone();
            let node = self.nodes.keys().find(|n| self.accepts(n, &pod)).cloned();
            match node {
                Some(node) => self.bind(&key.0, &key.1, &node, now),
                None if pod["status"]["conditions"].is_null() => {
                    let version = self.bump();
                    let pod = self.pods.get_mut(&key).unwrap();
                    pod["metadata"]["resourceVersion"] = json!(version);
                    pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": now.to_string()}]);
                }
                None => {}
            }
        }
    }

    fn world(&self) -> World {
        let nodes = self
            .nodes
            .values()
            .map(|n| Machine::new(typed(n), "nvidia.com/gpu"))
            .collect();
        let pods = self.pods.values().map(|p| Arc::new(typed(p))).collect();
        let workloads = self
            .workloads
            .values()
            .map(|w| Arc::new(Workload::read(&typed(w)).unwrap()))
            .collect();
        let mut world = World::new(nodes, pods, workloads);
        for namespace in ["research", "small"] {
            world
                .local_queues
                .insert((namespace.into(), namespace.into()), namespace.into());
            let quota = Quota {
                nominal: 8,
                reserved: if namespace == "small" { 8 } else { 0 },
            };
            world.quotas.insert(namespace.into(), quota);
        }
        world
    }

    /// Where the only pod of a Workload is bound.
    pub fn node_of(&self, namespace: &str, job: &str) -> Option<String> {
        let uid = format!("job-{namespace}-{job}");
        let pod = self
            .pods
            .values()
            .find(|p| p["metadata"]["ownerReferences"][0]["uid"] == uid)?;
        pod["spec"]["nodeName"].as_str().map(str::to_owned)
    }

    /// What a clearing has left behind and should not have.
    pub fn stuck(&self) -> Vec<String> {
        let mut stuck = Vec::new();
        for (name, node) in &self.nodes {
            if node["spec"]["unschedulable"] == true {
                stuck.push(format!("{name} is cordoned"));
            }
            if node["spec"]["taints"]
                != json!([{"key": "old", "value": "x", "effect": "PreferNoSchedule"}])
            {
                stuck.push(format!(
                    "{name} has other taints than before: {}",
                    node["spec"]["taints"]
                ));
            }
            if !node["metadata"]["annotations"]["headroom.dev/clearing"].is_null() {
                stuck.push(format!("{name} still says it is being cleared"));
            }
        }
        for (key, workload) in &self.workloads {
            let annotations = &workload["metadata"]["annotations"];
            if workload["spec"]["active"] != true || !annotations["headroom.dev/clearing"].is_null()
            {
                stuck.push(format!("{key:?} is inactive or marked: {annotations}"));
            }
        }
        for (key, pod) in self
            .pods
            .iter()
            .filter(|(_, p)| p["spec"]["nodeName"].is_null())
        {
            if !pod["metadata"]["annotations"]["nvidia.com/use-gpuuuid"].is_null() {
                stuck.push(format!("{key:?} is still pinned"));
            }
        }
        stuck
    }
}

fn cards(object: &Value) -> i64 {
    object["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
        .as_str()
        .map_or(0, |s| s.parse().unwrap())
}

fn typed<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// JSON merge patch (RFC 7386).
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut into[key.as_str()], value);
        }
    }
}

impl Fake {
    /// An empty cluster whose clock runs with tokio's paused one.
    pub fn new() -> Self {
        let cluster = Cluster {
            kueue_up: true,
            ..Cluster::default()
        };
        Self {
            cluster: Arc::new(Mutex::new(cluster)),
            changes: watch::Sender::new(0),
            crashed: Arc::default(),
            epoch: Instant::now(),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap()
    }

    /// Changes the cluster by hand.
    pub fn edit(&self, change: impl FnOnce(&mut Cluster)) {
        let mut cluster = self.lock();
        change(&mut cluster);
        cluster.version += 1;
    }

    /// Sets what happens at the n-th call from the start, from 1.
    pub fn hook(&self, call: usize, when: When, hook: Hook) {
        self.lock().hook = Some((call, when, hook));
    }

    /// Moves the cluster on for ever.
    pub async fn live(&self) {
        loop {
            if self.lock().step(self.now()) {
                self.changes.send_modify(|n| *n += 1);
            }
            tokio::time::sleep(STEP).await;
        }
    }

    async fn at(&self, call: usize, when: When) {
        let hook = {
            let mut cluster = self.lock();
            match &cluster.hook {
                Some((at, w, _)) if *at == call && *w == when => cluster.hook.take().map(|h| h.2),
                _ => None,
            }
        };
        match hook {
            Some(Hook::Do(action)) => self.edit(|c| action(c)),
            Some(Hook::Crash) => {
                self.crashed.notify_one();
                std::future::pending::<()>().await;
            }
            None => {}
        }
    }

    /// One call: carried out in one instant, with room for others before and after.
    async fn call<T>(
        &self,
        name: &'static str,
        act: impl FnOnce(&mut Cluster) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let (number, flaky) = {
            let mut cluster = self.lock();
            cluster.calls.push(name);
            (cluster.calls.len(), cluster.flaky)
        };
        self.at(number, When::Before).await;
        let dice = (number * 7919) % 10;
        if flaky && dice < 4 {
            return Err(ApiError::Transient("try again".into()));
        }
        let result = act(&mut self.lock());
        self.at(number, When::After).await;
        // Flaky also means carried out, but the answer lost.
        if flaky && dice < 6 {
            return Err(ApiError::Transient("answer lost".into()));
        }
        result
    }
}

#[allow(clippy::needless_pass_by_value)] // each call has a version of its own to give
fn patched<'a, K: Ord>(
    objects: &'a mut BTreeMap<K, Value>,
    key: &K,
    patch: &Value,
    version: &str,
) -> Result<&'a Value, ApiError> {
    let object = objects.get_mut(key).ok_or(ApiError::NotFound)?;
    let expected = &patch["metadata"]["resourceVersion"];
    if !expected.is_null() && *expected != object["metadata"]["resourceVersion"] {
        return Err(ApiError::Conflict);
    }
    merge(object, patch);
    object["metadata"]["resourceVersion"] = json!(version);
    Ok(object)
}

impl Api for Fake {
    fn world(&self) -> Arc<World> {
        Arc::clone(&self.lock().snapshot)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(START_SECS).unwrap()
            + jiff::SignedDuration::try_from(self.epoch.elapsed()).unwrap()
    }

    async fn get_node(&self, name: &str) -> Result<Node, ApiError> {
        self.call("get node", |c| {
            c.nodes.get(name).map(typed).ok_or(ApiError::NotFound)
        })
        .await
    }

    async fn list_bound(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        self.call("list bound", |c| {
            Ok(c.pods
                .values()
                .filter(|p| p["spec"]["nodeName"] == node)
                .map(typed)
                .collect())
        })
        .await
    }

    async fn patch_node(&self, name: &str, patch: &Value) -> Result<Node, ApiError> {
        self.call("patch node", |c| {
            let version = c.bump();
            patched(&mut c.nodes, &name.to_owned(), patch, &version).map(typed)
        })
        .await
    }

    async fn patch_pod(&self, namespace: &str, name: &str, patch: &Value) -> Result<(), ApiError> {
        self.call("patch pod", |c| {
            let key = (namespace.to_owned(), name.to_owned());
            let old = c.pods.get(&key).map(|p| p["spec"]["tolerations"].clone());
            let version = c.bump();
            let new = patched(&mut c.pods, &key, patch, &version)?;
            // The API server lets tolerations of a pod be added, never changed or removed.
            let kept = new["spec"]["tolerations"]
                .as_array()
                .unwrap()
                .starts_with(old.unwrap().as_array().unwrap());
            assert!(kept, "a toleration was taken away");
            Ok(())
        })
        .await
    }

    async fn patch_workload(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<(), ApiError> {
        self.call("patch workload", |c| {
            let version = c.bump();
            patched(
                &mut c.workloads,
                &(namespace.to_owned(), name.to_owned()),
                patch,
                &version,
            )
            .map(drop)
        })
        .await
    }

    async fn evict(&self, namespace: &str, name: &str, uid: &str) -> Result<(), ApiError> {
        let now = self.now();
        if self.lock().unanswered.iter().any(|n| n == name) {
            std::future::pending::<()>().await;
        }
        self.call("evict", |c| {
            let key = (namespace.to_owned(), name.to_owned());
            let pod = c
                .pods
                .get(&key)
                .filter(|p| p["metadata"]["uid"] == uid)
                .ok_or(ApiError::NotFound)?;
            assert!(
                pod["metadata"]["ownerReferences"].is_null(),
                "a task of Kueue's was evicted behind its back"
            );
            if c.budget.iter().any(|n| n == namespace) {
                return Err(ApiError::Budget);
            }
            c.delete_pod(&key, now);
            Ok(())
        })
        .await
    }

    async fn get_lease(&self) -> Result<Option<Lease>, ApiError> {
        self.call("get lease", |c| Ok(c.lease.clone())).await
    }

    async fn put_lease(&self, lease: &Lease) -> Result<(), ApiError> {
        self.call("put lease", |c| {
            let current = c
                .lease
                .as_ref()
                .and_then(|l| l.metadata.resource_version.clone());
            if current != lease.metadata.resource_version {
                return Err(ApiError::Conflict);
            }
            let mut lease = lease.clone();
            lease.metadata.resource_version = Some(c.bump());
            c.lease = Some(lease);
            Ok(())
        })
        .await
    }
}
