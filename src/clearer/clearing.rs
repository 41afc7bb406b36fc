//! One clearing from the first write to the last: what strategies may do, what ends it, and putting the node back.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use kube::ResourceExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::api::{Api, ApiError, persist};
use super::args::Args;
use super::decide::{self, Victim};
use super::facts;
use super::handover;
use super::log::{ClearingTag, Event, FailReason, Log, StoppedTask};
use super::state::{CLEARED_FOR, CLEARING, FAILED_AT, LOST, Phase, RESERVED, State};
use super::strategy::{self, Strategy};
use super::workload::Workload;

/// Taint that the node lifecycle controller adds to cordoned nodes.
const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";

/// A wait for a change ends after this long in any case, so that what a `PodDisruptionBudget` held back is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Changes that come closer together than this are looked at once.
const SETTLE: Duration = Duration::from_millis(20);

/// Why a clearing ends without its request on the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// Why.
    pub reason: FailReason,
    /// Detail for people.
    pub detail: String,
}

impl Halt {
    /// A reason with its detail.
    pub fn new(reason: FailReason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }

    /// A call on the node or its pods failed for good.
    fn call(error: &ApiError) -> Self {
        let reason = match error {
            ApiError::NotFound => FailReason::NodeGone,
            ApiError::Conflict => FailReason::NodeChanged,
            _ => FailReason::Refused,
        };
        Self::new(reason, error.to_string())
    }

    /// True if the clearing was in vain: neither the request nor the node went away by itself.
    fn in_vain(&self) -> bool {
        matches!(
            self.reason,
            FailReason::TimeLimit | FailReason::Blocked | FailReason::Refused
        )
    }
}

/// How new tasks are kept away while the node is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// `spec.unschedulable`: nothing may come.
    Cordon,
    /// The taint that only the request tolerates.
    Reservation,
}

/// A clearing in progress.
pub struct Clearing<A> {
    api: A,
    args: Arc<Args>,
    log: Log,
    node: Arc<Node>,
    state: State,
    guarded: bool,
    /// UIDs of pods told to stop by this process.
    told: Mutex<HashSet<String>>,
}

impl<A: Api> Clearing<A> {
    /// A clearing of a node as the watch has it; `guarded`: it is taken up again after a restart.
    pub fn new(
        api: A,
        args: Arc<Args>,
        log: Log,
        node: Arc<Node>,
        state: State,
        guarded: bool,
    ) -> Self {
        Self {
            api,
            args,
            log,
            node,
            state,
            guarded,
            told: Mutex::default(),
        }
    }

    /// Runs it to its end. Returns when the node is put back (or gone), and never before; true if it was in vain.
    pub async fn run(mut self) -> bool {
        let strategy = strategy::named::<A>(self.state.strategy);
        let halted = handover::halted(self.api.clone(), self.state.clone(), self.node.name_any());
        let end = tokio::select! {
            biased;
            halt = halted => Err(halt),
            done = self.work(strategy) => done,
        };
        let secs = self.secs();
        match &end {
            Ok(pod) => self.say(Event::Landed {
                secs,
                pod: pod.name_any(),
                pod_uid: pod.uid().unwrap_or_default(),
            }),
            Err(halt) => {
                let Halt { reason, detail } = halt.clone();
                self.say(Event::Failed {
                    reason,
                    detail,
                    secs,
                });
                handover::release(&self.api, &self.state, halt.in_vain()).await;
            }
        }
        let in_vain = end.is_err_and(|halt| halt.in_vain());
        put_back(
            &self.api,
            &self.log,
            &self.node.name_any(),
            &self.state,
            in_vain,
        )
        .await;
        in_vain
    }

    async fn work(&mut self, strategy: &dyn Strategy<A>) -> Result<Arc<Pod>, Halt> {
        if self.state.phase == Phase::Clearing {
            strategy.clear(self).await?;
            self.say(Event::Emptied { secs: self.secs() });
            self.give_node().await?;
            self.say(Event::HandedOver { secs: self.secs() });
        }
        let this = &*self;
        tokio::select! {
            halt = strategy.attend(this) => Err(halt),
            landed = handover::land(&this.api, &this.state, &this.node, &this.args.card_resource) => landed,
        }
    }

