//! The outcome of a play, reduced to what can be compared. It is recorded in this form.
//!
//! In: answers at the tap, pods, nodes, events, calls. Out: [`Observed`], in the words that any other play of the same scenario
//! would have if the same happened.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::names::Names;
use super::tap::{Asked, Verb};

/// Reasons of an extender's events. Those of kube-scheduler follow from the answers.
const REASONS: [&str; 4] = [
    "FilteringSucceed",
    "FilteringFailed",
    "BindingSucceed",
    "BindingFailed",
];

/// The outcome of a play.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// What became of each pod.
    pub pods: BTreeMap<String, PodSeen>,
    /// Node locks that were left over, by node.
    pub locks: BTreeMap<String, String>,
    /// How often the extender ended by itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub crashes: u64,
    /// Attempts: questions that reached the extender's filter.
    pub attempts: u64,
    /// The extender's API calls from its start until the play's nodes were registered, without watches.
    pub start_calls: BTreeMap<String, u64>,
    /// Its API calls during the steps, without watches.
    pub calls: BTreeMap<String, u64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What became of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodSeen {
    /// `bound to <node>`, `not bound` or `gone`.
    pub outcome: String,
    /// What the extender answered, question by question.
    pub answers: Vec<String>,
    /// Devices by container: card, MiB and percent of cores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// HAMi's annotations and labels on it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The extender's events about it, with how often each was counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
}

/// What the API server had at the end of a play.
#[derive(Debug, Default)]
pub struct Raw {
    /// Names of the scenario's pods.
    pub names: Vec<String>,
    /// The pods.
    pub pods: Vec<Pod>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Events about pods.
    pub events: Vec<Event>,
    /// The questions at the tap.
    pub asked: Vec<Asked>,
    /// How often the extender ended by itself.
    pub crashes: u64,
    /// Calls until registration, and after it.
    pub start_calls: BTreeMap<String, u64>,
    /// Its API calls after registration.
    pub calls: BTreeMap<String, u64>,
}

impl Raw {
    /// The part that can be compared.
    #[must_use]
    pub fn observed(&self, names: &Names) -> Observed {
        let pods = self
            .names
            .iter()
            .map(|name| (name.clone(), self.pod(name, names)));
        let locks = self.nodes.iter().filter_map(|node| {
            let meta = &node.metadata;
            let lock = meta.annotations.as_ref()?.get("hami.io/mutex.lock")?;
            let node = names.plain(meta.name.as_deref().unwrap_or_default());
            Some((node, names.plain(lock)))
        });
        let filters = self.asked.iter().filter(|asked| asked.verb == Verb::Filter);
        Observed {
            pods: pods.collect(),
            locks: locks.collect(),
            crashes: self.crashes,
            attempts: filters.count() as u64,
            start_calls: self.start_calls.clone(),
            calls: self.calls.clone(),
        }
    }

    fn pod(&self, name: &str, names: &Names) -> PodSeen {
        let full = names.pod(name);
        let pod = self
            .pods
            .iter()
            .find(|pod| pod.metadata.name.as_deref() == Some(name));
        let node = pod.and_then(|pod| pod.spec.as_ref()?.node_name.as_deref());
        let outcome = match (pod, node) {
            (None, _) => "gone".to_owned(),
            (_, Some(node)) => format!("bound to {}", names.plain(node)),
            _ => "not bound".to_owned(),
        };
        let answers = self.asked.iter().filter(|asked| asked.pod == full);
        let notes = pod.map(|pod| hami_notes(pod, names)).unwrap_or_default();
        PodSeen {
            outcome,
            answers: answers.map(|asked| answer(asked, names)).collect(),
            devices: notes
                .get("hami.io/vgpu-devices-allocated")
                .map(|text| devices(text))
                .unwrap_or_default(),
            annotations: notes,
            events: self.events_of(name, names),
        }
    }

    fn events_of(&self, name: &str, names: &Names) -> Vec<String> {
        let about = |event: &&Event| event.involved_object.name.as_deref() == Some(name);
        let mut counts: BTreeMap<String, i32> = BTreeMap::new();
        for event in self.events.iter().filter(about) {
            let reason = event.reason.as_deref().unwrap_or_default();
            if REASONS.contains(&reason) {
                let kind = event.type_.as_deref().unwrap_or_default();
                let message = names.plain(event.message.as_deref().unwrap_or_default());
                *counts
                    .entry(format!("{kind} {reason}: {message}"))
                    .or_default() += event.count.unwrap_or(1);
            }
        }
        let line = |(text, count): (String, i32)| match count {
            1 => text,
            count => format!("{count} × {text}"),
        };
        counts.into_iter().map(line).collect()
    }
}

