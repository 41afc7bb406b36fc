//! The predicates of an experiment file over an arm's metrics.

use std::collections::BTreeMap;

use super::binomial;
use crate::metrics::{Amount, Values};
use crate::run_folder::Claim;
use plan::expect::{Expect, MetricRef, Predicate, Requests, Within};
use plan::metric::{Metric, MetricKey};

/// Judges the claims that are declared for `arm`: whether all hold (`None`: not known), and each with its reason.
pub fn judge(
    expect: &Expect,
    arm: &str,
    medians: &BTreeMap<&str, Values>,
) -> (Option<bool>, Vec<Claim>) {
    let claims: Vec<Claim> = expect
        .claims
        .iter()
        .filter(|claim| claim.arms.is_empty() || claim.arms.iter().any(|a| a == arm))
        .map(|claim| {
            let (holds, reason) = predicate(expect, &claim.holds, arm, medians);
            Claim {
                claim: claim.claim.clone(),
                holds,
                reason,
            }
        })
        .collect();
    let holds = if claims.iter().any(|c| c.holds == Some(false)) {
        Some(false)
    } else if claims.is_empty() || claims.iter().any(|c| c.holds.is_none()) {
        None
    } else {
        Some(true)
    };
    (holds, claims)
}

/// The verdict in one sentence.
pub fn reason(holds: Option<bool>, claims: &[Claim]) -> String {
    let because = |wanted: Option<bool>| {
        let of = claims.iter().filter(|c| c.holds == wanted);
        of.map(|c| format!("{}: {}", c.claim, c.reason))
            .collect::<Vec<_>>()
            .join("; ")
    };
    match holds {
        Some(true) => format!("holds: {}", because(Some(true))),
        Some(false) => format!("does not hold: {}", because(Some(false))),
        None if claims.is_empty() => "no claim is declared for this arm".into(),
        None => format!("cannot be judged: {}", because(None)),
    }
}

fn predicate(
    expect: &Expect,
    predicate: &Predicate,
    arm: &str,
    medians: &BTreeMap<&str, Values>,
) -> (Option<bool>, String) {
    let find = |of: &MetricRef| {
        let arm = of.arm.as_deref().unwrap_or(arm);
        let name = of.key();
        let amount = medians
            .get(arm)
            .and_then(|metrics| metrics.get(&name))
            .copied();
        amount.ok_or_else(|| format!("there is no {name} of arm {arm}"))
    };
    let judged = match predicate {
        Predicate::Within(within) => find(&within.of).map(|amount| {
            let name = within.of.key().to_string();
            let (holds, reason) = between(&name, amount, within.at_least, within.at_most);
            match too_few(expect, within, amount, arm, medians) {
                Some(why) if holds == Some(false) => (None, format!("{reason}; {why}")),
                _ => (holds, reason),
            }
        }),
        Predicate::Ratio(ratio) => find(&ratio.of).and_then(|of| {
            let to = find(&ratio.to)?;
            quotient(of, to).map(|amount| between("ratio", amount, ratio.at_least, ratio.at_most))
        }),
        Predicate::AllBound(requests) => unbound(requests, arm, medians)
            .map(|(bound, all)| (Some(bound >= all), format!("{bound} of {all} bound"))),
        Predicate::SomeUnbound(requests) => unbound(requests, arm, medians)
            .map(|(bound, all)| (Some(bound < all), format!("{bound} of {all} bound"))),
    };
    judged.unwrap_or_else(|missing| (None, missing))
}

/// Why a claim that some requests land amiss is not refuted by fewer having been seen: the exact interval of their share still
/// holds the published one. `None` if it does not, or if the claim is about something else.
fn too_few(
    expect: &Expect,
    within: &Within,
    seen: Amount,
    arm: &str,
    medians: &BTreeMap<&str, Values>,
) -> Option<String> {
    use Metric::{NotPlacedRight, PlacedFree, PlacedNever, PlacedRight, PlacedWrong};
    let amiss = [NotPlacedRight, PlacedFree, PlacedWrong, PlacedNever];
    let (team, at_least) = (&within.of.tenant, within.at_least?);
    if !amiss.contains(&within.of.metric) || seen.at_least() >= at_least {
        return None;
    }
    let metrics = medians.get(within.of.arm.as_deref().unwrap_or(arm))?;
    // Counts of requests, each far below 2³².
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let count = |metric| {
        let amount = metrics.get(&MetricKey::team(team, metric));
        amount.map_or(0, |a| a.at_least() as u32)
    };
    let of = count(PlacedRight) + count(NotPlacedRight);
    let (_, high) = binomial::interval(count(within.of.metric), of);
    let published = expect
        .published
        .iter()
        .filter(|p| p.tenant == *team && p.arm.as_deref().is_none_or(|own| own == arm));
    let share = published.filter_map(|p| match p.metric {
        Metric::PlacedElsewhereShare => Some(p.value),
        Metric::PlacedRightShare => Some(1.0 - p.value),
        _ => None,
    });
    let allowed = format!("of {of} requests, which still allows {:.0} %", high * 100.0);
    match share.reduce(f64::max) {
        Some(share) if high < share => None,
        Some(share) => Some(format!(
            "too few runs to say: {allowed}, and {:.0} % were published",
            share * 100.0
        )),
        None => Some(format!("too few runs to say: {allowed}")),
    }
}

/// Whether an amount lies within bounds, inclusive; unknown where it is only known to exceed something too small.
fn between(
    name: &str,
    amount: Amount,
    at_least: Option<f64>,
    at_most: Option<f64>,
) -> (Option<bool>, String) {
    let low = at_least.unwrap_or(f64::NEG_INFINITY);
    let high = at_most.unwrap_or(f64::INFINITY);
    let (holds, shown) = match amount {
        Amount::Is(value) => (Some((low..=high).contains(&value)), format!("{value:.3}")),
        Amount::Over(value) if value >= high => (Some(false), format!("> {value:.3}")),
        Amount::Over(value) if value >= low && high.is_infinite() => {
            (Some(true), format!("> {value:.3}"))
        }
        Amount::Over(value) => (None, format!("> {value:.3}")),
    };
    let bounds = match (at_least, at_most) {
        (Some(low), Some(high)) if low.total_cmp(&high).is_eq() => format!("exactly {low}"),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "anything".into(),
    };
    (holds, format!("{name} is {shown}, expected {bounds}"))
}

fn quotient(of: Amount, to: Amount) -> Result<Amount, String> {
    match (of, to) {
        (_, Amount::Is(0.0)) => Err("the metric to compare with is 0".into()),
        (Amount::Is(of), Amount::Is(to)) => Ok(Amount::Is(of / to)),
        (Amount::Over(of), Amount::Is(to)) => Ok(Amount::Over(of / to)),
        (_, Amount::Over(to)) => Err(format!(
            "the metric to compare with is only known to exceed {to}"
        )),
    }
}

/// Bound and submitted requests of a team or of one of its classes.
fn unbound(
    of: &Requests,
    arm: &str,
    medians: &BTreeMap<&str, Values>,
) -> Result<(f64, f64), String> {
    let metrics = medians
        .get(arm)
        .ok_or_else(|| format!("arm {arm} did not run"))?;
    let find = |metric| {
        let key = MetricKey::of(&of.tenant, of.class.as_deref(), metric);
        let amount = metrics.get(&key).map(|a| a.at_least());
        amount.ok_or_else(|| format!("there is no {key} of arm {arm}"))
    };
    Ok((find(Metric::BoundCount)?, find(Metric::SubmittedCount)?))
}
