//! Tries a pod on nodes. In: nodes with their cards in use, and a pod's requests. Out: for each node a score and the devices it
//! would give, or why it does not fit; and which node is best.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::core::v1::Pod;

use super::cards::{CardUse, NodeUse};
use super::fit::{TOO_FEW_CARDS, Trial};
use super::pod_devices::PodDevices;
use super::quota::Quotas;
use super::request::{self, CardRequest, Weights};
use super::{names, policy};

/// A node that fits.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The node's name.
    pub node: String,
    /// Its use before the pod, by HAMi's formula.
    pub score: f32,
    /// What the pod would get there, container by container.
    pub devices: PodDevices,
}

/// What a pod asks for, and by which policy.
pub(crate) struct Demand<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// Requests by container, init containers first.
    pub requests: &'a [Option<CardRequest>],
    /// Its card policy.
    pub gpu_policy: &'a str,
    /// Its scoring weights.
    pub weights: Weights,
    /// Limits of its namespace.
    pub quotas: &'a Quotas,
}

/// A node's use over all cards: shares, cores and memory, each as a part of the whole, times ten.
#[expect(
    clippy::cast_precision_loss,
    reason = "HAMi scores in 32-bit floats; ties must fall as they do there"
)]
fn node_score(cards: &[CardUse]) -> f32 {
    let sum = |value: fn(&CardUse) -> i32| cards.iter().map(value).fold(0, i32::saturating_add);
    let parts = [
        (sum(|card| card.used), sum(|card| card.card.count)),
        (sum(|card| card.used_cores), sum(|card| card.card.cores)),
        (sum(|card| card.used_mem_mib), sum(|card| card.card.mem_mib)),
    ];
    if parts.iter().any(|(_, whole)| *whole == 0) {
        return 0.0;
    }
    policy::SCALE
        * parts.iter().fold(0.0, |total, (used, whole)| {
            total + *used as f32 / *whole as f32
        })
}

impl Demand<'_> {
    /// Tries the pod on a node: each init container alone, the other containers together.
    ///
    /// # Errors
    /// Why the node does not fit.
    pub(crate) fn try_node(&self, node: &NodeUse) -> Result<Candidate, String> {
        let init = request::init_count(self.pod).min(self.requests.len());
        let (init, apps) = self.requests.split_at(init);
        // HAMi keeps the place of a container without cards under the node's card models, not under the vendor word; where
        // the two differ, such a container has no place in the annotation.
        let models = node.cards.iter().map(|card| card.card.model.as_str());
        let models: BTreeSet<&str> = models.collect();
        let keep_places = |devices: &mut PodDevices, containers: usize| {
            for model in &models {
                let places = devices.entry((*model).to_owned()).or_default();
                if places.len() < containers {
                    places.push(Vec::new());
                }
            }
        };

        let mut devices = PodDevices::new();
        for (index, request) in init.iter().enumerate() {
            if let Some(request) = request {
                self.try_container(node, &mut node.cards.clone(), request, &mut devices)?;
            }
            keep_places(&mut devices, index + 1);
        }

        let mut cards = node.cards.clone();
        let score = node_score(&cards);
        let mut app_devices = PodDevices::new();
        for (index, request) in apps.iter().enumerate() {
            if let Some(request) = request {
                self.try_container(node, &mut cards, request, &mut app_devices)?;
            }
            keep_places(&mut app_devices, index + 1);
        }
        for (device_type, containers) in app_devices {
            devices.entry(device_type).or_default().extend(containers);
        }
        Ok(Candidate {
            node: node.name.clone(),
            score,
            devices,
        })
    }

    fn try_container(
        &self,
        node: &NodeUse,
        cards: &mut [CardUse],
        request: &CardRequest,
        devices: &mut PodDevices,
    ) -> Result<(), String> {
        for card in cards.iter_mut() {
            policy::score(card, request, self.weights);
        }
        policy::sort(cards, self.gpu_policy, request::numa_bind(self.pod));
        let vendor = names::NVIDIA.to_lowercase();
        let usable: Vec<&CardUse> = cards
            .iter()
            .filter(|card| card.card.model.to_lowercase().contains(&vendor))
            .collect();
        if usize::try_from(request.cards).unwrap_or(0) > usable.len() {
            return Err(TOO_FEW_CARDS.to_owned());
        }
        let trial = Trial {
            pod: self.pod,
            gpu_policy: self.gpu_policy,
            cordoned: &node.cordoned,
            pair_scores: &node.pair_scores,
            quotas: self.quotas,
        };
        let shares = trial.choose(&usable, request, devices)?;
        for share in &shares {
            if let Some(card) = cards.iter_mut().find(|card| card.card.id == share.uuid) {
                card.take(1, share.mem_mib, share.cores);
            }
        }
        let containers = devices.entry(names::NVIDIA.to_owned()).or_default();
        containers.push(shares);
        Ok(())
    }

    /// Tries the pod on every node: the nodes that fit, in any order, and why the others do not fit.
    pub(crate) fn try_nodes<'n>(
        &self,
        nodes: impl IntoIterator<Item = &'n NodeUse>,
    ) -> (Vec<Candidate>, HashMap<String, String>) {
        let (mut fitting, mut failed) = (Vec::new(), HashMap::new());
        for node in nodes {
            match self.try_node(node) {
                Ok(candidate) => fitting.push(candidate),
                Err(reason) => {
                    failed.insert(node.name.clone(), reason);
                }
            }
        }
        (fitting, failed)
    }
}

