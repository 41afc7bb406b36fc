//! What a clearing writes on its node: the guard that keeps new tasks away, the hand-over, and the release.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::{Clearing, Halt, tag};
use crate::api::{Api, ApiError, persist};
use crate::facts;
use crate::log::{Event, FailReason, Log};
use crate::owner;
use crate::state::{CLEARED_FOR, CLEARING, FAILED_AT, Phase, RESERVED, State};

/// Taint that the node lifecycle controller adds to cordoned nodes.
const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";

/// How new tasks are kept away while the node is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// `spec.unschedulable`: no pod may come.
    Cordon,
    /// A taint that only the request tolerates.
    Reservation,
}

impl<A: Api> Clearing<A> {
    /// Sets the guard, and in the same write the state from which a restart goes on. After a restart there is nothing to do.
    ///
    /// # Errors
    ///
    /// The node is gone, or somebody else cordoned or claimed it since it was chosen.
    pub async fn guard(&mut self, guard: Guard, listed: Vec<String>) -> Result<(), Halt> {
        if self.is_guarded() {
            return Ok(());
        }
        self.state.cordoned = guard == Guard::Cordon;
        self.state.listed = listed;
        loop {
            let ours =
                State::of(&self.node).is_some_and(|s| s.is_ok_and(|s| s.id == self.state.id));
            // A call that timed out may have been carried out all the same.
            if ours {
                break;
            }
            if facts::is_cordoned(&self.node)
                || self.node.annotations().contains_key(CLEARING)
                || owner::reservation(&self.node).is_some()
            {
                let why = "somebody else holds the node";
                return Err(Halt::new(FailReason::NodeChanged, why));
            }
            let mut patch = node_patch(&self.node);
            patch["metadata"]["annotations"] = json!({ CLEARING: self.state.text() });
            patch["spec"] = match guard {
                Guard::Cordon => json!({ "unschedulable": true }),
                Guard::Reservation => {
                    json!({ "taints": with_taint(&self.node, self.state.taint()) })
                }
            };
            self.write_node(&patch).await?;
        }
        self.guarded.store(true, Ordering::Relaxed);
        self.say(Event::Guarded);
        Ok(())
    }

    /// Replaces the guard, whatever it is, by the reservation. This is the node's half of the hand-over.
    pub(super) async fn give_node(&mut self) -> Result<(), Halt> {
        let cordoned = self.state.cordoned;
        let handed = State {
            phase: Phase::HandedOver,
            cordoned: false,
            ..self.state.clone()
        };
        loop {
            stands(&self.node, &self.state).map_err(|why| Halt::new(FailReason::GuardLost, why))?;
            let there = State::of(&self.node).and_then(Result::ok);
            if there.is_some_and(|s| s.phase == Phase::HandedOver) {
                self.state = handed;
                return Ok(());
            }
            let request = &self.state.request;
            let mut taints = with_taint(&self.node, self.state.taint());
            let mut patch = node_patch(&self.node);
            patch["metadata"]["annotations"] = json!({
                CLEARING: handed.text(),
                CLEARED_FOR: format!("{}/{} {}", request.namespace, request.name, request.uid),
            });
            patch["spec"] = json!({});
            if cordoned {
                // Gone in the same write, or the request would wait for the lifecycle controller.
                taints.retain(|t| t.key != CORDON_TAINT);
                patch["spec"]["unschedulable"] = json!(false);
            }
            patch["spec"]["taints"] = json!(taints);
            self.write_node(&patch).await?;
        }
    }

    /// Writes the node if it is still as it was read; otherwise only reads it again.
    async fn write_node(&mut self, patch: &Value) -> Result<(), Halt> {
        let name = self.node.name_any();
        let written = match persist(|| self.api.patch_node(&name, patch)).await {
            Err(ApiError::Conflict) => persist(|| self.api.get_node(&name)).await,
            other => other,
        };
        self.node = Arc::new(written.map_err(|e| Halt::call(&e))?);
        Ok(())
    }
}

/// `Ok` if the node still carries the clearing's annotation and guard; otherwise the reason.
fn stands(node: &Node, state: &State) -> Result<(), &'static str> {
    let there = match State::of(node) {
        Some(Ok(there)) if there.id == state.id => there,
        Some(Ok(_)) => return Err("another clearing stands on the node"),
        Some(Err(_)) => return Err("the node's annotation was overwritten"),
        None => return Err("the node's annotation was taken away"),
    };
    // The node's own annotation says which guard: the hand-over changes both in one write.
    let guarded = if there.cordoned {
        facts::is_cordoned(node)
    } else {
        facts::taints(node).contains(&there.taint())
    };
    let lost = "the node's cordon or taint was taken away";
    guarded.then_some(()).ok_or(lost)
}

