//! Where whole-machine requests were placed: the clearer's decisions and the pods' records brought together by request and
//! machine, and what that amounts to over an arm's runs.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::binomial::Counted;
use crate::run_folder::decision::{
    CHOSEN, ClearingRef, FAILED, HANDED_OVER, NO_CANDIDATE, PLACED, RELEASED,
};
use crate::run_folder::{Decision, Placed, Placement, PlacementCounts, Placements, Record, Share};
use plan::{CARDS_PER_NODE, ClearerPlan};

/// A pod's end is seen by the watch up to this long after the scheduler knew of it, on a busy machine.
const SEEN_LATE_SECS: f64 = 1.0;

/// The whole-machine requests of the teams that the clearer does not stop, in order of submission. `zero` is the
/// wall-clock time at which the run's clock started.
#[must_use]
pub fn placements(
    clearer: &ClearerPlan,
    records: &[Record],
    decisions: &[Decision],
    zero: Timestamp,
) -> Vec<Placement> {
    let whole = |r: &&Record| r.request.cards == CARDS_PER_NODE && r.request.gpumem_mib.is_none();
    let asks = |r: &&Record| !clearer.evicts.contains(&r.tenant);
    records
        .iter()
        .filter(|r| whole(r) && asks(r))
        .map(|record| placement(record, records, decisions, zero))
        .collect()
}

fn placement(
    record: &Record,
    all: &[Record],
    decisions: &[Decision],
    zero: Timestamp,
) -> Placement {
    let own = decisions.iter().filter_map(|d| {
        let clearing = d.clearing.as_ref()?;
        is_for(clearing, record).then_some((d, clearing))
    });
    let (mut clearings, mut chosen, mut handed_over) = (0_u32, None, None);
    let mut last_chosen = None;
    for (decision, clearing) in own {
        let secs = decision.secs(zero);
        match decision.event.as_str() {
            CHOSEN => {
                clearings = clearings.saturating_add(1);
                chosen = chosen.or(Some(secs));
                last_chosen = Some(&clearing.node);
            }
            HANDED_OVER if handed_over.is_none() => handed_over = Some((secs, &clearing.node)),
            _ => {}
        }
    }
    let cleared = handed_over.map(|(_, node)| node).or(last_chosen);
    let bound = record.attempts.iter().rev().find_map(|a| {
        let at = a.bind_secs()?;
        Some((at, a.node.as_ref()?))
    });
    let placed = match (bound, cleared) {
        (None, _) => Placed::Never,
        (Some(_), None) => Placed::Unaided,
        (Some((_, node)), Some(cleared)) if node == cleared => Placed::Right,
        (Some((at, node)), Some(_)) => {
            let cleared = is_being_cleared(node, at, decisions, zero);
            if cleared || is_held(node, at, record, all) {
                Placed::Wrong
            } else {
                Placed::Free
            }
        }
    };
    Placement {
        tenant: record.tenant.clone(),
        name: record.name.clone(),
        cleared_node: cleared.cloned(),
        clearings,
        no_candidate: if clearings == 0 {
            why_none(record, decisions)
        } else {
            None
        },
        chosen_secs: chosen,
        handed_over_secs: handed_over.map(|(secs, _)| secs),
        node: bound.map(|(_, node)| node.clone()),
        bound_secs: bound.map(|(at, _)| at),
        placed,
    }
}

/// Why no machine could be cleared for a request, as the clearer said; an older one said no reason.
fn why_none(record: &Record, decisions: &[Decision]) -> Option<String> {
    let mut said = decisions.iter().filter(|d| d.event == NO_CANDIDATE);
    let found = said.find(|d| {
        let uid = d.request_uid.as_deref();
        let mut pods = record.attempts.iter().filter_map(|a| a.pod_uid.as_deref());
        let workload = d.request.as_deref().unwrap_or_default();
        pods.any(|pod| Some(pod) == uid) || is_workload_of(workload, &record.name)
    })?;
    let why = found.why.clone().filter(|why| !why.is_empty());
    Some(why.unwrap_or_else(|| "no reason was recorded".into()))
}

/// Whether a machine was being cleared, for whomever, when a request was bound to it.
fn is_being_cleared(node: &str, at_secs: f64, decisions: &[Decision], zero: Timestamp) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for decision in decisions.iter().filter(|d| d.secs(zero) <= at_secs) {
        let Some(clearing) = decision.clearing.as_ref().filter(|c| c.node == node) else {
            continue;
        };
        match decision.event.as_str() {
            PLACED | FAILED | RELEASED => open.retain(|id| *id != clearing.id),
            _ if !open.contains(&clearing.id.as_str()) => open.push(&clearing.id),
            _ => {}
        }
    }
    !open.is_empty()
}

/// Whether another pod was on a machine when a request was bound to it, and stayed.
fn is_held(node: &str, at_secs: f64, request: &Record, all: &[Record]) -> bool {
    let others = all
        .iter()
        .filter(|r| (&r.tenant, &r.name) != (&request.tenant, &request.name));
    let mut attempts = others.flat_map(|r| &r.attempts);
    attempts.any(|a| {
        let since = a.bind_secs().filter(|_| a.node.as_deref() == Some(node));
        let until = a.ended_secs.unwrap_or(f64::INFINITY);
        since.is_some_and(|from| from <= at_secs) && until > at_secs + SEEN_LATE_SECS
    })
}

/// Whether this is the name of a Job's Workload, which Kueue calls `job-<Job>-<five characters>`.
pub(super) fn is_workload_of(workload: &str, job: &str) -> bool {
    let rest = workload.strip_prefix("job-");
    let rest = rest.and_then(|name| name.strip_prefix(job)?.strip_prefix('-'));
    rest.is_some_and(|hash| hash.len() == 5 && !hash.contains('-'))
}

/// Whether a machine was cleared for one of the record's pods, or for its Workload.
fn is_for(clearing: &ClearingRef, record: &Record) -> bool {
    let of_pod = || {
        let mut uids = record.attempts.iter().filter_map(|a| a.pod_uid.as_ref());
        uids.any(|uid| *uid == clearing.request_uid)
    };
    let of_workload = || is_workload_of(&clearing.request, &record.name);
    clearing.namespace == record.tenant && (of_pod() || of_workload())
}

/// An arm's placements; `None` if it had no request to clear for.
pub(super) fn of_arm(runs: &[&[Placement]]) -> Option<Placements> {
    let count = |run: &&[Placement]| PlacementCounts::of(&run.iter().collect::<Vec<_>>());
    let by_run: Vec<PlacementCounts> = runs.iter().map(count).collect();
    let share = |of: fn(&PlacementCounts) -> u32| {
        let counted = Counted::new(by_run.iter().map(|c| (of(c), c.judged())).collect());
        let (low, high) = counted.interval();
        Share {
            count: counted.count(),
            of: counted.of(),
            low,
            high,
        }
    };
    by_run.iter().any(|c| c.judged() > 0).then(|| Placements {
        right: share(|c| c.right),
        elsewhere: share(|c| c.elsewhere()),
        free: share(|c| c.free),
        wrong: share(|c| c.wrong),
        never: share(|c| c.never),
        no_candidate: {
            let all = runs.iter().flat_map(|run| run.iter());
            let without = all.filter(|p| p.has_no_candidate());
            let whys: BTreeSet<&String> = without.filter_map(|p| p.no_candidate.as_ref()).collect();
            whys.into_iter().cloned().collect()
        },
        by_run: by_run.clone(),
    })
}

#[cfg(test)]
#[path = "placements_tests.rs"]
mod tests;
