//! Values and claims of one experiment: as the experiment declares them, with what its session has for each.

use super::{ClaimRow, Input, MetricRow, Outcome};
use crate::text::in_one_line;
use plan::{Arm, Order, Plan};
use results::run_folder::run_summary::cut::COMPONENT_LOST;
use results::run_folder::{ArmSummary, Claim, Summary};

/// Every published metric, for each arm it was published for.
pub fn metrics(input: &Input<'_>) -> Vec<MetricRow> {
    let mut rows = Vec::new();
    for published in &input.experiment.expect.published {
        let key = published.key();
        let of_arm = |arm: &&Arm| published.arm.as_ref().is_none_or(|own| *own == arm.name);
        let arms = input.experiment.arms.iter().filter(of_arm);
        // One that was published for no arm by name is about those that run unasked.
        for arm in arms.filter(|arm| published.arm.is_some() || !arm.on_request) {
            let spread =
                summary_of(input, &arm.name).and_then(|of| of.metrics.get(&key.to_string()));
            let comparable = |order: &Order| order.expect.published.contains(published);
            let comparable = input.order.is_ok_and(comparable);
            let note = match spread {
                None => why_not(input, arm).unwrap_or_else(|| "not measured".to_owned()),
                Some(_) if comparable => String::new(),
                Some(_) => not_comparable(input),
            };
            let runs = summary_of(input, &arm.name).map_or(0, |of| of.runs);
            rows.push(MetricRow {
                arm: arm.name.clone(),
                metric: key.clone(),
                published: published.value,
                measured: spread.map(|s| s.median),
                range: spread.filter(|_| runs > 1).map(|s| [s.min, s.max]),
                note,
            });
        }
    }
    rows
}

/// Every claim, for each arm it is about.
pub fn claims(input: &Input<'_>) -> Vec<ClaimRow> {
    let mut rows = Vec::new();
    for claim in &input.experiment.expect.claims {
        let about =
            |arm: &&Arm| claim.is_about(&arm.name) && !(claim.arms.is_empty() && arm.on_request);
        for arm in input.experiment.arms.iter().filter(about) {
            let of = summary_of(input, &arm.name);
            let judged = of.and_then(|of| of.claims.iter().find(|c| c.claim == claim.claim));
            let reason = match judged {
                Some(claim) => claim.reason.clone(),
                None => why_not(input, arm).unwrap_or_else(|| not_comparable(input)),
            };
            rows.push(ClaimRow {
                arm: arm.name.clone(),
                claim: claim.claim.clone(),
                holds: judged.and_then(|claim| claim.holds),
                reason,
                disturbed: judged.is_some_and(|claim| claim.disturbed_runs > 0),
                can_fail: judged.map(Claim::can_fail),
            });
        }
    }
    rows
}

fn summary<'a>(input: &Input<'a>) -> Option<&'a Summary> {
    match input.outcome {
        Some(Outcome::Ended(ended)) => Some(&ended.summary),
        _ => None,
    }
}

fn summary_of<'a>(input: &Input<'a>, arm: &str) -> Option<&'a ArmSummary> {
    summary(input)?.arms.iter().find(|of| of.name == arm)
}

/// Why there are no runs of an arm to look at; `None` if there are.
fn why_not(input: &Input<'_>, arm: &Arm) -> Option<String> {
    let plans = match input.order {
        Ok(order) => &order.plans,
        Err(why) => return Some(why.to_owned()),
    };
    let ordered = plans.iter().any(|plan| plan.arm == arm.name);
    if !ordered && arm.on_request {
        return Some(format!("runs only with --arm {}", arm.name));
    }
    if !ordered {
        return Some("is about a number of machines of its own".to_owned());
    }
    let ended = match input.outcome {
        None => return Some("has not begun".to_owned()),
        Some(Outcome::Failed(error)) => return Some(format!("failed: {}", in_one_line(error))),
        Some(Outcome::Ended(ended)) => ended,
    };
    if summary_of(input, &arm.name).is_some() {
        return None;
    }
    let failed = ended.summary.failed.iter().find(|run| run.arm == arm.name);
    let mut runs = ended.summary.runs.iter();
    let cut = runs.find(|run| run.arm == arm.name && !run.came_to_its_end());
    let why = cut.and_then(|run| run.disturbed.iter().find(|d| d.kind == COMPONENT_LOST));
    Some(match (failed, why) {
        (Some(run), _) => format!("failed: {}", in_one_line(&run.error)),
        (None, Some(why)) => format!("cut short: {}", why.detail),
        (None, None) if ended.interrupted => "interrupted before it ended".to_owned(),
        (None, None) => "did not run".to_owned(),
    })
}

/// Why what was measured must not be held against what was published.
fn not_comparable(input: &Input<'_>) -> String {
    let plans = input.order.map_or(&[][..], |order| &order.plans);
    if let Some(plan) = plans.iter().find(|plan| plan.rescaled) {
        return format!("nothing was published at compression {}", plan.compress);
    }
    let nodes = plans.iter().map(|plan: &Plan| plan.cluster.nodes()).max();
    format!(
        "nothing was published for {} machines",
        nodes.unwrap_or_default()
    )
}
