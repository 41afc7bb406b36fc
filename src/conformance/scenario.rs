//! What a scenario is: nodes, settings, steps, and how its outcome is judged. Plain data; nothing here touches a cluster.
//!
//! In every text `@` stands for the prefix of the play's own names: node `a` is `@a`, its fourth card `GPU-@a-3`, the
//! namespace `@ns`.

use serde_json::{Value, json};

use crate::cluster::CARD_TYPE;
use crate::plan::{CARD_MEMORY_MIB, ClientLimit, Policy};

/// HAMi's settings that the benchmark's arms call raised.
pub const RAISED: ClientLimit = ClientLimit {
    qps: 100.0,
    burst: 200,
};

/// HAMi's own default (its flags `--kube-qps`, `--kube-burst`).
pub const HAMI_DEFAULT: ClientLimit = ClientLimit {
    qps: 5.0,
    burst: 10,
};

/// One question put to an extender by playing it.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, as `--scenario` takes it.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub about: &'static str,
    /// `--node-scheduler-policy`.
    pub node_policy: Policy,
    /// `--gpu-scheduler-policy`.
    pub gpu_policy: Policy,
    /// `--kube-qps` and `--kube-burst`.
    pub limit: ClientLimit,
    /// Machines that are there from the start.
    pub nodes: Vec<Node>,
    /// Whether the machines are interchangeable: then they are told apart by the order in which they are first used, since
    /// equal ones are chosen by chance.
    pub alike: bool,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// How outcomes are compared.
    pub judged: Judged,
}

/// How two outcomes of a scenario are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Everything observed must be the same.
    Exactly,
    /// Counts are compared within margins, because a real HAMi differs from itself, for the reason given.
    Loosely(&'static str),
}

/// Something that happens in a scenario.
#[derive(Debug, Clone)]
pub enum Step {
    /// Pods, one after the other; each is waited for until it has landed or has used up its tries.
    Submit(Vec<Pod>),
    /// Pods, all at once, until all have landed or have used up their tries.
    Burst(Vec<Pod>),
    /// A pod whose bind is stopped on its way to the extender, until [`Step::Release`].
    Hold(Pod),
    /// Binds that were stopped go on, all at the same moment.
    Release(&'static [&'static str]),
    /// As [`Step::Release`], but the answers are not waited for: for a second the extender is left alone with them.
    Begin(&'static [&'static str]),
    /// A pod may be tried this many times more, and is waited for.
    Retry(&'static str, u32),
    /// A merge patch of a node.
    PatchNode(&'static str, Value),
    /// A node goes.
    DropNode(&'static str),
    /// A node comes.
    AddNode(Node),
    /// A merge patch of a pod.
    PatchPod(&'static str, Value),
    /// A merge patch of a pod's status.
    PatchStatus(&'static str, Value),
    /// A pod is deleted and is gone before the next step, unless a finalizer keeps it.
    Delete(&'static str),
    /// The extender looks at all nodes anew (another node comes, which makes it do so).
    Register,
    /// The extender is started anew.
    Restart,
    /// The namespace gets a ResourceQuota.
    Quota(Value),
}

/// A machine.
#[derive(Debug, Clone)]
pub struct Node {
    /// One letter.
    pub name: &'static str,
    /// Its cards as HAMi's device plugin registers them.
    pub cards: Value,
    /// Whether it is born with handshakes.
    pub stamped: bool,
    /// Merged into the object.
    pub extra: Value,
}

/// Cards `0..count` of a machine, as an RTX 4090 is registered.
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
    /// How often the extender may be asked about it before a step allows more.
    pub tries: u32,
    /// Whether it is only created, not waited for.
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
            "spec": { "schedulerName": crate::cluster::SCHEDULER_NAME, "restartPolicy": "Never", "containers": [],
                "terminationGracePeriodSeconds": 0 },
        }),
    }
}

/// A pod of one container that asks for this, in HAMi's resources without their `nvidia.com/`.
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

    /// Lets it go only to nodes with a label.
    #[must_use]
    pub fn on(mut self, label: &str, value: &str) -> Self {
        self.object["spec"]["nodeSelector"][label] = json!(value);
        self
    }

    /// Keeps it from being removed while it is deleted.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.object["metadata"]["finalizers"] = json!(["headroom.dev/kept"]);
        self
    }

    /// Makes it a pod that no scheduler looks at: it is there, and nothing more.
    #[must_use]
    pub fn unscheduled(mut self) -> Self {
        self.object["spec"]["schedulerName"] = json!("nobody");
        self.bystander = true;
        self
    }

    /// Allows more tries from the start.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }
}

/// A scenario under spread/spread at raised limits whose outcome must be the same to the letter.
#[must_use]
pub fn scenario(
    name: &'static str,
    about: &'static str,
    nodes: Vec<Node>,
    steps: Vec<Step>,
) -> Scenario {
    Scenario {
        name,
        about,
        node_policy: Policy::Spread,
        gpu_policy: Policy::Spread,
        limit: RAISED,
        nodes,
        alike: false,
        steps,
        judged: Judged::Exactly,
    }
}

impl Scenario {
    /// Sets the policies.
    #[must_use]
    pub fn policies(mut self, node: Policy, gpu: Policy) -> Self {
        (self.node_policy, self.gpu_policy) = (node, gpu);
        self
    }

    /// Sets the client limit.
    #[must_use]
    pub fn limit(mut self, limit: ClientLimit) -> Self {
        self.limit = limit;
        self
    }

    /// Says that the nodes are interchangeable.
    #[must_use]
    pub fn alike(mut self) -> Self {
        self.alike = true;
        self
    }

    /// Says why a real HAMi differs from itself here.
    #[must_use]
    pub fn loosely(mut self, why: &'static str) -> Self {
        self.judged = Judged::Loosely(why);
        self
    }
}
