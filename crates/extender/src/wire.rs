//! The extender protocol (k8s.io/kube-scheduler/extender/v1): JSON whose fields are spelled as Go spells them.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde::{Deserialize, Serialize};

/// A list of whole nodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Nodes {
    /// The nodes.
    #[serde(default)]
    pub items: Vec<Node>,
}

/// A question to `/filter`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct FilterArgs {
    /// The pod to place.
    pub pod: Option<Pod>,
    /// Whole nodes, from a caller that does not use the extender's cache (as Cluster Autoscaler).
    #[serde(default)]
    pub nodes: Option<Nodes>,
    /// Names of the remaining nodes.
    #[serde(default)]
    pub node_names: Option<Vec<String>>,
}

/// An answer of `/filter`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct FilterResult {
    /// Whole nodes that fit, for a caller that sent whole nodes.
    pub nodes: Option<Nodes>,
    /// Names of the nodes that fit. HAMi returns one.
    pub node_names: Option<Vec<String>>,
    /// Why the others do not fit.
    pub failed_nodes: Option<HashMap<String, String>>,
    /// Not used by HAMi.
    pub failed_and_unresolvable_nodes: Option<HashMap<String, String>>,
    /// The error; empty if there is none.
    pub error: String,
}

impl FilterResult {
    /// An answer with only an error.
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            ..Self::default()
        }
    }
}

/// A question to `/bind`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
pub struct BindArgs {
    /// The pod's name.
    pub pod_name: String,
    /// The pod's namespace.
    pub pod_namespace: String,
    /// The pod's UID.
    #[serde(rename = "PodUID")]
    pub pod_uid: String,
    /// The node to bind it to.
    pub node: String,
}

/// An answer of `/bind`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct BindResult {
    /// The error; empty if there is none.
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_what_kube_scheduler_sends() {
        let args: FilterArgs = serde_json::from_value(json!({
            "Pod": { "metadata": { "name": "p", "creationTimestamp": null }, "spec": { "containers": [] }, "status": {} },
            "Nodes": null,
            "NodeNames": ["gpu-00", "gpu-01"],
        }))
        .unwrap();
        assert_eq!(args.node_names.unwrap().len(), 2);
        let args: BindArgs = serde_json::from_value(
            json!({"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "gpu-00"}),
        )
        .unwrap();
        assert_eq!((args.pod_uid.as_str(), args.node.as_str()), ("u", "gpu-00"));
    }

    #[test]
    fn answers_in_gos_spelling() {
        let answer = FilterResult {
            node_names: Some(vec!["gpu-00".to_owned()]),
            ..FilterResult::default()
        };
        assert_eq!(
            serde_json::to_value(answer).unwrap(),
            json!({"Nodes": null, "NodeNames": ["gpu-00"], "FailedNodes": null, "FailedAndUnresolvableNodes": null, "Error": ""})
        );
    }
}
