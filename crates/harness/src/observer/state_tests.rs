//! Sequences of events, made by hand.

use proptest::prelude::*;

use super::super::objects::PodPhase;
use super::*;
use results::run_folder::{Attempt, AttemptEnd, Outcome};

const WHOLE_MACHINE: Request = Request {
    cards: 8,
    gpumem_mib: None,
    gpucores: None,
};

fn submission(via: Via) -> Submission {
    Submission {
        tenant: "shared".into(),
        name: "a".into(),
        stage: "explore".into(),
        round: 0,
        request: WHOLE_MACHINE,
        via,
        run_secs: Some(5.0),
        data_plane: None,
        intended_secs: 1.0,
    }
}

/// A state that expects one Job.
fn expecting(via: Via) -> State {
    let mut state = State::default();
    for kind in [ObjectKind::Job, ObjectKind::Workload, ObjectKind::Pod] {
        state.apply(Event::ListStarted(kind), 0.0);
        state.apply(Event::ListDone(kind), 0.0);
    }
    state.expect(submission(via));
    state.sent("shared", "a", 1.0);
    state.answered("shared", "a", 1.01, Ok(()));
    state
}

fn job(complete: bool) -> Object {
    Object::Job(JobView {
        namespace: "shared".into(),
        name: "a".into(),
        uid: "j".into(),
        complete,
        failed: false,
    })
}

fn workload(reserved_since: Option<i64>) -> WorkloadView {
    WorkloadView {
        namespace: "shared".into(),
        job: "a".into(),
        uid: "w".into(),
        reserved_since,
        admitted: reserved_since.is_some(),
        evicted: None,
        finished: false,
    }
}

fn evicted(reserved_since: Option<i64>, reason: &str) -> WorkloadView {
    WorkloadView {
        evicted: Some(reason.into()),
        ..workload(reserved_since)
    }
}

fn finished(reserved_since: i64) -> WorkloadView {
    WorkloadView {
        finished: true,
        ..workload(Some(reserved_since))
    }
}

fn pod(n: u32, created_at: i64, node: Option<&str>, phase: PodPhase) -> PodView {
    PodView {
        cards: vec![],
        namespace: "shared".into(),
        job: "a".into(),
        name: format!("a-{n}"),
        uid: format!("p{n}"),
        created_at,
        node: node.map(Into::into),
        phase,
        ready: phase == PodPhase::Running,
        deleted: false,
        unscheduled: None,
        disrupted: false,
    }
}

fn seen_w(view: WorkloadView) -> Event {
    Event::Seen(Object::Workload(view))
}

fn seen_p(view: PodView) -> Event {
    Event::Seen(Object::Pod(view))
}

fn gone_p(view: PodView) -> Event {
    Event::Gone(Object::Pod(view))
}

