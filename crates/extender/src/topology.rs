//! The topology-aware card policy. In: all suitable cards, and how well cards are linked. Out: the best set.

use super::cards::PairScores;
use super::pod_devices::Share;

/// For one card: the one with the worst links, so that well-linked cards stay free. For several: the best-linked set. Of equal
/// ones the first.
pub fn choose(fitting: Vec<Share>, wanted: usize, links: &PairScores) -> Vec<Share> {
    let score = |from: &Share, to: &Share| {
        links
            .get(&from.uuid)
            .and_then(|scores| scores.get(&to.uuid))
            .copied()
            .unwrap_or(0)
    };
    if fitting.len() == wanted {
        return fitting;
    }
    if wanted == 1 {
        let total = |from: &Share| -> i64 {
            fitting
                .iter()
                .filter(|to| to.uuid != from.uuid)
                .map(|to| score(from, to))
                .sum()
        };
        let worst = fitting.iter().min_by_key(|share| total(share)).cloned();
        return worst.into_iter().collect();
    }
    let mut best: Option<(i64, Vec<usize>)> = None;
    let mut set: Vec<usize> = (0..wanted).collect();
    loop {
        let pairs = set
            .iter()
            .enumerate()
            .flat_map(|(at, from)| set[at + 1..].iter().map(move |to| (*from, *to)));
        let total = pairs
            .map(|(from, to)| score(&fitting[from], &fitting[to]))
            .sum();
        if best.as_ref().is_none_or(|(so_far, _)| total > *so_far) {
            best = Some((total, set.clone()));
        }
        if !next_combination(&mut set, fitting.len()) {
            break;
        }
    }
    let chosen = best.map(|(_, set)| set).unwrap_or_default();
    chosen
        .into_iter()
        .map(|index| fitting[index].clone())
        .collect()
}

/// The next combination of this many indices below `of`, in lexicographic order.
fn next_combination(set: &mut [usize], of: usize) -> bool {
    let size = set.len();
    let Some(at) = (0..size).rev().find(|&at| set[at] < of - size + at) else {
        return false;
    };
    set[at] += 1;
    for later in at + 1..size {
        set[later] = set[later - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(uuids: &[&str]) -> Vec<Share> {
        let share = |uuid: &&str| Share {
            uuid: (*uuid).to_owned(),
            mem_mib: 1,
            cores: 0,
            slots: 0,
        };
        uuids.iter().map(share).collect()
    }

    fn links(pairs: &[(&str, &str, i64)]) -> PairScores {
        let mut links = PairScores::new();
        for (from, to, score) in pairs {
            links
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned(), *score);
            links
                .entry((*to).to_owned())
                .or_default()
                .insert((*from).to_owned(), *score);
        }
        links
    }

    fn uuids(shares: Vec<Share>) -> Vec<String> {
        shares.into_iter().map(|share| share.uuid).collect()
    }

    #[test]
    fn one_card_is_the_worst_linked_and_several_are_the_best_linked() {
        let links = links(&[
            ("a", "b", 100),
            ("c", "d", 50),
            ("a", "c", 10),
            ("b", "d", 10),
        ]);
        let all = shares(&["a", "b", "c", "d"]);
        assert_eq!(uuids(choose(all.clone(), 1, &links)), ["c"]);
        assert_eq!(uuids(choose(all.clone(), 2, &links)), ["a", "b"]);
        assert_eq!(uuids(choose(all.clone(), 3, &links)), ["a", "b", "c"]);
        assert_eq!(
            uuids(choose(all, 4, &PairScores::new())),
            ["a", "b", "c", "d"]
        );
    }
}
