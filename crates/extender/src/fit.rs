//! Chooses a container's cards on one node. In: the node's cards in use, sorted by the card policy, and a request. Out: shares
//! of distinct cards, or the reasons why not, counted by card. Cards are tried from the last to the first.

use std::collections::{BTreeMap, HashSet};

use k8s_openapi::api::core::v1::Pod;

use super::cards::{CardUse, PairScores, admitted};
use super::pod_devices::{self, PodDevices, Share};
use super::quota::Quotas;
use super::request::{self, CardRequest, NO_PERCENT, annotation};
use super::{names, policy, topology};

/// The node has fewer cards than one container asks for.
pub(crate) const TOO_FEW_CARDS: &str = "NodeInsufficientDevice";

/// The context in which a pod is tried on a node.
pub(crate) struct Trial<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// Its card policy.
    pub gpu_policy: &'a str,
    /// The node's cordoned cards.
    pub cordoned: &'a HashSet<String>,
    /// Links between the node's cards.
    pub pair_scores: &'a PairScores,
    /// Limits of the pod's namespace.
    pub quotas: &'a Quotas,
}

impl Trial<'_> {
    fn note(&self, key: &str) -> Option<&str> {
        annotation(&self.pod.metadata, key)
    }

    /// Whether the pod's lists of models, cards and modes accept this card.
    fn admits_model(&self, card: &CardUse) -> bool {
        let (wanted, refused) = (self.note(names::USE_TYPE), self.note(names::NO_USE_TYPE));
        let model = card.card.model.to_uppercase();
        let mode = self.note(names::ALLOCATE_MODE);
        admitted(wanted, refused, |entry| {
            model.contains(&entry.to_uppercase())
        }) && mode.is_none_or(|mode| mode.contains(&card.card.mode))
    }

    fn admits_card(&self, card: &CardUse) -> bool {
        let (wanted, refused) = (self.note(names::USE_UUID), self.note(names::NO_USE_UUID));
        admitted(wanted, refused, |entry| entry == card.card.id)
    }

    /// Whether the namespace's quota allows this share on top of the pod's shares so far.
    fn within_quota(&self, given: &PodDevices, chosen: &[Share], share: &Share) -> bool {
        let mut devices = given.clone();
        let container = chosen.iter().chain([share]).cloned().collect();
        let containers = devices.entry(names::NVIDIA.to_owned()).or_default();
        containers.push(container);
        let devices = pod_devices::collapse(&devices, request::init_count(self.pod));
        let namespace = self.pod.metadata.namespace.as_deref().unwrap_or_default();
        self.quotas.fits(namespace, &devices)
    }

    /// Chooses cards for one container. `given` has the shares of the pod's earlier containers.
    ///
    /// # Errors
    /// The reasons, as `3/8 CardInsufficientMemory, 5/8 CardNotHealth`.
    pub(crate) fn choose(
        &self,
        cards: &[&CardUse],
        request: &CardRequest,
        given: &PodDevices,
    ) -> Result<Vec<Share>, String> {
        let by_topology = policy::contains(self.gpu_policy, policy::TOPOLOGY);
        let idle_only = policy::contains(self.gpu_policy, policy::MUTEX);
        let numa_bind = request::numa_bind(self.pod);
        let wanted = usize::try_from(request.cards).unwrap_or(0);
        let cores = request.cores.min(100);

        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        let mut chosen: Vec<Share> = Vec::new();
        let mut numa = None;
        for &card in cards.iter().rev() {
            let unsuitable = if !card.card.health {
                Some("CardNotHealth")
            } else if self.cordoned.contains(&card.card.id) {
                Some("CardCordoned")
            } else if !self.admits_model(card) {
                Some("CardTypeMismatch")
            } else {
                None
            };
            if let Some(reason) = unsuitable {
                *reasons.entry(reason).or_default() += 1;
                continue;
            }
            if numa_bind && numa != Some(card.card.numa) {
                // Cards of another NUMA node are of no use together with those chosen so far.
                if !chosen.is_empty() && !by_topology {
                    *reasons.entry("NumaNotFit").or_default() += chosen.len();
                }
                numa = Some(card.card.numa);
                chosen.clear();
            }
            let mem_mib = if request.mem_mib > 0 || request.mem_percent == NO_PERCENT {
                request.mem_mib
            } else {
                card.card.mem_mib.saturating_mul(request.mem_percent) / 100
            };
            let share = Share {
                uuid: card.card.id.clone(),
                mem_mib,
                cores,
                slots: 0,
            };
            if let Some(reason) = self.refusal(card, &share, idle_only, given, &chosen) {
                *reasons.entry(reason).or_default() += 1;
                continue;
            }
            chosen.push(share);
            if !by_topology && chosen.len() == wanted {
                return Ok(chosen);
            }
        }
        if by_topology && chosen.len() >= wanted {
            return Ok(topology::choose(chosen, wanted, self.pair_scores));
        }
        if !chosen.is_empty() {
            reasons.insert("AllocatedCardsInsufficientRequest", chosen.len());
        }
        let text = |(reason, count)| format!("{count}/{} {reason}", cards.len());
        let mut texts: Vec<String> = reasons.into_iter().map(text).collect();
        texts.sort();
        Err(texts.join(", "))
    }

    /// Why a share of an otherwise suitable card is not possible, checked in HAMi's order.
    fn refusal(
        &self,
        card: &CardUse,
        share: &Share,
        idle_only: bool,
        given: &PodDevices,
        chosen: &[Share],
    ) -> Option<&'static str> {
        let CardUse {
            card: whole,
            used,
            used_mem_mib,
            used_cores,
            ..
        } = card;
        if !self.admits_card(card) {
            Some("CardUuidMismatch")
        } else if whole.count <= *used {
            Some("CardTimeSlicingExhausted")
        } else if idle_only && *used > 0 {
            Some("ExclusiveDeviceAllocateConflict")
        } else if !self.within_quota(given, chosen, share) {
            Some("ResourceQuotaNotFit")
        } else if whole.mem_mib - used_mem_mib < share.mem_mib {
            Some("CardInsufficientMemory")
        } else if whole.cores - used_cores < share.cores {
            Some("CardInsufficientCore")
        } else if whole.cores == 100 && share.cores == 100 && *used > 0 {
            Some("ExclusiveDeviceAllocateConflict")
        } else if whole.cores != 0 && *used_cores == whole.cores && share.cores == 0 {
            Some("CardComputeUnitsExhausted")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::{NodeUse, of_node};
    use crate::testing::{card_pod, eight_cards, node, nvidia};
    use serde_json::json;

    struct Bench {
        pod: Pod,
        node: NodeUse,
        policy: &'static str,
    }

    fn bench(limits: &serde_json::Value) -> Bench {
        let registered = of_node(&node("n", &eight_cards("n"))).unwrap();
        Bench {
            pod: card_pod(limits),
            node: NodeUse::idle("n", &registered),
            policy: "spread",
        }
    }

    impl Bench {
        fn annotate(&mut self, key: &str, value: &str) {
            self.pod.metadata.annotations = Some([(key.to_owned(), value.to_owned())].into());
        }

        fn choose(&self) -> Result<Vec<String>, String> {
            let trial = Trial {
                pod: &self.pod,
                gpu_policy: self.policy,
                cordoned: &self.node.cordoned,
                pair_scores: &self.node.pair_scores,
                quotas: &Quotas::default(),
            };
            let cards: Vec<&CardUse> = self.node.cards.iter().collect();
            let request = request::of_pod(&self.pod, &nvidia()).remove(0).unwrap();
            let shares = trial.choose(&cards, &request, &PodDevices::new())?;
            Ok(shares.into_iter().map(|share| share.uuid).collect())
        }
    }

    #[test]
    fn distinct_cards_from_the_last_to_the_first() {
        assert_eq!(
            bench(&json!({"nvidia.com/gpu": "3"})).choose().unwrap(),
            ["n-gpu-7", "n-gpu-6", "n-gpu-5"]
        );
    }

    #[test]
    fn each_card_says_why_not() {
        let mut b = bench(
            &json!({"nvidia.com/gpu": "2", "nvidia.com/gpumem": "20000", "nvidia.com/gpucores": "60"}),
        );
        b.node.cards[0].take(1, 10000, 0);
        b.node.cards[1].take(1, 0, 50);
        b.node.cards[2].take(10, 0, 0);
        b.node.cards[3].card.health = false;
        b.node.cordoned.insert("n-gpu-4".to_owned());
        b.node.cards[5].card.model = "NVIDIA-Other".to_owned();
        b.annotate(names::USE_TYPE, "rtx 4090");
        b.node.cards[6].take(1, 10000, 0);
        assert_eq!(
            b.choose().unwrap_err(),
            "1/8 AllocatedCardsInsufficientRequest, 1/8 CardCordoned, 1/8 CardInsufficientCore, 1/8 CardNotHealth, \
             1/8 CardTimeSlicingExhausted, 1/8 CardTypeMismatch, 2/8 CardInsufficientMemory"
        );
    }

    #[test]
    fn all_cores_mean_the_card_alone_and_a_full_card_takes_no_coreless_pod() {
        let mut b = bench(
            &json!({"nvidia.com/gpu": "8", "nvidia.com/gpumem": "1", "nvidia.com/gpucores": "100"}),
        );
        b.node.cards[0].take(1, 1, 0);
        assert!(
            b.choose()
                .unwrap_err()
                .contains("1/8 ExclusiveDeviceAllocateConflict")
        );
        let mut b = bench(&json!({"nvidia.com/gpu": "8", "nvidia.com/gpumem": "1"}));
        b.node.cards[0].take(1, 1, 100);
        assert!(
            b.choose()
                .unwrap_err()
                .contains("1/8 CardComputeUnitsExhausted")
        );
    }

    #[test]
    fn lists_of_cards_bind() {
        let mut b = bench(&json!({"nvidia.com/gpu": "1"}));
        b.annotate(names::USE_UUID, "n-gpu-2");
        assert_eq!(b.choose().unwrap(), ["n-gpu-2"]);
        b.annotate(names::NO_USE_UUID, "n-gpu-7,n-gpu-6");
        assert_eq!(b.choose().unwrap(), ["n-gpu-5"]);
        b.annotate(names::ALLOCATE_MODE, "mig");
        assert_eq!(b.choose().unwrap_err(), "8/8 CardTypeMismatch");
    }

    #[test]
    fn numa_bind_keeps_to_one_numa_node() {
        let mut b = bench(&json!({"nvidia.com/gpu": "4"}));
        b.node.cards[7].card.health = false;
        b.annotate(names::NUMA_BIND, "true");
        assert_eq!(
            b.choose().unwrap(),
            ["n-gpu-3", "n-gpu-2", "n-gpu-1", "n-gpu-0"]
        );
        b.node.cards[0].card.health = false;
        assert!(b.choose().unwrap_err().contains("3/8 NumaNotFit"));
    }

    #[test]
    fn mutex_takes_idle_cards_only() {
        let mut b = bench(&json!({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1"}));
        b.policy = "binpack,mutex";
        for card in &mut b.node.cards[1..] {
            card.take(1, 1, 1);
        }
        assert_eq!(b.choose().unwrap(), ["n-gpu-0"]);
    }
}
