//! The card policies. In: a policy's text and a node's cards. Out: the cards in order; [`super::fit`] tries them from the end.
//! Text that names no policy means spread, as in HAMi.

use std::cmp::Ordering;

use interface::Policy;

use super::cards::CardUse;
use super::names;
use super::request::{CardRequest, NO_PERCENT, Weights};

/// Use the most used cards.
pub(crate) const BINPACK: &str = Policy::Binpack.name();
/// Use the least used cards.
pub(crate) const SPREAD: &str = Policy::Spread.name();
/// Choose cards by their links.
pub(crate) const TOPOLOGY: &str = "topology-aware";
/// Use idle cards only.
pub(crate) const MUTEX: &str = "mutex";
/// Sort by NUMA node.
pub(crate) const NUMA: &str = "numa";

/// Factor on every score (HAMi's value).
pub(crate) const SCALE: f32 = 10.0;

/// Whether a comma-separated policy names this one.
pub(crate) fn contains(policy: &str, name: &str) -> bool {
    policy.split(',').any(|part| part.trim() == name)
}

/// Scores a card: shares, cores and memory in use, each as a part of the whole. The request itself counts only on a card
/// whose model is exactly the vendor word, since HAMi compares the two.
#[expect(
    clippy::cast_precision_loss,
    reason = "HAMi scores in 32-bit floats; ties must fall as they do there"
)]
pub(crate) fn score(card: &mut CardUse, request: &CardRequest, weights: Weights) {
    let whole = &card.card;
    if whole.count == 0 || whole.cores == 0 || whole.mem_mib == 0 {
        card.score = 0.0;
        return;
    }
    let (mut slots, mut cores, mut mem_mib) = (card.used, card.used_cores, card.used_mem_mib);
    if whole.model == names::NVIDIA {
        slots += 1;
        cores += request.cores;
        mem_mib += match request.mem_percent {
            0 | NO_PERCENT => request.mem_mib,
            percent => whole.mem_mib.saturating_mul(percent) / 100,
        };
    }
    let part = |used: i32, of: i32, weight: i64| weight as f32 * (used as f32 / of as f32);
    card.score = SCALE
        * (part(slots, whole.count, weights.slot)
            + part(cores, whole.cores, weights.core)
            + part(mem_mib, whole.mem_mib, weights.memory));
}

/// Sorts a node's cards for a policy.
pub(crate) fn sort(cards: &mut [CardUse], policy: &str, numa_bind: bool) {
    if policy.contains(',') || policy == NUMA {
        let chain = chain(policy, numa_bind);
        cards.sort_by(|a, b| {
            let keys = chain.iter().map(|key| compare(key, a, b));
            keys.fold(Ordering::Equal, Ordering::then)
                .then(a.card.index.cmp(&b.card.index))
        });
        return;
    }
    let by_numa = |a: &CardUse, b: &CardUse| a.card.numa.cmp(&b.card.numa);
    let binpack = policy == BINPACK;
    let by_score = |a: &CardUse, b: &CardUse| compare(if binpack { BINPACK } else { SPREAD }, a, b);
    cards.sort_by(|a, b| {
        if policy == MUTEX {
            b.used.cmp(&a.used).then(by_numa(a, b))
        } else if numa_bind {
            // Cards of a NUMA node must lie together.
            let numa = if binpack {
                by_numa(b, a)
            } else {
                by_numa(a, b)
            };
            numa.then(by_score(a, b))
        } else {
            by_score(a, b).then(by_numa(a, b))
        }
    });
}

/// The sort keys that a list of policies names, in this order; spread if it names none.
fn chain(policy: &str, numa_bind: bool) -> Vec<&'static str> {
    let mut chain: Vec<&'static str> = Vec::new();
    for part in policy.split(',') {
        let key = [BINPACK, SPREAD, NUMA]
            .into_iter()
            .find(|key| *key == part.trim());
        if let Some(key) = key.filter(|key| !chain.contains(key)) {
            chain.push(key);
        }
    }
    if chain.is_empty() {
        chain.push(SPREAD);
    }
    if numa_bind {
        chain.retain(|key| *key != NUMA);
        chain.insert(0, NUMA);
    }
    chain
}

fn compare(key: &str, a: &CardUse, b: &CardUse) -> Ordering {
    let score = a.score.partial_cmp(&b.score).unwrap_or(Ordering::Equal);
    match key {
        BINPACK => score,
        NUMA => a.card.numa.cmp(&b.card.numa),
        _ => score.reverse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::{NodeUse, of_node};
    use crate::testing::{eight_cards, node};

    fn order(policy: &str, numa_bind: bool, used: &[i32]) -> Vec<u32> {
        let registered = of_node(&node("n", &eight_cards("n"))).unwrap();
        let mut cards = NodeUse::idle("n", &registered).cards;
        let request = CardRequest {
            cards: 1,
            mem_mib: 0,
            mem_percent: 100,
            cores: 0,
        };
        for (card, used) in cards.iter_mut().zip(used) {
            card.take(*used, 0, 0);
            score(
                card,
                &request,
                Weights {
                    slot: 1,
                    core: 1,
                    memory: 1,
                },
            );
        }
        sort(&mut cards, policy, numa_bind);
        // The order in which they are tried.
        cards.iter().rev().map(|card| card.card.index).collect()
    }

    const USED: [i32; 8] = [0, 1, 2, 0, 1, 0, 0, 3];

    #[test]
    fn spread_tries_the_idle_first_and_binpack_the_fullest() {
        assert_eq!(order("spread", false, &USED), [6, 5, 3, 0, 4, 1, 2, 7]);
        assert_eq!(order("binpack", false, &USED), [7, 2, 4, 1, 6, 5, 3, 0]);
    }

    #[test]
    fn unknown_text_means_spread() {
        assert_eq!(order("random", false, &USED), order("spread", false, &USED));
        assert_eq!(
            order("mutex,topology-aware", false, &USED)[..4],
            [6, 5, 3, 0]
        );
    }

    #[test]
    fn numa_bind_keeps_numa_nodes_together() {
        assert_eq!(order("spread", true, &USED), [6, 5, 4, 7, 3, 0, 1, 2]);
        assert_eq!(order("binpack", true, &USED), [2, 1, 3, 0, 7, 4, 6, 5]);
        assert_eq!(order("binpack,numa", true, &USED), [7, 4, 6, 5, 2, 1, 3, 0]);
    }

    #[test]
    fn mutex_tries_idle_cards_first() {
        assert_eq!(order("mutex", false, &USED)[..4], [6, 5, 3, 0]);
    }
}
