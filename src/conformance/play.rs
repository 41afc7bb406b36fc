//! Playing one scenario with one extender.
//!
//! In: a lab, an extender, a scenario. Out: what it showed, and how long pods took. A play begins with a new extender process,
//! a new namespace and new nodes, whose names no other play has, and removes its pods, nodes and process at the end: nothing
//! of one play reaches the next but the control plane itself.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::lab::{Audit, Lab, PATIENCE, POLL, absent_is_fine, until};
use super::names::Names;
use super::observed::{Observed, Raw};
use super::scenario::{Node, Pod, Scenario, Step, small_node};
use super::tap::Verb;
use crate::cluster::{Cause, ExtenderProgram, HAMI, fake_node};
use crate::components::Hami;
use crate::observer::audit::Call;
use crate::plan::HamiPlan;

/// The extender is through when it has called nothing for this long, beyond what a call waits at its limit: an event may be
/// written that long after the decision it tells of.
const QUIET: Duration = Duration::from_millis(250);

/// How long a burst may take until all its pods have landed.
const BURST_PATIENCE: Duration = Duration::from_secs(60);

/// How long the watches of kube-scheduler and extender may lag behind a change that must be known before the next step.
/// Too short, and a scenario shows a race that it is not about.
const WATCH_LAG: Duration = Duration::from_millis(300);

/// How long an extender is left alone with a bind that is not to end yet.
const ALONE: Duration = Duration::from_secs(1);

/// What came of a play.
#[derive(Debug, Clone, Serialize)]
pub struct Played {
    /// What it showed.
    pub observed: Observed,
    /// From the creation of each pod that landed to its binding, by the API server's stamps, seconds.
    pub bound_secs: BTreeMap<String, f64>,
    /// How long the play took, seconds.
    pub wall_secs: f64,
}

/// A play under way.
struct Play<'a> {
    lab: &'a Lab,
    scenario: &'a Scenario,
    extender: ExtenderProgram,
    agent: &'a str,
    log: String,
    names: Names,
    audit: Audit,
    /// Nodes created so far, to make the extender look at all of them.
    nudges: u32,
    pods: Vec<&'static str>,
}

/// Plays a scenario; `number` must not be used twice in a lab.
///
/// # Errors
/// The API server or the extender does not work at all. What an extender does to pods is never an error.
pub async fn play(
    lab: &Lab,
    hami: &Hami,
    scenario: &Scenario,
    number: usize,
) -> anyhow::Result<Played> {
    let started = Instant::now();
    let mut play = Play {
        lab,
        scenario,
        extender: ExtenderProgram {
            program: hami.program.clone(),
            args: hami.leading_args.clone(),
        },
        agent: &hami.agent,
        log: format!("extender-{number}-{}.log", scenario.name),
        names: Names::new(number),
        audit: lab.audit(),
        nudges: 0,
        pods: Vec::new(),
    };
    let namespace = play.names.namespace();
    let shown = play.run().await;
    lab.tap.close();
    lab.cluster.stop_extender().await;
    lab.clear(&namespace).await?;
    let (observed, bound_secs) = shown?;
    Ok(Played {
        observed,
        bound_secs,
        wall_secs: started.elapsed().as_secs_f64(),
    })
}

