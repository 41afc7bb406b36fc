//! The controller: it holds the Lease, resumes the clearings of an earlier process, starts new ones and sweeps.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use super::api::Api;
use super::args::Args;
use super::clearing::{self, Clearing};
use super::decide::{self, Request};
use super::facts::World;
use super::handover;
use super::health::{self, Health};
use super::lease::{Elector, Gate};
use super::live::{self, Live};
use super::log::{Event, FailReason, Log};
use super::owner::Owner;
use super::state::{CLEARING, Phase, State};
use super::sweep;

/// The shortest time between two passes, however much changes.
const PASS: Duration = Duration::from_millis(50);

/// The longest time between two passes. A failed call is tried again in the next pass.
const IDLE_PASS: Duration = Duration::from_secs(1);

/// How long a new leader waits, so that its watches show what its predecessor wrote last.
const CATCH_UP: Duration = Duration::from_secs(1);

/// How the node clearer ended when nothing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The controller got a signal, which is how it ends; or `--put-back-all` has released everything.
    Done,
    /// `--put-back-all` got a signal before it had released everything.
    Interrupted,
}

/// How long giving up the Lease may take. Otherwise a successor waits until it expires.
const RELEASE: Duration = Duration::from_secs(2);

/// Runs the node clearer until SIGTERM or SIGINT, or until it loses its Lease. The first signal ends it, whatever it waits
/// for. It leaves a clearing in progress as it is: the next process resumes it, or `--put-back-all` ends it.
///
/// # Errors
///
/// No usable kubeconfig, an address that cannot be bound, a lost Lease, or a node that cannot be released.
pub async fn run(args: Args) -> anyhow::Result<Ended> {
    // Before the first wait: a signal must be heard at any time.
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let stopped = async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    };
    let mut stopped = std::pin::pin!(stopped);
    let ended = if args.put_back_all {
        Ended::Interrupted
    } else {
        Ended::Done
    };
    let (client, server) = tokio::select! {
        biased;
        () = &mut stopped => return Ok(ended),
        connected = live::connect() => connected?,
    };
    let health = Health::default();
    if let Some(address) = args.health_bind {
        health::serve(address, health.clone()).await?;
    }
    let gate = Gate::default();
    let args = Arc::new(args);
    let log = Log::stdout();
    let identity = format!("{}_{}", host_name(), std::process::id());
    let api = tokio::select! {
        biased;
        () = &mut stopped => return Ok(ended),
        api = Live::start(client, server, &args, gate.clone()) => api,
    };
    health.ready();
    let mut elector = Elector::new(
        api.clone(),
        identity.clone(),
        Owner::new(&args).lease,
        args.lease_secs,
        gate.clone(),
        health,
    );
    let work = async {
        elector.acquire().await;
        log.write(api.now(), None, Event::Leading { identity });
        tokio::select! {
            biased;
            () = elector.keep() => Err(anyhow::anyhow!("the Lease was lost; stopping so that two never act")),
            released = release_everything(&api, &args, &log), if args.put_back_all => released.map(|()| Ended::Done),
            () = drive(&api, &args, &log), if !args.put_back_all => Ok(ended),
        }
    };
    let outcome = tokio::select! {
        biased;
        () = &mut stopped => Ok(ended),
        outcome = work => outcome,
    };
    // `release` looks first whether this process still holds the Lease.
    let _ = tokio::time::timeout(RELEASE, elector.release()).await;
    outcome
}

/// Host name, for the identity in the Lease.
fn host_name() -> String {
    sysinfo::System::host_name().unwrap_or_else(|_| "unknown".into())
}

/// Runs passes for ever. Dropped, it leaves every clearing as it is.
pub async fn drive<A: Api>(api: &A, args: &Arc<Args>, log: &Log) {
    tokio::time::sleep(CATCH_UP).await;
    let mut controller = Controller {
        api: api.clone(),
        args: Arc::clone(args),
        owner: Owner::new(args),
        log: log.clone(),
        running: HashMap::new(),
        resting: HashMap::new(),
        unreadable: HashSet::new(),
        finished: HashSet::new(),
        hopeless: HashSet::new(),
        tried: HashMap::new(),
        tasks: JoinSet::new(),
    };
    let mut changes = api.changes();
    loop {
        controller.pass().await;
        tokio::time::sleep(PASS).await;
        tokio::select! {
            _ = changes.changed() => {}
            () = tokio::time::sleep(IDLE_PASS) => {}
            Some(ended) = controller.tasks.join_next() => controller.ended(ended),
        }
    }
}

