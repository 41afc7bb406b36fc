//! The record of one Job (or bare pod) and its attempts: a line of `jobs.jsonl`.
//!
//! All `*_secs` stamps are seconds since the run's clock started (negative before it: background work), on the
//! monotonic clock of the harness; those named `*_audit_secs` are kube-apiserver's own microsecond stamps brought to
//! the same zero. `None` means it was not seen to happen before the observation ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use plan::metric::Phase;
use plan::{DataPlane, Request, Via};

/// How a Job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its work was done.
    Succeeded,
    /// Its Job failed, or its submission was refused.
    Failed,
    /// The observation ended first: waiting, running, or never admitted.
    Unfinished,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptEnd {
    /// The pod succeeded.
    Succeeded,
    /// The pod failed.
    Failed,
    /// Kueue took the quota back (preemption).
    Preempted,
    /// The pod was evicted or deleted by something else, or by what was not seen (a lost watch).
    Evicted,
    /// The observation ended first.
    #[default]
    Unfinished,
}

impl AttemptEnd {
    /// Whether the attempt was evicted before it had come to its own end.
    #[must_use]
    pub fn is_eviction(self) -> bool {
        matches!(self, Self::Preempted | Self::Evicted)
    }
}

/// One admission and its pod.
///
/// A pod that replaces an evicted one under the same admission is an attempt of its own, without the admission's
/// stamps: the quota is accounted once, to the attempt before. The stamps of one attempt come from several watches,
/// so that two of them may be a few milliseconds out of step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Quota reserved: the Workload's `QuotaReserved` condition turned true.
    pub reserved_secs: Option<f64>,
    /// Workload admitted.
    pub admitted_secs: Option<f64>,
    /// Quota given back: Workload finished or gone, or its quota reservation lost. (An eviction alone gives nothing
    /// back: Kueue holds the quota until the evicted pods are inactive.)
    pub released_secs: Option<f64>,
    /// Name of the pod.
    pub pod: Option<String>,
    /// UID of the pod.
    pub pod_uid: Option<String>,
    /// Pod created.
    pub pod_created_secs: Option<f64>,
    /// Pod first seen refused: HAMi did not bind it, since the machine was locked for another pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_secs: Option<f64>,
    /// Pod first seen unschedulable: kube-scheduler found no machine on which it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unschedulable_secs: Option<f64>,
    /// Pod seen bound by the watch.
    pub bound_secs: Option<f64>,
    /// `requestReceived` of the pods/binding call in the audit log: the bind time of record.
    pub bound_audit_secs: Option<f64>,
    /// Node it was bound to.
    pub node: Option<String>,
    /// UUIDs of the cards that HAMi gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
    /// Pod running.
    pub running_secs: Option<f64>,
    /// Pod ready, which is when its useful work begins. Seen only in a run with a data plane; in others it is useful as
    /// soon as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub useful_secs: Option<f64>,
    /// Pod terminating: deleted while it ran. Seen only in a run with a data plane; in others it ends at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_secs: Option<f64>,
    /// Pod succeeded, failed or gone.
    pub ended_secs: Option<f64>,
    /// How it ended.
    pub end: AttemptEnd,
    /// Cards held in another team's quota, of those admitted (Kueue's borrowing), at admission.
    pub borrowed_cards: u32,
}

impl Attempt {
    /// When its pod was seen bound, by the watch that also saw it created and running; the bind time of record if that was
    /// not seen.
    #[must_use]
    pub fn watched_bind_secs(&self) -> Option<f64> {
        self.bound_secs.or(self.bound_audit_secs)
    }

    /// Bind time of record: the audit log's, or the watch's where there is no audit evidence.
    #[must_use]
    pub fn bind_secs(&self) -> Option<f64> {
        self.bound_audit_secs.or(self.bound_secs)
    }

    /// Whether quota is held for it.
    #[must_use]
    pub fn holds_quota(&self) -> bool {
        self.reserved_secs.is_some() && self.released_secs.is_none()
    }

    /// When its work was ended: the order to end, and the pod's end where that was not seen.
    #[must_use]
    pub fn evicted_secs(&self) -> Option<f64> {
        self.told_secs.or(self.ended_secs)
    }

    /// Whether its pod exists and has not ended.
    #[must_use]
    pub fn holds_pod(&self) -> bool {
        self.pod.is_some() && self.ended_secs.is_none()
    }
}

/// One Job or bare pod.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Team.
    pub tenant: String,
    /// Name of the Job or bare pod.
    pub name: String,
    /// Stage of the timeline.
    pub stage: String,
    /// Round within the stage, from 0.
    pub round: u32,
    /// Class of request, e.g. `whole-card`.
    pub class: String,
    /// What it asked for.
    pub request: Request,
    /// Through which objects.
    pub via: Via,
    /// How long it runs once its pod runs (with a data plane: works); `None`: until the end.
    pub run_secs: Option<f64>,
    /// What its pods went through on their machines, as it was played; absent: nothing that takes time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_plane: Option<DataPlane>,
    /// When it was to be submitted: the zero of its latencies.
    pub intended_secs: f64,
    /// When the create call was sent.
    pub submitted_secs: Option<f64>,
    /// When the create call was answered.
    pub created_secs: Option<f64>,
    /// Error of the create call, if it was refused; or that the Job or pod was deleted before it was done.
    pub error: Option<String>,
    /// Its attempts in order; empty if it was never given quota and never had a pod.
    pub attempts: Vec<Attempt>,
    /// When the Job (or bare pod) was seen done.
    pub finished_secs: Option<f64>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Record {
    /// Moves every stamp `by` seconds earlier.
    pub fn shift(&mut self, by: f64) {
        self.intended_secs -= by;
        let own = [
            &mut self.submitted_secs,
            &mut self.created_secs,
            &mut self.finished_secs,
        ];
        let attempts = self.attempts.iter_mut().flat_map(|a| {
            [
                &mut a.reserved_secs,
                &mut a.admitted_secs,
                &mut a.released_secs,
                &mut a.pod_created_secs,
                &mut a.refused_secs,
                &mut a.unschedulable_secs,
                &mut a.bound_secs,
                &mut a.bound_audit_secs,
                &mut a.running_secs,
                &mut a.useful_secs,
                &mut a.told_secs,
                &mut a.ended_secs,
            ]
        });
        for stamp in own.into_iter().chain(attempts).flatten() {
            *stamp -= by;
        }
    }

    /// When its first pod was bound, by the bind time of record.
    #[must_use]
    pub fn first_bind_secs(&self) -> Option<f64> {
        self.attempts.iter().find_map(Attempt::bind_secs)
    }

    /// How late it was submitted, seconds; `None` if it was not.
    #[must_use]
    pub fn lateness_secs(&self) -> Option<f64> {
        self.submitted_secs.map(|at| at - self.intended_secs)
    }
}
