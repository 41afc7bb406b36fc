//! Placements of hand-made records and decisions, and the embedded experiments' claims over them, those that fail above all.

use super::*;
use crate::fixtures::full;
use crate::fixtures::{done, waiting};
use crate::judge::{Judged, arms};
use crate::metrics::{Amount, Source};
use crate::run_folder::{ArmSummary, Attempt, Claim};
use plan::{ClearerStrategy, ClearerTrigger, load};

fn clearer() -> ClearerPlan {
    ClearerPlan {
        strategy: ClearerStrategy::Recheck,
        scope: None,
        evicts: vec!["vision".into()],
        trigger: ClearerTrigger::Unschedulable,
        deadline_secs: 45.0,
        cordon_delay_secs: 0.0,
    }
}

fn zero() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// A decision at `secs` about a machine for the request with that UID.
fn decision(event: &str, secs: i64, node: &str, uid: &str) -> Decision {
    Decision {
        time: zero() + jiff::SignedDuration::from_secs(secs),
        event: event.into(),
        clearing: Some(ClearingRef {
            id: format!("{node}-{secs}"),
            node: node.into(),
            namespace: "research".into(),
            request: "a pod".into(),
            request_uid: uid.into(),
        }),
        victim_uid: None,
        victim_namespace: None,
        workload: None,
        request: None,
        request_uid: None,
        why: None,
    }
}

/// A request that was bound to `node` at 40 s; its pod's UID is `research/<name>`.
fn on(node: &str, name: &str) -> Record {
    let mut record = done("research", name, 8, 40.0, 90.0);
    record.attempts[0].node = Some(node.into());
    record
}

/// A request whose pod waits.
fn pending(name: &str) -> Record {
    let mut record = waiting("research", name, 8, 0.0);
    record.attempts.push(Attempt {
        pod: Some(format!("{name}-x")),
        pod_uid: Some(format!("research/{name}")),
        ..Attempt::default()
    });
    record
}

