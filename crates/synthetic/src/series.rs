//! What made-up records amount to: usage each second, API calls.

use plan::Plan;
use results::run_folder::{Calls, Record, UsageRow};

/// The 1 s series that the records amount to.
pub fn usage(plan: &Plan, records: &[Record], end_secs: f64) -> Vec<UsageRow> {
    let mut rows = Vec::new();
    let mut secs = 0.0;
    while secs <= end_secs {
        for tenant in &plan.tenants {
            let held =
                |from: fn(&results::run_folder::Attempt) -> Option<f64>,
                 to: fn(&results::run_folder::Attempt) -> Option<f64>| {
                    let own = records.iter().filter(|r| r.tenant == tenant.name);
                    own.flat_map(|r| r.attempts.iter().map(move |a| (r, a)))
                        .filter(|(_, a)| {
                            from(a).is_some_and(|f| f <= secs) && to(a).is_none_or(|t| t > secs)
                        })
                        .map(|(r, _)| r.request.cards)
                        .sum::<u32>()
                };
            let waiting = |r: &&Record| {
                r.tenant == tenant.name
                    && r.intended_secs <= secs
                    && r.first_bind_secs().is_none_or(|at| at > secs)
            };
            rows.push(UsageRow {
                secs,
                tenant: tenant.name.clone(),
                quota_cards: tenant.quota.as_ref().map(|q| q.nominal_cards),
                admitted_cards: held(|a| a.admitted_secs, |a| a.released_secs),
                bound_cards: held(results::run_folder::Attempt::bind_secs, |a| a.ended_secs),
                running_cards: held(|a| a.running_secs, |a| a.ended_secs),
                pending_jobs: u32::try_from(records.iter().filter(waiting).count()).unwrap(),
                borrowed_cards: 0.0,
                lent_cards: 0.0,
            });
        }
        secs += 1.0;
    }
    rows
}

/// The calls that HAMi makes for each pod, as its source has them.
pub fn calls(records: &[Record], end_secs: f64) -> Calls {
    let bound = records
        .iter()
        .filter(|r| r.first_bind_secs().is_some_and(|at| at <= end_secs))
        .count();
    let bound_pods = u64::try_from(bound).unwrap();
    let per_pod: [(&str, &str, u64); 7] = [
        ("hami", "get nodes", 3),
        ("hami", "patch nodes", 1),
        ("hami", "patch pods", 2),
        ("hami", "create pods/binding", 1),
        ("hami", "create events", 2),
        ("kube-scheduler", "create events", 1),
        ("kwok", "patch pods/status", 1),
    ];
    let mut calls = Calls {
        to_secs: end_secs,
        bound_pods,
        ..Calls::default()
    };
    for (component, call, n) in per_pod {
        let total = calls.total.entry(component.into()).or_default();
        total.insert(call.into(), n * bound_pods);
        if bound_pods > 0 {
            let each = calls.per_bound_pod.entry(component.into()).or_default();
            each.insert(call.into(), f64::from(u32::try_from(n).unwrap()));
        }
    }
    calls
}
