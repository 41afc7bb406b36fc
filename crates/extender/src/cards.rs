//! The cards of a node. In: the node's annotations, written by HAMi's device plugin. Out: cards, and cards in use.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use serde::Deserialize;

use super::names;
use super::request::annotation;

/// The sharing mode that is not supported.
const MIG: &str = "mig";

/// A card as its node reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Default)]
#[serde(default)]
pub(crate) struct Card {
    /// UUID.
    pub id: String,
    /// Index among the node's cards.
    pub index: u32,
    /// How many pods may share it.
    pub count: i32,
    /// Memory in MiB.
    #[serde(rename = "devmem")]
    pub mem_mib: i32,
    /// Cores in percent; 100 is the whole card.
    #[serde(rename = "devcore")]
    pub cores: i32,
    /// Model, as `NVIDIA-NVIDIA GeForce RTX 4090`.
    #[serde(rename = "type")]
    pub model: String,
    /// NUMA node.
    pub numa: i64,
    /// Sharing mode.
    pub mode: String,
    /// Absent means unhealthy.
    pub health: bool,
}

/// Link scores between cards: from UUID to UUID.
pub(crate) type PairScores = HashMap<String, HashMap<String, i64>>;

/// A node's report.
#[derive(Debug, Clone)]
pub(crate) struct RegisteredNode {
    /// The node when its cards were last read.
    pub node: Arc<Node>,
    /// Its cards, in reported order.
    pub cards: Vec<Card>,
    /// Links between them.
    pub pair_scores: Arc<PairScores>,
}

/// Reads the cards from a node's annotations.
///
/// # Errors
/// The node has no such annotation, reports no card, or reports in a form that HAMi v2.10 does not read.
pub(crate) fn of_node(node: &Arc<Node>) -> Result<RegisteredNode, String> {
    let text = annotation(&node.metadata, names::NODE_REGISTER)
        .ok_or_else(|| format!("no annotation {}", names::NODE_REGISTER))?;
    let mut cards: Vec<Card> =
        serde_json::from_str(text).map_err(|error| format!("{}: {error}", names::NODE_REGISTER))?;
    if cards.is_empty() {
        return Err("no card reported".to_owned());
    }
    for card in cards.iter_mut().filter(|card| card.mode == MIG) {
        tracing::warn!(
            card = card.id,
            "MIG is not served; the card counts as unhealthy"
        );
        card.health = false;
    }
    let pair_scores = match annotation(&node.metadata, names::NODE_PAIR_SCORES) {
        None => PairScores::new(),
        Some(text) => pair_scores(text)?,
    };
    Ok(RegisteredNode {
        node: node.clone(),
        cards,
        pair_scores: Arc::new(pair_scores),
    })
}

fn pair_scores(text: &str) -> Result<PairScores, String> {
    #[derive(Deserialize)]
    #[serde(default)]
    #[derive(Default)]
    struct Entry {
        uuid: String,
        score: HashMap<String, i64>,
    }
    let entries: Vec<Entry> = serde_json::from_str(text)
        .map_err(|error| format!("{}: {error}", names::NODE_PAIR_SCORES))?;
    Ok(entries
        .into_iter()
        .map(|entry| (entry.uuid, entry.score))
        .collect())
}

/// A card and how much of it is in use.
#[derive(Debug, Clone)]
pub(crate) struct CardUse {
    /// The card.
    pub card: Card,
    /// Pods on it.
    pub used: i32,
    /// MiB taken.
    pub used_mem_mib: i32,
    /// Percent of cores taken.
    pub used_cores: i32,
    /// The score by which card policies sort.
    pub score: f32,
}

impl From<&Card> for CardUse {
    fn from(card: &Card) -> Self {
        Self {
            card: card.clone(),
            used: 0,
            used_mem_mib: 0,
            used_cores: 0,
            score: 0.0,
        }
    }
}

impl CardUse {
    /// Adds a share in use.
    pub(crate) fn take(&mut self, slots: i32, mem_mib: i32, cores: i32) {
        self.used += slots;
        self.used_mem_mib += mem_mib;
        self.used_cores += cores;
    }
}

/// A node's cards in use.
#[derive(Debug, Clone)]
pub(crate) struct NodeUse {
    /// The node's name.
    pub name: String,
    /// Its cards, in the order in which the card policy last sorted them.
    pub cards: Vec<CardUse>,
    /// UUIDs that take no new pods.
    pub cordoned: HashSet<String>,
    /// Links between the cards.
    pub pair_scores: Arc<PairScores>,
}

impl NodeUse {
    /// A node with no card in use.
    pub(crate) fn idle(name: &str, node: &RegisteredNode) -> Self {
        let cordoned =
            annotation(&node.node.metadata, names::NODE_CORDONED_CARDS).unwrap_or_default();
        Self {
            name: name.to_owned(),
            cards: node.cards.iter().map(CardUse::from).collect(),
            cordoned: list(cordoned).map(str::to_owned).collect(),
            pair_scores: node.pair_scores.clone(),
        }
    }
}

/// The entries of a comma-separated list, trimmed, without empty ones.
fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

/// Whether a pod's lists of wanted and refused values accept a card that `matches`. A blank list requires nothing.
pub(crate) fn admitted(
    wanted: Option<&str>,
    refused: Option<&str>,
    matches: impl Fn(&str) -> bool,
) -> bool {
    let given = |text: &&str| !text.trim().is_empty();
    let wanted = wanted.filter(given);
    wanted.is_none_or(|text| list(text).any(&matches))
        && !refused.is_some_and(|text| list(text).any(&matches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node;

    #[test]
    fn cards_without_health_and_mig_cards_are_unhealthy() {
        let node = node(
            "gpu-00",
            r#"[{"id":"a","count":10,"devmem":24564,"devcore":100,"type":"NVIDIA-X","mode":"hami-core"},
            {"id":"b","index":1,"health":true,"mode":"mig"},{"id":"c","index":2,"health":true,"migProfiles":[]}]"#,
        );
        let cards = of_node(&node).unwrap().cards;
        assert_eq!(
            cards.iter().map(|card| card.health).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert_eq!(
            (cards[0].mem_mib, cards[0].count, cards[2].index),
            (24564, 10, 2)
        );
    }

    #[test]
    fn what_is_no_card_list_is_refused() {
        assert!(of_node(&node("n", "[]")).is_err());
        assert!(of_node(&node("n", "GPU-1,10,24564,100,NVIDIA-X,0,true:")).is_err());
    }

    #[test]
    fn lists_are_trimmed_and_blank_ones_demand_nothing() {
        let is = |wanted: Option<&str>, refused: Option<&str>| {
            admitted(wanted, refused, |entry| entry == "a")
        };
        assert!(is(None, None));
        assert!(is(Some("  "), Some(" ")));
        assert!(is(Some("b, a"), None));
        assert!(!is(Some("b"), None));
        assert!(!is(Some(","), None));
        assert!(!is(Some("a"), Some(" a ,b")));
    }
}
