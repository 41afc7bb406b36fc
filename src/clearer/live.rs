//! The real cluster: watches held in memory, calls through kube's client.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::api::{Api, ApiError};
use super::args::{Args, Trigger};
use super::facts::{self, Machine, World};
use super::lease::Gate;
use super::workload::{self, Quota, Workload};

/// Key of a cached object: namespace (empty for cluster-wide ones) and name.
type Key = (String, String);

/// What the watches hold, each object already reduced to what clearing reads.
#[derive(Default)]
struct Caches {
    nodes: HashMap<Key, Machine>,
    pods: HashMap<Key, Arc<Pod>>,
    workloads: HashMap<Key, Arc<Workload>>,
    local_queues: HashMap<Key, String>,
    quotas: HashMap<Key, Quota>,
    /// Built when asked for, dropped at the next change.
    world: Option<Arc<World>>,
}

/// The real cluster.
#[derive(Clone)]
pub struct Live {
    client: Client,
    gate: Gate,
    lease: (String, String),
    caches: Arc<Mutex<Caches>>,
    changes: watch::Sender<u64>,
}

impl Live {
    /// Starts the watches and returns once each has delivered its first list.
    pub async fn start(client: Client, args: &Args, gate: Gate) -> Self {
        let live = Self {
            client: client.clone(),
            gate,
            lease: (args.lease_namespace.clone(), args.lease_name.clone()),
            caches: Arc::default(),
            changes: watch::Sender::new(0),
        };
        let (card, node_card) = (args.card_resource.clone(), args.card_resource.clone());
        let nodes = live.follow(
            kube::Api::<Node>::all(client.clone()),
            |caches| &mut caches.nodes,
            move |mut node| {
                node.metadata.managed_fields = None;
                Some(Machine::new(node, &node_card))
            },
        );
        let pods = live.follow(
            kube::Api::<Pod>::all(client.clone()),
            |caches| &mut caches.pods,
            move |mut pod| {
                pod.metadata.managed_fields = None;
                let spec = pod.spec.as_ref()?;
                (facts::cards(spec, &card) > 0).then(|| Arc::new(pod))
            },
        );
        let dynamic =
            |resource: ApiResource| kube::Api::<DynamicObject>::all_with(client.clone(), &resource);
        let workloads = live.follow(
            dynamic(workload::workloads_resource()),
            |caches| &mut caches.workloads,
            |object| Workload::read(&object).map(Arc::new),
        );
        let mut first_lists = vec![nodes, pods, workloads];
        if args.trigger == Trigger::PendingWorkload {
            let card = args.card_resource.clone();
            first_lists.push(live.follow(
                dynamic(workload::local_queues_resource()),
                |caches| &mut caches.local_queues,
                |object| {
                    let queue = object.data.pointer("/spec/clusterQueue")?;
                    queue.as_str().map(str::to_owned)
                },
            ));
            first_lists.push(live.follow(
                dynamic(workload::cluster_queues_resource()),
                |caches| &mut caches.quotas,
                move |object| Some(Quota::read(&object, &card)),
            ));
        }
        for mut first in first_lists {
            // The sender lives as long as its watch, which never ends.
            let _ = first.wait_for(|delivered| *delivered).await;
        }
        live
    }

    fn lock(&self) -> MutexGuard<'_, Caches> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps one cache up to date; the answer turns true when the first list is in.
    fn follow<K, V>(
        &self,
        api: kube::Api<K>,
        cache: fn(&mut Caches) -> &mut HashMap<Key, V>,
        reduce: impl Fn(K) -> Option<V> + Send + 'static,
    ) -> watch::Receiver<bool>
    where
        K: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        V: Send + 'static,
    {
        let (delivered, first) = watch::channel(false);
        let this = self.clone();
        tokio::spawn(async move {
            let mut events = watcher::watcher(api, watcher::Config::default())
                .default_backoff()
                .boxed();
            let mut fresh = HashMap::new();
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Init) => fresh = HashMap::new(),
                    Ok(Event::InitApply(object)) => {
                        let key = key(&object);
                        fresh.extend(reduce(object).map(|value| (key, value)));
                    }
                    Ok(Event::InitDone) => {
                        let list = std::mem::take(&mut fresh);
                        this.change(|caches| *cache(caches) = list);
                        let _ = delivered.send(true);
                    }
                    Ok(Event::Apply(object)) => {
                        let key = key(&object);
                        let value = reduce(object);
                        this.change(|caches| match value {
                            Some(value) => drop(cache(caches).insert(key, value)),
                            None => drop(cache(caches).remove(&key)),
                        });
                    }
                    Ok(Event::Delete(object)) => {
                        let key = key(&object);
                        this.change(|caches| drop(cache(caches).remove(&key)));
                    }
                    Err(e) => tracing::warn!("watch: {e}"),
                }
            }
        });
        first
    }

    fn change(&self, edit: impl FnOnce(&mut Caches)) {
        let mut caches = self.lock();
        edit(&mut caches);
        caches.world = None;
        drop(caches);
        self.changes.send_modify(|n| *n += 1);
    }

    fn may_write(&self) -> Result<(), ApiError> {
        if self.gate.is_open() {
            Ok(())
        } else {
            Err(ApiError::NotLeader)
        }
    }

    fn leases(&self) -> kube::Api<Lease> {
        kube::Api::namespaced(self.client.clone(), &self.lease.0)
    }
}

