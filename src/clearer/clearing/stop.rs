//! Telling tasks to stop.

use std::collections::HashSet;
use std::sync::PoisonError;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::{Clearing, Halt};
use crate::clearer::api::{Api, ApiError};
use crate::clearer::decide::{self, Victim};
use crate::clearer::facts;
use crate::clearer::log::{Event, FailReason, StoppedTask};
use crate::clearer::state::{CLEARING, LOST};
use crate::clearer::workload::Workload;

impl<A: Api> Clearing<A> {
    /// Tells tasks to stop: through Kueue those that are Kueue's, by eviction the others. Returns without waiting for
    /// them; what could not be stopped yet (a budget, a Workload not seen yet, a lost call) is to be tried again.
    ///
    /// # Errors
    ///
    /// One of them must not be stopped, or the API server refuses.
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
        let told = match workload {
            Some(w) => self.deactivate(w, card_seconds).await,
            None => self.api.evict(&namespace, &pod, &uid).await,
        };
        let victim = call.victim.take();
        match told {
            Ok(()) => victim.into_iter().for_each(|v| self.stopped(v)),
            Err(ApiError::NotFound | ApiError::Conflict) => {}
            Err(ApiError::Budget) => self.say(Event::BudgetHolds {
                victim_namespace: namespace,
                victim_pod: pod,
            }),
            Err(ApiError::Transient(why)) => {
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
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(uid)
    }

    fn stopped(&self, victim: Victim) {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(victim.uid.clone());
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
}

/// A call that tells a task to stop. If the clearing ends before its answer is there, the task may be stopping all the same,
/// and is written down as told: of a stop that nobody wrote down nobody knows whose it was.
struct UnderWay<'a, A: Api> {
    clearing: &'a Clearing<A>,
    victim: Option<Victim>,
}

impl<A: Api> Drop for UnderWay<'_, A> {
    fn drop(&mut self) {
        if let Some(victim) = self.victim.take() {
            self.clearing.stopped(victim);
        }
    }
}
