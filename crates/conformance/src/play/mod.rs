//! Plays one scenario with one extender.
//!
//! In: a lab, an extender, a scenario. Out: the outcome, and how long pods took. A play begins with a new extender process, a new
//! namespace and new nodes, whose names no other play has. At its end it removes its pods, nodes and process. So only the
//! control plane itself remains for the next play.

mod steps;
mod wait;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use k8s_openapi::api::core::v1;
use kube::api::ListParams;
use serde::Serialize;
use serde_json::{Value, json};

use super::lab::{Audit, Lab, create};
use super::names::Names;
use super::observed::{Observed, Raw};
use super::scenario::{Node, Scenario, small_node};
use super::tap::Verb;
use components::Hami;
use harness::cluster::fake_node;
use harness::observer::audit::Call;
use plan::{Component, HamiPlan, Programs};
use results::run_folder::Cause;

/// The extender has finished when it has made no call for this long, plus the wait of a call at its client limit: an event may
/// be written that long after its decision.
const QUIET: Duration = Duration::from_millis(250);

/// How long a burst may take until all its pods are bound.
const BURST_PATIENCE: Duration = Duration::from_mins(1);

/// How far the watches of kube-scheduler and extender may be behind a change that must be known before the next step. If this
/// is too short, a scenario shows a race that it is not about.
const WATCH_LAG: Duration = Duration::from_millis(300);

/// How long an extender is left alone with a bind that must not end yet.
const ALONE: Duration = Duration::from_secs(1);

/// The result of a play.
#[derive(Debug, Clone, Serialize)]
pub struct Played {
    /// Its outcome.
    pub observed: Observed,
    /// Scheduling latency of each pod that was bound, by the API server's time stamps, seconds.
    pub bound_secs: BTreeMap<String, f64>,
    /// How long the play took, seconds.
    pub wall_secs: f64,
}

/// A play in progress.
struct Play<'a> {
    lab: &'a Lab,
    scenario: &'a Scenario,
    programs: Programs,
    agent: &'a str,
    log: String,
    names: Names,
    audit: Audit,
    /// How many nodes were created so far, to make the extender look at all nodes.
    nudges: u32,
    pods: Vec<&'static str>,
}

/// Plays a scenario. `number` must not be used twice in a lab.
///
/// # Errors
/// The API server or the extender does not work at all. What an extender does with pods is never an error.
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
        programs: hami.among(lab.programs.clone()),
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
        let name = |node: &v1::Node| node.metadata.name.clone().unwrap_or_default();
        raw.nodes.retain(|node| !name(node).contains("nudge"));
        if self.scenario.alike {
            let bound = raw.asked.iter().filter(|asked| asked.verb == Verb::Bind);
            let used: Vec<String> = bound.flat_map(|asked| asked.nodes.clone()).collect();
            let all: Vec<String> = raw.nodes.iter().map(name).collect();
            self.names.number_nodes(&used, &all);
        }
        Ok((raw.observed(&self.names), self.bound_secs(during)))
    }

    /// How often an extender of this lab ended by itself.
    fn crashes(&self) -> u64 {
        let exits = self.lab.cluster.exits();
        let own = exits
            .iter()
            .filter(|e| e.component == Component::Hami.name());
        own.filter(|e| e.cause != Cause::Stopped).count() as u64
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
        let cluster = &self.lab.cluster;
        Ok(cluster
            .replace_extender(&self.programs, &plan, &self.log)
            .await?)
    }

    async fn create_node(&self, node: &Node) -> anyhow::Result<()> {
        let cards = self.real(&node.cards)?;
        let mut object = fake_node(&self.names.node(node.name), &cards, node.stamped);
        merge(&mut object, &self.real(&node.extra)?);
        create(&self.lab.nodes(), object).await
    }

    /// Creates a node that kube-scheduler never offers. This makes an extender look at all nodes; waits until it has.
    async fn register(&mut self) -> anyhow::Result<()> {
        self.nudges += 1;
        let name = self.names.node(&format!("nudge-{}", self.nudges));
        let cards = self.real(&small_node("nudge", 1).cards)?;
        let mut object = fake_node(&name, &cards, true);
        object["spec"]["unschedulable"] = json!(true);
        create(&self.lab.nodes(), object).await?;
        self.lab.cluster.registered(&name).await?;
        Ok(())
    }

    /// JSON of a scenario with the play's names in it.
    fn real(&self, value: &Value) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.names.real(&value.to_string()))?)
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
        let own = |call: &&Call| call.namespace == namespace && call.code < 300;
        let mine = || calls.iter().filter(own);
        let binds = mine().filter(|call| call.what == "create pods/binding");
        let of = |bind: &Call| {
            let created = mine().find(|c| c.what == "create pods" && c.name == bind.name)?;
            let secs = bind.at.duration_since(created.at).as_secs_f64();
            Some((bind.name.clone(), secs))
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
        match into.as_object_mut() {
            Some(object) if value.is_null() => drop(object.remove(key)),
            _ => merge(&mut into[key.as_str()], value),
        }
    }
}
