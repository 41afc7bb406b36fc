//! Plays image pulls: tells each pod when its container may start.
//!
//! In: a watch on bound pods that have not started. Annotations of each name its image and how long a pull takes. Out: one
//! annotation per pod with the moment at which its machine has the image. Then kwok starts the container. kwok plays the
//! rest of the data plane by itself (`kwok/data-plane-stages.yaml`), since only pulls make one pod depend on another.
//!
//! A pull begins when its pod is bound, but the annotation is written only after HAMi's device plugin has answered. If the
//! pod changed earlier, kwok would play the plugin's stage again and free the node's lock a second time, which another pod
//! might hold by then.
//!
//! It costs one PATCH per pod, under a user agent of its own, which delays a pod whose image is there by that call. It must
//! never bind, evict or delete anything. A run begins with no images on any machine.

mod images;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use crate::tenants::{IMAGE_ANNOTATION, PULL_FOR_ANNOTATION, START_AT_ANNOTATION, TENANT_LABEL};

pub use images::Images;

/// Its name in the audit log.
pub const USER_AGENT: &str = concat!("headroom-data-plane/", env!("CARGO_PKG_VERSION"));

/// Annotation in which HAMi says how far a bind is.
const BIND_PHASE_ANNOTATION: &str = "hami.io/bind-phase";

/// Value of that annotation until the device plugin has answered.
const ALLOCATING: &str = "allocating";

/// Selects the pods that wait for an image.
const WAITING_FOR_IMAGE: &str = "spec.nodeName!=,status.phase=Pending";

/// Pause before a failed call is repeated, and before a broken watch is resumed.
const RETRY: Duration = Duration::from_millis(200);

/// How long the first list may take.
const FIRST_LIST: Duration = Duration::from_secs(30);

/// The API server did not answer.
#[derive(Debug, thiserror::Error)]
#[error(
    "the API server did not list pods within {} s for the data plane; its log is under the run's logs/",
    FIRST_LIST.as_secs()
)]
pub struct NoAnswer;

/// The player. Dropping it stops it.
#[derive(Debug)]
pub struct Player {
    _task: AbortOnDropHandle<()>,
}

impl Player {
    /// Starts it and waits for its watch.
    ///
    /// # Errors
    /// The API server does not answer the first list in time.
    pub async fn start(client: Client) -> Result<Self, NoAnswer> {
        let listed = Arc::new(Notify::new());
        let task = tokio::spawn(play(client, listed.clone()));
        let player = Self {
            _task: AbortOnDropHandle::new(task),
        };
        let first = tokio::time::timeout(FIRST_LIST, listed.notified()).await;
        first.map_err(|_| NoAnswer)?;
        Ok(player)
    }
}

/// What a pod needs from its machine.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    namespace: String,
    name: String,
    uid: String,
    node: String,
    image: String,
    pull: Duration,
    /// The device plugin has answered.
    allocated: bool,
}

/// A pod that waits.
#[derive(Debug)]
enum Waiting {
    /// It waits for the device plugin; its image is there at this time.
    Allocating(Timestamp),
    /// Its annotation is written, or being written. Dropping the task drops the call.
    Told { _call: AbortOnDropHandle<()> },
}

