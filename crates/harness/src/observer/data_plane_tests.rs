//! What the record says about a pod with a data plane.

use super::objects::{PodPhase, PodView};
use super::state::{Event, Object, State, Submission};
use plan::{DataPlane, Request, Via};
use results::fixtures::full;
use results::fixtures::{plan, team};
use results::judge::who_pays;
use results::latency::samples;
use results::run_folder::{Attempt, AttemptEnd, Outcome, Percentile, Phase, Record};
use results::usage::card_seconds;

const ONE_CARD: Request = Request {
    cards: 1,
    gpumem_mib: None,
    gpucores: None,
};

/// A pull of 10 s, 5 s until useful work, 3 s from its eviction until free cards, 1 of them for the release.
const PHASES: DataPlane = DataPlane {
    image_gb: 20.0,
    own_image: false,
    pull_secs: 10.0,
    cuda_init_secs: 1.0,
    model_load_secs: 4.0,
    shutdown_secs: 2.0,
    release_secs: 1.0,
};

/// A state that expects a bare pod.
fn expecting(data_plane: Option<DataPlane>) -> State {
    let mut state = State::default();
    state.expect(Submission {
        tenant: "shared".into(),
        name: "a".into(),
        stage: "explore".into(),
        round: 0,
        request: ONE_CARD,
        via: Via::Pod,
        run_secs: Some(30.0),
        data_plane,
        intended_secs: 0.0,
    });
    state
}

fn pod(phase: PodPhase, ready: bool, deleted: bool) -> Event {
    Event::Seen(Object::Pod(PodView {
        namespace: "shared".into(),
        job: "a".into(),
        name: "a".into(),
        uid: "p".into(),
        node: Some("gpu-00".into()),
        phase,
        ready,
        deleted,
        ..PodView::default()
    }))
}

/// What became of a pod that was bound at 2 s, ran from 12 s and was useful from 17 s.
fn after(state: &mut State, end: [(Event, f64); 2]) -> Record {
    let begin = [
        (pod(PodPhase::Pending, false, false), 2.0),
        (pod(PodPhase::Running, false, false), 12.0),
        (pod(PodPhase::Running, true, false), 17.0),
        (pod(PodPhase::Running, true, false), 18.0),
    ];
    for (event, at) in begin.into_iter().chain(end) {
        state.apply(event, at);
    }
    state.records().remove(0)
}

fn finished(data_plane: Option<DataPlane>) -> Record {
    let end = [
        (pod(PodPhase::Running, true, false), 40.0),
        (pod(PodPhase::Succeeded, false, false), 48.0),
    ];
    after(&mut expecting(data_plane), end)
}

fn evicted() -> Record {
    let end = [
        (pod(PodPhase::Running, true, true), 27.0),
        (pod(PodPhase::Failed, false, true), 30.0),
    ];
    after(&mut expecting(Some(PHASES)), end)
}

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-9
}

#[test]
fn useful_work_begins_when_the_pod_is_ready() {
    let record = finished(Some(PHASES));
    let attempt = &record.attempts[0];
    assert_eq!(attempt.running_secs, Some(12.0));
    assert_eq!(attempt.useful_secs, Some(17.0));
    assert_eq!((attempt.told_secs, attempt.ended_secs), (None, Some(48.0)));
    let (found, missing) = samples([&record], 90.0);
    let of = |phase| found[&("whole-card".to_owned(), phase)][0].secs;
    assert_eq!(missing, 0);
    assert!(close(of(Phase::BindLatency), 2.0) && close(of(Phase::Useful), 17.0));
    assert!(close(of(Phase::Prepare), 15.0));
}

#[test]
fn without_a_data_plane_nothing_is_said_of_useful_work() {
    let record = finished(None);
    let line = serde_json::to_string(&record).unwrap();
    for word in ["useful", "told", "data_plane"] {
        assert!(!line.contains(word), "{line}");
    }
    let (found, _) = samples([&record], 90.0);
    let phases: Vec<Phase> = found.keys().map(|(_, phase)| *phase).collect();
    for phase in [Phase::Useful, Phase::Prepare, Phase::Termination] {
        assert!(!phases.contains(&phase), "{phase:?}");
    }
    let plan = plan(vec![team("shared", 8, false)]);
    assert_eq!(card_seconds(&plan, &[record], 90.0)[0].useful, None);
}

#[test]
fn cards_are_held_until_released_and_useful_until_the_work_ends() {
    let plan = plan(vec![team("shared", 8, false)]);
    let account = card_seconds(&plan, &[finished(Some(PHASES))], 90.0)[0];
    assert!(close(account.bound, 46.0), "{account:?}");
    // From 17 s until the process ended by itself, a second before its cards were free.
    assert!(close(account.useful.unwrap(), 30.0), "{account:?}");
    let account = card_seconds(&plan, &[evicted()], 90.0)[0];
    assert!(close(account.bound, 28.0), "{account:?}");
    assert!(close(account.useful.unwrap(), 10.0), "{account:?}");
}

#[test]
fn an_evicted_pod_is_timed_from_its_eviction_to_useful_work() {
    let mut record = evicted();
    assert_eq!(record.attempts[0].told_secs, Some(27.0));
    let (found, _) = samples([&record], 90.0);
    let stop = found[&("whole-card".to_owned(), Phase::Termination)][0];
    assert!(close(stop.secs, 3.0) && !stop.censored, "{stop:?}");
    // A Job's: it starts again, is bound while the old pod shuts down, and needs no pull.
    record.via = Via::Job;
    record.attempts[0].end = AttemptEnd::Preempted;
    record.attempts.push(Attempt {
        bound_secs: Some(29.0),
        running_secs: Some(29.5),
        useful_secs: Some(34.5),
        end: AttemptEnd::Unfinished,
        ..Attempt::default()
    });
    record.outcome = Outcome::Unfinished;
    record.finished_secs = None;
    let mut run = full().runs.remove(0);
    run.observed_secs = 90.0;
    who_pays(&mut run, &[record], &[], jiff::Timestamp::UNIX_EPOCH);
    let eviction = &run.evictions[0];
    assert!(
        close(eviction.at_secs, 27.0) && close(eviction.age_secs, 15.0),
        "{eviction:?}"
    );
    assert_eq!(eviction.rebound_secs, Percentile::Secs(2.0));
    assert_eq!(eviction.useful_again_secs, Some(Percentile::Secs(7.5)));
    let bill = &run.tenants[0].bill;
    assert_eq!(
        bill.useful_again.as_ref().unwrap().max,
        Percentile::Secs(7.5)
    );
}