fn key<K: kube::Resource>(object: &K) -> Key {
    let meta = object.meta();
    (
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
    )
}

impl Api for Live {
    fn world(&self) -> Arc<World> {
        let mut caches = self.lock();
        if let Some(world) = &caches.world {
            return Arc::clone(world);
        }
        let mut world = World::new(
            caches.nodes.values().cloned().collect(),
            caches.pods.values().cloned().collect(),
            caches.workloads.values().cloned().collect(),
        );
        world.local_queues.clone_from(&caches.local_queues);
        world.quotas = caches
            .quotas
            .iter()
            .map(|((_, name), q)| (name.clone(), *q))
            .collect();
        let world = Arc::new(world);
        caches.world = Some(Arc::clone(&world));
        world
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn get_node(&self, name: &str) -> Result<Node, ApiError> {
        Ok(kube::Api::<Node>::all(self.client.clone())
            .get(name)
            .await?)
    }

    async fn list_bound(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        let params = ListParams::default().fields(&format!("spec.nodeName={node}"));
        Ok(kube::Api::<Pod>::all(self.client.clone())
            .list(&params)
            .await?
            .items)
    }

    async fn patch_node(&self, name: &str, patch: &Value) -> Result<Node, ApiError> {
        self.may_write()?;
        let nodes = kube::Api::<Node>::all(self.client.clone());
        Ok(nodes
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?)
    }

    async fn patch_pod(&self, namespace: &str, name: &str, patch: &Value) -> Result<(), ApiError> {
        self.may_write()?;
        let pods = kube::Api::<Pod>::namespaced(self.client.clone(), namespace);
        pods.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    async fn patch_workload(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<(), ApiError> {
        self.may_write()?;
        let resource = workload::workloads_resource();
        let workloads =
            kube::Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
        workloads
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    async fn evict(&self, namespace: &str, name: &str, uid: &str) -> Result<(), ApiError> {
        self.may_write()?;
        let pods = kube::Api::<Pod>::namespaced(self.client.clone(), namespace);
        // Written by hand: kube's EvictParams cannot carry the UID, and a new pod may have taken the old one's name.
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "name": name, "namespace": namespace },
            "deleteOptions": { "preconditions": { "uid": uid } },
        });
        let answer: Result<Value, kube::Error> = pods
            .create_subresource("eviction", name, &PostParams::default(), &eviction)
            .await;
        match answer.map_err(ApiError::from) {
            Ok(_) => Ok(()),
            // Another pod by the same name: the one that was meant is gone.
            Err(ApiError::Conflict) => Err(ApiError::NotFound),
            Err(e) => Err(e),
        }
    }

    async fn get_lease(&self) -> Result<Option<Lease>, ApiError> {
        Ok(self.leases().get_opt(&self.lease.1).await?)
    }

    async fn put_lease(&self, lease: &Lease) -> Result<(), ApiError> {
        let mut lease = lease.clone();
        lease.metadata.name = Some(self.lease.1.clone());
        let params = PostParams::default();
        if lease.resource_version().is_some() {
            self.leases()
                .replace(&self.lease.1, &params, &lease)
                .await?;
        } else {
            self.leases().create(&params, &lease).await?;
        }
        Ok(())
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) => {
                let budget = status
                    .details
                    .as_ref()
                    .is_some_and(|d| d.causes.iter().any(|c| c.reason == "DisruptionBudget"));
                match status.code {
                    404 => Self::NotFound,
                    409 => Self::Conflict,
                    429 if budget => Self::Budget,
                    400 | 401 | 403 | 405 | 413 | 415 | 422 => {
                        Self::Refused(status.message.clone())
                    }
                    _ => Self::Transient(status.message.clone()),
                }
            }
            _ => Self::Transient(error.to_string()),
        }
    }
}
