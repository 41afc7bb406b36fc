//! One Job: its record, which grows event by event.
//!
//! Kueue's admissions and the pods arrive on separate watches, a little out of step. Events open attempts as follows:
//! - A reservation opens an attempt. The first pod after it belongs to it.
//! - A further pod under the same reservation opens another attempt: the first pod was evicted, and the Job controller
//!   replaced it. This attempt has no admission times. The quota was held throughout and counts for the attempt before.
//! - A pod seen before its reservation opens an attempt, which the reservation then completes.
//!
//! An event that happened while a watch was lost has the time at which it was learnt of. A time always means: seen by then.

use super::objects::{JobView, PodPhase, PodView, WorkloadView};
use super::state::Submission;
use plan::Via;
use results::run_folder::{Attempt, AttemptEnd, Outcome, Record};

/// A Job's record, with what is needed only while it grows.
#[derive(Debug, Clone)]
pub struct TrackedJob {
    pub(super) record: Record,
    tracks: Vec<Track>,
    /// Since when the Workload has its quota reservation, as last seen.
    reserved_since: Option<i64>,
    job_seen: bool,
    pub(super) settled: bool,
}

/// What is kept beside an attempt.
#[derive(Debug, Clone, Default)]
struct Track {
    reserved_since: Option<i64>,
    pod_created_at: i64,
    evicted: Option<String>,
    last_phase: PodPhase,
    disrupted: bool,
}

impl TrackedJob {
    pub(super) fn new(s: Submission) -> Self {
        Self {
            record: Record {
                class: s.request.class(),
                tenant: s.tenant,
                name: s.name,
                stage: s.stage,
                round: s.round,
                request: s.request,
                via: s.via,
                run_secs: s.run_secs,
                data_plane: s.data_plane,
                intended_secs: s.intended_secs,
                submitted_secs: None,
                created_secs: None,
                error: None,
                attempts: Vec::new(),
                finished_secs: None,
                outcome: Outcome::Unfinished,
            },
            tracks: Vec::new(),
            reserved_since: None,
            job_seen: false,
            settled: false,
        }
    }

    /// Its record so far. Attempts end as the evidence so far says.
    pub fn record(&self) -> Record {
        let mut record = self.record.clone();
        if self.is_refused() {
            record.outcome = Outcome::Failed;
        }
        let last = record.attempts.len().saturating_sub(1);
        for (i, (attempt, track)) in record.attempts.iter_mut().zip(&self.tracks).enumerate() {
            attempt.end = track.end(attempt);
            // The pod was gone before its success was seen (its watch was lost), but the Job reports success.
            if record.outcome == Outcome::Succeeded
                && i == last
                && attempt.end == AttemptEnd::Evicted
            {
                attempt.end = AttemptEnd::Succeeded;
            }
        }
        record
    }

    /// Whether it is done and has succeeded.
    pub fn succeeded(&self) -> bool {
        self.record.outcome == Outcome::Succeeded
    }

    /// Attempts lost to preemption or eviction so far.
    pub fn lost_attempts(&self) -> u32 {
        let ends = self.record.attempts.iter().zip(&self.tracks);
        let lost = ends.filter(|(attempt, track)| track.end(attempt).is_eviction());
        u32::try_from(lost.count()).unwrap_or(u32::MAX)
    }

    /// The record without the attempts' ends, which is cheap, for the live view.
    pub fn live(&self) -> &Record {
        &self.record
    }

    /// Done, failed or refused.
    pub fn is_done(&self) -> bool {
        self.record.finished_secs.is_some() || self.is_refused()
    }

    /// Done, and no attempt is left open.
    pub fn is_settled(&self) -> bool {
        let mut attempts = self.record.attempts.iter();
        self.is_done() && attempts.all(|a| !a.holds_quota() && !a.holds_pod())
    }

