//! Reservations. In: registered nodes, filter decisions, and pods as the watch shows them. Out: cards in use, by node.
//!
//! Reservations are kept in memory by pod UID. A filter decision adds one, annotations restore them at start, and they end
//! when the pod has succeeded, failed or gone. A pod that is being deleted still counts. So does one whose bind failed, until
//! its next filter. Nothing here calls the API server.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::Pod;

use super::cards::{NodeUse, RegisteredNode};
use super::names;
use super::pod_devices::{self, PodDevices};
use super::quota::Quotas;
use super::request::{annotation, init_count};

/// What a pod holds.
#[derive(Debug, Clone)]
pub(crate) struct Reservation {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// The node it was given.
    pub node: String,
    /// Its effective devices.
    pub devices: PodDevices,
    init_released: bool,
}

/// Nodes, reservations and quotas.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    /// Registered nodes by name.
    pub nodes: HashMap<String, RegisteredNode>,
    /// Limits and use by namespace.
    pub quotas: Quotas,
    reservations: HashMap<String, Reservation>,
}

fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

fn namespace(pod: &Pod) -> &str {
    pod.metadata.namespace.as_deref().unwrap_or_default()
}

impl Accounts {
    /// Nothing registered, nothing reserved.
    pub(crate) fn new(quotas: Quotas) -> Self {
        Self {
            quotas,
            ..Self::default()
        }
    }

    /// All reservations, for metrics.
    pub(crate) fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values()
    }

    /// Reserves `devices` (already effective) for a pod. A pod with a reservation is moved, and does not count twice against
    /// its quota. A pod whose init containers have ended keeps its smaller reservation.
    pub(crate) fn reserve(&mut self, pod: &Pod, node: &str, devices: PodDevices) {
        if let Some(held) = self.reservations.get_mut(uid(pod)) {
            node.clone_into(&mut held.node);
            if !held.init_released {
                held.devices = devices;
            }
            return;
        }
        self.quotas.count(namespace(pod), &devices, 1);
        let reservation = Reservation {
            namespace: namespace(pod).to_owned(),
            pod: pod.metadata.name.clone().unwrap_or_default(),
            node: node.to_owned(),
            devices,
            init_released: false,
        };
        self.reservations.insert(uid(pod).to_owned(), reservation);
    }

    /// Releases the reservation of the pod with this UID.
    pub(crate) fn release(&mut self, uid: &str) {
        if let Some(held) = self.reservations.remove(uid) {
            self.quotas.count(&held.namespace, &held.devices, -1);
        }
    }

    /// Handles a pod that the watch shows, new or changed.
    pub(crate) fn saw_pod(&mut self, pod: &Pod, first_time: bool) {
        let Some(node) = annotation(&pod.metadata, names::ASSIGNED_NODE) else {
            return;
        };
        let mut phase = pod.status.iter().flat_map(|status| &status.phase);
        if phase.any(|phase| phase == "Succeeded" || phase == "Failed") {
            self.release(uid(pod));
        } else if pod.metadata.deletion_timestamp.is_some() {
            // Its cards stay taken until it is gone.
        } else if first_time || !self.reservations.contains_key(uid(pod)) {
            if let Some(devices) = annotated(pod) {
                self.reserve(pod, node, pod_devices::collapse(&devices, init_count(pod)));
            }
        } else if init_containers_succeeded(pod) {
            self.shrink(pod);
        }
    }

    /// Handles a pod that is gone.
    pub(crate) fn lost_pod(&mut self, pod: &Pod) {
        if annotation(&pod.metadata, names::ASSIGNED_NODE).is_some() {
            self.release(uid(pod));
        }
    }

    fn shrink(&mut self, pod: &Pod) {
        let held = self.reservations.get_mut(uid(pod));
        let Some(held) = held.filter(|held| !held.init_released) else {
            return;
        };
        let Some(devices) = annotated(pod) else {
            return;
        };
        let devices = pod_devices::without_init(&devices, init_count(pod));
        self.quotas.count(&held.namespace, &held.devices, -1);
        self.quotas.count(&held.namespace, &devices, 1);
        held.devices = devices;
        held.init_released = true;
    }

    /// Every registered node's cards in use.
    pub(crate) fn usage(&self) -> HashMap<String, NodeUse> {
        let idle =
            |(name, node): (&String, &RegisteredNode)| (name.clone(), NodeUse::idle(name, node));
        let mut nodes: HashMap<String, NodeUse> = self.nodes.iter().map(idle).collect();
        for held in self.reservations.values() {
            let Some(node) = nodes.get_mut(&held.node) else {
                continue;
            };
            for share in held.devices.values().flatten().flatten() {
                let cards = node.cards.iter_mut();
                for card in cards.filter(|card| card.card.id == share.uuid) {
                    card.take(share.slots.max(1), share.mem_mib, share.cores);
                }
            }
        }
        nodes
    }
}

