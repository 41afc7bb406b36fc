//! The request's half of the hand-over, the same for every strategy; and what has become of the request meanwhile.
//!
//! The value of the node's taint is the clearing's id. The request gets the one toleration that matches it. So no other
//! pod can come to this node, and the request cannot go to another reserved node. (Kubernetes lets tolerations be added to
//! a pending pod, but not selectors.) The same write pins the request to the node's cards by HAMi's annotation, so that it
//! does not go to another node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Toleration};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::api::{Api, ApiError, persist};
use super::clearing::{Halt, check_guard};
use super::facts::{self, World};
use super::log::FailReason;
use super::state::{
    ATTEMPTS, CLEARED_NODE, CLEARING, PINNED_BY, RequestKind, RequestRef, State, number,
};

/// What has become of a request.
#[derive(Debug, Clone)]
pub enum RequestStatus {
    /// It waits. Its pod, if it has one yet.
    Waiting(Option<Arc<Pod>>),
    /// Its pod is bound to the node named.
    Bound(Arc<Pod>, String),
    /// It is gone, and why.
    Gone(&'static str),
}

/// True if the pod is the request's.
pub fn is_requests(world: &World, request: &RequestRef, pod: &Pod) -> bool {
    match request.kind {
        RequestKind::Pod => pod.metadata.uid.as_ref() == Some(&request.uid),
        RequestKind::Workload => world.workload_of(pod).is_some_and(|w| w.uid == request.uid),
    }
}

/// What has become of a request, as the watches have it.
pub fn status(world: &World, request: &RequestRef) -> RequestStatus {
    let pods: Vec<&Arc<Pod>> = match request.kind {
        RequestKind::Pod => {
            let of_uid = |p: &&Arc<Pod>| p.metadata.uid.as_ref() == Some(&request.uid);
            world.pods.iter().find(of_uid).into_iter().collect()
        }
        RequestKind::Workload => world.pods_of(&request.uid).collect(),
    };
    let bound = pods.iter().find_map(|p| Some((p, facts::bound_to(p)?)));
    if let Some((pod, node)) = bound {
        return RequestStatus::Bound(Arc::clone(pod), node.to_owned());
    }
    let mut pods = pods.into_iter();
    let pending = pods.find(|p| p.metadata.deletion_timestamp.is_none());
    let workload = || world.workloads.iter().find(|w| w.uid == request.uid);
    let gone = match request.kind {
        RequestKind::Pod if pending.is_none() => "its pod is gone",
        RequestKind::Pod => return RequestStatus::Waiting(pending.cloned()),
        RequestKind::Workload => match workload() {
            None => "its Workload is gone",
            Some(w) if w.finished => "its Workload has finished",
            Some(w) if !w.active => "its Workload is not active",
            Some(_) => return RequestStatus::Waiting(pending.cloned()),
        },
    };
    RequestStatus::Gone(gone)
}

/// Returns when the clearing has to end: its time is up, the node or the request is gone, or the request is placed
/// elsewhere. Also when a `guarded` node no longer carries the clearing's annotation or guard.
pub async fn halted<A: Api>(api: A, state: State, node: String, guarded: Arc<AtomicBool>) -> Halt {
    let mut changes = api.changes();
    loop {
        let world = api.world();
        if world.node(&node).is_none() {
            return Halt::new(FailReason::NodeGone, "the node is gone");
        }
        match status(&world, &state.request) {
            RequestStatus::Gone(why) => return Halt::new(FailReason::RequestGone, why),
            RequestStatus::Bound(_, elsewhere) if elsewhere != node => {
                return Halt::new(FailReason::PlacedElsewhere, elsewhere);
            }
            RequestStatus::Bound(..) | RequestStatus::Waiting(_) => {}
        }
        if guarded.load(Ordering::Relaxed)
            && let Err(halt) = check_guard(&api, &node, &state).await
        {
            return halt;
        }
        let left = state.deadline.duration_since(api.now());
        if left.is_zero() || left.is_negative() {
            return Halt::new(FailReason::TimeLimit, "the time limit has passed");
        }
        let _ = tokio::time::timeout(left.unsigned_abs(), changes.changed()).await;
    }
}

/// Opens the node to the request and returns its pod once it is bound there.
///
/// # Errors
///
/// The API server refuses the change of the pod.
pub async fn place<A: Api>(
    api: &A,
    state: &State,
    node: &Node,
    card_resource: &str,
) -> Result<Arc<Pod>, Halt> {
    let mut changes = api.changes();
    let mut opened = None;
    loop {
        match status(&api.world(), &state.request) {
            RequestStatus::Bound(pod, on) if on == node.name_any() => return Ok(pod),
            RequestStatus::Waiting(Some(pod))
                if opened != pod.uid() && open(api, state, node, &pod, card_resource).await? =>
            {
                opened = pod.uid();
            }
            _ => {}
        }
        // A second at most, so that a conflict is tried again even if nothing changes.
        let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
    }
}

/// Gives the request's pod its toleration and pin. False if the pod has changed and must be read again.
async fn open<A: Api>(
    api: &A,
    state: &State,
    node: &Node,
    pod: &Pod,
    card_resource: &str,
) -> Result<bool, Halt> {
    if pod.annotations().get(CLEARING) == Some(&state.id) {
        return Ok(true);
    }
    let pin = pin_key(card_resource);
    let ids = facts::node_cards(node, card_resource).ids;
    let mut annotations = json!({ CLEARING: state.id, CLEARED_NODE: node.name_any() });
    // Do not touch a list of cards that the user has set.
    if !ids.is_empty()
        && (!pod.annotations().contains_key(&pin) || pod.annotations().contains_key(PINNED_BY))
    {
        annotations[pin.as_str()] = json!(ids.join(","));
        annotations[PINNED_BY] = json!(pin);
    }
    let tolerations = pod.spec.iter().flat_map(|s| &s.tolerations).flatten();
    let mut tolerations: Vec<Toleration> = tolerations.cloned().collect();
    tolerations.push(state.toleration());
    // With the resourceVersion: the list is written as a whole, and must not undo somebody else's addition.
    let patch = json!({
        "metadata": { "resourceVersion": pod.metadata.resource_version, "annotations": annotations },
        "spec": { "tolerations": tolerations },
    });
    let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
    match persist(|| api.patch_pod(&namespace, &name, &patch)).await {
        Ok(()) => Ok(true),
        Err(ApiError::Conflict | ApiError::NotFound) => Ok(false),
        Err(e) => Err(Halt::new(FailReason::Refused, e.to_string())),
    }
}

/// Takes the pin off a request that was not placed, and counts the attempt if it was in vain. Best effort: the sweep does
/// what a crash or an error leaves undone.
pub async fn unpin<A: Api>(api: &A, state: &State, in_vain: bool) {
    let world = api.world();
    let request = &state.request;
    if request.kind == RequestKind::Workload
        && in_vain
        && let Some(w) = world.workloads.iter().find(|w| w.uid == request.uid)
    {
        let patch =
            json!({ "metadata": { "annotations": { ATTEMPTS: (w.attempts + 1).to_string() } } });
        report(persist(|| api.patch_workload(&w.namespace, &w.name, &patch)).await);
    }
    let pods = world.pods.iter();
    for pod in pods.filter(|p| is_requests(&world, request, p) && facts::bound_to(p).is_none()) {
        let mut patch = json!({ "metadata": { "annotations": {} } });
        // The pin may belong to another clearing.
        let pinned_for = pod.annotations().get(CLEARING);
        if pinned_for.is_none_or(|id| *id == state.id) {
            patch = unpin_patch(pod);
        }
        if in_vain {
            let tried = number::<u32>(pod.as_ref(), ATTEMPTS) + 1;
            patch["metadata"]["annotations"][ATTEMPTS] = json!(tried.to_string());
        }
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        report(persist(|| api.patch_pod(&namespace, &name, &patch)).await);
    }
}

fn report(result: Result<(), ApiError>) {
    match result {
        Ok(()) | Err(ApiError::NotFound | ApiError::NotLeader) => {}
        Err(e) => tracing::warn!("cannot take the pin off the request: {e}"),
    }
}

/// Undoes what [`place`] wrote on a pod, except the toleration: Kubernetes does not let it be removed, and no later clearing
/// has the same id.
pub fn unpin_patch(pod: &Pod) -> Value {
    let mut annotations = json!({ CLEARING: null, CLEARED_NODE: null });
    if let Some(pin) = pod.annotations().get(PINNED_BY) {
        annotations[pin.as_str()] = Value::Null;
        annotations[PINNED_BY] = Value::Null;
    }
    json!({ "metadata": { "annotations": annotations } })
}

/// HAMi's annotation that restricts a pod to cards by UUID. Its domain is that of the card resource.
fn pin_key(card_resource: &str) -> String {
    let domain = card_resource.split('/').next().unwrap_or_default();
    format!("{domain}/use-gpuuuid")
}
