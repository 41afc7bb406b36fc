//! The observer: it feeds the state from the watches, and ticks once a second.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::Stream;
use kube::Client;
use kube::runtime::watcher;
use tokio::sync::watch as channel;
use tokio_util::task::AbortOnDropHandle;

use super::clock::{Clock, ClockJump};
use super::live::{self, Live};
use super::objects::{JobView, PodView, Watched, WorkloadView};
use super::state::{Changed, Event, Object, ObjectKind, State, Submission};
use super::tick::{self, HarnessUse, Pids};
use super::watch::{self, WatchHealth};
use plan::Plan;
use results::run_folder::{Attempt, Record, RunWriter};

/// How long the first lists may take.
const FIRST_LIST: Duration = Duration::from_secs(30);

/// The observer could not start.
#[derive(Debug, thiserror::Error)]
#[error(
    "the API server did not answer the first list of {missing} of 3 kinds of objects within {} s; its log is under the run's logs/",
    FIRST_LIST.as_secs()
)]
pub struct ObserveError {
    missing: usize,
}

/// The live part. From its start to [`Observer::finish`] it puts everything it sees into records.
///
/// Dropping it stops its watches.
#[derive(Debug)]
pub struct Observer {
    shared: Arc<Shared>,
    health: Arc<WatchHealth>,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

/// What the observer's tasks share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) clock: Clock,
    pub(crate) writer: Arc<RunWriter>,
    inner: Mutex<Inner>,
    changed: channel::Sender<()>,
}

/// What one lock guards.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) state: State,
    /// Whether rows may be written: the clock's zero is set, and the observation has not ended.
    pub(crate) started: bool,
    /// Jobs that ended before the clock's zero was set.
    held_back: Vec<usize>,
    pub(crate) harness: HarnessUse,
    /// Components that were seen paused, and when.
    pub(crate) stopped: Vec<(String, f64)>,
}

/// All that was observed.
#[derive(Debug, Clone)]
pub struct Observation {
    /// One record a Job, in order of announcement.
    pub records: Vec<Record>,
    /// The observation's end, seconds since the clock's zero.
    pub end_secs: f64,
    /// How often a watch was lost and re-listed.
    pub relists: u32,
    /// How often a watch broke and resumed where it broke.
    pub interruptions: u32,
    /// Steps of the wall clock.
    pub clock_jumps: Vec<ClockJump>,
    /// What the harness itself used since the clock's zero.
    pub harness: HarnessUse,
    /// Components that were paused by a signal, each with the second at which it was seen. Stalls that the experiment asked
    /// for are among them.
    pub stopped: Vec<(String, f64)>,
}

impl Observer {
    /// Starts the watches, waits for their first lists, and starts the 1 s tick, which samples usage, `pids` and the clock.
    ///
    /// # Errors
    /// If the API server does not answer the first lists in time.
    pub async fn start(
        client: &Client,
        clock: Clock,
        plan: &Plan,
        writer: Arc<RunWriter>,
        pids: Pids,
    ) -> Result<Self, ObserveError> {
        let (changed, _) = channel::channel(());
        let shared = Arc::new(Shared {
            plan: plan.clone(),
            clock,
            writer,
            inner: Mutex::default(),
            changed,
        });
        let health = Arc::new(WatchHealth::default());
        let of_jobs = watch::objects::<JobView>(client, true);
        // Workloads do not have our labels. Their owners tell whose they are.
        let of_workloads = watch::objects::<WorkloadView>(client, false);
        let of_pods = watch::objects::<PodView>(client, true);
        let mut tasks = vec![
            shared.follow(of_jobs, ObjectKind::Job, Object::Job, &health),
            shared.follow(
                of_workloads,
                ObjectKind::Workload,
                Object::Workload,
                &health,
            ),
            shared.follow(of_pods, ObjectKind::Pod, Object::Pod, &health),
        ];
        let kinds = tasks.len();
        let listed = async {
            while shared.inner().state.kinds_listed() < kinds {
                health.listed.notified().await;
            }
        };
        if tokio::time::timeout(FIRST_LIST, listed).await.is_err() {
            let missing = kinds - shared.inner().state.kinds_listed();
            return Err(ObserveError { missing });
        }
        let ticks = tokio::spawn(tick::run(shared.clone(), pids));
        tasks.push(AbortOnDropHandle::new(ticks));
        Ok(Self {
            shared,
            health,
            _tasks: tasks,
        })
    }

    /// Sets the run clock's zero to now, and begins the series. Times of background Jobs so far become negative.
    pub fn start_clock(&self) {
        let mut inner = self.shared.inner();
        let by = self.shared.clock.start();
        inner.state.shift(by);
        inner.started = true;
        inner.harness = HarnessUse::begin();
        for e in std::mem::take(&mut inner.held_back) {
            self.shared.writer.job(&inner.state.jobs()[e].record());
        }
    }

    /// Announces a Job, before it is submitted.
    pub fn expect(&self, submission: Submission) {
        self.shared.inner().state.expect(submission);
    }

    /// Says that a Job's create call is about to be sent. Call it right before.
    pub fn sent(&self, tenant: &str, name: &str) {
        let at = self.shared.clock.now_secs();
        self.shared.inner().state.sent(tenant, name, at);
    }

