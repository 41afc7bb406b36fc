//! Eviction of the tasks on a node: through Kueue where Kueue runs them, else by the eviction API.

use std::collections::HashSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::{Clearing, Halt, check_guard};
use crate::api::{Api, ApiError};
use crate::decide;
use crate::facts;
use crate::log::{Event, FailReason, Victim};
use crate::state::{CLEARING, LOST};
use crate::workload::Workload;

/// How long the answer to one eviction is waited for, so that it does not hold up evictions of other tasks. The API server
/// may be waiting for a webhook, 10 s by default; an eviction can be repeated without harm.
const ANSWER: Duration = Duration::from_secs(5);

/// What a clearing has logged about pods, by UID, so that it is logged once.
#[derive(Debug, Default)]
pub struct Said {
    /// Evicted, and the API server has confirmed it.
    evicted: HashSet<String>,
    /// Eviction requested, answer unknown.
    unanswered: HashSet<String>,
    /// Held by a `PodDisruptionBudget`.
    held: HashSet<String>,
}

impl<A: Api> Clearing<A> {
    /// Evicts tasks: those of Kueue by deactivating their Workload, the others through the eviction API. Returns without
    /// waiting for their end. Call it again for tasks that could not be evicted yet: a budget forbids it, their Workload
    /// has not been seen, or a call was lost.
    ///
    /// # Errors
    ///
    /// One of the tasks must not be evicted, the API server refuses, or the node has lost this clearing's guard.
    pub async fn evict(&self, pods: &[Pod]) -> Result<(), Halt> {
        let world = self.api.world();
        let memory = facts::node_cards(&self.node, &self.args.card_resource).memory_mib;
        let mut planned = HashSet::new();
        let mut evictions = Vec::new();
        for pod in pods {
            let workload = world.workload_of(pod);
            let ending = pod.metadata.deletion_timestamp.is_some();
            let evicted = pod.uid().is_some_and(|uid| self.was_evicted(&uid));
            let unknown = facts::is_kueues(pod) && workload.is_none();
            let over = workload.is_some_and(|w| !w.active || w.finished);
            if ending || evicted || unknown || over {
                continue;
            }
            let victim = decide::victim(&world, pod, memory, &self.args, self.api.now());
            if !decide::may_evict(&world, pod, &self.args) || victim.priority > self.state.priority
            {
                let detail = format!("{}/{} must not be evicted", victim.namespace, victim.pod);
                return Err(Halt::new(FailReason::Blocked, detail));
            }
            // One deactivation evicts all pods of a Workload.
            if workload.is_none_or(|w| planned.insert(w.uid.clone())) {
                evictions.push(self.evict_one(workload.map(|w| &**w), victim));
            }
        }
        if !evictions.is_empty() {
            check_guard(&self.api, self.node(), &self.state).await?;
        }
        join_all(evictions).await.into_iter().collect()
    }

    /// Evicts one task.
    async fn evict_one(&self, workload: Option<&Workload>, victim: Victim) -> Result<(), Halt> {
        let (namespace, pod) = (victim.namespace.clone(), victim.pod.clone());
        let (uid, card_seconds) = (victim.uid.clone(), victim.card_seconds);
        let mut call = UnderWay {
            clearing: self,
            victim: Some(victim),
        };
        let answer = async {
            match workload {
                Some(w) => self.deactivate(w, card_seconds).await,
                None => self.api.evict(&namespace, &pod, &uid).await,
            }
        };
        let answer = tokio::time::timeout(ANSWER, answer).await;
        let answer =
            answer.unwrap_or_else(|_| Err(ApiError::Transient("no answer in time".into())));
        if let Err(ApiError::Transient(why)) = answer {
            drop(call);
            tracing::warn!("eviction of {namespace}/{pod}: {why}; trying again");
            return Ok(());
        }
        let victim = call.victim.take();
        match answer {
            Ok(()) => {
                self.said().evicted.insert(uid);
                if let Some(victim) = victim {
                    self.say(Event::Evicted { victim });
                }
            }
            Err(ApiError::Budget) => {
                if self.said().held.insert(uid) {
                    self.say(Event::BudgetHolds {
                        victim_namespace: namespace,
                        victim_pod: pod,
                    });
                }
            }
            Err(ApiError::NotFound | ApiError::Conflict) => {}
            Err(e) => return Err(Halt::new(FailReason::Refused, e.to_string())),
        }
        Ok(())
    }

    /// Deactivates a Workload, which makes Kueue evict its pods. [`crate::sweep`] activates it again.
    async fn deactivate(&self, workload: &Workload, card_seconds: f64) -> Result<(), ApiError> {
        let lost = workload.lost_card_seconds + card_seconds;
        // With the resourceVersion: an eviction that was carried out and undone must not be repeated.
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

    pub(super) fn was_evicted(&self, uid: &str) -> bool {
        self.said().evicted.contains(uid)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An eviction whose answer has not come yet. If the clearing ends before the answer, the task may be evicted all the same.
/// That is logged, since otherwise nobody could tell whose eviction it was.
struct UnderWay<'a, A: Api> {
    clearing: &'a Clearing<A>,
    victim: Option<Victim>,
}

impl<A: Api> Drop for UnderWay<'_, A> {
    fn drop(&mut self) {
        let Some(victim) = self.victim.take() else {
            return;
        };
        let mut said = self.clearing.said();
        if said.unanswered.insert(victim.uid.clone()) {
            drop(said);
            self.clearing.say(Event::EvictionUnanswered { victim });
        }
    }
}
