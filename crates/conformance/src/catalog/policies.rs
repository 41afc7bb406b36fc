//! Where pods go: every policy × request mix × limit, policies of single pods, invalid policies, and bursts.

use serde_json::json;

use super::super::scenario::{
    HAMI_DEFAULT, Pod, Scenario, Step, asks, node, scenario, small_node, tenth, whole,
};
use plan::Policy::{Binpack, Spread};

const NODE_POLICY: &str = "hami.io/node-scheduler-policy";
const GPU_POLICY: &str = "hami.io/gpu-scheduler-policy";
const WEIGHTS: &str = "hami.io/device-scoring-weights";

/// Why bursts are compared by counts.
const RACE: &str = "pods are decided on side by side, and which one finds a lock taken is chance";

pub(super) fn scenarios() -> Vec<Scenario> {
    let three = || vec![node("a"), node("b"), node("c")];
    let mut all = Vec::new();
    let names = [
        ("spread-spread", "spread-spread-hami-default"),
        ("spread-binpack", "spread-binpack-hami-default"),
        ("binpack-spread", "binpack-spread-hami-default"),
        ("binpack-binpack", "binpack-binpack-hami-default"),
    ];
    let pairs = [Spread, Binpack].map(|node| [Spread, Binpack].map(|gpu| (node, gpu)));
    for ((full, slow), (node_policy, gpu_policy)) in
        names.into_iter().zip(pairs.into_iter().flatten())
    {
        let about = "node policy, card policy; tenths, whole cards, halves, a whole machine";
        let full = scenario(full, about).on(three()).submit(mix());
        all.push(full.policies(node_policy, gpu_policy).alike());
        let slow = scenario(slow, "the same at 5 calls per second")
            .on(three())
            .submit([whole("w1", 1), tenth("t1"), tenth("t2")])
            .policies(node_policy, gpu_policy);
        all.push(slow.alike().limit(HAMI_DEFAULT));
    }
    all.extend(per_pod());
    all.extend(bursts());
    all
}

/// In such an order that no two machines are ever equally used: of equal ones one is chosen at random.
fn mix() -> Vec<Pod> {
    vec![
        whole("w1", 1),
        tenth("t1"),
        asks("h1", &[("gpu", 2), ("gpumem", 12_282)]),
        asks("p1", &[("gpu", 1), ("gpumem-percentage", 50)]),
        asks("c1", &[("gpu", 1), ("gpumem", 1000), ("gpucores", 100)]),
        tenth("t2"),
        tenth("t3"),
        whole("m1", 8),
    ]
}

