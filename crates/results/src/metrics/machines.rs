//! Metrics of the machines' cards over time.

use std::collections::{BTreeMap, BTreeSet};

use plan::CARDS_PER_NODE;

use super::value::sweep;
use super::{Amount, Source};
use crate::run_folder::Record;

/// Means over the time in which something waited for cards.
struct Means {
    /// Most cards free on one machine.
    block: f64,
    /// Cards free on machines in use.
    idle_on_used: f64,
}

pub(super) fn largest_free_block(source: &Source<'_>) -> Option<Amount> {
    Some(Amount::Is(while_waiting(source)?.block))
}

pub(super) fn idle_on_used(source: &Source<'_>) -> Option<Amount> {
    Some(Amount::Is(while_waiting(source)?.idle_on_used))
}

/// What a span of time is of: cards of a machine that are held, or a request that waits.
#[derive(Clone, Copy)]
enum Of<'a> {
    Held(&'a str, &'a [String]),
    Waiting,
}

/// `None` if nothing ever waited, or if it is not known which cards pods were given.
fn while_waiting(source: &Source<'_>) -> Option<Means> {
    let machines = source.plan?.cluster.nodes();
    let end = source.summary.observed_secs;
    let mut spans: Vec<(f64, f64, Of<'_>)> = Vec::new();
    for record in source.records {
        for attempt in &record.attempts {
            if let (Some(node), Some(from)) = (&attempt.node, attempt.bind_secs()) {
                // An older headroom did not record cards.
                if attempt.cards.is_empty() {
                    return None;
                }
                let to = attempt.ended_secs.unwrap_or(f64::INFINITY);
                spans.push((from, to, Of::Held(node, &attempt.cards)));
            }
        }
        let waits = waits(record, end).into_iter();
        spans.extend(waits.map(|(from, to)| (from, to, Of::Waiting)));
    }
    let mut held = Held::default();
    let mut waiting = 0_u32;
    let (mut secs, mut block, mut idle) = (0.0, 0.0, 0.0);
    sweep(spans, end, |passed, begins, of| {
        if waiting > 0 && passed > 0.0 {
            secs += passed;
            block += passed * f64::from(held.largest_block(machines));
            idle += passed * f64::from(held.idle_on_used());
        }
        match of {
            Of::Held(node, cards) => held.change(node, cards, begins),
            Of::Waiting if begins => waiting += 1,
            Of::Waiting => waiting = waiting.saturating_sub(1),
        }
    });
    (secs > 0.0).then(|| Means {
        block: block / secs,
        idle_on_used: idle / secs,
    })
}

/// From when to when a request had no pod on a machine: first, and after each pod that was evicted.
fn waits(record: &Record, end_secs: f64) -> Vec<(f64, f64)> {
    let over = record.finished_secs.unwrap_or(end_secs);
    let mut from = record.created_secs;
    let mut all = Vec::new();
    for attempt in &record.attempts {
        let Some(bound) = attempt.bind_secs() else {
            continue;
        };
        all.extend(from.map(|from| (from, bound)));
        from = attempt.ended_secs.filter(|_| attempt.end.is_eviction());
    }
    // A bare pod that was evicted is not started again.
    let again = record.attempts.is_empty() || record.via == plan::Via::Job;
    let never = record.first_bind_secs().is_none();
    all.extend(from.filter(|_| again || never).map(|from| (from, over)));
    all
}

/// Which cards of which machine are held, and by how many pods.
#[derive(Default)]
struct Held<'a>(BTreeMap<&'a str, BTreeMap<&'a str, u32>>);

impl<'a> Held<'a> {
    fn change(&mut self, node: &'a str, cards: &'a [String], taken: bool) {
        let on = self.0.entry(node).or_default();
        // A pod of two containers may name a card twice.
        for card in cards.iter().map(String::as_str).collect::<BTreeSet<_>>() {
            let pods = on.entry(card).or_default();
            *pods = if taken {
                *pods + 1
            } else {
                pods.saturating_sub(1)
            };
        }
        on.retain(|_, pods| *pods > 0);
        if on.is_empty() {
            self.0.remove(node);
        }
    }

    /// Cards free on each machine in use.
    fn free(&self) -> impl Iterator<Item = u32> {
        let used = self.0.values().map(BTreeMap::len);
        used.map(|n| CARDS_PER_NODE.saturating_sub(crate::count(n)))
    }

    fn largest_block(&self, machines: u32) -> u32 {
        let used = crate::count(self.0.len());
        if used < machines {
            return CARDS_PER_NODE;
        }
        self.free().max().unwrap_or(0)
    }

    fn idle_on_used(&self) -> u32 {
        self.free().sum()
    }
}