    fn is_refused(&self) -> bool {
        self.record.error.is_some() && !self.job_seen && self.record.attempts.is_empty()
    }

    pub(super) fn job(&mut self, job: &JobView, at: f64) {
        self.job_seen = true;
        if job.complete {
            self.finish(Outcome::Succeeded, at);
        } else if job.failed {
            self.finish(Outcome::Failed, at);
        }
    }

    pub(super) fn job_gone(&mut self, at: f64) {
        if self.record.finished_secs.is_none() {
            self.record.error = Some("deleted before it was done".to_owned());
        }
        self.finish(Outcome::Failed, at);
    }

    fn finish(&mut self, outcome: Outcome, at: f64) {
        if self.record.finished_secs.is_none() {
            self.record.finished_secs = Some(at);
            self.record.outcome = outcome;
        }
    }

    pub(super) fn workload(&mut self, workload: &WorkloadView, at: f64, relisting: bool) {
        let before = self.reserved_since;
        self.reserved_since = workload.reserved_since;
        if let Some(since) = workload.reserved_since {
            if before != Some(since) {
                // Still open: neither its end nor the new reservation was seen.
                self.release(at);
                self.reserve(since, at, relisting);
            }
            if let Some(i) = self.open_admission() {
                let attempt = &mut self.record.attempts[i];
                if workload.admitted {
                    attempt.admitted_secs.get_or_insert(at);
                }
            }
        }
        if let Some(reason) = &workload.evicted {
            self.evict(reason);
        }
        if workload.reserved_since.is_none() || workload.finished {
            self.release(at);
        }
    }

    pub(super) fn workload_gone(&mut self, at: f64) {
        self.reserved_since = None;
        self.release(at);
    }

    /// Kueue takes back the held quota. That ends the last pod under it, and any other that has not ended by itself.
    fn evict(&mut self, reason: &str) {
        let Some(first) = self.open_admission() else {
            return;
        };
        let last = self.tracks.len() - 1;
        for i in first..=last {
            if i == last || self.record.attempts[i].ended_secs.is_none() {
                self.tracks[i].evicted = Some(reason.to_owned());
            }
        }
    }

    /// The attempt whose quota is held.
    fn open_admission(&self) -> Option<usize> {
        self.record.attempts.iter().rposition(Attempt::holds_quota)
    }

    fn release(&mut self, at: f64) {
        if let Some(i) = self.open_admission() {
            self.record.attempts[i].released_secs = Some(at);
        }
    }

    fn reserve(&mut self, since: i64, at: f64, relisting: bool) {
        let pod_came_first = match (self.record.attempts.last(), self.tracks.last()) {
            (Some(attempt), Some(track)) => {
                attempt.pod.is_some()
                    && attempt.reserved_secs.is_none()
                    && attempt.released_secs.is_none()
                    && track.pod_created_at >= since
                    && (attempt.ended_secs.is_none() || relisting)
            }
            _ => false,
        };
        if !pod_came_first {
            self.open();
        }
        if let (Some(attempt), Some(track)) =
            (self.record.attempts.last_mut(), self.tracks.last_mut())
        {
            attempt.reserved_secs = Some(at);
            track.reserved_since = Some(since);
        }
    }

    fn attempt_with(&self, pod_uid: &str) -> Option<usize> {
        let mut attempts = self.record.attempts.iter();
        attempts.rposition(|a| a.pod_uid.as_deref() == Some(pod_uid))
    }

    fn open(&mut self) {
        self.record.attempts.push(Attempt::default());
        self.tracks.push(Track::default());
    }