/// HAMi's annotations, and its labels under a `label` of their own.
fn hami_notes(pod: &Pod, names: &Names) -> BTreeMap<String, String> {
    let meta = &pod.metadata;
    let annotations = meta.annotations.iter().flatten();
    let labels = meta.labels.iter().flatten();
    let annotations = annotations.map(|(key, value)| (key.clone(), value));
    let labels = labels.map(|(key, value)| (format!("label {key}"), value));
    annotations
        .chain(labels)
        .filter(|(key, _)| key.contains("hami.io/"))
        .map(|(key, value)| (key, stamped(&names.plain(value))))
        .collect()
}

/// A value that is only seconds since 1970 is a time stamp.
fn stamped(value: &str) -> String {
    if value.len() == 10 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        "SECONDS".to_owned()
    } else {
        value.to_owned()
    }
}

/// Devices in HAMi's annotation, container by container: `3: 2456 MiB 10 %`.
fn devices(text: &str) -> Vec<String> {
    let device = |text: &str| {
        let fields: Vec<&str> = text.split(',').collect();
        match fields.as_slice() {
            [uuid, _, mem, cores] => {
                let card = uuid.rsplit('-').next().unwrap_or_default();
                format!("card {card}: {mem} MiB {cores} %")
            }
            _ => format!("unreadable: {text}"),
        }
    };
    let containers = text.strip_suffix(';').unwrap_or(text).split(';');
    let container = |text: &str| {
        let devices: Vec<String> = text
            .split(':')
            .filter(|d| !d.is_empty())
            .map(device)
            .collect();
        format!("{} card(s) [{}]", devices.len(), devices.join(", "))
    };
    containers.map(container).collect()
}

fn answer(asked: &Asked, names: &Names) -> String {
    let question = match asked.verb {
        Verb::Filter => format!("filter {} node(s)", asked.nodes.len()),
        Verb::Bind => format!("bind to {}", names.plain(&asked.nodes.join(","))),
    };
    let Some(answer) = &asked.answer else {
        return format!("{question}: no answer");
    };
    let error = answer
        .get("Error")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !error.is_empty() {
        return format!("{question}: error: {}", names.plain(error));
    }
    if asked.verb == Verb::Bind {
        return format!("{question}: done");
    }
    let fit = answer.get("NodeNames").and_then(Value::as_array);
    let fit: Vec<&str> = fit
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !fit.is_empty() {
        return format!(
            "{question}: {}",
            names.plain(&format!("({})", fit.join(",")))
        );
    }
    let failed = answer.get("FailedNodes").and_then(Value::as_object);
    let reason = |(node, why): (&String, &Value)| {
        names.plain(&format!("{node}: {}", why.as_str().unwrap_or_default()))
    };
    let mut reasons: Vec<String> = failed.into_iter().flatten().map(reason).collect();
    reasons.sort();
    format!("{question}: none: {}", reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn devices_are_read_container_by_container() {
        assert_eq!(
            devices("GPU-a-3,NVIDIA,2456,10:GPU-a-2,NVIDIA,2456,10:;;"),
            [
                "2 card(s) [card 3: 2456 MiB 10 %, card 2: 2456 MiB 10 %]",
                "0 card(s) []"
            ]
        );
        assert_eq!(devices("torn;"), ["1 card(s) [unreadable: torn]"]);
    }

    #[test]
    fn answers_say_who_fits_or_why_not() {
        let names = Names::new(3);
        let asked = |verb, answer: Value| Asked {
            verb,
            pod: "p3-ns/x".into(),
            nodes: vec!["p3-a".into()],
            answer: Some(answer),
        };
        let said = |verb, value| answer(&asked(verb, value), &names);
        assert_eq!(
            said(Verb::Filter, json!({ "NodeNames": ["p3-a"] })),
            "filter 1 node(s): (a)"
        );
        let refused = json!({ "NodeNames": null, "FailedNodes": { "p3-b": "8/8 X", "p3-a": "node unregistered" } });
        assert_eq!(
            said(Verb::Filter, refused),
            "filter 1 node(s): none: a: node unregistered; b: 8/8 X"
        );
        assert_eq!(said(Verb::Bind, json!({ "Error": "" })), "bind to a: done");
        assert_eq!(
            said(Verb::Bind, json!({ "Error": "node p3-a is locked" })),
            "bind to a: error: node a is locked"
        );
    }
}