async fn play(client: Client, listed: Arc<Notify>) {
    let config = watcher::Config::default()
        .labels(TENANT_LABEL)
        .fields(WAITING_FOR_IMAGE);
    let mut pods = watches::pods(&client, config);
    let mut images = Images::default();
    let mut waiting: HashMap<String, Waiting> = HashMap::new();
    while let Some(event) = pods.next().await {
        match event {
            Ok(Event::Apply(pod) | Event::InitApply(pod)) => {
                let Some(pod) = wanted(&pod) else {
                    continue;
                };
                let at = match waiting.get(&pod.uid) {
                    Some(Waiting::Told { .. }) => continue,
                    Some(Waiting::Allocating(at)) => *at,
                    None => images.wanted(&pod.node, &pod.image, pod.pull, Timestamp::now()),
                };
                let uid = pod.uid.clone();
                let state = if pod.allocated {
                    let call = tokio::spawn(tell(client.clone(), pod, at));
                    Waiting::Told {
                        _call: AbortOnDropHandle::new(call),
                    }
                } else {
                    Waiting::Allocating(at)
                };
                waiting.insert(uid, state);
            }
            // Started or gone.
            Ok(Event::Delete(pod)) => {
                waiting.remove(&pod.uid().unwrap_or_default());
            }
            Ok(Event::Init) => {}
            Ok(Event::InitDone) => listed.notify_one(),
            Err(error) => {
                tracing::debug!(%error, "the data plane's watch was interrupted");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// What a pod waits for; `None` if it needs no image, or has its annotation already.
fn wanted(pod: &Pod) -> Option<Wanted> {
    let annotations = pod.annotations();
    if annotations.contains_key(START_AT_ANNOTATION) || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let pull = annotations.get(PULL_FOR_ANNOTATION)?;
    Some(Wanted {
        namespace: pod.namespace()?,
        name: pod.name_any(),
        uid: pod.uid()?,
        node: pod.spec.as_ref()?.node_name.clone()?,
        image: annotations.get(IMAGE_ANNOTATION)?.clone(),
        allocated: annotations.get(BIND_PHASE_ANNOTATION).map(String::as_str) != Some(ALLOCATING),
        pull: Duration::try_from_secs_f64(pull.strip_suffix('s')?.parse().ok()?).ok()?,
    })
}

/// Writes into a pod when it may start. Tries until that is written or the pod is gone.
async fn tell(client: Client, pod: Wanted, at: Timestamp) {
    let api: Api<Pod> = Api::namespaced(client, &pod.namespace);
    // The UID protects a later pod of the same name.
    let patch = json!({
        "metadata": { "uid": pod.uid, "annotations": { START_AT_ANNOTATION: at.to_string() } },
    });
    let params = PatchParams::default();
    loop {
        match api.patch(&pod.name, &params, &Patch::Merge(&patch)).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => return,
            Err(error) => {
                tracing::debug!(%error, pod = pod.name, "cannot write into a pod when it may start");
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenants;
    use plan::{self, Overrides, Via};

    /// A pod as the driver submits it, bound to a machine.
    fn submitted(arm: &str, cards: u32) -> Pod {
        let experiment = plan::load("preemption").unwrap();
        let overrides = Overrides {
            arms: vec![arm.into()],
            ..Overrides::default()
        };
        let plan = plan::plans(&experiment, &overrides).unwrap().remove(0);
        let team = &plan.tenants[2];
        let request = plan::Request {
            cards,
            gpumem_mib: None,
            gpucores: None,
        };
        let data_plane = plan.data_plane.as_ref();
        let object = tenants::job(team, "a", request, None, Via::Pod, data_plane);
        let mut pod: Pod = serde_json::from_value(object).unwrap();
        pod.metadata.uid = Some("u".into());
        pod.spec.as_mut().unwrap().node_name = Some("gpu-00".into());
        pod
    }

    #[test]
    fn a_pod_as_submitted_says_what_it_waits_for_until_it_was_told() {
        let mut pod = submitted("data-plane", 8);
        let found = wanted(&pod).expect("it waits for an image");
        assert_eq!((found.node.as_str(), found.name.as_str()), ("gpu-00", "a"));
        assert!(found.image.starts_with("research"), "{found:?}");
        assert!(found.pull > Duration::from_secs(1), "{found:?}");
        let annotations = pod.annotations_mut();
        annotations.insert(BIND_PHASE_ANNOTATION.into(), ALLOCATING.into());
        assert!(!wanted(&pod).expect("it still waits").allocated);
        let annotations = pod.annotations_mut();
        annotations.insert(BIND_PHASE_ANNOTATION.into(), "success".into());
        assert!(wanted(&pod).expect("it still waits").allocated);
        let now = Timestamp::UNIX_EPOCH.to_string();
        pod.annotations_mut()
            .insert(START_AT_ANNOTATION.into(), now);
        assert_eq!(wanted(&pod), None);
    }

    #[test]
    fn without_a_data_plane_nothing_is_told_and_without_an_image_nothing_is_waited_for() {
        let plain = submitted("clearer", 8);
        assert_eq!(plain.metadata.annotations, None);
        assert_eq!(wanted(&plain), None);
        // Of this class the image is on the machines already.
        let small = submitted("data-plane", 1);
        assert!(small.annotations().contains_key(START_AT_ANNOTATION));
        assert_eq!(wanted(&small), None);
    }
}