impl Play<'_> {
    async fn run(&mut self) -> anyhow::Result<(Observed, BTreeMap<String, f64>)> {
        let crashes = self.crashes();
        self.audit.read()?;
        let begin = self.audit.calls.len();
        self.lab.namespace(&self.names.namespace()).await?;
        self.lab.tap.aim(self.lab.cluster.extender_port())?;
        self.start_extender().await?;
        for node in &self.scenario.nodes {
            self.create_node(node).await?;
            if !node.stamped {
                // A round of registration that begins before the last one's changes are known repeats its calls.
                self.lab.pause(WATCH_LAG).await;
            }
        }
        self.register().await?;
        self.quiet().await?;
        let registered = self.audit.calls.len();
        for step in &self.scenario.steps {
            self.step(step).await.with_context(|| format!("{step:?}"))?;
        }
        self.quiet().await?;

        let (start, during) = self.audit.calls.split_at(registered);
        let mut raw = Raw {
            names: self.pods.iter().map(|name| (*name).to_owned()).collect(),
            pods: self.pods_api().list(&ListParams::default()).await?.items,
            nodes: self.lab.nodes().list(&ListParams::default()).await?.items,
            events: self.lab.events(&self.names.namespace()).await?,
            asked: self.lab.tap.asked(),
            crashes: self.crashes() - crashes,
            start_calls: self.count(&start[begin..]),
            calls: self.count(during),
        };
        raw.nodes.retain(|node| {
            !node
                .metadata
                .name
                .as_ref()
                .is_some_and(|n| n.contains("nudge"))
        });
        if self.scenario.alike {
            let bound = raw.asked.iter().filter(|asked| asked.verb == Verb::Bind);
            let used: Vec<String> = bound.flat_map(|asked| asked.nodes.clone()).collect();
            let all: Vec<String> = raw
                .nodes
                .iter()
                .filter_map(|node| node.metadata.name.clone())
                .collect();
            self.names.number_nodes(&used, &all);
        }
        Ok((raw.observed(&self.names), self.bound_secs(during)))
    }

    /// How often an extender of this lab ended by itself.
    fn crashes(&self) -> u64 {
        let exits = self.lab.cluster.exits();
        let own = exits
            .iter()
            .filter(|e| e.component == HAMI && e.cause != Cause::Stopped);
        own.count() as u64
    }

    fn pods_api(&self) -> kube::Api<v1::Pod> {
        self.lab.pods(&self.names.namespace())
    }

    async fn start_extender(&self) -> anyhow::Result<()> {
        let plan = HamiPlan {
            node_policy: self.scenario.node_policy,
            gpu_policy: self.scenario.gpu_policy,
            limit: self.scenario.limit,
            ..self.lab.plan.hami.clone()
        };
        let lab = self.lab;
        lab.cluster
            .replace_extender(&lab.programs, &self.extender, &plan, &self.log)
            .await?;
        Ok(())
    }

    async fn create_node(&self, node: &Node) -> anyhow::Result<()> {
        let cards = self.real(&node.cards)?;
        let mut object = fake_node(&self.names.node(node.name), &cards, node.stamped);
        merge(&mut object, &self.real(&node.extra)?);
        self.lab.create_node(object).await
    }

    /// Brings a node that kube-scheduler never offers, which makes an extender look at all nodes, and waits until it has.
    async fn register(&mut self) -> anyhow::Result<()> {
        self.nudges += 1;
        let name = self.names.node(&format!("nudge-{}", self.nudges));
        let cards = self.real(&small_node("nudge", 1).cards)?;
        let mut object = fake_node(&name, &cards, true);
        object["spec"]["unschedulable"] = json!(true);
        self.lab.create_node(object).await?;
        self.lab.cluster.registered(&name).await?;
        Ok(())
    }

    /// JSON of a scenario with the play's names in it.
    fn real(&self, value: &Value) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.names.real(&value.to_string()))?)
    }

    async fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Submit(pods) => {
                for pod in pods {
                    self.create_pod(pod).await?;
                    self.settle(&[pod], PATIENCE).await?;
                }
            }
            Step::Burst(pods) => {
                try_join_all(pods.iter().map(|pod| self.create(pod))).await?;
                self.pods.extend(pods.iter().map(|pod| pod.name));
                self.settle(&pods.iter().collect::<Vec<_>>(), BURST_PATIENCE)
                    .await?;
            }
            Step::Hold(pod) => {
                let full = self.names.pod(pod.name);
                self.lab.tap.hold(&full);
                self.create_pod(pod).await?;
                until("the bind that is to be held", || async {
                    anyhow::Ok(self.lab.tap.is_waiting(&full))
                })
                .await?;
            }
            Step::Release(pods) => {
                let full: Vec<String> = pods.iter().map(|name| self.names.pod(name)).collect();
                self.lab.tap.release(&full);
                let answered =
                    || async { anyhow::Ok(full.iter().all(|pod| self.bind_answered(pod))) };
                until("the answer to a bind", answered).await?;
            }
            Step::Begin(pods) => {
                let full: Vec<String> = pods.iter().map(|name| self.names.pod(name)).collect();
                self.lab.tap.release(&full);
                sleep(ALONE).await;
            }
            Step::Retry(pod, tries) => {
                self.lab.tap.allow(&self.names.pod(pod), *tries);
                self.poke().await?;
                self.settle_names(&[pod], PATIENCE).await?;
            }
            Step::PatchNode(node, patch) => {
                // Each of the two takes its own part of the object.
                let (nodes, name) = (self.lab.nodes(), self.names.node(node));
                let (params, patch) = (PatchParams::default(), Patch::Merge(self.real(patch)?));
                nodes.patch(&name, &params, &patch).await?;
                nodes.patch_status(&name, &params, &patch).await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::DropNode(node) => {
                let now = DeleteParams::default();
                self.lab
                    .nodes()
                    .delete(&self.names.node(node), &now)
                    .await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::AddNode(node) => self.create_node(node).await?,
            Step::PatchPod(pod, patch) => {
                let patch = Patch::Merge(self.real(patch)?);
                self.pods_api()
                    .patch(pod, &PatchParams::default(), &patch)
                    .await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::PatchStatus(pod, patch) => {
                let patch = Patch::Merge(json!({ "status": self.real(patch)? }));
                self.pods_api()
                    .patch_status(pod, &PatchParams::default(), &patch)
                    .await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::Delete(pod) => {
                let now = DeleteParams::default().grace_period(0);
                absent_is_fine(self.pods_api().delete(pod, &now).await)?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::Register => {
                self.register().await?;
                self.lab.pause(WATCH_LAG).await;
            }
            Step::Restart => {
                self.quiet().await?;
                self.start_extender().await?;
                self.register().await?;
            }
            Step::Quota(hard) => {
                self.lab.quota(&self.names.namespace(), hard).await?;
                self.lab.pause(WATCH_LAG).await;
            }
        }
        Ok(())
    }

    async fn create(&self, pod: &Pod) -> anyhow::Result<()> {
        self.lab.tap.allow(&self.names.pod(pod.name), pod.tries);
        self.lab
            .create_pod(&self.names.namespace(), self.real(&pod.object)?)
            .await
    }

    async fn create_pod(&mut self, pod: &Pod) -> anyhow::Result<()> {
        self.create(pod).await?;
        if !self.pods.contains(&pod.name) {
            self.pods.push(pod.name);
        }
        if pod.bystander {
            self.lab.pause(WATCH_LAG).await;
        }
        Ok(())
    }

    /// Changes something about a node that nobody reads, so that kube-scheduler tries waiting pods again.
    async fn poke(&self) -> anyhow::Result<()> {
        let note = json!({ "headroom.dev/poke": jiff::Timestamp::now().to_string() });
        let poke = Patch::Merge(json!({ "metadata": { "annotations": note } }));
        for node in self.lab.nodes().list(&ListParams::default()).await? {
            let name = node.metadata.name.unwrap_or_default();
            self.lab
                .nodes()
                .patch(&name, &PatchParams::default(), &poke)
                .await?;
        }
        Ok(())
    }

    async fn settle(&self, pods: &[&Pod], patience: Duration) -> anyhow::Result<()> {
        let waited = pods.iter().filter(|pod| !pod.bystander);
        self.settle_names(&waited.map(|pod| pod.name).collect::<Vec<_>>(), patience)
            .await
    }

    /// Waits until pods have landed, are gone, or have used up their tries. One that does neither in time is no error: then
    /// that is what the play shows.
    async fn settle_names(&self, pods: &[&'static str], patience: Duration) -> anyhow::Result<()> {
        let started = Instant::now();
        for name in pods {
            while !self.settled(name).await? && started.elapsed() < patience {
                sleep(POLL).await;
            }
        }
        Ok(())
    }

    async fn settled(&self, name: &str) -> anyhow::Result<bool> {
        let Some(pod) = self.pods_api().get_opt(name).await? else {
            return Ok(true);
        };
        let bound = pod
            .spec
            .as_ref()
            .is_some_and(|spec| spec.node_name.is_some());
        let status = pod.status.unwrap_or_default();
        if bound {
            // Once it runs, the device plugin has given the node's lock back.
            return Ok(status.phase.as_deref() != Some("Pending"));
        }
        let full = self.names.pod(name);
        let asked = self.lab.tap.asked();
        let Some(last) = asked.iter().rfind(|asked| asked.pod == full) else {
            // Not one node is left for the extender to judge.
            let conditions = status.conditions.unwrap_or_default();
            let refused = conditions
                .iter()
                .any(|c| c.type_ == "PodScheduled" && c.status == "False");
            return Ok(refused);
        };
        let Some(answer) = &last.answer else {
            return Ok(false);
        };
        let failed = answer["Error"]
            .as_str()
            .is_some_and(|error| !error.is_empty());
        let chosen = answer["NodeNames"]
            .as_array()
            .is_some_and(|nodes| !nodes.is_empty());
        let over = match last.verb {
            Verb::Filter => failed || !chosen,
            Verb::Bind => failed,
        };
        Ok(over && self.lab.tap.tries_left(&full) == 0)
    }

    fn bind_answered(&self, pod: &str) -> bool {
        let asked = self.lab.tap.asked();
        let binds = asked
            .iter()
            .filter(|asked| asked.verb == Verb::Bind && asked.pod == pod);
        binds.last().is_some_and(|bind| bind.answer.is_some())
    }

    /// Waits until the extender calls nothing any more.
    async fn quiet(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        let turn = Duration::from_secs_f64(1.5 / self.scenario.limit.qps);
        let quiet = self.lab.stretched(QUIET + turn).await;
        let mut since = (usize::MAX, started);
        while started.elapsed() < BURST_PATIENCE {
            self.audit.read()?;
            let mine = self
                .audit
                .calls
                .iter()
                .filter(|call| call.agent == self.agent)
                .count();
            if mine != since.0 {
                since = (mine, Instant::now());
            } else if since.1.elapsed() >= quiet {
                break;
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    fn count(&self, calls: &[Call]) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for call in calls
            .iter()
            .filter(|call| call.agent == self.agent && !call.is_watch())
        {
            *counts.entry(call.label()).or_default() += 1;
        }
        counts
    }

    fn bound_secs(&self, calls: &[Call]) -> BTreeMap<String, f64> {
        let namespace = self.names.namespace();
        let mine = || {
            calls
                .iter()
                .filter(|call| call.namespace == namespace && call.code < 300)
        };
        let binds = mine().filter(|call| call.what == "create pods/binding");
        let of = |bind: &Call| {
            let created = mine().find(|c| c.what == "create pods" && c.name == bind.name)?;
            Some((
                bind.name.clone(),
                bind.at.duration_since(created.at).as_secs_f64(),
            ))
        };
        binds.filter_map(of).collect()
    }
}

/// RFC 7386.
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            if let Some(object) = into.as_object_mut() {
                object.remove(key);
            }
        } else {
            merge(&mut into[key.as_str()], value);
        }
    }
}