fn the_record(state: &State) -> Record {
    let mut records = state.records();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

/// An undisturbed life, one event a list entry.
fn a_life() -> Vec<(Event, f64)> {
    use PodPhase::{Pending, Running, Succeeded};
    vec![
        (Event::Seen(job(false)), 1.02),
        (seen_w(workload(None)), 1.03),
        (seen_w(workload(Some(10))), 1.10),
        (seen_p(pod(1, 10, None, Pending)), 1.20),
        (seen_p(pod(1, 10, Some("gpu-00"), Pending)), 1.50),
        (seen_p(pod(1, 10, Some("gpu-00"), Running)), 1.60),
        (seen_p(pod(1, 10, Some("gpu-00"), Succeeded)), 6.60),
        (Event::Seen(job(true)), 6.70),
        (seen_w(finished(10)), 6.80),
        (gone_p(pod(1, 10, Some("gpu-00"), Succeeded)), 9.00),
    ]
}

fn play(state: &mut State, events: Vec<(Event, f64)>) {
    for (event, at) in events {
        state.apply(event, at);
    }
}

#[test]
fn an_undisturbed_life_has_every_stamp_once() {
    let mut state = expecting(Via::Job);
    play(&mut state, a_life());
    let record = the_record(&state);
    assert_eq!(record.outcome, Outcome::Succeeded);
    assert_eq!(record.created_secs, Some(1.01));
    assert_eq!(record.finished_secs, Some(6.70));
    assert_eq!(
        record.attempts,
        [Attempt {
            cards: vec![],
            reserved_secs: Some(1.10),
            admitted_secs: Some(1.10),
            released_secs: Some(6.80),
            pod: Some("a-1".into()),
            pod_uid: Some("p1".into()),
            pod_created_secs: Some(1.20),
            refused_secs: None,
            unschedulable_secs: None,
            bound_secs: Some(1.50),
            bound_audit_secs: None,
            node: Some("gpu-00".into()),
            running_secs: Some(1.60),
            useful_secs: None,
            told_secs: None,
            ended_secs: Some(6.60),
            end: AttemptEnd::Succeeded,
            borrowed_cards: 0,
        }]
    );
}

#[test]
fn repeated_events_change_nothing() {
    let mut once = expecting(Via::Job);
    play(&mut once, a_life());
    let mut twice = expecting(Via::Job);
    for (event, at) in a_life() {
        twice.apply(event.clone(), at);
        if !matches!(event, Event::Gone(_)) {
            twice.apply(event, at + 0.005);
        }
    }
    assert_eq!(once.records(), twice.records());
}

#[test]
fn a_final_record_is_reported_once_when_job_pod_and_quota_are_done() {
    let mut state = expecting(Via::Job);
    let mut reports = Vec::new();
    for (event, at) in a_life() {
        if state.apply(event, at).settled.is_some() {
            reports.push(at);
        }
    }
    assert_eq!(reports, [6.80]);
}

#[test]
fn a_pod_seen_before_its_admission_joins_it() {
    let mut state = expecting(Via::Job);
    let mut life = a_life();
    life.swap(2, 3);
    play(&mut state, life);
    let record = the_record(&state);
    assert_eq!(record.attempts.len(), 1);
    assert_eq!(record.attempts[0].pod_created_secs, Some(1.20));
    assert!(record.attempts[0].admitted_secs.is_some());
}

#[test]
fn preemption_and_readmission_are_two_attempts() {
    use PodPhase::{Pending, Running};
    let mut state = expecting(Via::Job);
    play(&mut state, a_life()[..6].to_vec());
    play(
        &mut state,
        vec![
            (seen_w(evicted(Some(10), "Preempted")), 3.0),
            (gone_p(pod(1, 10, Some("gpu-00"), Running)), 3.2),
            (seen_w(evicted(None, "Preempted")), 3.3),
            (seen_w(workload(Some(40))), 8.0),
            (seen_p(pod(2, 40, None, Pending)), 8.1),
            (seen_p(pod(2, 40, Some("gpu-07"), Running)), 8.2),
        ],
    );
    let record = the_record(&state);
    assert_eq!(record.outcome, Outcome::Unfinished);
    let [first, second] = &record.attempts[..] else {
        panic!("{record:?}")
    };
    assert_eq!(first.end, AttemptEnd::Preempted);
    // The quota is held until the pod is gone, not only until the eviction.
    assert_eq!(
        (first.ended_secs, first.released_secs),
        (Some(3.2), Some(3.3))
    );
    assert_eq!(second.end, AttemptEnd::Unfinished);
    assert_eq!(second.admitted_secs, Some(8.0));
    assert_eq!(second.pod.as_deref(), Some("a-2"));
}

#[test]
fn readmission_within_the_same_second_is_still_another_attempt() {
    let mut state = expecting(Via::Job);
    play(
        &mut state,
        vec![
            (seen_w(workload(Some(10))), 1.1),
            (seen_w(evicted(Some(10), "Preempted")), 1.2),
            (seen_w(evicted(None, "Preempted")), 1.3),
            (seen_w(workload(Some(10))), 1.4),
        ],
    );
    let record = the_record(&state);
    assert_eq!(record.attempts.len(), 2);
    assert_eq!(record.attempts[0].end, AttemptEnd::Preempted);
    assert_eq!(record.attempts[0].pod, None);
}

#[test]
fn a_pod_replaced_under_the_same_admission_does_not_hold_the_quota_twice() {
    use PodPhase::{Pending, Running};
    let mut state = expecting(Via::Job);
    play(&mut state, a_life()[..6].to_vec());
    let mut disrupted = pod(1, 10, Some("gpu-00"), Running);
    disrupted.disrupted = true;
    play(
        &mut state,
        vec![
            (gone_p(disrupted), 3.0),
            (seen_p(pod(2, 12, None, Pending)), 3.1),
            (seen_w(evicted(Some(10), "Preempted")), 4.0),
            (gone_p(pod(2, 12, None, Pending)), 4.1),
            (seen_w(evicted(None, "Preempted")), 4.2),
        ],
    );
    let record = the_record(&state);
    let [first, second] = &record.attempts[..] else {
        panic!("{record:?}")
    };
    assert_eq!(first.end, AttemptEnd::Evicted);
    assert_eq!(first.released_secs, Some(4.2));
    assert_eq!(second.reserved_secs, None);
    // Deleted before it was bound, by Kueue.
    assert_eq!(
        (second.bound_secs, second.end),
        (None, AttemptEnd::Preempted)
    );
}

#[test]
fn a_relist_closes_what_went_away_and_doubles_nothing() {
    let mut state = expecting(Via::Job);
    play(&mut state, a_life()[..6].to_vec());
    // The pod watch is lost for a while; meanwhile the pod succeeds and is removed.
    state.apply(Event::ListStarted(ObjectKind::Pod), 20.0);
    state.apply(Event::ListDone(ObjectKind::Pod), 20.1);
    // The other two still list what they had.
    for (kind, object) in [
        (ObjectKind::Job, job(true)),
        (ObjectKind::Workload, Object::Workload(finished(10))),
    ] {
        state.apply(Event::ListStarted(kind), 20.2);
        state.apply(Event::Seen(object), 20.3);
        state.apply(Event::ListDone(kind), 20.4);
    }
    let record = the_record(&state);
    assert_eq!(state.relists(), 3);
    assert_eq!(record.outcome, Outcome::Succeeded);
    assert_eq!(record.attempts.len(), 1);
    assert_eq!(record.attempts[0].running_secs, Some(1.60));
    assert_eq!(record.attempts[0].ended_secs, Some(20.1));
    assert_eq!(record.attempts[0].end, AttemptEnd::Succeeded);
    assert_eq!(record.attempts[0].released_secs, Some(20.3));
}

#[test]
fn a_readmission_that_a_relist_reveals_is_an_attempt_with_its_own_pod() {
    use PodPhase::{Pending, Running};
    let mut state = expecting(Via::Job);
    play(&mut state, a_life()[..6].to_vec());
    // The Workload watch is lost; the pod watch goes on and shows the old pod go and a new one come.
    play(
        &mut state,
        vec![
            (gone_p(pod(1, 10, Some("gpu-00"), Running)), 3.0),
            (seen_p(pod(2, 40, None, Pending)), 5.0),
            (seen_p(pod(2, 40, Some("gpu-01"), Running)), 5.5),
            (Event::ListStarted(ObjectKind::Workload), 9.0),
            (seen_w(workload(Some(40))), 9.1),
            (Event::ListDone(ObjectKind::Workload), 9.2),
        ],
    );
    let record = the_record(&state);
    let [first, second] = &record.attempts[..] else {
        panic!("{record:?}")
    };
    assert_eq!(
        (first.released_secs, first.end),
        (Some(9.1), AttemptEnd::Evicted)
    );
    assert_eq!(second.reserved_secs, Some(9.1));
    assert_eq!(second.pod.as_deref(), Some("a-2"));
}

#[test]
fn a_refused_job_has_failed_without_attempts() {
    let mut state = State::default();
    state.expect(submission(Via::Job));
    state.sent("shared", "a", 1.0);
    let changed = state.answered(
        "shared",
        "a",
        1.2,
        Err("webhook: connection refused".into()),
    );
    assert_eq!(changed.settled, Some(0));
    let record = the_record(&state);
    assert_eq!(record.outcome, Outcome::Failed);
    assert_eq!(record.created_secs, None);
    assert!(record.attempts.is_empty());
}

#[test]
fn a_call_that_failed_here_but_was_carried_out_there_counts_by_its_object() {
    let mut state = State::default();
    state.expect(submission(Via::Job));
    state.answered("shared", "a", 1.2, Err("timed out".into()));
    play(&mut state, a_life());
    let record = the_record(&state);
    assert_eq!(record.outcome, Outcome::Succeeded);
    assert_eq!(record.error.as_deref(), Some("timed out"));
}

#[test]
fn an_job_never_admitted_is_a_record_without_attempts() {
    let mut state = expecting(Via::Job);
    play(&mut state, a_life()[..2].to_vec());
    let record = the_record(&state);
    assert_eq!(record.outcome, Outcome::Unfinished);
    assert!(record.attempts.is_empty());
}

#[test]
fn a_job_deleted_before_it_was_done_has_failed() {
    let mut state = expecting(Via::Job);
    play(&mut state, a_life()[..6].to_vec());
    state.apply(Event::Gone(job(false)), 3.0);
    state.apply(gone_p(pod(1, 10, Some("gpu-00"), PodPhase::Running)), 3.1);
    state.apply(Event::Gone(Object::Workload(workload(Some(10)))), 3.2);
    let record = the_record(&state);
    assert_eq!(record.outcome, Outcome::Failed);
    assert_eq!(record.attempts[0].end, AttemptEnd::Evicted);
    assert_eq!(record.attempts[0].released_secs, Some(3.2));
    assert!(record.error.unwrap().contains("deleted"));
}

#[test]
fn a_bare_pod_lives_without_job_and_workload() {
    use PodPhase::{Pending, Running, Succeeded};
    let mut state = expecting(Via::Pod);
    play(
        &mut state,
        vec![
            (seen_p(pod(1, 10, None, Pending)), 1.1),
            (seen_p(pod(1, 10, Some("gpu-03"), Running)), 1.4),
            (seen_p(pod(1, 10, Some("gpu-03"), Succeeded)), 6.4),
        ],
    );
    let record = the_record(&state);
    assert_eq!(record.outcome, Outcome::Succeeded);
    assert_eq!(record.finished_secs, Some(6.4));
    assert_eq!(record.attempts[0].bound_secs, Some(1.4));
    assert_eq!(record.attempts[0].released_secs, None);
}

#[test]
fn objects_of_others_are_left_alone() {
    let mut state = State::default();
    state.expect(submission(Via::Job));
    let mut stranger = pod(1, 10, Some("gpu-00"), PodPhase::Running);
    stranger.namespace = "elsewhere".into();
    assert_eq!(state.apply(seen_p(stranger), 2.0), Changed::default());
    assert!(the_record(&state).attempts.is_empty());
}

/// The kind whose watch an event comes from.
fn kind_of(event: &Event) -> usize {
    match event {
        Event::Seen(object) | Event::Gone(object) => object.identity().0.slot(),
        Event::ListStarted(kind) | Event::ListDone(kind) => kind.slot(),
    }
}

/// A life with a preemption, and where each kind's watch is lost (events dropped) and re-listed with what is left.
fn two_lives() -> Vec<(Event, f64)> {
    use PodPhase::{Pending, Running, Succeeded};
    let mut life = a_life();
    life.truncate(6);
    life.extend([
        (seen_w(evicted(Some(10), "Preempted")), 3.0),
        (gone_p(pod(1, 10, Some("gpu-00"), Running)), 3.2),
        (seen_w(evicted(None, "Preempted")), 3.3),
        (seen_w(workload(Some(40))), 8.0),
        (seen_p(pod(2, 40, None, Pending)), 8.1),
        (seen_p(pod(2, 40, Some("gpu-07"), Pending)), 8.2),
        (seen_p(pod(2, 40, Some("gpu-07"), Running)), 8.3),
        (seen_p(pod(2, 40, Some("gpu-07"), Succeeded)), 13.3),
        (Event::Seen(job(true)), 13.4),
        (seen_w(finished(40)), 13.5),
    ]);
    life
}

proptest! {
    /// Any gap of any one watch, re-listed at its end, leaves one finished record whose stamps are in order.
    #[test]
    fn no_gap_loses_or_doubles_a_record(kind in 0_usize..3, from in 0_usize..16, length in 0_usize..16) {
        let kind = [ObjectKind::Job, ObjectKind::Workload, ObjectKind::Pod][kind];
        let life = two_lives();
        let to = (from + length).min(life.len());
        let mut state = expecting(Via::Job);
        let mut live = HashMap::new();
        let relist = |state: &mut State, live: &HashMap<String, Object>, at: f64| {
            state.apply(Event::ListStarted(kind), at);
            for object in live.values() {
                state.apply(Event::Seen(object.clone()), at);
            }
            state.apply(Event::ListDone(kind), at);
        };
        for (i, (event, at)) in life.iter().enumerate() {
            if kind_of(event) == kind.slot() {
                match event {
                    Event::Seen(object) => { live.insert(object.identity().1.to_owned(), object.clone()); }
                    Event::Gone(object) => { live.remove(object.identity().1); }
                    _ => {}
                }
            }
            if kind_of(event) != kind.slot() || i < from || i >= to {
                state.apply(event.clone(), *at);
            }
            if i + 1 == to {
                relist(&mut state, &live, at + 0.01);
            }
        }
        let record = the_record(&state);
        prop_assert_eq!(record.outcome, Outcome::Succeeded);
        prop_assert!(state.jobs()[0].is_settled());
        prop_assert!((1..=2).contains(&record.attempts.len()), "{:?}", record);
        let last = &record.attempts[record.attempts.len() - 1];
        prop_assert_eq!(last.end, AttemptEnd::Succeeded);
        prop_assert!(last.released_secs >= Some(13.5));
        prop_assert_eq!(last.pod.as_deref(), Some("a-2"));
        for a in &record.attempts {
            // A stamp may be missing: what came and went out of sight. Those there are must be in order.
            let stamps: Vec<f64> = [a.pod_created_secs, a.bound_secs, a.running_secs, a.ended_secs]
                .into_iter()
                .flatten()
                .collect();
            prop_assert!(stamps.is_sorted(), "{:?}", a);
        }
    }
}