    /// The cluster.
    pub fn api(&self) -> &A {
        &self.api
    }

    /// Name of the node.
    pub fn node(&self) -> &str {
        self.node.metadata.name.as_deref().unwrap_or_default()
    }

    /// True once the guard is in force.
    pub fn is_guarded(&self) -> bool {
        self.guarded
    }

    /// UIDs of the pods listed before the guard.
    pub fn listed(&self) -> &[String] {
        &self.state.listed
    }

    /// Card-holding pods bound to the node, asked of the API server now, the request's own left out.
    ///
    /// # Errors
    ///
    /// A refused call halts the clearing.
    pub async fn holders(&self) -> Result<Vec<Pod>, Halt> {
        let mut pods = persist(|| self.api.list_bound(self.node()))
            .await
            .map_err(|e| Halt::call(&e))?;
        pods.retain(|p| self.is_stray(p));
        Ok(pods)
    }

    /// Card-requesting pods not bound to any node, asked of the API server now, the request's own left out.
    ///
    /// # Errors
    ///
    /// A refused call halts the clearing.
    pub async fn unbound(&self) -> Result<Vec<Pod>, Halt> {
        let mut pods = persist(|| self.api.list_unbound())
            .await
            .map_err(|e| Halt::call(&e))?;
        pods.retain(|p| self.is_stray(p));
        Ok(pods)
    }

    /// True if the watch has seen card-holding pods on the node that are not the request's and not stopping yet.
    pub fn seen_holders(&self) -> bool {
        let world = self.api.world();
        world.pods.iter().any(|p| {
            facts::bound_to(p) == Some(self.node())
                && p.metadata.deletion_timestamp.is_none()
                && self.is_stray(p)
        })
    }

    fn is_stray(&self, pod: &Pod) -> bool {
        facts::holds_cards(pod, &self.args.card_resource)
            && !handover::is_requests(&self.api.world(), &self.state.request, pod)
    }

    /// Sleeps until the watches have seen something new, a second at most.
    pub async fn next_change(&self, changes: &mut watch::Receiver<u64>) {
        tokio::time::sleep(SETTLE).await;
        let _ = tokio::time::timeout(RETRY, changes.changed()).await;
    }

    /// Puts the guard in force, together with the state from which a restart goes on. Nothing to do after a restart.
    ///
    /// # Errors
    ///
    /// The node is gone, or somebody else cordoned or claimed it since it was chosen.
    pub async fn guard(&mut self, guard: Guard, listed: Vec<String>) -> Result<(), Halt> {
        if self.guarded {
            return Ok(());
        }
        self.state.cordoned = guard == Guard::Cordon;
        self.state.listed = listed;
        loop {
            let ours =
                State::of(&self.node).is_some_and(|s| s.is_ok_and(|s| s.id == self.state.id));
            // A call that timed out may have been carried out all the same.
            if ours {
                break;
            }
            if facts::is_cordoned(&self.node) || self.node.annotations().contains_key(CLEARING) {
                return Err(Halt::new(
                    FailReason::NodeChanged,
                    "somebody else holds the node",
                ));
            }
            let mut patch = node_patch(&self.node);
            patch["metadata"]["annotations"] = json!({ CLEARING: self.state.text() });
            match guard {
                Guard::Cordon => patch["spec"] = json!({ "unschedulable": true }),
                Guard::Reservation => {
                    patch["spec"] = json!({ "taints": with_taint(&self.node, self.state.taint()) });
                }
            }
            self.write_node(&patch).await?;
        }
        self.guarded = true;
        self.say(Event::Guarded);
        Ok(())
    }