fn judged(record: Record, decisions: &[Decision]) -> Placement {
    let mut all = placements(&clearer(), &[record], decisions, zero());
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn right_is_the_machine_first_handed_over_and_no_other() {
    let decisions = [
        decision(CHOSEN, 10, "gpu-01", "research/a"),
        decision(HANDED_OVER, 20, "gpu-01", "research/a"),
        decision(CHOSEN, 30, "gpu-02", "research/a"),
        decision(HANDED_OVER, 35, "gpu-02", "research/a"),
    ];
    let right = judged(on("gpu-01", "a"), &decisions);
    assert_eq!(right.placed, Placed::Right);
    assert_eq!(
        right.clearing_secs(),
        Some(30.0),
        "from the first choice on"
    );
    let wrong = judged(on("gpu-02", "a"), &decisions);
    assert_eq!((wrong.placed, wrong.clearings), (Placed::Wrong, 2));
    assert_eq!(wrong.cleared_node.as_deref(), Some("gpu-01"));
    assert_eq!(wrong.clearing_secs(), None);
    assert_eq!(judged(pending("a"), &decisions).placed, Placed::Never);
}

#[test]
fn a_request_without_a_candidate_says_why_and_is_no_failed_clearing() {
    let none = Decision {
        clearing: None,
        request: Some("a-x".into()),
        request_uid: Some("research/a".into()),
        why: Some("50 of 50 machines hold tasks that may not be evicted, of inference".into()),
        ..decision(NO_CANDIDATE, 10, "", "")
    };
    let without = judged(pending("a"), std::slice::from_ref(&none));
    assert!(without.has_no_candidate());
    let all = of_arm(&[std::slice::from_ref(&without)]).unwrap();
    assert_eq!(
        all.sentence(),
        "no machine could be cleared for 1 of 1 requests: 50 of 50 machines hold tasks that may not be evicted, of inference"
    );
    // One for which a machine was cleared after all has no want of one.
    let cleared = [none.clone(), decision(CHOSEN, 20, "gpu-01", "research/a")];
    assert!(!judged(pending("a"), &cleared).has_no_candidate());
    assert!(
        !judged(on("gpu-01", "a"), &[none]).has_no_candidate(),
        "one fell empty"
    );
    let both = of_arm(&[&[
        without,
        judged(
            on("gpu-01", "b"),
            &[decision(CHOSEN, 5, "gpu-01", "research/b")],
        ),
    ]]);
    let words = both.unwrap().sentence();
    assert!(words.starts_with("1 of 2 requests were placed"), "{words}");
    assert!(
        words.contains("no machine could be cleared for 1 of 2 requests: 50 of 50"),
        "{words}"
    );
}

#[test]
fn a_request_that_takes_another_s_machine_placed_wrong() {
    // Both were cleared for; each sits on the machine of the other.
    let decisions = [
        decision(HANDED_OVER, 20, "gpu-01", "research/a"),
        decision(HANDED_OVER, 21, "gpu-02", "research/b"),
    ];
    assert_eq!(judged(on("gpu-02", "a"), &decisions).placed, Placed::Wrong);
    assert_eq!(judged(on("gpu-01", "b"), &decisions).placed, Placed::Wrong);
}

#[test]
fn a_machine_that_fell_empty_by_itself_is_nobody_s_loss_and_still_counts_as_elsewhere() {
    let chosen = decision(CHOSEN, 20, "gpu-01", "research/a");
    let free = judged(on("gpu-02", "a"), std::slice::from_ref(&chosen));
    assert_eq!(free.placed, Placed::Free);
    assert_eq!(free.clearing_secs(), None);
    // It had been cleared for another, whose work was over: nobody's again.
    let over = |end, secs| {
        [
            chosen.clone(),
            decision(CHOSEN, 5, "gpu-02", "research/b"),
            // The id of a decision holds its time; a clearing's is that of its first.
            Decision {
                time: zero() + jiff::SignedDuration::from_secs(secs),
                ..decision(end, 5, "gpu-02", "research/b")
            },
        ]
    };
    for end in [RELEASED, PLACED, FAILED] {
        let before = judged(on("gpu-02", "a"), &over(end, 39));
        assert_eq!(before.placed, Placed::Free, "{end}");
        let after = judged(on("gpu-02", "a"), &over(end, 41));
        assert_eq!(after.placed, Placed::Wrong, "{end}: it was another's");
    }
    let placements = of_arm(&[&[free]]).unwrap();
    let counts = placements.by_run[0];
    assert_eq!((counts.free, counts.wrong, counts.elsewhere()), (1, 0, 1));
    assert_eq!(placements.elsewhere.count, 1);
    let sentence = placements.sentence();
    assert!(
        sentence.contains("1 elsewhere") && sentence.contains("1 took a machine that was empty"),
        "{sentence}"
    );
}

#[test]
fn a_machine_that_holds_another_s_task_is_wrong() {
    let chosen = [decision(CHOSEN, 20, "gpu-01", "research/a")];
    let placed = |ended| {
        let mut other = done("vision", "task", 1, 10.0, ended);
        other.attempts[0].node = Some("gpu-02".into());
        let all = placements(&clearer(), &[on("gpu-02", "a"), other], &chosen, zero());
        all[0].placed
    };
    assert_eq!(placed(60.0), Placed::Wrong);
    assert_eq!(placed(30.0), Placed::Free);
    // The scheduler knew of its end before the watch said so.
    assert_eq!(placed(40.3), Placed::Free);
}

#[test]
fn a_request_for_which_nothing_was_chosen_says_nothing() {
    let other = [decision(HANDED_OVER, 20, "gpu-01", "research/b")];
    assert_eq!(judged(on("gpu-01", "a"), &other).placed, Placed::Unaided);
    assert_eq!(judged(pending("a"), &[]).placed, Placed::Never);
    assert!(of_arm(&[&[judged(on("gpu-01", "a"), &other)]]).is_none());
}

#[test]
fn a_clearing_for_a_workload_counts_for_its_job_alone() {
    let for_workload = |name: &str| {
        let mut decision = decision(HANDED_OVER, 20, "gpu-01", "uid of a Workload");
        decision.clearing.as_mut().unwrap().request = name.into();
        [decision]
    };
    let placed = |name| judged(on("gpu-01", "burst-0-000"), &for_workload(name)).placed;
    assert_eq!(placed("job-burst-0-000-1a2b3"), Placed::Right);
    assert_eq!(placed("job-burst-0-0001-1a2b3"), Placed::Unaided);
    assert_eq!(placed("job-burst-0-000-4-1a2b3"), Placed::Unaided);
}

#[test]
fn only_whole_machines_of_teams_that_are_not_stopped_are_requests() {
    let mut slices = on("gpu-01", "slices");
    slices.request.gpumem_mib = Some(8192);
    let records = [
        done("research", "one-card", 1, 0.0, 9.0),
        done("vision", "may-be-stopped", 8, 0.0, 9.0),
        slices,
    ];
    assert!(placements(&clearer(), &records, &[], zero()).is_empty());
}

/// A run of an arm with so many requests right, wrong and never.
fn run(arm: &str, right: usize, wrong: usize, never: usize, secs: f64) -> Judged {
    let mut summary = full().runs.remove(0);
    summary.arm = arm.into();
    summary.tenants[0].name = "research".into();
    let verdicts = [
        (Placed::Right, right),
        (Placed::Wrong, wrong),
        (Placed::Never, never),
    ];
    summary.placements = verdicts
        .into_iter()
        .flat_map(|(placed, n)| std::iter::repeat_n(placed, n))
        .map(|placed| Placement {
            tenant: "research".into(),
            name: "burst-0-000".into(),
            cleared_node: Some("gpu-01".into()),
            clearings: 1,
            no_candidate: None,
            chosen_secs: Some(10.0),
            handed_over_secs: Some(12.0),
            node: None,
            bound_secs: Some(10.0 + secs),
            placed,
        })
        .collect();
    Judged::new(&Source::without_plan(&summary, &[]))
}

fn verdicts(experiment: &str, runs: &[Judged]) -> Vec<ArmSummary> {
    arms(&load(experiment).unwrap().expect, runs)
}

/// Whether the claim of the arm that has this word holds.
fn holds(arms: &[ArmSummary], arm: &str, word: &str) -> Option<bool> {
    let arm = arms.iter().find(|a| a.name == arm).unwrap();
    let claim = arm.claims.iter().find(|c| c.claim.contains(word));
    claim.unwrap().holds
}

/// The claim about the arm that has this word.
fn claim(arms: &[ArmSummary], arm: &str, word: &str) -> Claim {
    let arm = arms.iter().find(|a| a.name == arm).unwrap();
    let claim = arm.claims.iter().find(|c| c.claim.contains(word));
    claim.unwrap().clone()
}

#[test]
fn a_share_is_judged_by_its_interval_whichever_way_the_claim_points() {
    let of = |arm: &str, runs: usize, right, wrong| {
        let runs = vec![run(arm, right, wrong, 0, 20.0); runs];
        claim(&verdicts("drain-race", &runs), arm, "5 %")
    };
    // 72 requests without a wrong one say: at most 5 %. 71 do not.
    for arm in ["recheck", "reserve"] {
        assert_eq!(of(arm, 1, 5, 0).holds, None, "0 of 5 allows 52 %");
        assert_eq!(of(arm, 1, 71, 0).holds, None);
        assert_eq!(of(arm, 1, 72, 0).holds, Some(true));
        assert_eq!(of(arm, 10, 5, 5).holds, Some(false), "half are wrong");
    }
    let arm = "list-then-evict";
    assert_eq!(of(arm, 1, 5, 0).holds, None, "as for the others");
    assert_eq!(of(arm, 1, 71, 0).holds, None);
    assert_eq!(of(arm, 1, 72, 0).holds, Some(false));
    assert_eq!(of(arm, 10, 5, 5).holds, Some(true));
    let open = of(arm, 1, 5, 0);
    assert!(
        open.reason.contains("5 of 5 in 1 run (47.8 to 100.0 %)")
            && open
                .reason
                .contains("about 14 runs like these would decide"),
        "{}",
        open.reason
    );
    // Placed nowhere is no better than elsewhere.
    let stuck = vec![run("reserve", 3, 0, 2, 20.0); 20];
    let stuck = claim(&verdicts("drain-race", &stuck), "reserve", "5 %");
    assert_eq!(stuck.holds, Some(false));
}

#[test]
fn a_claim_says_on_how_many_runs_it_rests_and_how_many_were_disturbed() {
    let mut runs = vec![run("reserve", 5, 0, 0, 20.0); 3];
    for run in &mut runs {
        run.disturbed = false;
    }
    runs[1].disturbed = true;
    let rests = claim(&verdicts("drain-race", &runs), "reserve", "5 %");
    assert_eq!((rests.runs, rests.disturbed_runs), (Some(3), 1));
}

#[test]
fn reserve_must_not_be_slower_than_recheck_and_busy_machines_do_not_say() {
    let both = |reserve, disturbed| {
        let mut runs = [
            run("recheck", 5, 0, 0, 20.0),
            run("reserve", 5, 0, 0, reserve),
        ];
        for run in &mut runs {
            run.disturbed = disturbed;
        }
        claim(&verdicts("drain-race", &runs), "reserve", "no slower")
    };
    assert_eq!(both(19.5, false).holds, Some(true));
    assert_eq!(both(21.0, false).holds, Some(false));
    let disturbed = both(21.0, true);
    assert_eq!((disturbed.holds, disturbed.runs), (None, Some(0)));
    assert!(
        disturbed.reason.contains("disturbed"),
        "{}",
        disturbed.reason
    );
}

#[test]
fn preemption_alone_must_place_none_and_the_clearer_all() {
    let clearer = |right, never| {
        let runs = vec![run("clearer", right, 0, never, 20.0); 8];
        holds(&verdicts("preemption", &runs), "clearer", "5 %")
    };
    assert_eq!(clearer(10, 0), Some(true));
    assert_eq!(
        clearer(9, 1),
        None,
        "80 requests with a tenth amiss decide nothing"
    );
    assert_eq!(clearer(5, 5), Some(false));
    let kueue = |bound: f64| {
        let mut alone = run("kueue", 0, 0, 0, 0.0);
        let name = "research.whole-machine.bound_count".parse().unwrap();
        alone.metrics.insert(name, Amount::Is(bound));
        holds(&verdicts("preemption", &[alone]), "kueue", "alone")
    };
    assert_eq!(kueue(0.0), Some(true));
    assert_eq!(kueue(1.0), Some(false));
}