struct Controller<A: Api> {
    api: A,
    args: Arc<Args>,
    owner: Owner,
    log: Log,
    /// Clearings that this process runs, by node.
    running: HashMap<String, State>,
    /// Nodes that this process cleared in vain, and when. The watch may not show the annotation yet, or the write may have
    /// failed.
    resting: HashMap<String, Timestamp>,
    /// Nodes whose annotation cannot be read, so that it is said once.
    unreadable: HashSet<String>,
    /// Ids of clearings that have ended: the watch may still show them for a moment.
    finished: HashSet<String>,
    /// Requests for which no node was found, so that it is said once.
    hopeless: HashSet<String>,
    /// How many nodes this process cleared in vain, by request. The watch may not show the annotation yet.
    tried: HashMap<String, u32>,
    /// Each returns its node, and whether it was in vain.
    tasks: JoinSet<(String, bool)>,
}

impl<A: Api> Controller<A> {
    async fn pass(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            self.ended(ended);
        }
        let world = self.api.world();
        self.resume(&world).await;
        self.start(&world);
        let running: Vec<State> = self.running.values().cloned().collect();
        sweep::sweep(&self.api, &self.log, &world, &self.owner, &running).await;
    }

    fn ended(&mut self, ended: Result<(String, bool), tokio::task::JoinError>) {
        match ended {
            Ok((node, in_vain)) => {
                if in_vain {
                    self.resting.insert(node.clone(), self.api.now());
                }
                if let Some(state) = self.running.remove(&node) {
                    *self.tried.entry(state.request.uid).or_insert(0) += u32::from(in_vain);
                    self.finished.insert(state.id);
                }
            }
            // The node keeps its annotation, and the next process resumes the clearing. This one must not go on.
            Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
            Err(_) => {}
        }
    }

    /// Resumes this clearer's clearings that an earlier process began.
    async fn resume(&mut self, world: &World) {
        for node in world.nodes.iter().map(|m| &m.node) {
            let name = node.name_any();
            if !self.owner.has(node) {
                continue;
            }
            let state = match State::of(node) {
                None => continue,
                Some(Err(e)) => {
                    if !self.running.contains_key(&name) && self.unreadable.insert(name.clone()) {
                        tracing::warn!(
                            node = name,
                            "cannot read its annotation {CLEARING}: {e}; leaving the node alone; --put-back-all releases it"
                        );
                    }
                    continue;
                }
                Some(Ok(state)) => state,
            };
            if self.running.contains_key(&name) || self.finished.contains(&state.id) {
                continue;
            }
            // The watch may be behind: ask the API server.
            let Ok(node) = self.api.get_node(&name).await else {
                continue;
            };
            let Some(Ok(state)) = State::of(&node).filter(|_| self.owner.has(&node)) else {
                continue;
            };
            let tag = clearing::tag(&name, &state);
            self.log.write(self.api.now(), Some(tag), Event::Resumed);
            self.spawn(Arc::new(node), state, true);
        }
    }

    /// Starts clearings for requests that wait.
    fn start(&mut self, world: &World) {
        let now = self.api.now();
        let mut spoken_for = 0;
        let waiting = decide::waiting(world, &self.args, now);
        self.hopeless
            .retain(|uid| waiting.iter().any(|r| r.target.uid == *uid));
        let limit = self.args.time_limit();
        self.resting
            .retain(|_, since| now.duration_since(*since).unsigned_abs() < limit);
        for request in waiting {
            let room = self.running.len() < self.args.max_clearings as usize;
            let tried = self.tried.get(&request.target.uid).copied().unwrap_or(0);
            if !room || tried >= self.args.attempts || self.is_served(world, &request) {
                continue;
            }
            let busy = self.running.keys().chain(self.resting.keys());
            let taken: HashSet<String> = busy.cloned().collect();
            match decide::choose(world, &request, &self.args, now, &taken, &mut spoken_for) {
                Some(choice) => {
                    self.hopeless.remove(&request.target.uid);
                    let node = choice.node.name_any();
                    let seed = format!("{} {node} {}", request.target.uid, now.as_nanosecond());
                    let state = State {
                        id: self.owner.new_id(&seed),
                        owner: Some(self.owner.lease.clone()),
                        request: request.target,
                        priority: request.priority,
                        strategy: self.args.strategy,
                        phase: Phase::Clearing,
                        started: now,
                        // Saturates at the end of time: `--time-limit` is a day at most.
                        deadline: now.checked_add(limit).unwrap_or(Timestamp::MAX),
                        cordoned: false,
                        listed: Vec::new(),
                    };
                    let event = Event::Chosen {
                        strategy: state.strategy,
                        victims: u32::try_from(choice.victims.len()).unwrap_or(u32::MAX),
                        card_seconds: choice.victims.iter().map(|v| v.card_seconds).sum(),
                        cost: choice.cost,
                    };
                    let tag = clearing::tag(&node, &state);
                    self.log.write(now, Some(tag), event);
                    self.spawn(choice.node, state, false);
                }
                None => {
                    if let Some(why) = decide::why_none(world, &request, &self.args, now, &taken) {
                        self.say_no_candidate(&request, why);
                    }
                }
            }
        }
    }

    /// True if a clearing for the request, or for the Workload of its pod, is in progress: here, or at another clearer whose
    /// scope overlaps, as long as that clearing's time is not up.
    fn is_served(&self, world: &World, request: &Request) -> bool {
        let now = self.api.now();
        let uid = &request.target.uid;
        let is_pod = |pod: &Pod| pod.metadata.uid.as_ref() == Some(uid);
        let is_for = |state: &State| {
            let requests = |pod: &Pod| handover::is_requests(world, &state.request, pod);
            state.request.uid == *uid || world.pods.iter().any(|p| is_pod(p) && requests(p))
        };
        let elsewhere = || {
            let others = world.nodes.iter().map(|m| &m.node);
            let others = others.filter(|node| !self.owner.has(node));
            let mut states = others.filter_map(|node| State::of(node)?.ok());
            states.any(|state| state.deadline > now && is_for(&state))
        };
        self.running.values().any(is_for) || elsewhere()
    }

    fn say_no_candidate(&mut self, request: &Request, why: String) {
        if self.hopeless.insert(request.target.uid.clone()) {
            let event = Event::NoCandidate {
                namespace: request.target.namespace.clone(),
                request: request.target.name.clone(),
                request_uid: request.target.uid.clone(),
                why,
            };
            self.log.write(self.api.now(), None, event);
        }
    }

    /// `guarded` is true if an earlier process began the clearing.
    fn spawn(&mut self, node: Arc<Node>, state: State, guarded: bool) {
        let name = node.name_any();
        self.running.insert(name.clone(), state.clone());
        let clearing = Clearing {
            api: self.api.clone(),
            args: Arc::clone(&self.args),
            log: self.log.clone(),
            node,
            state,
            guarded: Arc::new(guarded.into()),
            said: Mutex::default(),
        };
        self.tasks
            .spawn(async move { (name, clearing.run().await) });
    }
}

