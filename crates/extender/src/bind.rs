//! `/bind`: binds a pod to the node that was chosen for it. In: pod and node. Out: the node lock is taken, the pod's phase is
//! written, and the binding is posted, in this order. If a later step fails, the lock is released. The reservation stays until
//! the pod's next filter.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Binding, ObjectReference, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::json;

use super::api::lock;
use super::events::Reason;
use super::node_lock::{Holder, LockError};
use super::server::Extender;
use super::wire::{BindArgs, BindResult};
use super::{names, request};

/// How often a member of a pod group asks for a contended lock (HAMi's value).
const GROUP_RETRY: Duration = Duration::from_millis(100);

impl Extender {
    /// Answers `/bind`.
    pub(crate) async fn bind(&self, args: BindArgs) -> BindResult {
        let Some(pod) = self.pods.get(&args.pod_namespace, &args.pod_name) else {
            lock(&self.accounts).release(&args.pod_uid);
            return BindResult {
                error: format!("pod {:?} not found", args.pod_name),
            };
        };
        if self.nodes.get("", &args.node).is_none() {
            let message = format!("failed to get node {}", args.node);
            self.events.record(&pod, Reason::BindingFailed, &message);
            lock(&self.accounts).release(&pod.uid().unwrap_or_default());
            return BindResult {
                error: format!("node {:?} not found", args.node),
            };
        }
        match self.lock_and_bind(&pod, &args).await {
            Ok(()) => {
                let message = format!(
                    "Successfully binding node [{}] to {}/{}",
                    args.node, args.pod_namespace, args.pod_name
                );
                self.events.record(&pod, Reason::BindingSucceed, &message);
                BindResult::default()
            }
            Err(error) => {
                self.unlock(&pod, &args).await;
                let error = error.to_string();
                self.events.record(&pod, Reason::BindingFailed, &error);
                BindResult { error }
            }
        }
    }

    async fn lock_and_bind(&self, pod: &Pod, args: &BindArgs) -> anyhow::Result<()> {
        self.lock_node(pod, args).await?;
        let annotations = json!({
            (names::BIND_PHASE): "allocating",
            (names::BIND_TIME): Timestamp::now().as_second().to_string(),
        });
        let patch = json!({ "metadata": { "annotations": annotations } });
        let (namespace, name) = (args.pod_namespace.as_str(), args.pod_name.as_str());
        self.calls.patch_pod(namespace, name, &patch).await?;
        let binding = Binding {
            metadata: ObjectMeta {
                name: Some(args.pod_name.clone()),
                uid: Some(args.pod_uid.clone()).filter(|uid| !uid.is_empty()),
                ..ObjectMeta::default()
            },
            target: ObjectReference {
                kind: Some("Node".to_owned()),
                name: Some(args.node.clone()),
                ..ObjectReference::default()
            },
        };
        Ok(self.calls.bind(namespace, name, &binding).await?)
    }

    async fn lock_node(&self, pod: &Pod, args: &BindArgs) -> Result<(), LockError> {
        if !request::wants_node_lock(pod, &self.settings.nvidia) {
            return Ok(());
        }
        let patience = if is_group_member(pod) {
            self.settings.group_patience
        } else {
            Duration::ZERO
        };
        let deadline = Instant::now() + patience;
        loop {
            let taken = self
                .node_locks
                .take(&self.calls, &args.node, holder(args))
                .await;
            if taken.is_err() {
                self.ask_for_other_vendors_lock(args).await;
            }
            let again = taken.as_ref().is_err_and(LockError::is_contention);
            if !again || patience.is_zero() || Instant::now() > deadline {
                return taken;
            }
            tokio::time::sleep(GROUP_RETRY).await;
        }
    }

    async fn unlock(&self, pod: &Pod, args: &BindArgs) {
        self.ask_for_other_vendors_lock(args).await;
        if request::wants_node_lock(pod, &self.settings.nvidia)
            && let Err(error) = self
                .node_locks
                .release(&self.calls, &args.node, holder(args), false)
                .await
        {
            tracing::error!(node = args.node, pod = args.pod_name, "{error}");
        }
    }

    /// HAMi releases the locks of all vendors in the order of their names. Its Cambricon backend first reads the node to see
    /// whether there is one, whatever the pod asks for. So a bind that finds the lock taken costs two more GETs (one when the
    /// vendors before NVIDIA are rolled back, one when everything is released), and any other failed bind costs one.
    async fn ask_for_other_vendors_lock(&self, args: &BindArgs) {
        if let Err(error) = self.calls.get_node(&args.node).await {
            tracing::error!(node = args.node, "another vendor's lock: {error}");
        }
    }
}

fn holder(args: &BindArgs) -> Holder<'_> {
    Holder {
        namespace: &args.pod_namespace,
        pod: &args.pod_name,
    }
}

/// Whether a pod belongs to a pod group, by label or by its spec.
fn is_group_member(pod: &Pod) -> bool {
    let label = pod.labels().get(names::POD_GROUP_LABEL);
    let groups = pod.spec.iter().flat_map(|spec| &spec.scheduling_group);
    let group_names = groups.filter_map(|group| group.pod_group_name.as_ref());
    label
        .into_iter()
        .chain(group_names)
        .any(|name| !name.is_empty())
}
