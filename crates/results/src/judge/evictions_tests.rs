//! Bills of hand-made records.

use super::*;
use crate::fixtures::done;

/// A single-card Job that ran from 10 s to 40 s and was then evicted.
fn evicted(name: &str, end: AttemptEnd) -> Record {
    let mut record = done("vision", name, 1, 10.0, 40.0);
    record.attempts[0].end = end;
    record.finished_secs = None;
    record.outcome = Outcome::Unfinished;
    record
}

/// The same, bound again at 52 s and done at 70 s.
fn again(name: &str, end: AttemptEnd) -> Record {
    let mut record = evicted(name, end);
    let second = done("vision", name, 1, 52.0, 70.0).attempts.remove(0);
    record.attempts.push(second);
    record.finished_secs = Some(70.0);
    record.outcome = Outcome::Succeeded;
    record
}

fn told(uid: &str) -> Decision {
    let line =
        format!(r#"{{"time":"2026-01-01T00:00:00Z","event":"stopped","victim_uid":"{uid}"}}"#);
    serde_json::from_str(&line).unwrap()
}

fn zero() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// The clearer's line that a Workload of the team queues again, so long after the clock's start.
fn back(workload: &str, secs: i64) -> Decision {
    let time = zero() + jiff::SignedDuration::from_secs(secs);
    let line = format!(
        r#"{{"time":"{time}","event":"reactivated","victim_namespace":"vision","workload":"{workload}","evicted_by":"c1"}}"#
    );
    serde_json::from_str(&line).unwrap()
}

/// Evictions of these until 100 s.
fn until_100(records: &[Record], decisions: &[Decision]) -> Vec<Eviction> {
    evictions(records, decisions, zero(), 100.0)
}

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-9
}

#[test]
fn a_stop_says_what_was_lost_and_what_came_of_it() {
    let records = [again("a", AttemptEnd::Evicted)];
    let all = until_100(&records, &[told("vision/a")]);
    let [eviction] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!(eviction.by, EvictedBy::Clearer);
    assert!(close(eviction.at_secs, 40.0) && close(eviction.age_secs, 30.0));
    assert_eq!(eviction.rebound_secs, Percentile::Secs(12.0));
    assert_eq!(eviction.done_again_secs, Percentile::Secs(30.0));
}

#[test]
fn what_was_not_seen_to_come_back_is_over_and_never_dropped() {
    let stuck = evicted("a", AttemptEnd::Preempted);
    let all = until_100(std::slice::from_ref(&stuck), &[]);
    assert_eq!(all[0].by, EvictedBy::Kueue);
    assert_eq!(all[0].rebound_secs, Percentile::Over { over: 60.0 });
    // Bound again after the observation's end: not seen.
    let late = evictions(&[again("b", AttemptEnd::Preempted)], &[], zero(), 50.0);
    assert_eq!(late[0].rebound_secs, Percentile::Over { over: 10.0 });
    let bill = bill(&[&all[0]], 100.0);
    assert!(close(bill.waited_card_seconds, 60.0));
    assert_eq!(bill.rebound.unwrap().censored, 1);
}

#[test]
fn a_wait_in_which_the_task_is_evicted_once_more_counts_once() {
    let mut twice = again("a", AttemptEnd::Evicted);
    let mut between = twice.attempts[1].clone();
    between.bound_secs = None;
    between.bound_audit_secs = None;
    between.running_secs = None;
    between.ended_secs = Some(45.0);
    between.end = AttemptEnd::Preempted;
    twice.attempts.insert(1, between);
    let all = until_100(&[twice], &[]);
    let bill = bill(&all.iter().collect::<Vec<_>>(), 100.0);
    assert_eq!(bill.evictions(), 2);
    // One card, from 40 s to 52 s.
    assert!(close(bill.waited_card_seconds, 12.0), "{bill:?}");
    assert!(close(bill.lost_card_seconds, 30.0), "{bill:?}");
}

#[test]
fn a_bare_pod_is_lost_for_good_and_has_nothing_to_wait_for() {
    let mut pod = evicted("a", AttemptEnd::Evicted);
    pod.via = Via::Pod;
    pod.outcome = Outcome::Failed;
    let all = until_100(&[pod], &[told("vision/a")]);
    assert_eq!(all[0].rebound_secs, Percentile::TooFew);
    let bill = bill(&[&all[0]], 100.0);
    assert_eq!((bill.by_clearer, bill.lost_for_good), (1, 1));
    assert!(close(bill.lost_card_seconds, 30.0) && close(bill.waited_card_seconds, 0.0));
    assert!(bill.rebound.is_none() && bill.done_again.is_none());
}

