//! Telling tasks to stop.

use std::collections::HashSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::{Clearing, Halt, check_guard};
use crate::api::{Api, ApiError};
use crate::decide::{self, Victim};
use crate::facts;
use crate::log::{Event, FailReason, StoppedTask};
use crate::state::{CLEARING, LOST};
use crate::workload::Workload;

/// How long the answer to one stop is waited for. The others are not kept waiting any longer, nor the tasks that come
/// meanwhile; an API server's own calls of webhooks end after 10 s by default, and a stop can be repeated without harm.
const ANSWER: Duration = Duration::from_secs(5);

/// What a clearing has said about pods, by UID.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Told to stop, and told to this process that they will.
    told: HashSet<String>,
    /// Told to stop, answer unknown.
    unanswered: HashSet<String>,
    /// Held by a budget.
    held: HashSet<String>,
}

impl<A: Api> Clearing<A> {
    /// Tells tasks to stop: through Kueue those that are Kueue's, by eviction the others. Returns without waiting for
    /// them; what could not be stopped yet (a budget, a Workload not seen yet, a lost call) is to be tried again.
    ///
    /// # Errors
    ///
    /// One of them must not be stopped, the API server refuses, or the node is not this clearing's any more.
    pub async fn stop(&self, pods: &[Pod]) -> Result<(), Halt> {
        let world = self.api.world();
        let memory = facts::node_cards(&self.node, &self.args.card_resource).memory_mib;
        let mut planned = HashSet::new();
        let mut orders = Vec::new();
        for pod in pods
            .iter()
            .filter(|p| p.metadata.deletion_timestamp.is_none())
        {
            let workload = world.workload_of(pod);
            let told = pod.uid().is_some_and(|uid| self.was_told(&uid));
            let unknown = facts::is_kueues(pod) && workload.is_none();
            let over = workload.is_some_and(|w| !w.active || w.finished);
            if told || unknown || over {
                continue;
            }
            let victim = decide::victim(&world, pod, memory, &self.args, self.api.now());
            if !decide::may_stop(&world, pod, &self.args) || victim.priority > self.state.priority {
                let detail = format!("{}/{} must not be stopped", victim.namespace, victim.pod);
                return Err(Halt::new(FailReason::Blocked, detail));
            }
            // One order stops all pods of a Workload.
            if workload.is_none_or(|w| planned.insert(w.uid.clone())) {
                orders.push(self.order(workload.map(|w| &**w), victim));
            }
        }
        if !orders.is_empty() {
            check_guard(&self.api, self.node(), &self.state).await?;
        }
        join_all(orders).await.into_iter().collect()
    }

    /// Tells one task to stop.
    async fn order(&self, workload: Option<&Workload>, victim: Victim) -> Result<(), Halt> {
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
        let told = tokio::time::timeout(ANSWER, answer).await;
        let told = told.unwrap_or_else(|_| Err(ApiError::Transient("no answer in time".into())));
        let victim = call.victim.take();
        match told {
            Ok(()) => {
                if let Some(victim) = victim {
                    self.stopped(victim);
                }
            }
            Err(ApiError::NotFound | ApiError::Conflict) => {}
            Err(ApiError::Budget) => {
                if self.said().held.insert(uid) {
                    self.say(Event::BudgetHolds {
                        victim_namespace: namespace,
                        victim_pod: pod,
                    });
                }
            }
            Err(ApiError::Transient(why)) => {
                if let Some(victim) = victim {
                    self.unanswered(victim);
                }
                tracing::warn!("stopping {namespace}/{pod}: {why}; trying again");
            }
            Err(e) => return Err(Halt::new(FailReason::Refused, e.to_string())),
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

    pub(super) fn was_told(&self, uid: &str) -> bool {
        self.said().told.contains(uid)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self, victim: Victim) {
        self.said().told.insert(victim.uid.clone());
        self.say(Event::Stopped {
            victim: task(victim),
        });
    }

    fn unanswered(&self, victim: Victim) {
        if self.said().unanswered.insert(victim.uid.clone()) {
            self.say(Event::StopUnanswered {
                victim: task(victim),
            });
        }
    }
}

fn task(victim: Victim) -> StoppedTask {
    StoppedTask {
        victim_namespace: victim.namespace,
        victim_pod: victim.pod,
        victim_uid: victim.uid,
        workload: victim.workload,
        priority: victim.priority,
        cards: victim.cards,
        age_secs: victim.age_secs,
        card_seconds: victim.card_seconds,
    }
}

/// A call that tells a task to stop. If the clearing ends before its answer is there, the task may be stopping all the same,
/// and that is written down: of a stop that nobody wrote down nobody knows whose it was.
struct UnderWay<'a, A: Api> {
    clearing: &'a Clearing<A>,
    victim: Option<Victim>,
}

impl<A: Api> Drop for UnderWay<'_, A> {
    fn drop(&mut self) {
        if let Some(victim) = self.victim.take() {
            self.clearing.unanswered(victim);
        }
    }
}
