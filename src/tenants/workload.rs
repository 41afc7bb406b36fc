//! The object that stands for one experiment: a Job of one pod through Kueue, or a bare pod.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::priority_class_name;
use crate::cluster::SCHEDULER_NAME;
use crate::plan::{Request, TenantPlan, Via};

/// Label with the team's name, on Jobs, their pods and bare pods.
pub const TENANT_LABEL: &str = "headroom.dev/tenant";
/// Label with the experiment's name, on Jobs, their pods and bare pods.
pub const NAME_LABEL: &str = "headroom.dev/name";
/// Label of nodes with the name of their group.
pub const GROUP_LABEL: &str = "headroom.dev/group";
/// Pod annotation that tells the fake machine how long the pod runs, as a Go duration.
pub const RUN_FOR_ANNOTATION: &str = "headroom.dev/run-for";

/// The object to create for one experiment of `tenant` called `name`.
#[must_use]
pub fn experiment(
    tenant: &TenantPlan,
    name: &str,
    request: Request,
    run_secs: Option<f64>,
    via: Via,
) -> Value {
    let labels = json!({ TENANT_LABEL: tenant.name, NAME_LABEL: name });
    let mut pod_metadata = json!({ "labels": labels });
    if let Some(secs) = run_secs {
        pod_metadata["annotations"] = json!({ RUN_FOR_ANNOTATION: format!("{secs:.3}s") });
    }
    match via {
        Via::Job => {
            let mut labels = labels;
            labels["kueue.x-k8s.io/queue-name"] = json!(tenant.name);
            labels["kueue.x-k8s.io/priority-class"] = json!(priority_class_name(tenant.priority));
            json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "name": name, "namespace": tenant.name, "labels": labels },
                "spec": {
                    "suspend": true,
                    "parallelism": 1,
                    "completions": 1,
                    "template": { "metadata": pod_metadata, "spec": pod_spec(request) },
                },
            })
        }
        Via::Pod => {
            pod_metadata["name"] = json!(name);
            pod_metadata["namespace"] = json!(tenant.name);
            let mut spec = pod_spec(request);
            // A Job's pod is given its machines by the ResourceFlavor on admission.
            if let Some(group) = &tenant.group {
                spec["nodeSelector"] = json!({ GROUP_LABEL: group });
            }
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": spec })
        }
    }
}

fn pod_spec(request: Request) -> Value {
    let mut limits = BTreeMap::from([("nvidia.com/gpu", request.cards.to_string())]);
    if let Some(mib) = request.gpumem_mib {
        limits.insert("nvidia.com/gpumem", mib.to_string());
    }
    if let Some(percent) = request.gpucores {
        limits.insert("nvidia.com/gpucores", percent.to_string());
    }
    json!({
        "schedulerName": SCHEDULER_NAME,
        "restartPolicy": "Never",
        "containers": [{
            "name": "work",
            // Never pulled: kwok's machines run no containers.
            "image": "headroom.invalid/fake-work",
            "resources": { "limits": limits },
        }],
    })
}
