//! What happened on each machine: pods by team, tasks evicted, clearings, and where whole machines were placed.

use std::collections::BTreeMap;

use super::super::material::RunMaterial;
use plan::CARDS_PER_NODE;
use results::run_folder::decision::{CHOSEN, HANDED_OVER};
use results::run_folder::{Decision, Placed};

/// A machine over time.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Its name.
    pub node: String,
    /// Cards in use by team, in the order of the plan: changes over time.
    pub changes: BTreeMap<usize, Vec<(f64, f64)>>,
    /// When tasks on it were evicted.
    pub evictions: Vec<f64>,
    /// Its clearings.
    pub clearings: Vec<Clearing>,
    /// Whole-machine requests that were bound to it.
    pub placements: Vec<Arrival>,
}

/// A machine being cleared for a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Clearing {
    /// When it was chosen.
    pub from: f64,
    /// When it was handed over, or else given up.
    pub to: f64,
    /// Whether it was handed over.
    pub handed_over: bool,
}

/// A whole-machine request that was bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Arrival {
    /// When.
    pub at: f64,
    /// Whether it is where it should not be: not on the first machine that was handed over to it.
    pub wrong: bool,
}

impl Lane {
    /// Placements before which nothing had been evicted on this machine.
    pub fn untouched(&self) -> usize {
        let first = self.evictions.iter().copied().fold(f64::MAX, f64::min);
        self.placements.iter().filter(|l| l.at < first).count()
    }

    /// Marks these as wrong: without a clearer nothing else tells for whom a machine was emptied.
    pub fn doubt(&mut self) {
        let first = self.evictions.iter().copied().fold(f64::MAX, f64::min);
        for placement in &mut self.placements {
            placement.wrong = placement.at < first;
        }
    }
}

/// Evictions of a run: each attempt that ended for others, also one that had no machine yet.
pub(super) fn all_evictions(run: &RunMaterial) -> usize {
    let attempts = run.run.records.iter().flat_map(|r| &r.attempts);
    attempts.filter(|a| a.end.is_eviction()).count()
}

/// The machines of a run by name, and the number of whole machines that were asked for.
pub(super) fn lanes(run: &RunMaterial) -> (Vec<Lane>, usize) {
    let end = run.summary.observed_secs;
    let teams = &run.summary.tenants;
    let mut lanes: BTreeMap<&str, Lane> = BTreeMap::new();
    let mut asked = 0;
    for record in &run.run.records {
        let team = teams.iter().position(|t| t.name == record.tenant);
        let team = team.unwrap_or(0);
        let cards = f64::from(record.request.cards);
        let whole_machine = record.request.cards == CARDS_PER_NODE;
        asked += usize::from(whole_machine);
        let placement = run
            .summary
            .placements
            .iter()
            .find(|l| l.tenant == record.tenant && l.name == record.name);
        for attempt in &record.attempts {
            let (Some(node), Some(from)) = (attempt.node.as_deref(), attempt.bind_secs()) else {
                continue;
            };
            let lane = lanes.entry(node).or_default();
            let changes = lane.changes.entry(team).or_default();
            changes.push((from, cards));
            changes.push((attempt.ended_secs.unwrap_or(f64::MAX), -cards));
            let evicted = attempt.end.is_eviction();
            lane.evictions
                .extend(attempt.ended_secs.filter(|_| evicted));
            if whole_machine && from <= end {
                let wrong = placement.is_some_and(|l| l.placed == Placed::Wrong);
                lane.placements.push(Arrival { at: from, wrong });
            }
        }
    }
    if let Some(zero) = run.clock_started() {
        for (node, clearing) in clearings(&run.run.decisions, zero, end) {
            lanes.entry(node).or_default().clearings.push(clearing);
        }
    }
    let named = lanes.into_iter().map(|(node, lane)| Lane {
        node: node.to_owned(),
        ..lane
    });
    (named.collect(), asked)
}

/// Clearings with their machines. One that is not handed over lasts until the last that was heard of it.
fn clearings(decisions: &[Decision], zero: jiff::Timestamp, end: f64) -> Vec<(&str, Clearing)> {
    let mut all: Vec<(&str, &str, Clearing)> = Vec::new();
    for decision in decisions {
        let Some(of) = &decision.clearing else {
            continue;
        };
        let secs = decision.secs(zero).min(end);
        let known = all.iter_mut().find(|(id, ..)| *id == of.id);
        match (known, decision.event.as_str()) {
            (None, CHOSEN) => {
                let clearing = Clearing {
                    from: secs,
                    to: secs,
                    handed_over: false,
                };
                all.push((&of.id, &of.node, clearing));
            }
            (Some((.., clearing)), event) if !clearing.handed_over => {
                clearing.to = secs;
                clearing.handed_over = event == HANDED_OVER;
            }
            _ => {}
        }
    }
    all.into_iter().map(|(_, node, c)| (node, c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::run_folder::decision::ClearingRef;

    #[test]
    fn a_placement_before_any_eviction_had_no_room_made_for_it() {
        let arrival = |at| Arrival { at, wrong: false };
        let lane = Lane {
            evictions: vec![20.0, 25.0],
            placements: vec![arrival(10.0), arrival(30.0)],
            ..Lane::default()
        };
        assert_eq!(lane.untouched(), 1);
        let lane = Lane {
            placements: vec![arrival(10.0)],
            ..Lane::default()
        };
        assert_eq!(lane.untouched(), 1);
    }

    #[test]
    fn a_clearing_lasts_until_it_is_handed_over_or_given_up() {
        let zero: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let decision = |secs: i64, event: &str, id: &str| Decision {
            time: zero + jiff::SignedDuration::from_secs(secs),
            event: event.into(),
            clearing: Some(ClearingRef {
                id: id.into(),
                node: format!("gpu-{id}"),
                namespace: "research".into(),
                request: "r".into(),
                request_uid: "u".into(),
            }),
            victim_uid: None,
            victim_namespace: None,
            workload: None,
            request: None,
            request_uid: None,
            why: None,
        };
        let all = [
            decision(5, CHOSEN, "1"),
            decision(6, CHOSEN, "2"),
            decision(9, HANDED_OVER, "1"),
            decision(10, "landed", "1"),
            decision(51, "failed", "2"),
        ];
        let clearing = |from, to, handed_over| Clearing {
            from,
            to,
            handed_over,
        };
        assert_eq!(
            clearings(&all, zero, 60.0),
            [
                ("gpu-1", clearing(5.0, 9.0, true)),
                ("gpu-2", clearing(6.0, 51.0, false))
            ]
        );
    }
}
