//! Card-seconds, and who borrows from whom.
//!
//! In: the plan and the records. Out: each team's card-seconds by account, integrated exactly over the intervals of
//! the records (never summed up from the 1 s series), and the cards each attempt borrowed.
//!
//! The unit is one card asked for: a whole machine counts 8, a tenth of a card counts 1.
//!
//! Borrowing and lending at an instant, as Kueue's quota arithmetic has it for one cohort:
//! - a team borrows what it holds above its nominal quota;
//! - all that is borrowed in a cohort is lent by its teams in proportion to the nominal quota each leaves unused, as far
//!   as its lending limit goes. Kueue itself does not say whose quota was lent; this rule is ours.

use std::collections::BTreeMap;

use crate::run_folder::{Attempt, AttemptEnd, CardSeconds, Record};
use plan::{Plan, QuotaPlan, TenantPlan};

/// What a team borrows and lends at an instant, in cards.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sharing {
    /// Held above its nominal quota.
    pub borrowed: f64,
    /// Its nominal quota held by others.
    pub lent: f64,
}

/// What each team borrows and lends while holding `admitted` cards; both slices are in the plan's order.
#[must_use]
pub fn sharing(tenants: &[TenantPlan], admitted: &[u32]) -> Vec<Sharing> {
    let mut shares = vec![Sharing::default(); tenants.len()];
    let mut cohorts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, tenant) in tenants.iter().enumerate() {
        if let Some(cohort) = tenant.quota.as_ref().and_then(|q| q.cohort.as_deref()) {
            cohorts.entry(cohort).or_default().push(i);
        }
    }
    for members in cohorts.values() {
        let held = |i: usize| admitted.get(i).copied().unwrap_or(0);
        let mut borrowed = 0.0;
        let mut lendable = 0.0;
        for &i in members {
            shares[i].borrowed = over_nominal(&tenants[i], held(i));
            borrowed += shares[i].borrowed;
            lendable += unused(&tenants[i], held(i));
        }
        if borrowed > 0.0 && lendable > 0.0 {
            let part = (borrowed / lendable).min(1.0);
            for &i in members {
                shares[i].lent = part * unused(&tenants[i], held(i));
            }
        }
    }
    shares
}

fn over_nominal(tenant: &TenantPlan, held: u32) -> f64 {
    let nominal = tenant.quota.as_ref().map_or(held, |q| q.nominal_cards);
    f64::from(held.saturating_sub(nominal))
}

fn unused(tenant: &TenantPlan, held: u32) -> f64 {
    let left = |q: &QuotaPlan| {
        let left = q.nominal_cards.saturating_sub(held);
        left.min(q.lending_limit_cards.unwrap_or(u32::MAX))
    };
    f64::from(tenant.quota.as_ref().map_or(0, left))
}

/// Each team's card-seconds from the clock's zero to `end_secs`, in the plan's order. `reserved` is left to the caller,
/// who knows the makespan.
#[must_use]
pub fn card_seconds(plan: &Plan, records: &[Record], end_secs: f64) -> Vec<CardSeconds> {
    let mut accounts = vec![CardSeconds::default(); plan.tenants.len()];
    for (tenant, account) in plan.tenants.iter().zip(&mut accounts) {
        account.ideal = ideal(tenant);
        for record in records.iter().filter(|r| r.tenant == tenant.name) {
            let cards = f64::from(record.request.cards);
            for a in &record.attempts {
                let held = |from, to| cards * overlap(from, to, end_secs);
                account.admitted += held(a.admitted_secs, a.released_secs);
                account.bound += held(a.bind_secs(), a.ended_secs);
                account.running += held(a.running_secs, a.ended_secs);
                if record.data_plane.is_some() {
                    let useful = held(a.useful_secs, useful_until(record, a));
                    *account.useful.get_or_insert(0.0) += useful;
                }
            }
        }
    }
    let mut from = 0.0;
    sweep(plan, records, |step| {
        let to = step.at.clamp(0.0, end_secs);
        for (account, share) in accounts.iter_mut().zip(step.before) {
            account.borrowed += share.borrowed * (to - from).max(0.0);
            account.lent += share.lent * (to - from).max(0.0);
        }
        from = to.max(from);
    });
    accounts
}

