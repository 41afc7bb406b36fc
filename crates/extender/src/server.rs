//! The process: it fills the caches, then serves two listeners. In: the command line. It runs until it fails or gets a signal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::Router;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod, ResourceQuota};
use kube::api::Api;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt as _};
use tokio::net::TcpListener;
use tokio::sync::{Notify, RwLock, oneshot};
use tracing_subscriber::EnvFilter;
use watches::Changes;

use super::accounts::Accounts;
use super::api::{Calls, lock};
use super::args::Args;
use super::caches::{Cache, Change, follow};
use super::device_config::{self, Nvidia};
use super::events::Recorder;
use super::leader::{Leader, Turn};
use super::limiter::Limiter;
use super::node_lock::NodeLocks;
use super::quota::Quotas;
use super::register::{self, Registration};
use super::{http, metrics};

/// Settings that do not change while the process runs.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Resource names and defaults.
    pub nvidia: Nvidia,
    /// Node policy for pods that name none.
    pub node_policy: String,
    /// Card policy for pods that name none.
    pub gpu_policy: String,
    /// How long a pod group's member waits for a contended node lock.
    pub group_patience: Duration,
    selector: Vec<(String, String)>,
}

impl Settings {
    /// Whether a node has the required labels.
    pub(crate) fn registers(&self, node: &Node) -> bool {
        let mut required = self.selector.iter();
        required.all(|(key, value)| node.labels().get(key) == Some(value))
    }
}

/// The state of the process.
pub(crate) struct Extender {
    /// Settings from the command line.
    pub settings: Settings,
    /// Calls to the API server.
    pub calls: Arc<Calls>,
    /// Events about pods.
    pub events: Recorder,
    /// Pods as watched.
    pub pods: Arc<Cache<Pod>>,
    /// Nodes as watched.
    pub nodes: Arc<Cache<Node>>,
    /// Nodes' cards, and what is reserved of them.
    pub accounts: Mutex<Accounts>,
    /// Locks of nodes.
    pub node_locks: NodeLocks,
    /// Held for writing during a round of registration.
    pub registration: RwLock<Registration>,
    /// A node came or went.
    pub nodes_changed: Notify,
    /// This host was elected.
    pub elected: Notify,
    leader: Option<Leader>,
    started: AtomicBool,
}

impl Extender {
    /// The state at the start. Must be called within a runtime.
    ///
    /// # Errors
    /// Settings that make no sense, an unreadable device file, or credentials that cannot be used.
    pub(crate) fn new(args: &Args, config: kube::Config) -> anyhow::Result<Self> {
        let nvidia = device_config::read(&args.device_config_file)?;
        let limiter = Limiter::new(args.kube_qps, args.kube_burst)?;
        let calls = Arc::new(Calls::connect(config, limiter, args.kube_timeout)?);
        let leader = args.leader_elect.then(|| {
            let host = sysinfo::System::host_name().ok();
            let host = host.filter(|host| !host.is_empty());
            let host =
                host.context("--leader-elect needs a host name, and this machine has none")?;
            anyhow::Ok(Leader {
                host,
                namespace: args.leader_elect_resource_namespace.clone(),
                name: args.leader_elect_resource_name.clone(),
                seen: Mutex::default(),
            })
        });
        let quotas = Quotas::new(&nvidia.memory, &nvidia.cores, nvidia.memory_factor);
        Ok(Self {
            events: Recorder::start(calls.clone(), &args.scheduler_name),
            calls,
            pods: Arc::default(),
            nodes: Arc::default(),
            accounts: Mutex::new(Accounts::new(quotas)),
            node_locks: NodeLocks::new(args.node_lock_timeout),
            registration: RwLock::default(),
            nodes_changed: Notify::new(),
            elected: Notify::new(),
            leader: leader.transpose()?,
            started: AtomicBool::new(false),
            settings: Settings {
                nvidia,
                node_policy: args.node_scheduler_policy.clone(),
                gpu_policy: args.gpu_scheduler_policy.clone(),
                group_patience: args.node_lock_retry_timeout,
                selector: args.node_label_selector.clone(),
            },
        })
    }

    /// Whether the caches are complete.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Whether this process registers nodes: always, unless it follows a Lease.
    pub(crate) fn is_leader(&self) -> bool {
        self.leader
            .as_ref()
            .is_none_or(|leader| leader.is_leader(Instant::now()))
    }

    fn saw_pod(&self, change: &Change<Pod>) {
        let mut accounts = lock(&self.accounts);
        match change {
            Change::Added(pod) => accounts.saw_pod(pod, true),
            Change::Updated(_, pod) => accounts.saw_pod(pod, false),
            Change::Removed(pod) => accounts.lost_pod(pod),
        }
    }