/// A pod's devices by its annotation; empty if it has none, `None` if the annotation cannot be read.
fn annotated(pod: &Pod) -> Option<PodDevices> {
    let Some(text) = annotation(&pod.metadata, names::ALLOCATED) else {
        return Some(PodDevices::new());
    };
    match pod_devices::decode(text) {
        Ok(containers) => Some(PodDevices::from([(names::NVIDIA.to_owned(), containers)])),
        Err(error) => {
            tracing::error!(pod = pod.metadata.name, "{}: {error}", names::ALLOCATED);
            None
        }
    }
}

fn init_containers_succeeded(pod: &Pod) -> bool {
    let statuses = pod.status.iter();
    let mut statuses = statuses
        .filter_map(|status| status.init_container_statuses.as_ref())
        .flatten()
        .peekable();
    statuses.peek().is_some()
        && statuses.all(|status| {
            let mut ended = status.state.iter().flat_map(|state| &state.terminated);
            ended.any(|ended| ended.exit_code == 0)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards;
    use crate::testing::{eight_cards, node, pod};
    use serde_json::json;

    fn accounts() -> Accounts {
        let mut accounts =
            Accounts::new(Quotas::new("nvidia.com/gpumem", "nvidia.com/gpucores", 1));
        let node = node("gpu-00", &eight_cards("gpu-00"));
        accounts
            .nodes
            .insert("gpu-00".to_owned(), cards::of_node(&node).unwrap());
        accounts
    }

    fn annotated_pod(uid: &str, text: &str) -> Pod {
        let mut pod = pod(&json!([{ "name": "main" }]));
        pod.metadata.uid = Some(uid.to_owned());
        let annotations = [(names::ASSIGNED_NODE, "gpu-00"), (names::ALLOCATED, text)];
        pod.metadata.annotations = Some(
            annotations
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        );
        pod
    }

    fn used(accounts: &Accounts) -> Vec<(i32, i32, i32)> {
        let usage = accounts.usage();
        usage["gpu-00"]
            .cards
            .iter()
            .map(|card| (card.used, card.used_mem_mib, card.used_cores))
            .collect()
    }

    #[test]
    fn reservations_are_rebuilt_from_annotations_and_given_back_at_the_end() {
        let mut accounts = accounts();
        let mut pod = annotated_pod("u1", "gpu-00-gpu-1,NVIDIA,2456,10:;");
        accounts.saw_pod(&pod, true);
        assert_eq!(used(&accounts)[1], (1, 2456, 10));
        accounts.saw_pod(&pod, false);
        assert_eq!(
            used(&accounts)[1],
            (1, 2456, 10),
            "seen twice, counted once"
        );

        pod.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        accounts.saw_pod(&pod, false);
        assert_eq!(
            used(&accounts)[1].0,
            1,
            "a pod being deleted still holds its card"
        );

        pod.status = Some(serde_json::from_value(json!({ "phase": "Succeeded" })).unwrap());
        accounts.saw_pod(&pod, false);
        assert_eq!(used(&accounts)[1], (0, 0, 0));
    }

    #[test]
    fn a_pod_without_annotation_that_goes_keeps_its_reservation_until_released() {
        let mut accounts = accounts();
        let annotated = annotated_pod("u1", "gpu-00-gpu-0,NVIDIA,100,0:;");
        accounts.saw_pod(&annotated, true);
        accounts.lost_pod(&annotated);
        assert_eq!(used(&accounts)[0].0, 0);
    }

    #[test]
    fn init_containers_hold_cards_only_until_they_are_through() {
        let mut accounts = accounts();
        let mut pod = annotated_pod(
            "u1",
            "gpu-00-gpu-0,NVIDIA,9000,0:;gpu-00-gpu-1,NVIDIA,100,0:;",
        );
        let spec = pod.spec.as_mut().unwrap();
        spec.init_containers = Some(vec![
            serde_json::from_value(json!({ "name": "prepare" })).unwrap(),
        ]);
        accounts.saw_pod(&pod, true);
        assert_eq!((used(&accounts)[0].1, used(&accounts)[1].1), (9000, 100));
        pod.status = Some(
            serde_json::from_value(json!({ "initContainerStatuses": [{ "name": "prepare", "image": "", "imageID": "",
                "ready": true, "restartCount": 0, "state": { "terminated": { "exitCode": 0 } } }] }))
            .unwrap(),
        );
        accounts.saw_pod(&pod, false);
        assert_eq!((used(&accounts)[0].1, used(&accounts)[1].1), (0, 100));
        accounts.saw_pod(&pod, true);
        assert_eq!(
            used(&accounts)[0].1,
            0,
            "a fresh look at the annotation does not take the card back"
        );
    }

    #[test]
    fn torn_annotations_reserve_nothing() {
        let mut accounts = accounts();
        accounts.saw_pod(&annotated_pod("u1", "gpu-00-gpu-0,NVIDIA,lots,0:;"), true);
        assert_eq!(used(&accounts)[0].0, 0);
    }
}
