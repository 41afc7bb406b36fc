//! Counts of a play, for scenarios in which no two plays are exactly equal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::observed::Observed;

/// What is compared in a scenario that is judged by counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Pods that were bound.
    pub bound: f64,
    /// Questions to the filter for each pod of the scenario.
    pub attempts_per_pod: f64,
    /// API calls for each question to the filter.
    pub calls_per_attempt: f64,
    /// Machines with a pod.
    pub nodes_used: f64,
    /// Pods on the machine with the most.
    pub fullest_node: f64,
    /// Node locks that were left over.
    pub locks: f64,
}

/// How far two means of a count may differ: a part of the first mean, or a fixed amount, whichever is more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Margin {
    /// Part of the first side's mean.
    pub part: f64,
    /// The fixed amount, in the count's unit.
    pub at_least: f64,
}

impl Margin {
    /// The margin about a mean.
    #[must_use]
    pub fn about(self, mean: f64) -> f64 {
        (mean.abs() * self.part).max(self.at_least)
    }
}

/// A count's name, its margin, and how to read it.
pub type Metric = (&'static str, Margin, fn(&Counted) -> f64);

/// The counts with their margins. The margins are chosen: wide enough for how much a real HAMi differs from itself on a busy
/// host, and narrower than the effect of a slower policy or a missing call.
pub const COUNTS: [Metric; 6] = [
    ("pods bound", margin(0.0, 0.0), |c| c.bound),
    ("attempts per pod", margin(0.5, 0.5), |c| c.attempts_per_pod),
    ("calls per attempt", margin(0.25, 0.5), |c| {
        c.calls_per_attempt
    }),
    ("machines used", margin(0.0, 1.0), |c| c.nodes_used),
    ("pods on the fullest machine", margin(0.25, 1.0), |c| {
        c.fullest_node
    }),
    ("locks left", margin(0.0, 0.0), |c| c.locks),
];

const fn margin(part: f64, at_least: f64) -> Margin {
    Margin { part, at_least }
}

impl Counted {
    /// The counts of a play.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn of(observed: &Observed) -> Self {
        let mut by_node: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in observed.pods.values() {
            if let Some(node) = pod.outcome.strip_prefix("bound to ") {
                *by_node.entry(node).or_default() += 1;
            }
        }
        let calls: u64 = observed.calls.values().sum();
        Self {
            bound: by_node.values().sum::<usize>() as f64,
            attempts_per_pod: observed.attempts as f64 / observed.pods.len().max(1) as f64,
            calls_per_attempt: calls as f64 / observed.attempts.max(1) as f64,
            nodes_used: by_node.len() as f64,
            fullest_node: by_node.values().max().copied().unwrap_or(0) as f64,
            locks: observed.locks.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observed::PodSeen;
    use super::*;

    #[test]
    fn pods_are_counted_by_machine_and_calls_by_attempt() {
        let pod = |outcome: &str| PodSeen {
            outcome: outcome.into(),
            ..PodSeen::default()
        };
        let observed = Observed {
            pods: [
                ("a", "bound to n1"),
                ("b", "bound to n1"),
                ("c", "not bound"),
                ("d", "bound to n2"),
            ]
            .map(|(name, outcome)| (name.to_owned(), pod(outcome)))
            .into(),
            attempts: 6,
            calls: [("get nodes".to_owned(), 20), ("patch pods".to_owned(), 10)].into(),
            ..Observed::default()
        };
        let counted = Counted::of(&observed);
        let expected = [3.0, 1.5, 5.0, 2.0, 2.0, 0.0];
        for ((name, _, take), expected) in COUNTS.iter().zip(expected) {
            assert!((take(&counted) - expected).abs() < 1e-9, "{name}");
        }
    }
}
