//! The object that a team submits: a Job of one pod through Kueue, or a bare pod.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::priority_class_name;
use crate::cluster::SCHEDULER_NAME;
use plan::{DataPlanePlan, Request, TenantPlan, Via};

/// Label with the team's name, on Jobs, their pods and bare pods.
pub const TENANT_LABEL: &str = "headroom.dev/tenant";
/// Label with the Job's name, on Jobs, their pods and bare pods.
pub const NAME_LABEL: &str = "headroom.dev/name";
/// Label of nodes with the name of their group.
pub const GROUP_LABEL: &str = "headroom.dev/group";
/// Pod annotation that tells the fake machine how long the pod runs, as a Go duration.
pub const RUN_FOR_ANNOTATION: &str = "headroom.dev/run-for";
/// Pod annotation with the name of the image that its machine must have before it starts.
pub const IMAGE_ANNOTATION: &str = "headroom.dev/image";
/// Pod annotation that says how long a machine without that image pulls it, as a Go duration.
pub const PULL_FOR_ANNOTATION: &str = "headroom.dev/pull-for";
/// Pod annotation with the moment at which its container may start, RFC 3339.
pub const START_AT_ANNOTATION: &str = "headroom.dev/start-at";
/// Pod annotation that tells the fake machine how long a container takes from its start to useful work.
const PREPARE_FOR_ANNOTATION: &str = "headroom.dev/prepare-for";
/// Pod annotation that tells the fake machine how long the cards stay taken after the process has ended by itself.
const RELEASE_FOR_ANNOTATION: &str = "headroom.dev/release-for";
/// Pod annotation that tells the fake machine how long the cards stay taken after the pod was told to stop.
const STOP_FOR_ANNOTATION: &str = "headroom.dev/stop-for";
/// A moment in the past, so that the container may start at once.
const LONG_AGO: &str = "1970-01-01T00:00:00Z";

/// The object to create for a Job of `tenant` called `name`.
#[must_use]
pub fn job(
    tenant: &TenantPlan,
    name: &str,
    request: Request,
    run_secs: Option<f64>,
    via: Via,
    data_plane: Option<&DataPlanePlan>,
) -> Value {
    let labels = json!({ TENANT_LABEL: tenant.name, NAME_LABEL: name });
    let mut pod_metadata = json!({ "labels": labels });
    let mut annotations = BTreeMap::new();
    if let Some(secs) = run_secs {
        annotations.insert(RUN_FOR_ANNOTATION, go_duration(secs));
    }
    if let Some(data_plane) = data_plane {
        annotations.extend(played(data_plane, &tenant.name, request));
    }
    if !annotations.is_empty() {
        pod_metadata["annotations"] = json!(annotations);
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
            // For a Job, Kueue adds the ResourceFlavor's selector on admission.
            if let Some(group) = &tenant.group {
                spec["nodeSelector"] = json!({ GROUP_LABEL: group });
            }
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": spec })
        }
    }
}

/// The annotations that tell the fake machine about the pod's data plane.
fn played(
    data_plane: &DataPlanePlan,
    tenant: &str,
    request: Request,
) -> Vec<(&'static str, String)> {
    let class = request.class();
    let own = data_plane.of(&class);
    let mut all = vec![
        (PREPARE_FOR_ANNOTATION, go_duration(own.prepare_secs())),
        (RELEASE_FOR_ANNOTATION, go_duration(own.release_secs)),
        (STOP_FOR_ANNOTATION, go_duration(own.stop_secs())),
    ];
    match own.image(tenant, &class) {
        Some(image) => all.extend([
            (IMAGE_ANNOTATION, image),
            (PULL_FOR_ANNOTATION, go_duration(own.pull_secs)),
        ]),
        None => all.push((START_AT_ANNOTATION, LONG_AGO.to_owned())),
    }
    all
}

/// Seconds as a Go duration.
fn go_duration(secs: f64) -> String {
    format!("{secs:.3}s")
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
            // Never pulled, since kwok's machines run no containers.
            "image": "headroom.invalid/fake-work",
            "resources": { "limits": limits },
        }],
    })
}
