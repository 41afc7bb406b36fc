//! Machines and pods of a scenario, with short constructors.

use serde_json::{Value, json};

use harness::cluster::CARD_TYPE;
use plan::CARD_MEMORY_MIB;

/// A machine.
#[derive(Debug, Clone)]
pub struct Node {
    /// One letter.
    pub name: &'static str,
    /// Its cards as HAMi's device plugin registers them.
    pub cards: Value,
    /// Whether it is created with handshakes.
    pub stamped: bool,
    /// A merge patch of the object.
    pub extra: Value,
}

/// Cards `0..count` of a machine, as RTX 4090 are registered.
#[must_use]
pub fn cards(node: &str, count: u32) -> Value {
    (0..count)
        .map(|index| {
            json!({
                "id": format!("GPU-@{node}-{index}"), "index": index, "count": 10, "devmem": CARD_MEMORY_MIB,
                "devcore": 100, "type": CARD_TYPE, "numa": index / 4, "mode": "hami-core", "health": true,
            })
        })
        .collect()
}

/// A machine with eight cards.
#[must_use]
pub fn node(name: &'static str) -> Node {
    small_node(name, 8)
}

/// A machine with fewer cards.
#[must_use]
pub fn small_node(name: &'static str, count: u32) -> Node {
    Node {
        name,
        cards: cards(name, count),
        stamped: true,
        extra: json!({}),
    }
}

impl Node {
    /// Changes a field of the cards in a range; null removes it.
    #[must_use]
    pub fn with(mut self, which: std::ops::Range<usize>, field: &str, value: &Value) -> Self {
        for card in which {
            match (value, self.cards[card].as_object_mut()) {
                (Value::Null, Some(card)) => drop(card.remove(field)),
                _ => self.cards[card][field] = value.clone(),
            }
        }
        self
    }

    /// Adds to the object by a merge patch.
    #[must_use]
    pub fn extra(mut self, patch: Value) -> Self {
        self.extra = patch;
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn note(self, key: &str, value: &str) -> Self {
        self.extra(annotations(key, &json!(value)))
    }

    /// Leaves the handshakes out.
    #[must_use]
    pub fn unstamped(mut self) -> Self {
        self.stamped = false;
        self
    }
}

/// A merge patch of one annotation.
#[must_use]
pub fn annotations(key: &str, value: &Value) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

/// A pod.
#[derive(Debug, Clone)]
pub struct Pod {
    /// Its name.
    pub name: &'static str,
    /// How many attempts it has before a step allows more.
    pub tries: u32,
    /// Whether it is only created and not waited for.
    pub bystander: bool,
    /// The object, without namespace.
    pub object: Value,
}

/// A pod without containers yet.
#[must_use]
pub fn pod(name: &'static str) -> Pod {
    Pod {
        name,
        tries: 1,
        bystander: false,
        object: json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "annotations": {}, "labels": {} },
            "spec": { "schedulerName": harness::cluster::SCHEDULER_NAME, "restartPolicy": "Never", "containers": [],
                "terminationGracePeriodSeconds": 0 },
        }),
    }
}

/// A pod with one container that asks for these resources of HAMi (without `nvidia.com/`).
#[must_use]
pub fn asks(name: &'static str, limits: &[(&str, u32)]) -> Pod {
    pod(name).container(limits)
}

/// A pod that asks for whole cards.
#[must_use]
pub fn whole(name: &'static str, count: u32) -> Pod {
    asks(name, &[("gpu", count)])
}

/// A pod that asks for a tenth of a card.
#[must_use]
pub fn tenth(name: &'static str) -> Pod {
    asks(name, &[("gpu", 1), ("gpumem", 2456), ("gpucores", 10)])
}

impl Pod {
    fn add_container(mut self, list: &str, limits: &[(&str, u32)]) -> Self {
        let containers = &mut self.object["spec"][list];
        let number = containers.as_array().map_or(0, Vec::len);
        let limits: serde_json::Map<String, Value> = limits
            .iter()
            .map(|(name, amount)| (format!("nvidia.com/{name}"), json!(amount.to_string())))
            .collect();
        let container = json!({
            "name": format!("{}{number}", if list == "containers" { "c" } else { "i" }), "image": "fake",
            "resources": { "limits": limits },
        });
        match containers.as_array_mut() {
            Some(list) => list.push(container),
            None => *containers = json!([container]),
        }
        self
    }

    /// Adds a container.
    #[must_use]
    pub fn container(self, limits: &[(&str, u32)]) -> Self {
        self.add_container("containers", limits)
    }

    /// Adds an init container.
    #[must_use]
    pub fn init(self, limits: &[(&str, u32)]) -> Self {
        self.add_container("initContainers", limits)
    }

    /// Adds an annotation.
    #[must_use]
    pub fn note(mut self, key: &str, value: &str) -> Self {
        self.object["metadata"]["annotations"][key] = json!(value);
        self
    }

    /// Restricts it to nodes with a label.
    #[must_use]
    pub fn on(mut self, label: &str, value: &str) -> Self {
        self.object["spec"]["nodeSelector"][label] = json!(value);
        self
    }

    /// Adds a finalizer, so that it stays while it is deleted.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.object["metadata"]["finalizers"] = json!(["headroom.dev/kept"]);
        self
    }

    /// Makes it a pod that no scheduler handles.
    #[must_use]
    pub fn unscheduled(mut self) -> Self {
        self.object["spec"]["schedulerName"] = json!("nobody");
        self.bystander = true;
        self
    }

    /// Allows more attempts from the start.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }
}