    /// Says that a Job's create call was answered. Call it right after. A refusal is one line of text.
    pub fn answered(&self, tenant: &str, name: &str, answer: Result<(), String>) {
        let at = self.shared.clock.now_secs();
        let mut inner = self.shared.inner();
        let changed = inner.state.answered(tenant, name, at, answer);
        self.shared.note(&mut inner, changed);
    }

    /// A snapshot for the progress display.
    pub fn live(&self) -> Live {
        let inner = self.shared.inner();
        let at = inner.started.then(|| self.shared.clock.now_secs());
        live::live(&self.shared.plan, &inner.state, at)
    }

    /// Waits until every announced Job of a team's round is done, failed or refused. Returns when the last one was seen to
    /// be, in seconds since the clock's zero; the think time of a closed loop counts from there. A refused one counts from
    /// now. Returns at once if nothing was announced of the round.
    pub async fn round_done(&self, tenant: &str, stage: &str, round: u32) -> f64 {
        self.until(|state, clock| {
            let mut last = f64::NEG_INFINITY;
            for e in state.jobs() {
                let r = e.live();
                if r.tenant == tenant && r.stage == stage && r.round == round {
                    if !e.is_done() {
                        return None;
                    }
                    last = last.max(r.finished_secs.unwrap_or_else(|| clock.now_secs()));
                }
            }
            Some(if last.is_finite() {
                last
            } else {
                clock.now_secs()
            })
        })
        .await
    }

    /// Waits until every announced Job of these teams is done, failed or refused. A Job that runs until the run's end counts
    /// as done once it is bound: nothing more will be seen of it.
    pub async fn all_done(&self, tenants: &[&str]) {
        self.until(|state, _| {
            let over = |r: &Record| r.run_secs.is_none() && is_placed(r);
            let of = |r: &Record| tenants.contains(&r.tenant.as_str());
            let mut all = state.jobs().iter();
            let done = all.all(|e| e.is_done() || !of(e.live()) || over(e.live()));
            done.then_some(())
        })
        .await;
    }

    /// Waits until every announced Job of these teams is bound, done, failed or refused. Background Jobs must be so before
    /// the clock starts.
    pub async fn all_placed(&self, tenants: &[&str]) {
        self.until(|state, _| {
            let placed = state.jobs().iter().all(|e| {
                let r = e.live();
                !tenants.contains(&r.tenant.as_str()) || e.is_done() || is_placed(r)
            });
            placed.then_some(())
        })
        .await;
    }

    /// Ends the observation. Nothing is written to the run's series afterwards. Drop the observer to stop its watches.
    ///
    /// Kueue releases the quota of the last Jobs a little after they are done. The observation ends when it has, or after
    /// `settle`: give a second or two if every awaited Job is done, and zero with a fixed window.
    pub async fn finish(&self, settle: Duration) -> Observation {
        let settled = self.until(|state, _| {
            let all = state.jobs().iter().all(|e| e.is_settled() || !e.is_done());
            all.then_some(())
        });
        // An error means that the time is over, which is an end like the other.
        let _ = tokio::time::timeout(settle, settled).await;
        let mut inner = self.shared.inner();
        let end_secs = self.shared.clock.now_secs();
        inner.harness.end();
        inner.started = false;
        self.shared.clock.sample();
        self.shared.writer.flush();
        Observation {
            records: inner.state.records(),
            end_secs,
            relists: inner.state.relists(),
            interruptions: self.health.interruptions.load(Ordering::Relaxed),
            clock_jumps: self.shared.clock.jumps(),
            harness: inner.harness,
            stopped: std::mem::take(&mut inner.stopped),
        }
    }

    /// Calls `reached` at each change until it has an answer.
    async fn until<T>(&self, reached: impl Fn(&State, &Clock) -> Option<T>) -> T {
        let mut changes = self.shared.changed.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(answer) = reached(&self.shared.inner().state, &self.shared.clock) {
                return answer;
            }
            // The sender lives in `self.shared`, so this cannot fail.
            let _ = changes.changed().await;
        }
    }
}

/// Whether a pod of the Job is bound now, and with a data plane also at work.
fn is_placed(record: &Record) -> bool {
    let at_work = |a: &Attempt| record.data_plane.is_none() || a.useful_secs.is_some();
    let mut attempts = record.attempts.iter();
    attempts.any(|a| a.bound_secs.is_some() && a.holds_pod() && at_work(a))
}

impl Shared {
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere must not lose the evidence. Every step leaves the state valid.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow<V: Send + 'static>(
        self: &Arc<Self>,
        objects: impl Stream<Item = watcher::Result<watcher::Event<Watched<V>>>> + Send + 'static,
        kind: ObjectKind,
        wrap: fn(V) -> Object,
        health: &Arc<WatchHealth>,
    ) -> AbortOnDropHandle<()> {
        let this = self.clone();
        let sink = move |event, at| this.apply(event, at);
        let (clock, health) = (self.clock.clone(), health.clone());
        let followed = watch::follow(objects, kind, wrap, clock, health, sink);
        AbortOnDropHandle::new(tokio::spawn(followed))
    }

    fn apply(&self, event: Event, at: f64) {
        let mut inner = self.inner();
        let changed = inner.state.apply(event, at);
        self.note(&mut inner, changed);
    }

    fn note(&self, inner: &mut Inner, changed: Changed) {
        if let Some(e) = changed.settled {
            if inner.started {
                self.writer.job(&inner.state.jobs()[e].record());
            } else {
                inner.held_back.push(e);
            }
        }
        if changed.progress {
            self.changed.send_replace(());
        }
    }
}
