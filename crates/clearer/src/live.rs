//! The real cluster: caches fed by watches, and calls through kube's client.

use std::collections::{HashMap, HashSet};
use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{Config as Selection, Event};
use kube::{Client, Config, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::watch;
use watches::Changes;

use super::api::{Api, ApiError};
use interface::ClearerTrigger;

use super::args::Args;
use super::facts::{self, Machine, World};
use super::lease::Gate;
use super::workload::{self, Quota, Workload};

/// Key of a cached object: namespace (empty for cluster-wide ones) and name.
type Key = (String, String);

/// After this silence of the API server a warning says that it is waited for.
const SILENCE: Duration = Duration::from_secs(5);

/// The cluster that `KUBECONFIG` or the pod's service account names, and its API server's address.
///
/// # Errors
///
/// Says in one line why neither can be used.
pub async fn connect() -> anyhow::Result<(Client, String)> {
    let config = Config::infer().await.map_err(|e| {
        // Only the kubeconfig's half of the message: a process in a pod has a service account.
        let why = e
            .source()
            .map_or_else(|| e.to_string(), ToString::to_string);
        let why = first_line(&why);
        match std::env::var("KUBECONFIG") {
            Ok(path) if !path.is_empty() => anyhow::anyhow!("cannot use KUBECONFIG={path}: {why}"),
            _ => anyhow::anyhow!(
                "no cluster to connect to ({why}); set KUBECONFIG to a kubeconfig file"
            ),
        }
    })?;
    let server = config.cluster_url.to_string();
    let client = client(config).map_err(|e| {
        anyhow::anyhow!("cannot use the kubeconfig: {}", first_line(&e.to_string()))
    })?;
    Ok((client, server))
}

/// A client that does not repeat failed calls.
fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.headers.push((
        http::header::USER_AGENT,
        http::HeaderValue::from_static(interface::CLEARER_USER_AGENT),
    ));
    // Retries would hide for minutes that a PodDisruptionBudget holds back an eviction (429). The callers repeat what may
    // succeed later.
    config.default_retry = false;
    Client::try_from(config)
}

fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// What the watches hold. Each object is already reduced to what clearing reads.
#[derive(Default)]
struct Caches {
    nodes: HashMap<Key, Machine>,
    pods: HashMap<Key, Arc<Pod>>,
    workloads: HashMap<Key, Arc<Workload>>,
    local_queues: HashMap<Key, String>,
    quotas: HashMap<Key, Quota>,
    /// Built when asked for, and dropped at the next change.
    world: Option<Arc<World>>,
}

/// The real cluster.
#[derive(Clone)]
pub struct Live {
    client: Client,
    gate: Gate,
    lease: (String, String),
    /// Address of the API server, for people.
    server: Arc<str>,
    /// Warnings about failing watches since one last recovered, so that each is said once.
    said: Arc<Mutex<HashSet<String>>>,
    caches: Arc<Mutex<Caches>>,
    changes: watch::Sender<u64>,
}

impl Live {
    /// Starts the watches and returns once each has delivered its first list.
    pub async fn start(client: Client, server: String, args: &Args, gate: Gate) -> Self {
        let live = Self::new(client.clone(), &server, args, gate);
        let (card, node_card) = (args.card_resource.clone(), args.card_resource.clone());
        let nodes = live.follow(
            watches::nodes(&client, Selection::default()),
            |caches| &mut caches.nodes,
            move |mut node| {
                node.metadata.managed_fields = None;
                Some(Machine::new(node, &node_card))
            },
        );
        let pods = live.follow(
            watches::pods(&client, Selection::default()),
            |caches| &mut caches.pods,
            move |mut pod| {
                pod.metadata.managed_fields = None;
                let spec = pod.spec.as_ref()?;
                (facts::cards(spec, &card) > 0).then(|| Arc::new(pod))
            },
        );
        let dynamic = |resource: ApiResource| {
            let api = kube::Api::<DynamicObject>::all_with(client.clone(), &resource);
            watches::of(api, Selection::default())
        };
        let workloads = live.follow(
            dynamic(workload::resource("Workload")),
            |caches| &mut caches.workloads,
            |object| Workload::read(&object).map(Arc::new),
        );
        let mut first_lists = vec![nodes, pods, workloads];
        if args.trigger == ClearerTrigger::PendingWorkload {
            let card = args.card_resource.clone();
            first_lists.push(live.follow(
                dynamic(workload::resource("LocalQueue")),
                |caches| &mut caches.local_queues,
                |object| {
                    let queue = object.data.pointer("/spec/clusterQueue")?;
                    queue.as_str().map(str::to_owned)
                },
            ));
            first_lists.push(live.follow(
                dynamic(workload::resource("ClusterQueue")),
                |caches| &mut caches.quotas,
                move |object| Some(Quota::read(&object, &card)),
            ));
        }
        let delivered = async {
            for mut first in first_lists {
                // The sender lives as long as its watch, which never ends.
                let _ = first.wait_for(|delivered| *delivered).await;
            }
        };
        let mut delivered = std::pin::pin!(delivered);
        if tokio::time::timeout(SILENCE, &mut delivered).await.is_err() {
            if live.said().is_empty() {
                live.complain("no answer yet");
            }
            delivered.await;
        }
        live
    }

