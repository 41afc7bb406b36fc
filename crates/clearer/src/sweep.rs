//! Cleans up what belongs to no clearing in progress: inactive Workloads, pinned requests, reserved nodes.
//!
//! It looks at the state of the cluster and not at events, so that whatever a crash leaves behind is gone after a restart.

use std::collections::HashSet;

use kube::ResourceExt as _;
use serde_json::json;

use super::api::{Api, ApiError};
use super::facts::{self, World};
use super::handover;
use super::log::{Event, Log};
use super::owner::{self, Owner};
use super::state::{CLEARING, RequestKind, State};
use super::workload::Workload;

/// One pass over everything of this clearer's. `running` are the clearings that this process runs.
pub async fn sweep<A: Api>(api: &A, log: &Log, world: &World, owner: &Owner, running: &[State]) {
    let ids: HashSet<&str> = running.iter().map(|s| s.id.as_str()).collect();
    for workload in &world.workloads {
        let Some(id) = &workload.evicted_by else {
            continue;
        };
        let clearing = running.iter().find(|s| s.id == *id);
        let ours = clearing.is_some() || owner.has_id(world, id);
        if ours && is_safe(world, workload, clearing) {
            reactivate(api, log, workload, id).await;
        }
    }
    for pod in world.pods.iter().filter(|p| facts::bound_to(p).is_none()) {
        let pinned_for = pod.annotations().get(CLEARING);
        if pinned_for.is_some_and(|id| !ids.contains(id.as_str()) && owner.has_id(world, id)) {
            let patch = handover::unpin_patch(pod);
            let namespace = pod.namespace().unwrap_or_default();
            report(api.patch_pod(&namespace, &pod.name_any(), &patch).await);
        }
    }
    for node in world.nodes.iter().map(|m| &m.node) {
        let Some(taint) = owner::reservation(node) else {
            continue;
        };
        // A running clearing deals itself with a guard whose annotation is gone.
        let in_hand = taint.value.as_deref().is_some_and(|id| ids.contains(id));
        let alone = !node.annotations().contains_key(CLEARING) && !in_hand;
        if alone && owner.has_reservation(node, taint) {
            let mut taints = facts::taints(node).to_vec();
            taints.retain(|t| t != taint);
            let patch = json!({
                "metadata": { "resourceVersion": node.metadata.resource_version },
                "spec": { "taints": taints },
            });
            report(api.patch_node(&node.name_any(), &patch).await.map(drop));
        }
    }
}

/// Whether an evicted Workload may queue again.
///
/// It may once Kueue has taken back its quota: the eviction has worked, and the guard keeps its next pod off the node.
/// Earlier, activating it would undo the eviction. A request that still waits for quota goes first, or else the task would
/// take the quota again. After the clearing there is nothing to wait for.
fn is_safe(world: &World, workload: &Workload, clearing: Option<&State>) -> bool {
    let Some(clearing) = clearing else {
        return true;
    };
    let request_waits = clearing.request.kind == RequestKind::Workload
        && world
            .workloads
            .iter()
            .any(|w| w.uid == clearing.request.uid && !w.admitted);
    (!workload.quota_reserved && !request_waits) || workload.finished
}

/// Activates an evicted Workload, so that Kueue queues it again.
pub async fn reactivate<A: Api>(api: &A, log: &Log, workload: &Workload, evicted_by: &str) {
    // With the resourceVersion: what was decided on an old state must not undo a newer eviction.
    let patch = json!({
        "metadata": {
            "resourceVersion": workload.resource_version,
            "annotations": { CLEARING: null },
        },
        "spec": { "active": true },
    });
    let (namespace, name) = (&workload.namespace, &workload.name);
    let done = api.patch_workload(namespace, name, &patch).await;
    if done.is_ok() {
        let event = Event::Reactivated {
            victim_namespace: namespace.clone(),
            workload: name.clone(),
            evicted_by: evicted_by.to_owned(),
        };
        log.write(api.now(), None, event);
    }
    report(done);
}

/// Nothing is repeated here: the next pass comes within a second.
fn report(result: Result<(), ApiError>) {
    match result {
        Ok(()) | Err(ApiError::NotFound | ApiError::Conflict | ApiError::NotLeader) => {}
        Err(e) => tracing::warn!("sweep: {e}; trying again"),
    }
}
