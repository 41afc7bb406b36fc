//! `/filter`: chooses a node and its cards for a pod. In: a pod and the names of the remaining nodes. Out: one node at most.
//! The cards are reserved in memory and written to the pod in one PATCH.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::accounts::Accounts;
use super::api::lock;
use super::cards::{self, NodeUse};
use super::events::Reason;
use super::request::{self, CardRequest, annotation};
use super::score::{self, Candidate, Demand};
use super::server::Extender;
use super::wire::{FilterArgs, FilterResult, Nodes};
use super::{names, pod_devices};

const UNREGISTERED: &str = "node unregistered";

/// The nodes that fit, the best one last, and why the others do not fit.
type Decision = (Vec<Candidate>, HashMap<String, String>);

impl Extender {
    /// Answers `/filter`.
    pub(crate) async fn filter(&self, args: FilterArgs) -> FilterResult {
        let Some(pod) = args.pod else {
            return FilterResult::failed("no pod in the request");
        };
        let requests = request::of_pod(&pod, &self.settings.nvidia);
        if requests.iter().all(Option::is_none) {
            return FilterResult {
                node_names: args.node_names,
                ..FilterResult::default()
            };
        }
        if let Some(nodes) = args.nodes {
            return self
                .simulate(&pod, &requests, nodes)
                .unwrap_or_else(FilterResult::failed);
        }
        let names = args.node_names.unwrap_or_default();
        match self.place(&pod, &requests, &names).await {
            Ok(result) => result,
            Err(error) => {
                self.events.record(&pod, Reason::FilteringFailed, &error);
                FilterResult::failed(error)
            }
        }
    }

    async fn place(
        &self,
        pod: &Pod,
        requests: &[Option<CardRequest>],
        names: &[String],
    ) -> Result<FilterResult, String> {
        let (fitting, failed) = self.reserve(pod, requests, names)?;
        let Some(best) = fitting.last() else {
            for (reason, nodes) in score::failures_by_reason(&failed) {
                let list: Vec<String> = nodes.into_iter().collect();
                let message = format!("{} nodes {reason}({})", list.len(), list.join(","));
                self.events.record(pod, Reason::FilteringFailed, &message);
            }
            let message = format!("no available node, {} nodes do not meet", names.len());
            self.events.record(pod, Reason::FilteringFailed, &message);
            return Ok(FilterResult {
                failed_nodes: Some(failed),
                ..FilterResult::default()
            });
        };
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        let patch = decision_patch(best);
        if let Err(error) = self.calls.patch_pod(&namespace, &name, &patch).await {
            lock(&self.accounts).release(&pod.uid().unwrap_or_default());
            return Err(error.to_string());
        }
        let scores: Vec<String> = fitting
            .iter()
            .map(|fit| format!("{}:{:.2}", fit.node, fit.score))
            .collect();
        let message = format!(
            "find fit node({}), {} nodes not fit, {} nodes fit({})",
            best.node,
            names.len().saturating_sub(fitting.len()),
            fitting.len(),
            scores.join(",")
        );
        self.events.record(pod, Reason::FilteringSucceed, &message);
        Ok(FilterResult {
            node_names: Some(vec![best.node.clone()]),
            ..FilterResult::default()
        })
    }

    /// Decides and reserves under one lock, so that no other decision comes between.
    fn reserve(
        &self,
        pod: &Pod,
        requests: &[Option<CardRequest>],
        names: &[String],
    ) -> Result<Decision, String> {
        let mut accounts = lock(&self.accounts);
        // What the pod was given by an earlier attempt is given back first.
        accounts.release(&pod.uid().unwrap_or_default());
        let usage = accounts.usage();
        let (mut nodes, mut unregistered) = (Vec::new(), HashMap::new());
        for name in names {
            match usage.get(name) {
                Some(node) => nodes.push(node),
                None => {
                    unregistered.insert(name.clone(), UNREGISTERED.to_owned());
                }
            }
        }
        let (fitting, mut failed) = self.try_nodes(&accounts, pod, requests, nodes)?;
        failed.extend(unregistered);
        if let Some(best) = fitting.last() {
            let effective = pod_devices::collapse(&best.devices, request::init_count(pod));
            accounts.reserve(pod, &best.node, effective);
        }
        Ok((fitting, failed))
    }

    fn try_nodes<'n>(
        &self,
        accounts: &Accounts,
        pod: &Pod,
        requests: &[Option<CardRequest>],
        nodes: impl IntoIterator<Item = &'n NodeUse>,
    ) -> Result<Decision, String> {
        let demand = Demand {
            pod,
            requests,
            gpu_policy: annotation(&pod.metadata, names::GPU_POLICY)
                .unwrap_or(&self.settings.gpu_policy),
            weights: request::weights(pod)
                .map_err(|error| format!("calcScore failed {error} for pod {}", pod.name_any()))?,
            quotas: &accounts.quotas,
        };
        let (mut fitting, failed) = demand.try_nodes(nodes);
        let node_policy =
            annotation(&pod.metadata, names::NODE_POLICY).unwrap_or(&self.settings.node_policy);
        score::rank(&mut fitting, node_policy, &mut rand::rng());
        Ok((fitting, failed))
    }

    /// Answers a caller that simulates nodes which may not exist. The nodes count as idle, and nothing is reserved, written or
    /// reported.
    fn simulate(
        &self,
        pod: &Pod,
        requests: &[Option<CardRequest>],
        nodes: Nodes,
    ) -> Result<FilterResult, String> {
        let (mut idle, mut failed) = (Vec::new(), HashMap::new());
        for node in &nodes.items {
            let name = node.name_any();
            match cards::of_node(&std::sync::Arc::new(node.clone())) {
                Ok(registered) => idle.push(NodeUse::idle(&name, &registered)),
                Err(_) => {
                    failed.insert(name, UNREGISTERED.to_owned());
                }
            }
        }
        let (fitting, unfit) = self.try_nodes(&lock(&self.accounts), pod, requests, &idle)?;
        failed.extend(unfit);
        let chosen = fitting.last().map(|best| {
            let mut nodes = nodes.items.into_iter();
            let node = nodes.find(|node| node.name_any() == best.node);
            Nodes {
                items: Vec::from_iter(node),
            }
        });
        Ok(FilterResult {
            nodes: chosen,
            failed_nodes: Some(failed),
            ..FilterResult::default()
        })
    }
}

/// The decision as HAMi's device plugin, and HAMi after a restart, read it from the pod.
fn decision_patch(chosen: &Candidate) -> Value {
    let mut annotations = json!({
        (names::ASSIGNED_NODE): chosen.node,
        (names::ASSIGNED_TIME): Timestamp::now().as_second().to_string(),
    });
    let containers = chosen.devices.get(names::NVIDIA);
    if let Some(containers) = containers.filter(|containers| !containers.is_empty()) {
        let text = pod_devices::encode(names::NVIDIA, containers);
        annotations[names::TO_ALLOCATE] = json!(text);
        annotations[names::ALLOCATED] = json!(text);
    }
    json!({ "metadata": { "annotations": annotations, "labels": { (names::ASSIGNED_NODE): chosen.node } } })
}
