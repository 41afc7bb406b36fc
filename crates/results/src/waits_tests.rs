use super::*;
use crate::fixtures::{done, plan, team, waiting};
use crate::run_folder::Attempt;

/// Calls a second of two components whose limit is 50/100.
fn calls(hami: &[u32], manager: &[u32]) -> Calls {
    Calls {
        by_second: [
            ("hami".to_owned(), hami.to_vec()),
            ("kube-controller-manager".to_owned(), manager.to_vec()),
        ]
        .into(),
        ..Calls::default()
    }
}

fn limits() -> BTreeMap<String, Option<ClientLimit>> {
    let limit = Some(ClientLimit {
        qps: 5.0,
        burst: 10,
    });
    let named = |name: &str| (name.to_owned(), limit);
    [named("hami"), named("kube-controller-manager")].into()
}

/// A request of one card with these stamps of its first attempt: reserved, pod created, bound, running.
fn record(stamps: [f64; 4]) -> Record {
    let [reserved, created, bound, running] = stamps.map(Some);
    Record {
        attempts: vec![Attempt {
            reserved_secs: reserved,
            admitted_secs: reserved,
            pod_created_secs: created,
            bound_secs: bound,
            running_secs: running,
            ..Attempt::default()
        }],
        ..waiting("a", "x", 1, 0.0)
    }
}

fn of_a(records: &[Record], calls: &Calls) -> Waits {
    let plan = plan(vec![team("a", 8, true), team("b", 8, true)]);
    waits(&plan, records, calls, &limits(), 20.0)
        .remove("a")
        .unwrap()
}

fn close(waits: &Waits, expected: &[(Cause, f64)]) {
    let all: f64 = waits.secs.values().sum();
    for (cause, secs) in expected {
        let found = waits.secs.get(cause).copied().unwrap_or(0.0);
        assert!((found - secs).abs() < 1e-9, "{cause:?}: {waits:?}");
    }
    let expected: f64 = expected.iter().map(|(_, secs)| secs).sum();
    assert!((all - expected).abs() < 1e-9, "{waits:?}");
}

#[test]
fn a_requests_life_is_parted_by_its_stamps() {
    let idle = calls(&[0; 20], &[0; 20]);
    let waits = of_a(&[record([1.0, 3.0, 6.0, 10.0])], &idle);
    let expected = [
        (Cause::Kueue, 1.0),
        (Cause::Controllers, 2.0),
        (Cause::Scheduler, 3.0),
        (Cause::Start, 4.0),
    ];
    close(&waits, &expected);
    assert!(waits.at_limit.is_empty());
}

#[test]
fn what_was_not_reached_is_waited_for_until_the_end() {
    let idle = calls(&[0; 20], &[0; 20]);
    close(
        &of_a(&[waiting("a", "x", 1, 5.0)], &idle),
        &[(Cause::Kueue, 15.0)],
    );
    assert!(
        waits(
            &plan(vec![team("a", 8, true)]),
            &[],
            &Calls::default(),
            &limits(),
            9.0
        )
        .is_empty()
    );
}

#[test]
fn quota_is_waited_for_while_the_team_or_its_cohort_holds_it() {
    let idle = calls(&[0; 20], &[0; 20]);
    // All 16 cards of the cohort are held until 7 s, by both.
    let held = [done("b", "y", 12, 0.0, 7.0), done("a", "z", 4, 0.0, 9.0)];
    let mut records = vec![waiting("a", "x", 1, 2.0)];
    records.extend(held);
    let mut waits = of_a(&records, &idle);
    assert!((waits.secs[&Cause::Quota] - 5.0).abs() < 1e-9, "{waits:?}");
    assert!((waits.secs[&Cause::Kueue] - 13.0).abs() < 1e-9, "{waits:?}");
    // With eight of its own it can hold no more than 16.
    records[0].request.cards = 17;
    waits = of_a(&records, &idle);
    assert!((waits.secs[&Cause::Quota] - 18.0).abs() < 1e-9, "{waits:?}");
}

#[test]
fn a_client_limit_is_used_up_once_its_burst_is() {
    // 10 in the bucket and 5 more each second: after 15 calls in the first second none is left.
    let limit = ClientLimit {
        qps: 5.0,
        burst: 10,
    };
    let used_up = |calls: &[u32]| UsedUp::new(calls, &limit).0;
    assert_eq!(
        used_up(&[9, 5, 5, 5]),
        [false; 4],
        "at its rate it never waits"
    );
    assert_eq!(used_up(&[10, 5, 5, 0, 5]), [true, true, true, false, false]);
    assert_eq!(used_up(&[15, 5, 4]), [true, true, false]);
}

#[test]
fn waiting_while_hamis_limit_is_used_up_is_hamis_and_the_limit_is_counted() {
    let mut per_sec = vec![20, 5, 5, 5];
    per_sec.resize(20, 0);
    let waits = of_a(&[record([0.0, 0.0, 6.0, 6.0])], &calls(&per_sec, &[0; 20]));
    close(&waits, &[(Cause::Hami, 4.0), (Cause::Scheduler, 2.0)]);
    let bottleneck = waits.bottleneck().unwrap();
    assert_eq!(bottleneck.cause, Cause::Hami);
    assert_eq!(bottleneck.limit, Some(("hami".into(), 1.0)));
}

#[test]
fn a_refused_pod_waits_for_hami_and_an_unschedulable_one_for_a_machine() {
    let idle = calls(&[0; 20], &[0; 20]);
    let mut refused = record([0.0, 0.0, 6.0, 6.0]);
    refused.attempts[0].refused_secs = Some(2.0);
    close(
        &of_a(&[refused], &idle),
        &[(Cause::Scheduler, 2.0), (Cause::Hami, 4.0)],
    );
    let mut without = record([0.0, 0.0, 6.0, 6.0]);
    without.attempts[0].unschedulable_secs = Some(1.0);
    let waits = of_a(&[without], &idle);
    close(&waits, &[(Cause::Scheduler, 1.0), (Cause::Machine, 5.0)]);
    assert_eq!(waits.bottleneck().unwrap().limit, None);
}

#[test]
fn waiting_for_a_pod_names_the_limit_that_was_used_up_meanwhile() {
    let mut per_sec = vec![20, 5, 5, 5, 5];
    per_sec.resize(20, 0);
    let waits = of_a(&[record([0.0, 8.0, 8.0, 8.0])], &calls(&[0; 20], &per_sec));
    close(&waits, &[(Cause::Controllers, 8.0)]);
    let (component, share) = waits.bottleneck().unwrap().limit.unwrap();
    assert_eq!(component, "kube-controller-manager");
    assert!((share - 5.0 / 8.0).abs() < 1e-9, "{share}");
}
