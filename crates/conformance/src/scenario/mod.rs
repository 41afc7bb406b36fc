//! A scenario: nodes, settings, steps, and how its outcome is judged. It is plain data; nothing here touches a cluster.
//!
//! In every text `@` is the prefix of the play's own names: node `a` is `@a`, its fourth card `GPU-@a-3`, the namespace
//! `@ns`.

mod shapes;

use serde_json::Value;

pub use shapes::{Node, Pod, annotations, asks, cards, node, pod, small_node, tenth, whole};

use plan::{ClientLimit, Policy};

/// HAMi's raised client limit in the benchmark's arms.
pub const RAISED: ClientLimit = ClientLimit {
    qps: 100.0,
    burst: 200,
};

/// HAMi's default client limit (its flags `--kube-qps`, `--kube-burst`).
pub const HAMI_DEFAULT: ClientLimit = ClientLimit {
    qps: 5.0,
    burst: 10,
};

/// A scenario.
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
    /// The machines at the start.
    pub nodes: Vec<Node>,
    /// Whether the machines are interchangeable. Then they are named by the order of their first use, since of equal ones one is
    /// chosen at random.
    pub alike: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// How outcomes are compared.
    pub judged: Judged,
}

/// How two outcomes of a scenario are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Everything observed must be equal.
    Exactly,
    /// Counts are compared within margins, because a real HAMi differs from itself for the reason given.
    Loosely(&'static str),
}

/// A step of a scenario.
#[derive(Debug, Clone)]
pub enum Step {
    /// Creates pods, one after the other, and waits for each until it is bound or has used up its attempts.
    Submit(Vec<Pod>),
    /// Creates pods, all at once, and waits until all are bound or have used up their attempts.
    Burst(Vec<Pod>),
    /// Creates a pod whose bind is delayed on its way to the extender, until [`Step::Release`].
    Hold(Pod),
    /// Releases delayed binds, all at the same moment.
    Release(&'static [&'static str]),
    /// As [`Step::Release`], but does not wait for the answers: the extender is left alone with them for a second.
    Begin(&'static [&'static str]),
    /// Allows a pod this many more attempts, and waits for it.
    Retry(&'static str, u32),
    /// Applies a merge patch to a node.
    PatchNode(&'static str, Value),
    /// Removes a node.
    DropNode(&'static str),
    /// Adds a node.
    AddNode(Node),
    /// Applies a merge patch to a pod.
    PatchPod(&'static str, Value),
    /// Applies a merge patch to a pod's status.
    PatchStatus(&'static str, Value),
    /// Deletes a pod, and waits until it is gone unless a finalizer keeps it.
    Delete(&'static str),
    /// Makes the extender look at all nodes again, by adding another node.
    Register,
    /// Restarts the extender.
    Restart,
    /// Creates a `ResourceQuota` in the namespace.
    Quota(Value),
}

/// A scenario with spread/spread and the raised client limit, in which everything observed must be equal.
#[must_use]
pub fn scenario(name: &'static str, about: &'static str) -> Scenario {
    Scenario {
        name,
        about,
        node_policy: Policy::Spread,
        gpu_policy: Policy::Spread,
        limit: RAISED,
        nodes: Vec::new(),
        alike: false,
        steps: Vec::new(),
        judged: Judged::Exactly,
    }
}

impl Scenario {
    /// Sets the machines.
    #[must_use]
    pub fn on(mut self, nodes: impl Into<Vec<Node>>) -> Self {
        self.nodes = nodes.into();
        self
    }

    /// Adds steps.
    #[must_use]
    pub fn then(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Adds the step in which these pods are submitted.
    #[must_use]
    pub fn submit(self, pods: impl Into<Vec<Pod>>) -> Self {
        self.then([Step::Submit(pods.into())])
    }

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
