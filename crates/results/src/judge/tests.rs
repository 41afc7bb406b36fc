//! Claims over hand-made metrics, those that fail above all.

use super::*;
use plan::expect::Expect;

fn expect(claim: &str) -> Expect {
    serde_json::from_str(&format!(r#"{{ "claims": [{claim}], "published": [] }}"#))
        .expect("a valid expectation")
}

fn run(arm: &str, metrics: &[(&str, Amount)]) -> Judged {
    Judged {
        arm: arm.into(),
        placements: Vec::new(),
        metrics: metrics
            .iter()
            .map(|(name, amount)| (name.parse().unwrap(), *amount))
            .collect(),
    }
}

fn verdict(claim: &str, runs: &[Judged]) -> (Option<bool>, String) {
    let arms = arms(&expect(claim), runs);
    let last = arms.last().expect("an arm");
    (last.claims_hold, last.reason.clone())
}

const SHARED_WITHIN_3_PERCENT: &str = r#"{ "claim": "as fast", "holds": { "ratio": {
    "of": { "tenant": "shared", "metric": "makespan_secs" },
    "to": { "tenant": "dedicated", "metric": "makespan_secs" },
    "at_least": 0.97, "at_most": 1.03 } } }"#;

fn makespans(dedicated: f64, shared: f64) -> Judged {
    let metrics = [
        ("dedicated.makespan_secs", Amount::Is(dedicated)),
        ("shared.makespan_secs", Amount::Is(shared)),
    ];
    run("default", &metrics)
}

#[test]
fn a_ratio_holds_within_its_bounds_and_fails_outside_them() {
    assert_eq!(
        verdict(SHARED_WITHIN_3_PERCENT, &[makespans(458.8, 461.3)]).0,
        Some(true)
    );
    let (holds, reason) = verdict(SHARED_WITHIN_3_PERCENT, &[makespans(458.8, 475.0)]);
    assert_eq!(holds, Some(false));
    assert!(
        reason.contains("as fast") && reason.contains("1.035"),
        "{reason}"
    );
}

#[test]
fn repeats_are_judged_at_their_median_and_shown_with_their_range() {
    let runs = [
        makespans(100.0, 150.0),
        makespans(100.0, 101.0),
        makespans(100.0, 99.0),
    ];
    let all = arms(&expect(SHARED_WITHIN_3_PERCENT), &runs);
    assert_eq!(all[0].runs, 3);
    assert_eq!(all[0].claims_hold, Some(true));
    let spread = all[0].metrics["shared.makespan_secs"];
    let secs = |p| match p {
        crate::run_folder::Percentile::Secs(secs) => secs,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (secs(spread.min), secs(spread.median), secs(spread.max)),
        (99.0, 101.0, 150.0)
    );
}

#[test]
fn what_it_means_is_said_only_where_every_claims_hold() {
    let expect = Expect {
        meaning: "share".into(),
        ..expect(SHARED_WITHIN_3_PERCENT)
    };
    let said = |shared| {
        let metrics = [
            ("dedicated.makespan_secs", Amount::Is(100.0)),
            ("shared.makespan_secs", shared),
        ];
        meaning(&expect, &arms(&expect, &[run("default", &metrics)]))
    };
    assert_eq!(said(Amount::Is(101.0)), "share");
    assert!(said(Amount::Is(120.0)).contains("not all"));
    assert_eq!(said(Amount::Over(50.0)), "", "not known");
}

#[test]
fn a_metric_that_is_missing_gives_no_verdict() {
    let unfinished = run("default", &[("dedicated.makespan_secs", Amount::Is(460.0))]);
    let (holds, reason) = verdict(SHARED_WITHIN_3_PERCENT, &[unfinished]);
    assert_eq!(holds, None);
    assert!(reason.contains("shared.makespan_secs"), "{reason}");
}

#[test]
fn a_censored_percentile_counts_for_what_it_is_known_to_exceed() {
    let claim = r#"{ "claim": "slower", "arms": ["binpack"], "holds": { "ratio": {
        "of": { "tenant": "large", "class": "whole-card", "metric": "bound_p95_secs" },
        "to": { "tenant": "large", "class": "whole-card", "metric": "bound_p95_secs", "arm": "spread" },
        "at_least": 3 } } }"#;
    let p95 = |arm, amount| run(arm, &[("large.whole-card.bound_p95_secs", amount)]);
    let with =
        |spread, binpack| verdict(claim, &[p95("spread", spread), p95("binpack", binpack)]).0;
    assert_eq!(with(Amount::Is(10.0), Amount::Is(34.57)), Some(true));
    assert_eq!(with(Amount::Is(20.0), Amount::Is(34.57)), Some(false));
    assert_eq!(
        with(Amount::Is(10.0), Amount::Over(90.0)),
        Some(true),
        "over 90 is over 30"
    );
    assert_eq!(
        with(Amount::Is(40.0), Amount::Over(90.0)),
        None,
        "over 90 may or may not be over 120"
    );
    assert_eq!(with(Amount::Over(90.0), Amount::Over(90.0)), None);
}

#[test]
fn bound_requests_are_counted_against_those_submitted() {
    let all = r#"{ "claim": "all", "holds": { "all-bound": { "tenant": "large", "class": "whole-machine" } } }"#;
    let some = r#"{ "claim": "some", "holds": { "some-unbound": { "tenant": "large", "class": "whole-machine" } } }"#;
    let bound = |n| {
        let metrics = [
            ("large.whole-machine.bound_count", Amount::Is(n)),
            ("large.whole-machine.submitted_count", Amount::Is(5.0)),
        ];
        [run("spread", &metrics)]
    };
    assert_eq!(verdict(all, &bound(5.0)).0, Some(true));
    assert_eq!(verdict(all, &bound(4.0)).0, Some(false));
    assert_eq!(verdict(some, &bound(5.0)).0, Some(false));
    assert_eq!(verdict(some, &bound(0.0)).0, Some(true));
}

#[test]
fn one_broken_shape_breaks_the_arm_and_an_arm_without_shapes_has_no_verdict() {
    let two = format!(
        r#"{SHARED_WITHIN_3_PERCENT}, {{ "claim": "never evicted", "holds": {{ "within": {{
            "of": {{ "tenant": "shared", "metric": "evictions" }}, "at_most": 0 }} }} }}"#
    );
    let mut evicted = makespans(100.0, 100.0);
    evicted
        .metrics
        .insert("shared.evictions".parse().unwrap(), Amount::Is(2.0));
    assert_eq!(verdict(&two, &[evicted]).0, Some(false));
    let elsewhere = SHARED_WITHIN_3_PERCENT.replace(r#""holds""#, r#""arms": ["lent"], "holds""#);
    assert_eq!(verdict(&elsewhere, &[makespans(1.0, 9.0)]).0, None);
}