    pub(super) fn pod(&mut self, pod: &PodView, at: f64, relisting: bool) {
        if self.record.via == Via::Pod {
            self.job_seen = true;
        }
        let i = self.attempt_of(pod, at, relisting);
        let (attempt, track) = (&mut self.record.attempts[i], &mut self.tracks[i]);
        if attempt.bound_secs.is_none() && pod.node.is_some() {
            attempt.bound_secs = Some(at);
            attempt.node.clone_from(&pod.node);
            attempt.cards.clone_from(&pod.cards);
        }
        match pod.unscheduled.as_deref() {
            Some("Unschedulable") => drop(attempt.unschedulable_secs.get_or_insert(at)),
            Some(_) => drop(attempt.refused_secs.get_or_insert(at)),
            None => {}
        }
        let ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        if matches!(pod.phase, PodPhase::Running | PodPhase::Succeeded) {
            attempt.running_secs.get_or_insert(at);
        }
        // Without a data plane it is useful as soon as it runs, and its end is the moment when it was deleted.
        if self.record.data_plane.is_some() {
            let useful = pod.phase == PodPhase::Running && pod.ready;
            if useful || pod.phase == PodPhase::Succeeded {
                attempt.useful_secs.get_or_insert(at);
            }
            if pod.deleted && !ended {
                attempt.told_secs.get_or_insert(at);
            }
        }
        if ended {
            attempt.ended_secs.get_or_insert(at);
        }
        if track.last_phase != PodPhase::Succeeded {
            track.last_phase = pod.phase;
        }
        track.disrupted |= pod.disrupted;
        if self.record.via == Via::Pod && ended {
            let outcome = match pod.phase {
                PodPhase::Succeeded => Outcome::Succeeded,
                _ => Outcome::Failed,
            };
            self.finish(outcome, at);
        }
    }

    /// The attempt that a pod belongs to, opened if the pod is new.
    fn attempt_of(&mut self, pod: &PodView, at: f64, relisting: bool) -> usize {
        if let Some(i) = self.attempt_with(&pod.uid) {
            return i;
        }
        let i = self.admission_for(pod, relisting).unwrap_or_else(|| {
            self.open();
            self.record.attempts.len() - 1
        });
        let attempt = &mut self.record.attempts[i];
        attempt.pod = Some(pod.name.clone());
        attempt.pod_uid = Some(pod.uid.clone());
        attempt.pod_created_secs = Some(at);
        self.tracks[i].pod_created_at = pod.created_at;
        i
    }

    /// The attempt that has quota and no pod yet: the last, if it still holds its quota. In a re-list the pod may be an old one
    /// whose quota was released meanwhile; then it is the last attempt reserved before the pod was created.
    fn admission_for(&self, pod: &PodView, relisting: bool) -> Option<usize> {
        let attempts = &self.record.attempts;
        let last = attempts.len().checked_sub(1)?;
        if attempts[last].pod.is_none() && attempts[last].released_secs.is_none() {
            return Some(last);
        }
        let before = |track: &Track| track.reserved_since.is_some_and(|at| at <= pod.created_at);
        attempts
            .iter()
            .zip(&self.tracks)
            .rposition(|(attempt, track)| relisting && attempt.pod.is_none() && before(track))
    }

    pub(super) fn pod_gone(&mut self, uid: &str, at: f64) {
        if let Some(i) = self.attempt_with(uid) {
            self.record.attempts[i].ended_secs.get_or_insert(at);
        }
        if self.record.via == Via::Pod {
            self.job_gone(at);
        }
    }
}

impl Track {
    /// How the attempt ended, as far as is known.
    fn end(&self, attempt: &Attempt) -> AttemptEnd {
        if self.last_phase == PodPhase::Succeeded {
            return AttemptEnd::Succeeded;
        }
        let closed = attempt.ended_secs.is_some()
            || (attempt.pod.is_none() && attempt.released_secs.is_some());
        if !closed {
            return AttemptEnd::Unfinished;
        }
        match &self.evicted {
            Some(reason) if reason == "Preempted" => AttemptEnd::Preempted,
            None if self.last_phase == PodPhase::Failed && !self.disrupted => AttemptEnd::Failed,
            _ => AttemptEnd::Evicted,
        }
    }
}
