//! Whom a clearing belongs to: the clearer that holds the Lease under which it began. Other clearers leave it alone.

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt as _;
use kube::core::{Selector, SelectorExt as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::args::Args;
use super::facts::{self, World};
use super::state::{CLEARING, RESERVED, State};

/// A clearer, as its clearings name it.
#[derive(Debug, Clone)]
pub struct Owner {
    /// Namespace and name of the Lease, as in the node's annotation.
    pub lease: String,
    tag: String,
    scope: Selector,
}

impl Owner {
    /// The owner of the clearings that a clearer with these settings begins.
    pub fn new(args: &Args) -> Self {
        let lease = format!("{}/{}", args.lease_namespace, args.lease_name);
        Self {
            tag: hex(&Sha256::digest(&lease)[..4]),
            lease,
            scope: args.scope.clone(),
        }
    }

    /// The id of a new clearing. It names its owner, because a taint or a Workload carries nothing but the id.
    pub fn new_id(&self, seed: &str) -> String {
        // 48 bits, in lower-case hex: valid as a taint's value, and short enough to read out.
        format!("{}-{}", self.tag, hex(&Sha256::digest(seed)[..6]))
    }

    /// True if the clearing on a node is this clearer's, also if its annotation cannot be read.
    pub fn has(&self, node: &Node) -> bool {
        let Some(text) = node.annotations().get(CLEARING) else {
            return false;
        };
        // Without `State`: a later version's annotation may be readable only this far.
        let said = serde_json::from_str::<Value>(text).ok();
        let owner = said.as_ref().and_then(|s| s["owner"].as_str());
        match owner {
            Some(owner) => owner == self.lease,
            None => match reservation(node).and_then(tag) {
                Some(tag) => tag == self.tag,
                // From a version that named no owner.
                None => self.scope.matches(node.labels()),
            },
        }
    }

    /// True if the clearing with this id, found on a Workload or a pod, is this clearer's.
    pub fn has_id(&self, world: &World, id: &str) -> bool {
        if let Some(tag) = tag_of(id) {
            return tag == self.tag;
        }
        let is = |node: &Node| State::of(node).is_some_and(|s| s.is_ok_and(|s| s.id == id));
        let mut nodes = world.nodes.iter().map(|m| &m.node);
        // If no node has this clearing any more, any clearer may clean up after it.
        nodes
            .find(|node| is(node))
            .is_none_or(|node| self.has(node))
    }

    /// True if a node's reservation is this clearer's.
    pub fn has_reservation(&self, node: &Node, taint: &Taint) -> bool {
        match tag(taint) {
            Some(tag) => tag == self.tag,
            None => self.scope.matches(node.labels()),
        }
    }
}

/// The taint that reserves a node.
pub fn reservation(node: &Node) -> Option<&Taint> {
    facts::taints(node).iter().find(|t| t.key == RESERVED)
}

fn tag(taint: &Taint) -> Option<&str> {
    taint.value.as_deref().and_then(tag_of)
}

fn tag_of(id: &str) -> Option<&str> {
    id.split_once('-').map(|(tag, _)| tag)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