fn per_pod() -> Vec<Scenario> {
    let start = || [whole("w1", 1), tenth("t1")];
    let two = || vec![node("a"), node("b")];
    vec![
        scenario("pod-policies", "a pod's own policies outrank the process's")
            .on(two())
            .submit(start())
            .submit([
                tenth("b1").note(NODE_POLICY, "binpack"),
                tenth("b2").note(GPU_POLICY, "binpack"),
                tenth("b3")
                    .note(NODE_POLICY, "binpack")
                    .note(GPU_POLICY, "binpack"),
                tenth("s1")
                    .note(NODE_POLICY, "spread")
                    .note(GPU_POLICY, "spread"),
            ])
            .alike(),
        scenario(
            "unknown-policies",
            "a policy that is none: binpack for nodes, spread for cards",
        )
        .on(two())
        .submit(start())
        .submit([
            tenth("u1").note(NODE_POLICY, "random"),
            tenth("u2").note(NODE_POLICY, ""),
            tenth("u3").note(NODE_POLICY, "Spread"),
            tenth("u4").note(GPU_POLICY, "random"),
            tenth("u5").note(GPU_POLICY, ""),
        ])
        .policies(Spread, Binpack)
        .alike(),
        scenario(
            "card-policies",
            "mutex, numa, topology-aware and lists of card policies",
        )
        .on([node("a")])
        .submit(start())
        .submit([
            tenth("x1").note(GPU_POLICY, "mutex"),
            tenth("x2").note(GPU_POLICY, "binpack,mutex"),
            tenth("n1").note(GPU_POLICY, "numa"),
            tenth("n2").note(GPU_POLICY, "numa,binpack"),
            whole("o1", 2).note(GPU_POLICY, "topology-aware"),
            whole("o2", 1).note(GPU_POLICY, "topology-aware"),
            whole("x3", 4).note(GPU_POLICY, "mutex"),
        ]),
        scenario(
            "numa-bind",
            "all cards of a container on one NUMA node, or none",
        )
        .on([node("a")])
        .submit([
            whole("w1", 1),
            whole("n1", 4).note("nvidia.com/numa-bind", "true"),
            whole("n2", 4).note("nvidia.com/numa-bind", "true"),
            whole("n3", 2).note("nvidia.com/numa-bind", "1"),
            tenth("n4").note("nvidia.com/numa-bind", "maybe"),
        ]),
        scenario("topology", "cards chosen by the links between them")
            .on([small_node("a", 4).note("hami.io/node-nvidia-score", &links())])
            .submit([
                asks("o1", &[("gpu", 2), ("gpumem", 100)]).note(GPU_POLICY, "topology-aware"),
                asks("o2", &[("gpu", 1), ("gpumem", 100)]).note(GPU_POLICY, "topology-aware"),
                asks("o3", &[("gpu", 3), ("gpumem", 100)]).note(GPU_POLICY, "topology-aware"),
            ]),
        scenario(
            "scoring-weights",
            "a pod's own weights, and weights that are none",
        )
        .on([node("a")])
        .submit([
            asks("m1", &[("gpu", 1), ("gpumem", 20_000)]),
            asks("c1", &[("gpu", 1), ("gpumem", 10), ("gpucores", 90)]),
            tenth("g1")
                .note(WEIGHTS, "slot=0,core=0,memory=1")
                .note(GPU_POLICY, "binpack"),
            tenth("g2")
                .note(WEIGHTS, "slot=0,core=1,memory=0")
                .note(GPU_POLICY, "binpack"),
            tenth("b1").note(WEIGHTS, "slot=0,core=0,memory=0"),
            tenth("b2").note(WEIGHTS, "slot=1,core=1"),
            tenth("b3").note(WEIGHTS, "heavy"),
            tenth("b4").note(WEIGHTS, "slot=-1,core=1,memory=1"),
        ]),
    ]
}

/// Cards 0–1 and 2–3 are linked well, others badly.
fn links() -> String {
    let score = |a: u32, b: u32| if a / 2 == b / 2 { 100 } else { 10 };
    let entry = |a: u32| {
        let others = (0..4).filter(|b| *b != a);
        let scores: serde_json::Map<_, _> = others
            .map(|b| (format!("GPU-@a-{b}"), json!(score(a, b))))
            .collect();
        json!({ "uuid": format!("GPU-@a-{a}"), "score": scores })
    };
    serde_json::Value::from((0..4).map(entry).collect::<Vec<_>>()).to_string()
}

fn bursts() -> Vec<Scenario> {
    const NAMES: [&str; 12] = [
        "b01", "b02", "b03", "b04", "b05", "b06", "b07", "b08", "b09", "b10", "b11", "b12",
    ];
    let pods = |count: usize| -> Vec<Pod> {
        let pod = |(n, name): (usize, &&'static str)| match n % 2 {
            0 => whole(name, 1).tries(1000),
            _ => tenth(name).tries(1000),
        };
        NAMES.iter().take(count).enumerate().map(pod).collect()
    };
    let nodes = || vec![node("a"), node("b"), node("c"), node("d")];
    let burst = |name, about, count| {
        scenario(name, about)
            .on(nodes())
            .then([Step::Burst(pods(count))])
            .alike()
            .loosely(RACE)
    };
    vec![
        burst("burst-spread", "12 pods at once on 4 machines", 12),
        burst(
            "burst-binpack",
            "12 pods at once, which all want one machine",
            12,
        )
        .policies(Binpack, Spread),
        burst(
            "burst-spread-hami-default",
            "6 pods at once at 5 calls a second",
            6,
        )
        .limit(HAMI_DEFAULT),
        burst(
            "burst-binpack-hami-default",
            "4 pods at once at 5 calls a second",
            4,
        )
        .policies(Binpack, Spread)
        .limit(HAMI_DEFAULT),
    ]
}