/// Writes into each attempt how many of its cards were borrowed when it was admitted.
pub fn note_borrowing(plan: &Plan, records: &mut [Record]) {
    let mut notes = Vec::new();
    sweep(plan, records, |step| {
        if let Some((record, attempt)) = step.admits {
            let more = step.after[step.tenant].borrowed - step.before[step.tenant].borrowed;
            notes.push((record, attempt, more.max(0.0)));
        }
    });
    for (record, attempt, cards) in notes {
        // Whole cards by construction: nominal quotas and requests are.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let cards = cards.round() as u32;
        records[record].attempts[attempt].borrowed_cards = cards;
    }
}

/// A change of who holds what.
struct Step<'a> {
    at: f64,
    tenant: usize,
    /// Record and attempt, if it is an admission.
    admits: Option<(usize, usize)>,
    before: &'a [Sharing],
    after: &'a [Sharing],
}

/// Calls `visit` at each admission and release, in order of time, releases first, and once more at the end of time.
fn sweep(plan: &Plan, records: &[Record], mut visit: impl FnMut(&Step<'_>)) {
    // When, the attempt admitted (or none: a release), whose, how many cards.
    type Change = (f64, Option<(usize, usize)>, usize, u32);
    let mut steps: Vec<Change> = Vec::new();
    for (r, record) in records.iter().enumerate() {
        let Some(tenant) = plan.tenants.iter().position(|t| t.name == record.tenant) else {
            continue;
        };
        for (a, attempt) in record.attempts.iter().enumerate() {
            if let Some(admitted) = attempt.admitted_secs {
                let released = attempt.released_secs.unwrap_or(f64::INFINITY);
                steps.push((admitted, Some((r, a)), tenant, record.request.cards));
                steps.push((released.max(admitted), None, tenant, record.request.cards));
            }
        }
    }
    // An attempt released at the very stamp of its admission must still be admitted first: its own two steps are kept
    // in order by the stable sort, and `saturating_sub` below never sees them the other way round.
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut held = vec![0_u32; plan.tenants.len()];
    let mut before = sharing(&plan.tenants, &held);
    for (at, admits, tenant, cards) in steps {
        held[tenant] = match admits {
            Some(_) => held[tenant] + cards,
            None => held[tenant].saturating_sub(cards),
        };
        let after = sharing(&plan.tenants, &held);
        visit(&Step {
            at,
            tenant,
            admits,
            before: &before,
            after: &after,
        });
        before = after;
    }
}

/// Cards × run time of all that the team's timeline asks for; what runs until the end has no ideal.
fn ideal(tenant: &TenantPlan) -> f64 {
    tenant
        .groups()
        .map(|g| f64::from(g.count) * f64::from(g.request.cards) * g.run_secs.unwrap_or(0.0))
        // Not `sum`, which makes -0 of nothing.
        .fold(0.0, |sum, card_secs| sum + card_secs)
}

/// When an attempt's useful work ended: by itself, before its cards were released, or by the order to stop.
fn useful_until(record: &Record, attempt: &Attempt) -> Option<f64> {
    let release_secs = record.data_plane.map_or(0.0, |d| d.release_secs);
    match attempt.end {
        AttemptEnd::Succeeded => attempt.ended_secs.map(|at| at - release_secs),
        _ => attempt.evicted_secs(),
    }
}

/// Length of `from..to` within `0..end`; an open end is the observation's.
fn overlap(from: Option<f64>, to: Option<f64>, end: f64) -> f64 {
    from.map_or(0.0, |from| {
        (to.unwrap_or(end).min(end) - from.max(0.0)).max(0.0)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures::{done, plan, stage, team};
    use plan::RoundStart;

    #[test]
    fn what_one_borrows_the_others_lend_by_what_they_leave_unused() {
        let tenants = [
            team("a", 40, true),
            team("b", 40, true),
            team("c", 20, true),
            team("alone", 40, false),
        ];
        // a holds 30 above its own; b leaves 40 unused, c 20: they lend 20 and 10.
        let shares = sharing(&tenants, &[70, 0, 0, 8]);
        let of = |i: usize| (shares[i].borrowed, shares[i].lent);
        assert_eq!(
            [of(0), of(1), of(2), of(3)],
            [(30.0, 0.0), (0.0, 20.0), (0.0, 10.0), (0.0, 0.0)]
        );
    }

    #[test]
    fn a_lending_limit_bounds_a_team_s_part() {
        let mut tenants = [team("a", 0, true), team("b", 40, true), team("c", 40, true)];
        tenants[1].quota.as_mut().unwrap().lending_limit_cards = Some(10);
        let shares = sharing(&tenants, &[50, 0, 0]);
        assert!((shares[1].lent - 10.0).abs() < 1e-9);
        assert!((shares[2].lent - 40.0).abs() < 1e-9);
    }

    #[test]
    fn accounts_are_cut_to_the_observation() {
        let mut a = team("a", 8, false);
        a.stages = vec![stage(RoundStart::AtSecs(0.0), 1, 8, 6.0)];
        let plan = plan(vec![a]);
        // Admitted before the clock's zero; bound by the audit log's stamp; still running at the end.
        let mut record = done("a", "x", 8, -5.0, 0.0);
        let attempt = &mut record.attempts[0];
        attempt.bound_secs = Some(2.5);
        attempt.bound_audit_secs = Some(2.0);
        attempt.running_secs = Some(3.0);
        attempt.ended_secs = None;
        attempt.released_secs = None;
        let account = card_seconds(&plan, &[record], 10.0)[0];
        let expected = CardSeconds {
            reserved: None,
            admitted: 80.0,
            bound: 64.0,
            running: 56.0,
            useful: None,
            borrowed: 0.0,
            lent: 0.0,
            ideal: 48.0,
        };
        assert_eq!(account, expected);
    }

    #[test]
    fn an_attempt_s_borrowed_cards_are_those_beyond_the_nominal_quota_at_its_admission() {
        let plan = plan(vec![team("a", 10, true), team("b", 10, true)]);
        let mut records = [
            done("a", "first", 8, 1.0, 9.0),
            done("a", "second", 8, 2.0, 5.0),
            // Admitted at the very moment the second gives back.
            done("a", "third", 2, 5.0, 6.0),
        ];
        note_borrowing(&plan, &mut records);
        let borrowed = records.map(|r| r.attempts[0].borrowed_cards);
        assert_eq!(borrowed, [0, 6, 0]);
    }

    proptest! {
        /// At any time what is borrowed is lent, as long as the cohort's quota holds; so it is integrated.
        #[test]
        fn borrowed_and_lent_balance(
            jobs in proptest::collection::vec((0_usize..3, 1_u32..=4, -5.0..20.0, 0.0..10.0), 0..4)
        ) {
            // At most 4 jobs of 4 cards: never above the 30 cards of the cohort.
            let names = ["a", "b", "c"];
            let plan = plan(names.iter().map(|n| team(n, 10, true)).collect());
            let records: Vec<Record> = jobs
                .iter()
                .enumerate()
                .map(|(i, &(t, n, from, length))| done(names[t], &i.to_string(), n, from, from + length))
                .collect();
            let accounts = card_seconds(&plan, &records, 15.0);
            let sum = |of: fn(&CardSeconds) -> f64| accounts.iter().map(of).sum::<f64>();
            prop_assert!((sum(|a| a.borrowed) - sum(|a| a.lent)).abs() < 1e-6);
            prop_assert!(accounts.iter().all(|a| a.borrowed <= a.admitted + 1e-6));
        }
    }
}
