//! Lists of what a text names: joined, each once, or by what they have in common.

use std::collections::BTreeSet;

/// The texts one after the other, with `between` in between.
pub fn joined<T: Into<String>>(texts: impl IntoIterator<Item = T>, between: &str) -> String {
    let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
    texts.join(between)
}

/// Each of them once, sorted.
pub fn each_once<T: Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let once: BTreeSet<T> = all.into_iter().collect();
    once.into_iter().collect()
}

/// The values of each key, the keys in the order in which they first come.
pub fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// What is to be said of a number of things; of none, nothing.
pub fn unless_none<N: Copy + Default + PartialEq>(n: N, say: impl FnOnce(N) -> String) -> String {
    if n == N::default() {
        String::new()
    } else {
        say(n)
    }
}
