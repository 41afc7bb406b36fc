//! The lab: one control plane, with a tap in front of the extender, for one play after the other.
//!
//! In: programs. Out: objects that it creates and changes, and the calls that the API server saw. Dropping it ends every
//! process.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod, ResourceQuota, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::tap::Tap;
use harness::cluster::{self, Cluster, Parts, Spec};
use harness::observer::audit::{Call, parse_call};
use plan::{self, Overrides, Plan, Programs};

/// The harness's name in the audit log.
const USER_AGENT: &str = "headroom-conformance";

/// How long something may take that takes a moment on an idle host.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Time between two checks of something in progress.
pub const POLL: Duration = Duration::from_millis(25);

/// How many times longer than an answer of the API server its effects may take. On an idle host the answer takes 2 ms, and the
/// effects 50 ms at most.
const STRETCH: u32 = 25;

/// The longest stretched wait.
const LONGEST_STRETCH: Duration = Duration::from_secs(4);

/// A running control plane.
pub struct Lab {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// The programs it runs.
    pub programs: Programs,
    /// Its settings. Each play replaces those of HAMi.
    pub plan: Plan,
    /// The tap between kube-scheduler and the extender.
    pub tap: Tap,
    client: kube::Client,
}

impl Lab {
    /// Brings up a control plane without nodes, extender and Kueue.
    ///
    /// # Errors
    /// Those of [`cluster::bring_up`].
    pub async fn open(
        programs: &Programs,
        state_root: &Path,
        logs: &Path,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Self> {
        let tap = Tap::start().await?;
        let plan = bare_plan()?;
        let spec = Spec {
            plan: &plan,
            parts: Parts::Bare {
                extender_port: tap.port(),
            },
            programs: programs.clone(),
            state_root: state_root.to_owned(),
            logs: logs.to_owned(),
        };
        let cluster = cluster::bring_up(spec, &|_| (), cancel.clone()).await?;
        let client = cluster.client(USER_AGENT).await?;
        Ok(Self {
            cluster: Arc::new(cluster),
            programs: programs.clone(),
            plan,
            tap,
            client,
        })
    }

    /// The audit log from now on.
    pub fn audit(&self) -> Audit {
        Audit {
            path: self.cluster.audit_log(),
            file: None,
            torn: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Nodes.
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// Pods of a namespace.
    pub fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// A namespace in which pods can be created.
    ///
    /// # Errors
    /// The API server refuses it, or does not get it ready in time.
    pub async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        create(&namespaces, json!({ "metadata": { "name": name } })).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), name);
        let ready = || async { anyhow::Ok(accounts.get_opt("default").await?.is_some()) };
        until("the namespace's service account", ready).await
    }

    /// A `ResourceQuota`.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn quota(&self, namespace: &str, hard: &Value) -> anyhow::Result<()> {
        let quotas: Api<ResourceQuota> = Api::namespaced(self.client.clone(), namespace);
        let object = json!({ "metadata": { "name": "limits" }, "spec": { "hard": hard } });
        create(&quotas, object).await
    }

    /// Events of a namespace.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn events(&self, namespace: &str) -> anyhow::Result<Vec<Event>> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        Ok(api.list(&ListParams::default()).await?.items)
    }

    /// Stretches a duration that is enough on an idle host if the API server is slow to answer, since then everything else is
    /// slow as well.
    pub async fn stretched(&self, base: Duration) -> Duration {
        let started = Instant::now();
        // Its time counts, not its answer.
        let _ = self.client.apiserver_version().await;
        base.max(started.elapsed() * STRETCH)
            .min(base + LONGEST_STRETCH)
    }

    /// Waits for a stretched duration.
    pub async fn pause(&self, base: Duration) {
        sleep(self.stretched(base).await).await;
    }

    /// Removes a play's pods, also those with finalizers, and its nodes.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn clear(&self, namespace: &str) -> anyhow::Result<()> {
        let pods = self.pods(namespace);
        let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        for pod in pods.list(&ListParams::default()).await? {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            if pod.metadata.finalizers.is_some() {
                absent_is_fine(pods.patch(name, &PatchParams::default(), &free).await)?;
            }
            let now = DeleteParams::default().grace_period(0);
            absent_is_fine(pods.delete(name, &now).await)?;
        }
        let (every, now) = (ListParams::default(), DeleteParams::default());
        self.nodes().delete_collection(&now, &every).await?;
        let none = || async { anyhow::Ok(self.nodes().list(&every).await?.items.is_empty()) };
        until("removal of a play's nodes", none).await
    }
}

/// Creates an object.
///
/// # Errors
/// It is malformed, or the API server refuses it.
pub async fn create<K>(api: &Api<K>, object: Value) -> anyhow::Result<()>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let object = serde_json::from_value(object).context("a scenario's object is malformed")?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Treats "not found" as success.
///
/// # Errors
/// Any other error.
pub fn absent_is_fine<T>(outcome: kube::Result<T>) -> anyhow::Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// The benchmark's settings without nodes and teams. kube-scheduler needs no leader election, since there is one of it.
fn bare_plan() -> anyhow::Result<Plan> {
    let experiment = plan::load("rate-limit")?;
    let mut plans = plan::plans(&experiment, &Overrides::default())?;
    let mut plan = plans
        .pop()
        .context("the rate-limit experiment has no arm")?;
    plan.cluster.groups.clear();
    plan.tenants.clear();
    plan.scheduler.leader_elect = false;
    Ok(plan)
}

/// Checks until a condition holds.
///
/// # Errors
/// It does not hold in time, or a check fails.
pub async fn until<F: Future<Output = anyhow::Result<bool>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> anyhow::Result<()> {
    let started = Instant::now();
    while !look().await? {
        anyhow::ensure!(
            started.elapsed() < PATIENCE,
            "{what} did not happen within {} s",
            PATIENCE.as_secs()
        );
        sleep(POLL).await;
    }
    Ok(())
}

/// The audit log, read as it grows.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line that is not complete yet.
    torn: Vec<u8>,
    /// Calls so far, in the order in which they were answered.
    pub calls: Vec<Call>,
}

impl Audit {
    /// Reads what was added.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&mut self) -> anyhow::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none
                .insert(File::open(&self.path).with_context(|| {
                    format!("can't read the audit log {}", self.path.display())
                })?),
        };
        let mut bytes = std::mem::take(&mut self.torn);
        file.read_to_end(&mut bytes)
            .context("reading the audit log")?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        self.torn = bytes.split_off(end.map_or(0, |at| at + 1));
        self.calls
            .extend(bytes.split(|byte| *byte == b'\n').filter_map(parse_call));
        Ok(())
    }
}