    /// Replaces whatever guards the node by the reservation: the node's half of the hand-over.
    async fn give_node(&mut self) -> Result<(), Halt> {
        let cordoned = self.state.cordoned;
        self.state.phase = Phase::HandedOver;
        self.state.cordoned = false;
        loop {
            let there = State::of(&self.node).and_then(Result::ok);
            match there {
                Some(s) if s.id != self.state.id => {
                    return Err(Halt::new(
                        FailReason::NodeChanged,
                        "another clearing holds the node",
                    ));
                }
                None => {
                    return Err(Halt::new(
                        FailReason::NodeChanged,
                        "the node's annotation was taken away",
                    ));
                }
                Some(s) if s.phase == Phase::HandedOver => return Ok(()),
                Some(_) => {}
            }
            let request = &self.state.request;
            let mut taints = with_taint(&self.node, self.state.taint());
            let mut patch = node_patch(&self.node);
            patch["metadata"]["annotations"] = json!({
                CLEARING: self.state.text(),
                CLEARED_FOR: format!("{}/{} {}", request.namespace, request.name, request.uid),
            });
            if cordoned {
                // Gone in the same write, or the request would wait for the lifecycle controller.
                taints.retain(|t| t.key != CORDON_TAINT);
                patch["spec"] = json!({ "unschedulable": false, "taints": taints });
            } else {
                patch["spec"] = json!({ "taints": taints });
            }
            self.write_node(&patch).await?;
        }
    }

    /// One write of the node, if it is still as it was read; otherwise only reads it again.
    async fn write_node(&mut self, patch: &Value) -> Result<(), Halt> {
        let name = self.node.name_any();
        let written = match persist(|| self.api.patch_node(&name, patch)).await {
            Err(ApiError::Conflict) => persist(|| self.api.get_node(&name)).await,
            other => other,
        };
        self.node = Arc::new(written.map_err(|e| Halt::call(&e))?);
        Ok(())
    }

    /// Tells tasks to stop: through Kueue those that are Kueue's, by eviction the others. Returns without waiting for
    /// them; what could not be stopped yet (a budget, a Workload not seen yet, a lost call) is to be tried again.
    ///
    /// # Errors
    ///
    /// One of them must not be stopped, or the API server refuses.
    pub async fn stop(&self, pods: &[Pod]) -> Result<(), Halt> {
        let world = self.api.world();
        let memory = facts::node_cards(&self.node, &self.args.card_resource).memory_mib;
        let mut done = HashSet::new();
        for pod in pods
            .iter()
            .filter(|p| p.metadata.deletion_timestamp.is_none())
        {
            let uid = pod.uid().unwrap_or_default();
            if self.was_told(&uid) {
                continue;
            }
            if facts::is_kueues(pod) && world.workload_of(pod).is_none() {
                continue;
            }
            let victim = decide::victim(&world, pod, memory, &self.args, self.api.now());
            if !decide::may_stop(&world, pod, &self.args) || victim.priority > self.state.priority {
                let detail = format!("{}/{} must not be stopped", victim.namespace, victim.pod);
                return Err(Halt::new(FailReason::Blocked, detail));
            }
            let stopped = match world.workload_of(pod) {
                Some(w) if done.contains(&w.uid) => Ok(()),
                Some(w) if !w.active || w.finished => continue,
                Some(w) => {
                    done.insert(w.uid.clone());
                    self.deactivate(w, victim.card_seconds).await
                }
                None => self.api.evict(&victim.namespace, &victim.pod, &uid).await,
            };
            match stopped {
                Ok(()) => self.stopped(uid, victim),
                Err(ApiError::NotFound | ApiError::Conflict) => {}
                Err(ApiError::Budget) => self.say(Event::BudgetHolds {
                    victim_namespace: victim.namespace,
                    victim_pod: victim.pod,
                }),
                Err(ApiError::Transient(why)) => {
                    tracing::warn!(
                        "stopping {}/{}: {why}; trying again",
                        victim.namespace,
                        victim.pod
                    );
                }
                Err(e) => return Err(Halt::new(FailReason::Refused, e.to_string())),
            }
        }
        Ok(())
    }

