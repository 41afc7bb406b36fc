//! Works out the teams' quotas, and refuses what Kueue itself would refuse.

use indexmap::IndexMap;

use super::check::{self, Check};
use super::error::PlanError;
use super::file::{QuotaDoc, TenantDoc};
use super::sizing::Sizing;
use super::value::{NamedCards, QuotaCards};
use super::{Preempt, QuotaPlan, QuotaUnit, Request};

/// The teams' quotas, in the order of the teams.
pub(super) fn quotas(
    tenants: &IndexMap<String, TenantDoc>,
    check: Check<'_>,
    sizing: &Sizing,
) -> Result<Vec<Option<QuotaPlan>>, PlanError> {
    let mut nominal: Vec<Option<u32>> = tenants
        .values()
        .map(|team| match team.quota.as_ref()?.cards {
            QuotaCards::Cards(cards) => Some(sizing.scaled(team, cards)),
            QuotaCards::Named(NamedCards::Rest) => None,
        })
        .collect();
    for (name, own) in tenants.keys().zip(&nominal) {
        let field = format!("tenants.{name}.quota.cards");
        check.whole(&field, own.unwrap_or(0), check::QUOTA_CARDS)?;
    }
    for (index, (name, team)) in tenants.iter().enumerate() {
        if team.quota.is_none() {
            continue;
        }
        let field = format!("tenants.{name}.quota.cards");
        let cards = sizing.cards(team.group.as_deref());
        let group = team.group.as_deref().unwrap_or("all");
        if has_rest(team) {
            let others = same_group(tenants, team).filter(|i| *i != index);
            let rests = others.clone().any(|i| has_rest(&tenants[i]));
            check.require(!rests, &field, || {
                format!("only one team of group {group:?} can have the rest")
            })?;
            let taken: u32 = others.filter_map(|i| nominal[i]).sum();
            check.require(taken <= cards, &field, || {
                format!("there is no rest: the other teams' quotas take {taken} of {cards} cards")
            })?;
            nominal[index] = Some(cards - taken);
        }
        let own = nominal[index].unwrap_or(0);
        check.require(own <= cards, &field, || {
            format!("{own} is more than the {cards} cards of group {group:?}")
        })?;
    }
    tenants
        .iter()
        .zip(nominal)
        .map(|((name, team), nominal)| {
            let Some(quota) = &team.quota else {
                return Ok(None);
            };
            check_quota(check, name, quota)?;
            let scaled = |cards| sizing.scaled(team, cards);
            Ok(Some(QuotaPlan {
                nominal_cards: nominal.unwrap_or(0),
                cohort: quota.cohort.clone(),
                borrowing_limit_cards: quota.borrowing_limit_cards.map(scaled),
                lending_limit_cards: quota.lending_limit_cards.map(scaled),
                reclaim_within_cohort: quota.reclaim_within_cohort,
                within_cluster_queue: quota.within_cluster_queue,
            }))
        })
        .collect()
}

/// Refuses what Kueue itself would refuse.
fn check_quota(check: Check<'_>, name: &str, quota: &QuotaDoc) -> Result<(), PlanError> {
    let path = format!("tenants.{name}.quota");
    if let Some(cohort) = &quota.cohort {
        check.name(&format!("{path}.cohort"), cohort)?;
    }
    let limits = [
        (
            "borrowing_limit_cards",
            quota.borrowing_limit_cards.is_some(),
        ),
        ("lending_limit_cards", quota.lending_limit_cards.is_some()),
        (
            "reclaim_within_cohort",
            quota.reclaim_within_cohort != Preempt::Never,
        ),
    ];
    for (field, given) in limits {
        let fits = !given || quota.cohort.is_some();
        check.require(fits, &format!("{path}.{field}"), || {
            "needs a cohort to borrow from or lend to".to_owned()
        })?;
    }
    let known = quota.within_cluster_queue != Preempt::Any;
    check.require(known, &format!("{path}.within_cluster_queue"), || {
        "\"Any\" is not known; accepted: Never, LowerPriority".to_owned()
    })
}

/// Cards and MiB of quota that one request takes.
pub(super) fn charged(unit: QuotaUnit, request: Request) -> (u32, u32) {
    let mib = request.gpumem_mib.unwrap_or(0);
    match unit {
        QuotaUnit::Cards => (request.cards, 0),
        QuotaUnit::Memory => (0, mib * request.cards),
        QuotaUnit::MemoryRaw => (0, mib),
        QuotaUnit::Both => (request.cards, mib * request.cards),
    }
}

fn same_group<'a>(
    tenants: &'a IndexMap<String, TenantDoc>,
    team: &'a TenantDoc,
) -> impl Iterator<Item = usize> + Clone + 'a {
    tenants
        .values()
        .enumerate()
        .filter(|(_, other)| other.group == team.group)
        .map(|(index, _)| index)
}

fn has_rest(team: &TenantDoc) -> bool {
    let quota = team.quota.as_ref();
    quota.is_some_and(|q| q.cards == QuotaCards::Named(NamedCards::Rest))
}