    fn new(client: Client, server: &str, args: &Args, gate: Gate) -> Self {
        Self {
            client,
            gate,
            lease: (args.lease_namespace.clone(), args.lease_name.clone()),
            server: server.into(),
            said: Arc::default(),
            caches: Arc::default(),
            changes: watch::Sender::new(0),
        }
    }

    fn said(&self) -> MutexGuard<'_, HashSet<String>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Warns once of what is wrong with the API server.
    fn complain(&self, what: &str) {
        if self.said().insert(what.to_owned()) {
            tracing::warn!("waiting for the API server {}: {what}", self.server);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Caches> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps one cache up to date. The receiver turns true once the first list has arrived.
    fn follow<K, V>(
        &self,
        mut events: Changes<K>,
        cache: fn(&mut Caches) -> &mut HashMap<Key, V>,
        reduce: impl Fn(K) -> Option<V> + Send + 'static,
    ) -> watch::Receiver<bool>
    where
        K: kube::Resource + Send + 'static,
        V: Send + 'static,
    {
        let (delivered, first) = watch::channel(false);
        let this = self.clone();
        tokio::spawn(async move {
            let mut fresh = HashMap::new();
            let mut failing = false;
            while let Some(event) = events.next().await {
                // `Init` comes before the first call.
                if failing && !matches!(event, Ok(Event::Init) | Err(_)) {
                    failing = false;
                    this.said().clear();
                }
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
                    Err(e) => {
                        failing = true;
                        this.complain(&in_one(&e));
                    }
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

    async fn patch<K>(&self, api: &kube::Api<K>, name: &str, patch: &Value) -> Result<K, ApiError>
    where
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        self.may_write()?;
        let patch = Patch::Merge(patch);
        Ok(api.patch(name, &PatchParams::default(), &patch).await?)
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
        let quotas = caches.quotas.iter();
        world.quotas = quotas.map(|((_, name), q)| (name.clone(), *q)).collect();
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
        let nodes = kube::Api::<Node>::all(self.client.clone());
        Ok(nodes.get(name).await?)
    }

    async fn list_bound(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        let pods = kube::Api::<Pod>::all(self.client.clone());
        let params = ListParams::default().fields(&format!("spec.nodeName={node}"));
        Ok(pods.list(&params).await?.items)
    }

    async fn patch_node(&self, name: &str, patch: &Value) -> Result<Node, ApiError> {
        let nodes = kube::Api::all(self.client.clone());
        self.patch(&nodes, name, patch).await
    }

    async fn patch_pod(&self, namespace: &str, name: &str, patch: &Value) -> Result<(), ApiError> {
        let pods = kube::Api::<Pod>::namespaced(self.client.clone(), namespace);
        self.patch(&pods, name, patch).await.map(drop)
    }

    async fn patch_workload(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<(), ApiError> {
        let resource = workload::resource("Workload");
        let workloads =
            kube::Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
        self.patch(&workloads, name, patch).await.map(drop)
    }

    async fn evict(&self, namespace: &str, name: &str, uid: &str) -> Result<(), ApiError> {
        self.may_write()?;
        let pods = kube::Api::<Pod>::namespaced(self.client.clone(), namespace);
        // Written by hand: kube's EvictParams cannot carry the UID, and a new pod may have the old one's name.
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
            // Another pod has this name: the victim is gone.
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
        let (leases, params) = (self.leases(), PostParams::default());
        if lease.resource_version().is_some() {
            leases.replace(&self.lease.1, &params, &lease).await?;
        } else {
            leases.create(&params, &lease).await?;
        }
        Ok(())
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = error else {
            return Self::Transient(error.to_string());
        };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        match status.code {
            404 => Self::NotFound,
            409 => Self::Conflict,
            429 if causes.any(|c| c.reason == "DisruptionBudget") => Self::Budget,
            400 | 401 | 403 | 405 | 413 | 415 | 422 => Self::Refused(status.message),
            _ => Self::Transient(status.message),
        }
    }
}

/// An error with its causes, without those that it already quotes.
fn in_one(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::StatusCode;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn an_eviction_that_a_budget_holds_back_is_answered_at_once() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        // As kube-apiserver answers.
        let held = || async {
            ASKED.fetch_add(1, Ordering::Relaxed);
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Cannot evict pod as it would violate the pod's disruption budget.",
                "reason": "TooManyRequests", "code": 429,
                "details": {"causes": [{"reason": "DisruptionBudget", "message": "needs 1"}]},
            });
            (StatusCode::TOO_MANY_REQUESTS, axum::Json(status))
        };
        let path = "/api/v1/namespaces/bare/pods/held/eviction";
        let app = axum::Router::new().route(path, axum::routing::post(held));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let gate = Gate::default();
        gate.set(Some(Instant::now() + Duration::from_hours(1)));
        let client = client(Config::new(server.parse().unwrap())).unwrap();
        let live = Live::new(client, &server, &crate::tests::plain(), gate);
        // If the client repeated the call, this test would hang for minutes.
        let evicted = live.evict("bare", "held", "u1");
        let evicted = tokio::time::timeout(Duration::from_secs(30), evicted).await;
        assert_eq!(evicted, Ok(Err(ApiError::Budget)));
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    }
}
