//! The fake machines: one template, rendered for each node of the plan.

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};

use super::{ClusterError, manifest, system::split_count};
use plan::{CARD_MEMORY_MIB, CARDS_PER_NODE, ClusterPlan};

/// How many nodes are created at the same time.
const PARALLEL: usize = 10;

/// Model of the cards as HAMi's device plugin registers it, with the vendor in front.
pub const CARD_TYPE: &str = "NVIDIA-NVIDIA GeForce RTX 4090";

/// Annotations with which HAMi's scheduler (v2.10) asks the device plugin of each vendor for a sign of life: NVIDIA,
/// Hygon, Kunlun, Vastai, Biren.
pub const HANDSHAKES: [&str; 5] = [
    "hami.io/node-handshake",
    "hami.io/node-handshake-dcu",
    "hami.io/node-handshake-xpu",
    "hami.io/node-handshake-va",
    "hami.io/node-handshake-biren",
];

/// Node objects for the whole plan.
pub(super) fn render(plan: &ClusterPlan, stamp_handshake: bool) -> Vec<Value> {
    plan.node_names()
        .into_iter()
        .map(|(name, group)| {
            let mut node = fake(&name, &cards(&name), stamp_handshake);
            node["metadata"]["labels"]["headroom.dev/group"] = json!(group);
            node
        })
        .collect()
}

/// A fake machine with these cards, in no group.
#[must_use]
pub fn fake(name: &str, cards: &Value, stamp_handshake: bool) -> Value {
    let mut node = manifest::parse(include_str!("../../../../kwok/node.yaml"));
    // HAMi reads its time stamps in local time (UTC before v2.10). Components run with TZ=UTC.
    let handshake = jiff::Timestamp::now()
        .strftime("Requesting_%Y-%m-%d %H:%M:%S")
        .to_string();
    let slots = cards.as_array().into_iter().flatten();
    let slots: u64 = slots.filter_map(|card| card["count"].as_u64()).sum();
    let meta = &mut node["metadata"];
    meta["name"] = json!(name);
    meta["labels"]["kubernetes.io/hostname"] = json!(name);
    meta["annotations"]["hami.io/node-nvidia-register"] = json!(cards.to_string());
    if stamp_handshake {
        for key in HANDSHAKES {
            meta["annotations"][key] = json!(handshake);
        }
    }
    for list in ["allocatable", "capacity"] {
        node["status"][list]["nvidia.com/gpu"] = json!(slots.to_string());
    }
    node
}

/// The cards of a node as HAMi's device plugin registers them (in JSON, since v2.8). A card without `health` would count as
/// unhealthy.
fn cards(node: &str) -> Value {
    (0..CARDS_PER_NODE)
        .map(|index| {
            json!({
                "id": format!("GPU-{node}-{index}"),
                "index": index,
                "count": split_count(),
                "devmem": CARD_MEMORY_MIB,
                "devcore": 100,
                "type": CARD_TYPE,
                // Two sockets with half of the cards each.
                "numa": index / (CARDS_PER_NODE / 2),
                "mode": "hami-core",
                "health": true,
            })
        })
        .collect()
}

/// Creates nodes.
pub(super) async fn create(client: &Client, nodes: &[Value]) -> Result<(), ClusterError> {
    let api: Api<Node> = Api::all(client.clone());
    stream::iter(nodes)
        .map(|node| {
            let api = api.clone();
            async move {
                let what = format!("create node {}", node["metadata"]["name"]);
                let node =
                    serde_json::from_value(node.clone()).map_err(|e| ClusterError::Unexpected {
                        what: "the node shape".into(),
                        detail: e.to_string(),
                    })?;
                api.create(&PostParams::default(), &node)
                    .await
                    .map_err(ClusterError::api(what))
            }
        })
        .buffer_unordered(PARALLEL)
        .try_collect::<Vec<_>>()
        .await?;
    Ok(())
}

/// Number of nodes that are ready and have no taint that keeps pods away.
pub(super) async fn ready(client: &Client) -> Result<usize, ClusterError> {
    let api: Api<Node> = Api::all(client.clone());
    let nodes = api
        .list(&ListParams::default())
        .await
        .map_err(ClusterError::api("list nodes"))?;
    Ok(nodes.iter().filter(|n| is_schedulable(n)).count())
}

fn is_schedulable(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|s| s.conditions.as_ref());
    let ready = conditions
        .into_iter()
        .flatten()
        .any(|c| c.type_ == "Ready" && c.status == "True");
    // kube-controller-manager removes the taint `not-ready` some time after the node has become ready.
    let tainted = node
        .spec
        .as_ref()
        .and_then(|s| s.taints.as_ref())
        .is_some_and(|t| !t.is_empty());
    ready && !tainted
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::NodeGroup;

    fn plan() -> ClusterPlan {
        let group = |name: &str, nodes| NodeGroup {
            name: name.into(),
            nodes,
        };
        ClusterPlan {
            groups: vec![group("a", 2), group("b", 1)],
        }
    }

    #[test]
    fn nodes_are_numbered_through_the_groups_and_carry_their_group() {
        let nodes = render(&plan(), false);
        let seen: Vec<_> = nodes
            .iter()
            .map(|n| {
                let meta = &n["metadata"];
                (
                    meta["name"].as_str().unwrap(),
                    meta["labels"]["headroom.dev/group"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(seen, [("gpu-00", "a"), ("gpu-01", "a"), ("gpu-02", "b")]);
    }

    #[test]
    fn card_ids_are_unique_in_the_cluster_and_slots_match_the_cards() {
        let nodes = render(&plan(), true);
        let mut ids = std::collections::BTreeSet::new();
        for node in &nodes {
            let text = node["metadata"]["annotations"]["hami.io/node-nvidia-register"]
                .as_str()
                .unwrap();
            let cards: Vec<Value> = serde_json::from_str(text).unwrap();
            let slots: u64 = cards.iter().map(|c| c["count"].as_u64().unwrap()).sum();
            assert_eq!(
                node["status"]["allocatable"]["nvidia.com/gpu"],
                slots.to_string()
            );
            ids.extend(cards.iter().map(|c| c["id"].to_string()));
        }
        assert_eq!(ids.len(), 3 * 8);
    }

    #[test]
    fn only_stamped_nodes_spare_hami_its_handshakes() {
        let has = |stamp: bool| {
            render(&plan(), stamp)
                .iter()
                .flat_map(|n| HANDSHAKES.map(|k| n["metadata"]["annotations"][k].is_string()))
                .filter(|&b| b)
                .count()
        };
        assert_eq!((has(true), has(false)), (15, 0));
    }
}