/// Sorts the nodes that fit; the best one is last. The order of equal nodes is random, since HAMi tries nodes in parallel and
/// keeps them in the order in which they finish. Text other than spread means binpack.
pub(crate) fn rank(candidates: &mut [Candidate], node_policy: &str, rng: &mut impl rand::Rng) {
    use rand::seq::SliceRandom as _;
    candidates.shuffle(rng);
    candidates.sort_by(|a, b| match node_policy {
        policy::SPREAD => b.score.total_cmp(&a.score),
        _ => a.score.total_cmp(&b.score),
    });
}

/// How many nodes lack what, for events. Reasons that are not counted by card have no entry.
pub(crate) fn failures_by_reason(
    failed: &HashMap<String, String>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut by_reason: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (node, reasons) in failed {
        for reason in reasons.split(", ") {
            if let Some((count, name)) = reason.split_once(' ')
                && count.contains('/')
            {
                let nodes = by_reason.entry(name.to_owned()).or_default();
                nodes.insert(node.clone());
            }
        }
    }
    by_reason
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::of_node;
    use crate::testing::{card_pod, eight_cards, node, nvidia, pod};
    use rand::SeedableRng as _;
    use serde_json::json;

    fn idle(name: &str) -> NodeUse {
        NodeUse::idle(name, &of_node(&node(name, &eight_cards(name))).unwrap())
    }

    fn try_on(pod: &Pod, node: &NodeUse) -> Result<Candidate, String> {
        let demand = Demand {
            pod,
            requests: &request::of_pod(pod, &nvidia()),
            gpu_policy: "spread",
            weights: request::weights(pod).unwrap(),
            quotas: &Quotas::default(),
        };
        demand.try_node(node)
    }

    #[test]
    fn the_score_is_the_use_before_the_pod() {
        let mut node = idle("n");
        let whole = card_pod(&json!({"nvidia.com/gpu": "1"}));
        assert!(try_on(&whole, &node).unwrap().score.abs() < f32::EPSILON);
        node.cards[7].take(1, 24564, 0);
        let candidate = try_on(&whole, &node).unwrap();
        // One of 80 shares and one of eight cards' memory.
        assert!((candidate.score - 10.0 * (1.0 / 80.0 + 1.0 / 8.0)).abs() < 1e-5);
        assert_eq!(candidate.devices[names::NVIDIA][0][0].uuid, "n-gpu-6");
    }

    #[test]
    fn more_cards_than_a_node_has_is_one_reason_without_a_count() {
        let nine = card_pod(&json!({"nvidia.com/gpu": "9"}));
        let reason = try_on(&nine, &idle("n")).unwrap_err();
        assert_eq!(reason, TOO_FEW_CARDS);
        assert!(failures_by_reason(&HashMap::from([("n".to_owned(), reason)])).is_empty());
    }

    #[test]
    fn containers_share_the_node_and_init_containers_do_not() {
        let gpu = |name: &str, cards: &str| json!({ "name": name, "resources": { "limits": { "nvidia.com/gpu": cards } } });
        let five = pod(&json!([gpu("a", "5"), gpu("b", "4")]));
        assert!(try_on(&five, &idle("n")).is_err());
        let mut with_init = pod(&json!([{ "name": "side" }, gpu("main", "4")]));
        with_init.spec.as_mut().unwrap().init_containers =
            Some(vec![serde_json::from_value(gpu("prepare", "8")).unwrap()]);
        let devices = try_on(&with_init, &idle("n")).unwrap().devices;
        let cards = |device_type: &str| {
            devices[device_type]
                .iter()
                .map(Vec::len)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            cards(names::NVIDIA),
            [8, 4],
            "the container without cards has no place here"
        );
        assert_eq!(cards("NVIDIA-NVIDIA GeForce RTX 4090"), [0, 0, 0]);
    }

    #[test]
    fn spread_ranks_the_least_used_last_and_anything_else_the_most_used() {
        let candidate = |node: &str, score| Candidate {
            node: node.to_owned(),
            score,
            devices: PodDevices::new(),
        };
        let mut rng = rand::rngs::StdRng::seed_from_u64(1);
        let mut best = |policy: &str| {
            let mut all = [
                candidate("idle", 0.0),
                candidate("half", 5.0),
                candidate("full", 9.0),
            ];
            rank(&mut all, policy, &mut rng);
            all[2].node.clone()
        };
        assert_eq!(best("spread"), "idle");
        assert_eq!(best("binpack"), "full");
        assert_eq!(best("Spread"), "full", "only the exact word means spread");
    }

    #[test]
    fn equal_nodes_are_chosen_by_chance() {
        let mut rng = rand::rngs::StdRng::seed_from_u64(7);
        let winners: BTreeSet<String> = (0..100)
            .map(|_| {
                let mut all: Vec<Candidate> = (0..4)
                    .map(|n| Candidate {
                        node: n.to_string(),
                        score: 1.0,
                        devices: PodDevices::new(),
                    })
                    .collect();
                rank(&mut all, "spread", &mut rng);
                all[3].node.clone()
            })
            .collect();
        assert_eq!(winners.len(), 4);
    }

    #[test]
    fn reasons_gather_their_nodes() {
        let failed = HashMap::from([
            (
                "b".to_owned(),
                "3/8 CardInsufficientMemory, 5/8 CardNotHealth".to_owned(),
            ),
            ("a".to_owned(), "8/8 CardInsufficientMemory".to_owned()),
        ]);
        let by_reason = failures_by_reason(&failed);
        assert_eq!(
            by_reason["CardInsufficientMemory"]
                .iter()
                .collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(by_reason["CardNotHealth"].len(), 1);
    }
}