/// Checks that a clearing's annotation and guard still stand on its node.
///
/// # Errors
///
/// They do not. The API server was asked: the watch may be behind what was written a moment ago.
pub async fn check_guard<A: Api>(api: &A, node: &str, state: &State) -> Result<(), Halt> {
    let seen = api.world();
    if seen.node(node).is_none_or(|n| stands(n, state).is_ok()) {
        return Ok(());
    }
    match api.get_node(node).await {
        Ok(found) => stands(&found, state).map_err(|why| Halt::new(FailReason::GuardLost, why)),
        // Not known: the next pass asks again. The watch reports a node that is gone.
        Err(_) => Ok(()),
    }
}

/// Releases a node: takes off everything that its clearing put there. Tries until that is done, the node is gone or the
/// Lease is lost.
pub async fn release<A: Api>(api: &A, log: &Log, node: &str, state: &State, in_vain: bool) {
    loop {
        let written = match persist(|| api.get_node(node)).await {
            Ok(found) => {
                let Some(patch) = undo(&found, state, in_vain, api.now()) else {
                    return;
                };
                persist(|| api.patch_node(node, &patch)).await.map(drop)
            }
            Err(e) => Err(e),
        };
        match written {
            Ok(()) => {
                log.write(api.now(), Some(tag(node, state)), Event::Released);
                return;
            }
            Err(ApiError::NotFound | ApiError::NotLeader) => return,
            Err(ApiError::Conflict) => {}
            Err(e) => {
                // An operator may be about to restore a permission, and a node must not stay guarded.
                tracing::error!(node, "cannot release the node: {e}; trying again");
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        }
    }
}

/// The patch that takes off a node what its clearing put there. `None` if nothing is left of it.
fn undo(found: &Node, state: &State, in_vain: bool, now: Timestamp) -> Option<Value> {
    let (says_so, ours) = match State::of(found) {
        Some(Ok(s)) if s.id != state.id => (false, None),
        Some(Ok(s)) => (true, Some(s.cordoned)),
        // The annotation is gone or overwritten: rely on what this process remembers.
        Some(Err(_)) | None => (false, Some(state.cordoned && facts::is_cordoned(found))),
    };
    let reserved = facts::taints(found).contains(&state.taint());
    if !says_so && !reserved && ours != Some(true) {
        return None;
    }
    let mut taints = facts::taints(found).to_vec();
    taints.retain(|t| *t != state.taint());
    let mut patch = node_patch(found);
    patch["spec"] = json!({});
    if let Some(cordoned) = ours {
        patch["metadata"]["annotations"] = json!({
            CLEARING: null,
            FAILED_AT: in_vain.then(|| now.to_string()),
        });
        if cordoned {
            taints.retain(|t| t.key != CORDON_TAINT);
            patch["spec"]["unschedulable"] = json!(false);
        }
    }
    patch["spec"]["taints"] = json!(taints);
    Some(patch)
}

/// Releases a node whose annotation cannot be read. Takes off what is certainly the clearer's: the annotation, the taint,
/// and the cordon if the annotation still mentions it.
///
/// # Errors
///
/// Says what is left for the operator to do.
pub async fn release_unreadable<A: Api>(api: &A, node: &str) -> Result<(), String> {
    loop {
        let found = match persist(|| api.get_node(node)).await {
            Ok(found) => found,
            Err(ApiError::NotFound) => return Ok(()),
            Err(e) => return Err(format!("node {node}: {e}; run this again")),
        };
        let (Some(text), Some(Err(_))) = (found.annotations().get(CLEARING), State::of(&found))
        else {
            // Released meanwhile, or readable again: the next pass takes care of it.
            return Ok(());
        };
        let said: Option<Value> = serde_json::from_str(text).ok();
        let cordoned = said.and_then(|s| s["cordoned"].as_bool());
        let mut taints = facts::taints(&found).to_vec();
        taints.retain(|t| t.key != RESERVED);
        let mut patch = node_patch(&found);
        patch["metadata"]["annotations"] = json!({ CLEARING: null });
        patch["spec"] = json!({});
        if cordoned == Some(true) {
            taints.retain(|t| t.key != CORDON_TAINT);
            patch["spec"]["unschedulable"] = json!(false);
        }
        patch["spec"]["taints"] = json!(taints);
        return match persist(|| api.patch_node(node, &patch)).await {
            Err(ApiError::Conflict) => continue,
            Err(ApiError::NotFound) => Ok(()),
            Err(e) => Err(format!("node {node} is not released: {e}; run this again")),
            Ok(_) if cordoned.is_none() && facts::is_cordoned(&found) => Err(format!(
                "node {node} is cordoned and its annotation {CLEARING} could not be read: if nobody else cordoned it, \
                 run `kubectl uncordon {node}`"
            )),
            Ok(_) => Ok(()),
        };
    }
}

/// A patch that applies only if the node is still as it was read.
fn node_patch(node: &Node) -> Value {
    json!({ "metadata": { "resourceVersion": node.metadata.resource_version } })
}

/// The node's taints and this one. The API replaces the list as a whole.
fn with_taint(node: &Node, taint: Taint) -> Vec<Taint> {
    let mut taints = facts::taints(node).to_vec();
    taints.retain(|t| t.key != RESERVED);
    taints.push(taint);
    taints
}
