//! What a scenario is: nodes, settings, steps, and how its outcome is judged. Plain data; nothing here touches a cluster.
//!
//! In every text `@` stands for the prefix of the play's own names: node `a` is `@a`, its fourth card `GPU-@a-3`, the
//! namespace `@ns`.

mod shapes;

use serde_json::Value;

pub use shapes::{Node, Pod, annotations, asks, cards, node, pod, small_node, tenth, whole};

use plan::{ClientLimit, Policy};

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
    /// Pods, one after the other; each is waited for until it has placed or has used up its tries.
    Submit(Vec<Pod>),
    /// Pods, all at once, until all have placed or have used up their tries.
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
    /// The namespace gets a `ResourceQuota`.
    Quota(Value),
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