/// Ends every clearing of this clearer's, re-activates every Workload it evicted, and returns when nothing is left to do.
///
/// # Errors
///
/// Says what could not be released, for the operator to do.
pub async fn release_everything<A: Api>(api: &A, args: &Args, log: &Log) -> anyhow::Result<()> {
    tokio::time::sleep(CATCH_UP).await;
    let owner = Owner::new(args);
    let mut changes = api.changes();
    let mut left_over: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let world = api.world();
        let mut evicted_by = world.workloads.iter().flat_map(|w| &w.evicted_by);
        let mut left = evicted_by.any(|id| owner.has_id(&world, id));
        for node in world.nodes.iter().map(|m| &m.node) {
            let name = node.name_any();
            if !owner.has(node) || left_over.contains_key(&name) {
                continue;
            }
            let state = match State::of(node) {
                None => continue,
                Some(Ok(state)) => state,
                Some(Err(_)) => {
                    left = true;
                    if let Err(complaint) = clearing::release_unreadable(api, &name).await {
                        left_over.insert(name, complaint);
                    }
                    continue;
                }
            };
            left = true;
            let secs = api.now().duration_since(state.started).as_secs_f64();
            let event = Event::Failed {
                reason: FailReason::Ordered,
                detail: "released by --put-back-all".into(),
                secs,
            };
            log.write(api.now(), Some(clearing::tag(&name, &state)), event);
            handover::unpin(api, &state, false).await;
            clearing::release(api, log, &name, &state, false).await;
        }
        sweep::sweep(api, log, &world, &owner, &[]).await;
        if !left {
            let complaints: Vec<String> = left_over.into_values().collect();
            anyhow::ensure!(complaints.is_empty(), complaints.join("; "));
            return Ok(());
        }
        let _ = tokio::time::timeout(IDLE_PASS, changes.changed()).await;
    }
}