    /// Takes a Workload out of Kueue's hands until [`super::sweep`] gives it back.
    async fn deactivate(&self, workload: &Workload, card_seconds: f64) -> Result<(), ApiError> {
        let lost = workload.lost_card_seconds + card_seconds;
        // The resourceVersion: a stop that was already carried out and undone must not be repeated.
        let patch = json!({
            "metadata": {
                "resourceVersion": workload.resource_version,
                "annotations": { CLEARING: self.state.id, LOST: format!("{lost:.1}") },
            },
            "spec": { "active": false },
        });
        self.api
            .patch_workload(&workload.namespace, &workload.name, &patch)
            .await
    }

    fn was_told(&self, uid: &str) -> bool {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(uid)
    }

    fn stopped(&self, uid: String, victim: Victim) {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(uid);
        self.say(Event::Stopped {
            victim: StoppedTask {
                victim_namespace: victim.namespace,
                victim_pod: victim.pod,
                victim_uid: victim.uid,
                workload: victim.workload,
                priority: victim.priority,
                cards: victim.cards,
                age_secs: victim.age_secs,
                card_seconds: victim.card_seconds,
            },
        });
    }

    fn secs(&self) -> f64 {
        self.api
            .now()
            .duration_since(self.state.started)
            .as_secs_f64()
    }

    /// Writes a line of the decision log.
    pub fn say(&self, event: Event) {
        self.log
            .write(self.api.now(), Some(&tag(self.node(), &self.state)), event);
    }
}

/// The fields that stand in every line of a clearing.
#[must_use]
pub fn tag(node: &str, state: &State) -> ClearingTag {
    ClearingTag {
        id: state.id.clone(),
        node: node.to_owned(),
        namespace: state.request.namespace.clone(),
        request: state.request.name.clone(),
        request_uid: state.request.uid.clone(),
    }
}

/// Puts a node back as it was before its clearing. Tries until it has succeeded, or the node is gone, or the Lease is.
pub async fn put_back<A: Api>(api: &A, log: &Log, node: &str, state: &State, in_vain: bool) {
    loop {
        let written = match persist(|| api.get_node(node)).await {
            Ok(found) => {
                let there = State::of(&found).and_then(Result::ok);
                let ours = there.filter(|s| s.id == state.id);
                let reserved = facts::taints(&found).iter().any(|t| *t == state.taint());
                if ours.is_none() && !reserved {
                    return;
                }
                let mut taints = facts::taints(&found).to_vec();
                taints.retain(|t| *t != state.taint());
                let mut patch = node_patch(&found);
                patch["spec"] = json!({});
                if let Some(ours) = ours {
                    patch["metadata"]["annotations"] = json!({
                        CLEARING: null,
                        FAILED_AT: in_vain.then(|| api.now().to_string()),
                    });
                    if ours.cordoned {
                        taints.retain(|t| t.key != CORDON_TAINT);
                        patch["spec"]["unschedulable"] = json!(false);
                    }
                }
                patch["spec"]["taints"] = json!(taints);
                persist(|| api.patch_node(node, &patch)).await.map(drop)
            }
            Err(e) => Err(e),
        };
        match written {
            Ok(()) => {
                log.write(api.now(), Some(&tag(node, state)), Event::PutBack);
                return;
            }
            Err(ApiError::NotFound | ApiError::NotLeader) => return,
            Err(ApiError::Conflict) => {}
            Err(e) => {
                // Perhaps a permission that an operator is about to give back: a node must not stay guarded.
                tracing::error!(node, "cannot put the node back: {e}; trying again");
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        }
    }
}

/// A patch that only applies to the node as it was read.
fn node_patch(node: &Node) -> Value {
    json!({ "metadata": { "resourceVersion": node.metadata.resource_version } })
}

/// The node's taints with one more; taints are one atomic list in the API.
fn with_taint(node: &Node, taint: Taint) -> Vec<Taint> {
    let mut taints = facts::taints(node).to_vec();
    taints.retain(|t| t.key != RESERVED);
    taints.push(taint);
    taints
}
