//! The node's half: keeping new tasks away, giving the node to the request, putting it back.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::{Clearing, Halt, tag};
use crate::clearer::api::{Api, ApiError, persist};
use crate::clearer::facts;
use crate::clearer::log::{Event, FailReason, Log};
use crate::clearer::state::{CLEARED_FOR, CLEARING, FAILED_AT, Phase, RESERVED, State};

/// Taint that the node lifecycle controller adds to cordoned nodes.
const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";

/// How new tasks are kept away while the node is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// `spec.unschedulable`: nothing may come.
    Cordon,
    /// The taint that only the request tolerates.
    Reservation,
}

impl<A: Api> Clearing<A> {
    /// Puts the guard in force, together with the state from which a restart goes on. Nothing to do after a restart.
    ///
    /// # Errors
    ///
    /// The node is gone, or somebody else cordoned or claimed it since it was chosen.
    pub async fn guard(&mut self, guard: Guard, listed: Vec<String>) -> Result<(), Halt> {
        if self.guarded {
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
            if facts::is_cordoned(&self.node) || self.node.annotations().contains_key(CLEARING) {
                return Err(Halt::new(
                    FailReason::NodeChanged,
                    "somebody else holds the node",
                ));
            }
            let mut patch = node_patch(&self.node);
            patch["metadata"]["annotations"] = json!({ CLEARING: self.state.text() });
            match guard {
                Guard::Cordon => patch["spec"] = json!({ "unschedulable": true }),
                Guard::Reservation => {
                    patch["spec"] = json!({ "taints": with_taint(&self.node, self.state.taint()) });
                }
            }
            self.write_node(&patch).await?;
        }
        self.guarded = true;
        self.say(Event::Guarded);
        Ok(())
    }

    /// Replaces whatever guards the node by the reservation: the node's half of the hand-over.
    pub(super) async fn give_node(&mut self) -> Result<(), Halt> {
        let cordoned = self.state.cordoned;
        self.state.phase = Phase::HandedOver;
        self.state.cordoned = false;
        loop {
            let there = State::of(&self.node).and_then(Result::ok);
            match there {
                Some(s) if s.id != self.state.id => {
                    return Err(Halt::new(
                        FailReason::NodeChanged,
                        "another clearing holds the node",
                    ));
                }
                None => {
                    return Err(Halt::new(
                        FailReason::NodeChanged,
                        "the node's annotation was taken away",
                    ));
                }
                Some(s) if s.phase == Phase::HandedOver => return Ok(()),
                Some(_) => {}
            }
            let request = &self.state.request;
            let mut taints = with_taint(&self.node, self.state.taint());
            let mut patch = node_patch(&self.node);
            patch["metadata"]["annotations"] = json!({
                CLEARING: self.state.text(),
                CLEARED_FOR: format!("{}/{} {}", request.namespace, request.name, request.uid),
            });
            if cordoned {
                // Gone in the same write, or the request would wait for the lifecycle controller.
                taints.retain(|t| t.key != CORDON_TAINT);
                patch["spec"] = json!({ "unschedulable": false, "taints": taints });
            } else {
                patch["spec"] = json!({ "taints": taints });
            }
            self.write_node(&patch).await?;
        }
    }

    /// One write of the node, if it is still as it was read; otherwise only reads it again.
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

/// Puts a node back as it was before its clearing. Tries until it has succeeded, or the node is gone, or the Lease is.
pub async fn put_back<A: Api>(api: &A, log: &Log, node: &str, state: &State, in_vain: bool) {
    loop {
        let written = match persist(|| api.get_node(node)).await {
            Ok(found) => {
                let there = State::of(&found).and_then(Result::ok);
                let ours = there.filter(|s| s.id == state.id);
                let reserved = facts::taints(&found).iter().any(|t| *t == state.taint());
                if ours.is_none() && !reserved {
                    return;
                }
                let mut taints = facts::taints(&found).to_vec();
                taints.retain(|t| *t != state.taint());
                let mut patch = node_patch(&found);
                patch["spec"] = json!({});
                if let Some(ours) = ours {
                    patch["metadata"]["annotations"] = json!({
                        CLEARING: null,
                        FAILED_AT: in_vain.then(|| api.now().to_string()),
                    });
                    if ours.cordoned {
                        taints.retain(|t| t.key != CORDON_TAINT);
                        patch["spec"]["unschedulable"] = json!(false);
                    }
                }
                patch["spec"]["taints"] = json!(taints);
                persist(|| api.patch_node(node, &patch)).await.map(drop)
            }
            Err(e) => Err(e),
        };
        match written {
            Ok(()) => {
                log.write(api.now(), Some(&tag(node, state)), Event::PutBack);
                return;
            }
            Err(ApiError::NotFound | ApiError::NotLeader) => return,
            Err(ApiError::Conflict) => {}
            Err(e) => {
                // Perhaps a permission that an operator is about to give back: a node must not stay guarded.
                tracing::error!(node, "cannot put the node back: {e}; trying again");
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        }
    }
}

/// A patch that only applies to the node as it was read.
fn node_patch(node: &Node) -> Value {
    json!({ "metadata": { "resourceVersion": node.metadata.resource_version } })
}

/// The node's taints with one more; taints are one atomic list in the API.
fn with_taint(node: &Node, taint: Taint) -> Vec<Taint> {
    let mut taints = facts::taints(node).to_vec();
    taints.retain(|t| t.key != RESERVED);
    taints.push(taint);
    taints
}
