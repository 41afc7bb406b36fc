//! One clearing, from its first write to its last: what a strategy may do, what ends the clearing, how the node is
//! released.

mod evict;
mod guard;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use tokio::sync::watch;

use super::api::{Api, ApiError, persist};
use super::args::Args;
use super::facts;
use super::handover;
use super::log::{ClearingTag, Event, FailReason, Log};
use super::state::{Phase, State};
use super::strategy::{self, Strategy};

pub use evict::Said;
pub use guard::{Guard, check_guard, release, release_unreadable};

/// The longest wait for a change. Then an eviction that a PodDisruptionBudget held back is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Changes closer together than this are handled together.
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

    /// True if the clearing was in vain: it failed although request and node are still there. A lost guard counts, since
    /// whoever took it off does not want the node cleared again at once.
    fn in_vain(&self) -> bool {
        matches!(
            self.reason,
            FailReason::TimeLimit
                | FailReason::GuardLost
                | FailReason::Blocked
                | FailReason::Refused
        )
    }
}

/// The tasks on a node as the watch has them, without the request's own pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Card-holding pods bound to the node, by UID. True if the pod is being deleted.
    pub holders: BTreeMap<String, bool>,
    /// Unbound pods to which HAMi has given cards of the node, by UID, and when it did.
    pub claims: BTreeMap<String, Timestamp>,
}

/// A clearing in progress.
pub struct Clearing<A> {
    /// The cluster.
    pub api: A,
    /// Settings.
    pub args: Arc<Args>,
    /// Where its decisions are written.
    pub log: Log,
    /// The node, at first as the watch has it.
    pub node: Arc<Node>,
    /// What the node's annotation says, or will say.
    pub state: State,
    /// Whether the guard is in force: from the start, if an earlier process began the clearing. Shared with the future that
    /// watches for the clearing's end ([`handover::halted`]).
    pub guarded: Arc<AtomicBool>,
    /// What this process has logged about tasks.
    pub said: Mutex<Said>,
}

impl<A: Api> Clearing<A> {
    /// Runs the clearing to its end. Returns once the node is released or gone, and true if the clearing was in vain.
    pub async fn run(mut self) -> bool {
        let strategy = strategy::named::<A>(self.state.strategy);
        let halted = handover::halted(
            self.api.clone(),
            self.state.clone(),
            self.node.name_any(),
            Arc::clone(&self.guarded),
        );
        let end = tokio::select! {
            biased;
            halt = halted => Err(halt),
            done = self.work(strategy) => done,
        };
        let secs = self.secs();
        let mut in_vain = false;
        match end {
            Ok(pod) => self.say(Event::Placed {
                secs,
                pod: pod.name_any(),
                pod_uid: pod.uid().unwrap_or_default(),
            }),
            Err(halt) => {
                in_vain = halt.in_vain();
                let Halt { reason, detail } = halt;
                self.say(Event::Failed {
                    reason,
                    detail,
                    secs,
                });
                handover::unpin(&self.api, &self.state, in_vain).await;
            }
        }
        // Before the guard was set, a cordon can only be somebody else's.
        self.state.cordoned &= self.is_guarded();
        release(&self.api, &self.log, self.node(), &self.state, in_vain).await;
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
            placed = handover::place(&this.api, &this.state, &this.node, &this.args.card_resource) => placed,
        }
    }

    /// Name of the node.
    pub fn node(&self) -> &str {
        self.node.metadata.name.as_deref().unwrap_or_default()
    }

    /// True once the guard is in force.
    pub fn is_guarded(&self) -> bool {
        self.guarded.load(Ordering::Relaxed)
    }

    /// Card-holding pods bound to the node, read from the API server, without the request's own.
    ///
    /// # Errors
    ///
    /// The API server refuses the call.
    pub async fn holders(&self) -> Result<Vec<Pod>, Halt> {
        let listed = persist(|| self.api.list_bound(self.node())).await;
        let mut pods = listed.map_err(|e| Halt::call(&e))?;
        pods.retain(|p| self.is_stray(p));
        Ok(pods)
    }

    /// The tasks on the node as the watch has them.
    pub fn view(&self) -> View {
        let world = self.api.world();
        let mut view = View::default();
        for pod in &world.pods {
            let bound = facts::bound_to(pod);
            if bound.is_some_and(|node| node != self.node()) || !self.is_stray(pod) {
                continue;
            }
            let uid = pod.uid().unwrap_or_default();
            if bound.is_some() {
                let ending = pod.metadata.deletion_timestamp.is_some();
                view.holders.insert(uid, ending);
            } else if let Some((_, at)) = facts::claim(pod).filter(|(node, _)| *node == self.node())
            {
                view.claims.insert(uid, at);
            }
        }
        view
    }

    /// True if the view has a task that is neither evicted nor being deleted.
    pub fn needs_eviction(&self, view: &View) -> bool {
        let mut holders = view.holders.iter();
        holders.any(|(uid, ending)| !ending && !self.was_evicted(uid))
    }

    fn is_stray(&self, pod: &Pod) -> bool {
        facts::holds_cards(pod, &self.args.card_resource)
            && !handover::is_requests(&self.api.world(), &self.state.request, pod)
    }

    /// Sleeps until the watch shows a change of the node's tasks, a second at most.
    pub async fn next_change(&self, changes: &mut watch::Receiver<u64>, seen: &View) {
        let moved = async {
            while self.view() == *seen {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(SETTLE).await;
            }
        };
        let _ = tokio::time::timeout(RETRY, moved).await;
    }

    fn secs(&self) -> f64 {
        let now = self.api.now();
        now.duration_since(self.state.started).as_secs_f64()
    }

    /// Writes a line of the decision log.
    pub fn say(&self, event: Event) {
        let tag = tag(self.node(), &self.state);
        self.log.write(self.api.now(), Some(tag), event);
    }
}

/// The fields that are in every line about a clearing.
pub fn tag(node: &str, state: &State) -> ClearingTag {
    ClearingTag {
        id: state.id.clone(),
        node: node.to_owned(),
        namespace: state.request.namespace.clone(),
        request: state.request.name.clone(),
        request_uid: state.request.uid.clone(),
    }
}
