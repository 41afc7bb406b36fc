//! The records as they grow: a state machine over what was announced, submitted and seen.
//!
//! In: submissions and sightings of objects, each with its time. Out: records. It uses no clock and no network. The records
//! do not depend on which kind of object is seen first.

use std::collections::{HashMap, HashSet};

use super::job::TrackedJob;
use super::objects::{JobView, PodView, WorkloadView};
use plan::{DataPlane, Request, Via};
use results::run_folder::Record;

/// A Job that will be submitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// Team: namespace of its objects.
    pub tenant: String,
    /// Name of the Job or bare pod.
    pub name: String,
    /// Stage of the timeline.
    pub stage: String,
    /// Round within the stage, from 0.
    pub round: u32,
    /// What it asks for.
    pub request: Request,
    /// As which object it is submitted.
    pub via: Via,
    /// How long it runs once its pod runs; `None` if until the run's end.
    pub run_secs: Option<f64>,
    /// The delays of its pod on the machine; `None` if there are none.
    pub data_plane: Option<DataPlane>,
    /// When it should be submitted, seconds since the clock's zero.
    pub intended_secs: f64,
}

/// A watched kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// batch/v1 Jobs.
    Job,
    /// Kueue's Workloads.
    Workload,
    /// Pods.
    Pod,
}

impl ObjectKind {
    const COUNT: usize = 3;

    fn slot(self) -> usize {
        self as usize
    }
}

/// A sighting of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// A Job.
    Job(JobView),
    /// A Workload.
    Workload(WorkloadView),
    /// A pod.
    Pod(PodView),
}

/// An event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The object exists and looks like this.
    Seen(Object),
    /// The object is gone and looked like this.
    Gone(Object),
    /// A list begins. Objects that are not in it are gone.
    ListStarted(ObjectKind),
    /// The list is complete.
    ListDone(ObjectKind),
}

/// What an event changed, for callers that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// A time was added, or a Job ended.
    pub progress: bool,
    /// Index of a Job that has ended and whose attempts are closed. Its record is final.
    pub settled: Option<usize>,
}

/// A live object, to find its Job again by UID and to notice its absence from a list.
#[derive(Debug, Clone, Copy)]
struct Known {
    kind: ObjectKind,
    job: usize,
}

/// All Jobs of a run.
#[derive(Debug, Default)]
pub struct State {
    jobs: Vec<TrackedJob>,
    by_name: HashMap<String, HashMap<String, usize>>,
    known: HashMap<String, Known>,
    listing: [Option<HashSet<String>>; ObjectKind::COUNT],
    listed: [bool; ObjectKind::COUNT],
    relists: u32,
}

impl State {
    /// Announces a Job. Announcing a name a second time changes nothing.
    pub fn expect(&mut self, submission: Submission) {
        let names = self.by_name.entry(submission.tenant.clone()).or_default();
        if names.contains_key(&submission.name) {
            return;
        }
        names.insert(submission.name.clone(), self.jobs.len());
        self.jobs.push(TrackedJob::new(submission));
    }

    /// A Job's create call is being sent.
    pub fn sent(&mut self, tenant: &str, name: &str, at: f64) {
        if let Some(e) = self.find(tenant, name) {
            let submitted = &mut self.jobs[e].record.submitted_secs;
            *submitted = submitted.or(Some(at));
        }
    }

    /// A Job's create call was answered. A refusal ends the Job, unless its object appears all the same (the call timed out
    /// but was carried out).
    pub fn answered(
        &mut self,
        tenant: &str,
        name: &str,
        at: f64,
        answer: Result<(), String>,
    ) -> Changed {
        let Some(e) = self.find(tenant, name) else {
            return Changed::default();
        };
        let job = &mut self.jobs[e];
        match answer {
            Ok(()) => job.record.created_secs = job.record.created_secs.or(Some(at)),
            Err(error) => job.record.error = Some(error),
        }
        self.reckon(e)
    }

