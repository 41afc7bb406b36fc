//! What a picture of machines finds, in words.

use super::super::material::{Material, RunMaterial};
use crate::text::{count, unless_none};
use results::run_folder::{Placement, PlacementCounts};

/// How often work was evicted. A task that was evicted twice counts twice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evictions {
    /// In all.
    pub all: usize,
    /// Of these, of a task that had a machine.
    pub on_machines: usize,
    /// Machines with any of those.
    pub machines: usize,
}

/// What can be said of where whole machines were placed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict {
    /// With a node clearer: how its requests fared.
    Cleared(PlacementCounts),
    /// Without one: how many were placed where nothing had been evicted.
    Untouched(usize),
}

/// The run of an arm that tells most: with most requests that were not placed on the machine cleared for them, else the one that is shown anyway.
pub(super) fn telling<'a>(material: &'a Material, shown: &'a RunMaterial) -> &'a RunMaterial {
    material.most(shown, |run| {
        let counts = counts(run);
        counts.elsewhere().saturating_add(counts.never)
    })
}

pub(super) fn counts(run: &RunMaterial) -> PlacementCounts {
    PlacementCounts::of(&run.summary.placements.iter().collect::<Vec<&Placement>>())
}

impl Evictions {
    /// `65 evictions, 64 of them on 26 machines and 1 before there was a machine`.
    fn in_words(self) -> String {
        let all = count(self.all as u64, "eviction");
        let machines = count(self.machines as u64, "machine");
        match self.all.saturating_sub(self.on_machines) {
            0 => format!("{all} on {machines}"),
            early => format!(
                "{all}, {} of them on {machines} and {early} before there was a machine",
                self.on_machines
            ),
        }
    }
}

pub(super) fn finding(evictions: Evictions, placed: (usize, usize), verdict: Verdict) -> String {
    let evicted = evictions.in_words();
    let also = |n: u32, what: &str| unless_none(n, |n| format!(", {n} {what}"));
    match verdict {
        Verdict::Cleared(c) => format!(
            "{evicted}; {} of {} {} placed on the machine cleared for {}{}{}{}",
            c.right,
            count(u64::from(c.judged()), "request"),
            if c.judged() == 1 { "was" } else { "were" },
            if c.judged() == 1 { "it" } else { "them" },
            also(c.elsewhere(), "elsewhere"),
            also(c.never, "nowhere"),
            also(c.unaided, "more on a machine that was free"),
        ),
        Verdict::Untouched(n) => {
            let untouched = u32::try_from(n).unwrap_or(u32::MAX);
            format!(
                "{evicted}; {} of {} placed{}",
                placed.0,
                count(placed.1 as u64, "whole machine"),
                also(untouched, "where nothing had been evicted")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_says_where_requests_were_placed() {
        let right = PlacementCounts {
            right: 3,
            wrong: 2,
            ..PlacementCounts::default()
        };
        let evictions = |all, machines| Evictions {
            all,
            on_machines: 40,
            machines,
        };
        assert_eq!(
            finding(evictions(41, 5), (5, 5), Verdict::Cleared(right)),
            "41 evictions, 40 of them on 5 machines and 1 before there was a machine; 3 of 5 requests were placed on the machine cleared for them, 2 elsewhere"
        );
        assert_eq!(
            finding(evictions(40, 34), (0, 5), Verdict::Untouched(0)),
            "40 evictions on 34 machines; 0 of 5 whole machines placed"
        );
    }
}