    fn saw_node(self: &Arc<Self>, change: &Change<Node>) {
        match change {
            Change::Added(_) => self.nodes_changed.notify_one(),
            Change::Updated(..) => {}
            Change::Removed(node) => {
                let name = node.name_any();
                self.node_locks.forget(&name);
                lock(&self.accounts).nodes.remove(&name);
                let this = self.clone();
                // Waits for a round under way, which must not hold up the watch.
                tokio::spawn(async move {
                    this.registration.write().await.forget(&name);
                    this.nodes_changed.notify_one();
                });
            }
        }
    }

    fn saw_quota(&self, change: &Change<ResourceQuota>) {
        let quotas = &mut lock(&self.accounts).quotas;
        match change {
            Change::Added(new) => quotas.replace(None, Some(new)),
            Change::Updated(old, new) => quotas.replace(Some(old), Some(new)),
            Change::Removed(old) => quotas.replace(Some(old), None),
        }
    }

    fn saw_lease(self: &Arc<Self>, change: &Change<Lease>) {
        let turn = self
            .leader
            .as_ref()
            .and_then(|leader| leader.saw(change, Instant::now()));
        match turn {
            Some(Turn::Elected) => self.elected.notify_one(),
            Some(Turn::Lost) => {
                let this = self.clone();
                tokio::spawn(async move { this.registration.write().await.synced = false });
            }
            None => {}
        }
    }

    /// Starts the watches and waits until the caches are complete.
    async fn fill_caches(self: &Arc<Self>, args: &Args) -> anyhow::Result<()> {
        let client = self.calls.unlimited();
        // Lists come as a stream, as HAMi's client asks for them.
        let streamed = || watcher::Config::default().streaming_lists();
        let pods = watches::pods(&client, streamed());
        let nodes = watches::nodes(&client, streamed());
        let quotas = watches::of(Api::all(client.clone()), streamed());
        for complete in [
            self.spawn_follow(pods, self.pods.clone(), |this, pod| this.saw_pod(&pod)),
            self.spawn_follow(nodes, self.nodes.clone(), |this, node| this.saw_node(&node)),
            self.spawn_follow(quotas, Arc::default(), |this, quota| this.saw_quota(&quota)),
        ] {
            complete.await.context("a watch ended")?;
        }
        if self.leader.is_some() {
            let api = match args.leader_elect_resource_namespace.as_str() {
                "" => Api::all(client),
                namespace => Api::namespaced(client, namespace),
            };
            let leases = watches::of(api, streamed());
            self.spawn_follow(leases, Arc::default(), |this, lease| this.saw_lease(&lease))
                .await
                .context("a watch ended")?;
        }
        self.started.store(true, Ordering::Release);
        Ok(())
    }

    /// Keeps a cache up to date in a task of its own. The answer comes once it is complete.
    fn spawn_follow<K>(
        self: &Arc<Self>,
        events: Changes<K>,
        cache: Arc<Cache<K>>,
        saw: impl Fn(&Arc<Self>, Change<K>) + Send + 'static,
    ) -> oneshot::Receiver<()>
    where
        K: Resource + Send + Sync + 'static,
    {
        let (told, complete) = oneshot::channel();
        let this = self.clone();
        tokio::spawn(follow(events, cache, told, move |change| {
            saw(&this, change);
        }));
        complete
    }
}

/// Runs the extender until it fails; a signal ends the process.
///
/// # Errors
/// Settings that make no sense, an unreadable device file, no usable kubeconfig, or an address that is taken.
pub async fn run(args: Args) -> anyhow::Result<()> {
    log_to_stderr(args.verbosity);
    anyhow::ensure!(
        args.cert_file.is_empty() && args.key_file.is_empty(),
        "the built-in extender serves plain HTTP only; leave out --cert_file and --key_file"
    );
    // By KUBECONFIG, else the user's own file, else the account of the pod this runs in.
    let config = kube::Config::infer()
        .await
        .context("no usable kubeconfig; set KUBECONFIG")?;
    let extender = Arc::new(Extender::new(&args, config)?);
    tokio::spawn(register::run(extender.clone()));
    extender.fill_caches(&args).await?;
    tokio::try_join!(
        serve(args.metrics_bind_address, metrics::routes(extender.clone())),
        serve(args.http_bind, http::routes(extender)),
    )?;
    Ok(())
}

async fn serve(mut address: String, routes: Router) -> anyhow::Result<()> {
    if address.starts_with(':') {
        address.insert_str(0, "127.0.0.1");
    }
    let listener = TcpListener::bind(&address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    tracing::info!("listening on {address}");
    axum::serve(listener, routes)
        .await
        .with_context(|| format!("serving {address}"))
}

fn log_to_stderr(verbosity: i32) {
    let level = match verbosity {
        ..4 => "info",
        4 => "debug",
        5.. => "trace",
    };
    let filter = EnvFilter::try_from_env("HEADROOM_LOG");
    // Fails only where a log is set up already, which then serves as well.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| format!("warn,headroom={level}").into()))
        .with_writer(std::io::stderr)
        // It would say so on standard error, and panic, when standard error cannot be written.
        .log_internal_errors(false)
        .with_ansi(false)
        .try_init();
}