    /// Applies an event of a watch, seen at `at`.
    pub fn apply(&mut self, event: Event, at: f64) -> Changed {
        match event {
            Event::Seen(object) => self.seen(&object, at),
            Event::Gone(object) => {
                // Its last state may be new, too: a pod may succeed and be deleted at once.
                let first = self.seen(&object, at);
                let (_, uid, ..) = object.identity();
                let then = self.gone(uid, at);
                Changed {
                    progress: first.progress || then.progress,
                    settled: first.settled.or(then.settled),
                }
            }
            Event::ListStarted(kind) => {
                self.listing[kind.slot()] = Some(HashSet::new());
                Changed::default()
            }
            Event::ListDone(kind) => self.list_done(kind, at),
        }
    }

    /// How often a list was repeated because its watch was lost.
    pub fn relists(&self) -> u32 {
        self.relists
    }

    /// Kinds of objects whose first list is complete.
    pub fn kinds_listed(&self) -> usize {
        self.listed.iter().filter(|listed| **listed).count()
    }

    /// The Jobs, in the order they were announced.
    pub fn jobs(&self) -> &[TrackedJob] {
        &self.jobs
    }

    /// Moves every time `by` seconds earlier, since the clock's zero was set.
    pub fn shift(&mut self, by: f64) {
        for job in &mut self.jobs {
            job.record.shift(by);
        }
    }

    /// The records so far.
    pub fn records(&self) -> Vec<Record> {
        self.jobs.iter().map(TrackedJob::record).collect()
    }

    fn find(&self, tenant: &str, name: &str) -> Option<usize> {
        self.by_name.get(tenant)?.get(name).copied()
    }

    fn seen(&mut self, object: &Object, at: f64) -> Changed {
        let (kind, uid, namespace, name) = object.identity();
        if let Some(listed) = &mut self.listing[kind.slot()] {
            listed.insert(uid.to_owned());
        }
        let Some(e) = self.find(namespace, name) else {
            return Changed::default();
        };
        if !self.known.contains_key(uid) {
            let known = Known { kind, job: e };
            self.known.insert(uid.to_owned(), known);
        }
        let relisting = self.listing[kind.slot()].is_some();
        let tracked = &mut self.jobs[e];
        match object {
            Object::Job(job) => tracked.job(job, at),
            Object::Workload(workload) => tracked.workload(workload, at, relisting),
            Object::Pod(pod) => tracked.pod(pod, at, relisting),
        }
        self.reckon(e)
    }

    fn gone(&mut self, uid: &str, at: f64) -> Changed {
        let Some(Known { kind, job }) = self.known.remove(uid) else {
            return Changed::default();
        };
        let e = &mut self.jobs[job];
        match kind {
            ObjectKind::Job => e.job_gone(at),
            ObjectKind::Workload => e.workload_gone(at),
            ObjectKind::Pod => e.pod_gone(uid, at),
        }
        self.reckon(job)
    }

    fn list_done(&mut self, kind: ObjectKind, at: f64) -> Changed {
        let slot = kind.slot();
        let Some(listed) = self.listing[slot].take() else {
            return Changed::default();
        };
        if self.listed[slot] {
            self.relists += 1;
        }
        self.listed[slot] = true;
        let known = self.known.iter().filter(|(_, known)| known.kind == kind);
        let uids = known.map(|(uid, _)| uid.clone());
        let missing: Vec<String> = uids.filter(|uid| !listed.contains(uid)).collect();
        let mut changed = Changed::default();
        for uid in missing {
            changed.progress |= self.gone(&uid, at).progress;
        }
        changed
    }

    /// What to tell callers that wait about Job `e`.
    fn reckon(&mut self, e: usize) -> Changed {
        let job = &mut self.jobs[e];
        let settled = job.is_settled();
        let newly = settled && !job.settled;
        job.settled = settled;
        Changed {
            progress: true,
            settled: newly.then_some(e),
        }
    }
}

impl Object {
    /// Its kind, its UID, its namespace and the name of its Job.
    fn identity(&self) -> (ObjectKind, &str, &str, &str) {
        match self {
            Self::Job(job) => (ObjectKind::Job, &job.uid, &job.namespace, &job.name),
            Self::Workload(it) => (ObjectKind::Workload, &it.uid, &it.namespace, &it.job),
            Self::Pod(pod) => (ObjectKind::Pod, &pod.uid, &pod.namespace, &pod.job),
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
