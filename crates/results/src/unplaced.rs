//! Lists the cards that were idle while a whole-machine request was not bound, from the records.

use std::collections::{BTreeMap, BTreeSet};

use crate::run_folder::{Attempt, FreeCards, Record, Unplaced};
use plan::{CARDS_PER_NODE, Plan, TenantPlan};

/// The whole-machine requests that had a pod but were never bound.
#[must_use]
pub fn unplaced(plan: &Plan, records: &[Record], end_secs: f64) -> Vec<Unplaced> {
    let whole = records.iter().filter(|r| r.request.cards == CARDS_PER_NODE);
    whole
        .filter(|r| r.first_bind_secs().is_none())
        .filter_map(|record| {
            let tenant = plan.tenants.iter().find(|t| t.name == record.tenant)?;
            let tried = record.attempts.iter().find_map(|a| a.pod_created_secs)?;
            Some(Unplaced {
                tenant: record.tenant.clone(),
                name: record.name.clone(),
                first_try: free_cards(plan, tenant, records, tried),
                at_end: free_cards(plan, tenant, records, end_secs),
            })
        })
        .collect()
}

/// Idle cards at `at_secs` on the machines that `tenant` may use.
#[must_use]
pub fn free_cards(plan: &Plan, tenant: &TenantPlan, records: &[Record], at_secs: f64) -> FreeCards {
    let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for attempt in records.iter().flat_map(|r| &r.attempts) {
        if let Some(node) = attempt.node.as_deref().filter(|_| holds(attempt, at_secs)) {
            let cards = attempt.cards.iter().map(String::as_str);
            used.entry(node).or_default().extend(cards);
        }
    }
    let mut machines: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut idle_cards, mut unusable) = (0, 0);
    for (node, group) in plan.cluster.node_names() {
        if tenant.group.as_ref().is_some_and(|own| *own != group) {
            continue;
        }
        let touched = used.get(node.as_str()).map_or(0, BTreeSet::len);
        let free = CARDS_PER_NODE.saturating_sub(crate::count(touched));
        *machines.entry(free).or_default() += 1;
        idle_cards += free;
        unusable += if free < CARDS_PER_NODE { free } else { 0 };
    }
    FreeCards {
        at_secs,
        machines,
        idle_cards,
        unusable_share: (idle_cards > 0).then(|| f64::from(unusable) / f64::from(idle_cards)),
    }
}

/// Whether the attempt's pod held its cards at that time, that is between its bind and its end.
fn holds(attempt: &Attempt, at_secs: f64) -> bool {
    attempt.bind_secs().is_some_and(|from| from <= at_secs)
        && attempt.ended_secs.is_none_or(|to| to > at_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::{AttemptEnd, Outcome};
    use plan::{self, Overrides};
    use plan::{Request, Via};

    fn record(tenant: &str, cards: u32, node: Option<(&str, &[u32])>) -> Record {
        let attempt = Attempt {
            pod_created_secs: Some(1.0),
            bound_secs: node.map(|_| 2.0),
            node: node.map(|(name, _)| name.to_owned()),
            cards: node.map_or_else(Vec::new, |(name, on)| {
                on.iter().map(|i| format!("GPU-{name}-{i}")).collect()
            }),
            end: AttemptEnd::Unfinished,
            ..Attempt::default()
        };
        Record {
            tenant: tenant.into(),
            name: "x".into(),
            stage: "burst".into(),
            round: 0,
            class: String::new(),
            request: Request {
                cards,
                gpumem_mib: None,
                gpucores: None,
            },
            via: Via::Pod,
            run_secs: None,
            data_plane: None,
            intended_secs: 0.0,
            submitted_secs: Some(0.0),
            created_secs: Some(0.0),
            error: None,
            attempts: vec![attempt],
            finished_secs: None,
            outcome: Outcome::Unfinished,
        }
    }

    #[test]
    fn a_card_with_two_slices_is_one_card_that_is_not_idle() {
        let experiment = plan::load("placement").unwrap();
        let overrides = Overrides {
            nodes: Some(10),
            arms: vec!["spread".into()],
            ..Overrides::default()
        };
        let plan = plan::plans(&experiment, &overrides).unwrap().remove(0);
        let records = [
            record("filler", 1, Some(("gpu-00", &[0]))),
            record("filler", 1, Some(("gpu-00", &[0]))),
            record("filler", 1, Some(("gpu-01", &[3]))),
            record("large", 8, None),
        ];
        let found = unplaced(&plan, &records, 90.0);
        assert_eq!(found.len(), 1);
        let end = &found[0].at_end;
        assert_eq!(end.machines, BTreeMap::from([(7, 2), (8, 8)]));
        assert_eq!(end.idle_cards, 78);
        assert_eq!(end.unusable_share, Some(14.0 / 78.0));
        // At the first try, a second before those were bound, everything was idle.
        assert_eq!(found[0].first_try.unusable_share, Some(0.0));
    }
}