#[test]
fn work_that_runs_until_the_end_is_never_done_again() {
    let mut endless = again("a", AttemptEnd::Preempted);
    endless.run_secs = None;
    let all = until_100(&[endless], &[]);
    assert_eq!(all[0].done_again_secs, Percentile::TooFew);
    assert_eq!(all[0].rebound_secs, Percentile::Secs(12.0));
}

#[test]
fn each_team_gets_its_own_bill_and_what_ended_by_itself_costs_nothing() {
    let mut summary = crate::fixtures::full().runs.remove(0);
    summary.observed_secs = 100.0;
    summary.tenants[0].name = "vision".into();
    let mut other = summary.tenants[0].clone();
    other.name = "speech".into();
    summary.tenants.push(other);
    let mut theirs = again("c", AttemptEnd::Evicted);
    theirs.tenant = "speech".into();
    let records = [
        again("a", AttemptEnd::Preempted),
        evicted("b", AttemptEnd::Evicted),
        theirs,
        done("vision", "quiet", 1, 0.0, 90.0),
    ];
    who_pays(&mut summary, &records, &[told("vision/b")], zero());
    let [vision, speech] = &summary.tenants[..] else {
        panic!()
    };
    assert_eq!(
        (
            vision.bill.by_kueue,
            vision.bill.by_clearer,
            vision.bill.by_other
        ),
        (1, 1, 0)
    );
    assert!(close(vision.bill.lost_card_seconds, 60.0));
    assert_eq!((speech.bill.evictions(), speech.bill.by_other), (1, 1));
    assert_eq!(summary.evictions.len(), 3);
}

#[test]
fn a_stop_that_nobody_wrote_down_is_the_clearer_s_if_it_gave_the_workload_back() {
    let records = [
        again("a", AttemptEnd::Evicted),
        again("a-b", AttemptEnd::Evicted),
    ];
    let by = |decisions: &[Decision]| {
        let all = until_100(&records, decisions);
        all.iter()
            .map(|s| (s.name.clone(), s.by))
            .collect::<Vec<_>>()
    };
    let expected = |a, b| vec![("a".to_owned(), a), ("a-b".to_owned(), b)];
    // Reactivated before or after its pod, evicted at 40 s, is seen to be gone.
    for secs in [38, 45] {
        let found = by(&[back("job-a-1a2b3", secs)]);
        assert_eq!(found, expected(EvictedBy::Clearer, EvictedBy::Other));
    }
    // After the second attempt was admitted it is about that one, which went to its end.
    let found = by(&[back("job-a-1a2b3", 60)]);
    assert_eq!(found, expected(EvictedBy::Other, EvictedBy::Other));
    // What Kueue took back is Kueue's.
    let preempted = [again("a", AttemptEnd::Preempted)];
    let all = until_100(&preempted, &[back("job-a-1a2b3", 45)]);
    assert_eq!(all[0].by, EvictedBy::Kueue);
}

#[test]
fn a_stop_without_an_answer_is_the_clearer_s_only_if_the_task_evicted_then() {
    let unanswered = |secs: i64| -> Decision {
        let time = zero() + jiff::SignedDuration::from_secs(secs);
        let line =
            format!(r#"{{"time":"{time}","event":"stop-unanswered","victim_uid":"vision/a"}}"#);
        serde_json::from_str(&line).unwrap()
    };
    let by = |end: AttemptEnd, secs: i64| {
        let all = until_100(&[evicted("a", end)], &[unanswered(secs)]);
        all.iter().map(|s| s.by).collect::<Vec<_>>()
    };
    // It evicted at 40 s.
    assert_eq!(by(AttemptEnd::Evicted, 42), [EvictedBy::Clearer]);
    assert_eq!(by(AttemptEnd::Evicted, 20), [EvictedBy::Other]);
    assert_eq!(by(AttemptEnd::Evicted, 60), [EvictedBy::Other]);
    assert_eq!(by(AttemptEnd::Preempted, 42), [EvictedBy::Kueue]);
    // One that went to its end was not evicted at all.
    let ran = [done("vision", "a", 1, 10.0, 40.0)];
    assert!(until_100(&ran, &[unanswered(38)]).is_empty());
}
