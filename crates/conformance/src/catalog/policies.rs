//! Where pods go: every policy × request mix × limit, policies of single pods, invalid policies, and bursts.

use serde_json::json;

use super::super::scenario::{
    HAMI_DEFAULT, Pod, RAISED, Scenario, Step, asks, node, scenario, small_node, tenth, whole,
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
    for (names, node_policy, gpu_policy) in [
        (
            ["spread-spread", "spread-spread-hami-default"],
            Spread,
            Spread,
        ),
        (
            ["spread-binpack", "spread-binpack-hami-default"],
            Spread,
            Binpack,
        ),
        (
            ["binpack-spread", "binpack-spread-hami-default"],
            Binpack,
            Spread,
        ),
        (
            ["binpack-binpack", "binpack-binpack-hami-default"],
            Binpack,
            Binpack,
        ),
    ] {
        let about = "node policy, card policy; tenths, whole cards, halves, a whole machine";
        let full = scenario(names[0], about, three(), vec![Step::Submit(mix())]);
        all.push(full.policies(node_policy, gpu_policy).alike());
        let few = vec![whole("w1", 1), tenth("t1"), tenth("t2")];
        let slow = scenario(
            names[1],
            "the same at 5 calls per second",
            three(),
            vec![Step::Submit(few)],
        );
        all.push(
            slow.policies(node_policy, gpu_policy)
                .alike()
                .limit(HAMI_DEFAULT),
        );
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
    let start = || vec![whole("w1", 1), tenth("t1")];
    let with = |more: Vec<Pod>| Step::Submit([start(), more].concat());
    let two = || vec![node("a"), node("b")];
    vec![
        scenario(
            "pod-policies",
            "a pod's own policies outrank the process's",
            two(),
            vec![with(vec![
                tenth("b1").note(NODE_POLICY, "binpack"),
                tenth("b2").note(GPU_POLICY, "binpack"),
                tenth("b3")
                    .note(NODE_POLICY, "binpack")
                    .note(GPU_POLICY, "binpack"),
                tenth("s1")
                    .note(NODE_POLICY, "spread")
                    .note(GPU_POLICY, "spread"),
            ])],
        )
        .alike(),
        scenario(
            "unknown-policies",
            "a policy that is none: binpack for nodes, spread for cards",
            two(),
            vec![with(vec![
                tenth("u1").note(NODE_POLICY, "random"),
                tenth("u2").note(NODE_POLICY, ""),
                tenth("u3").note(NODE_POLICY, "Spread"),
                tenth("u4").note(GPU_POLICY, "random"),
                tenth("u5").note(GPU_POLICY, ""),
            ])],
        )
        .policies(Spread, Binpack)
        .alike(),
        scenario(
            "card-policies",
            "mutex, numa, topology-aware and lists of card policies",
            vec![node("a")],
            vec![with(vec![
                tenth("x1").note(GPU_POLICY, "mutex"),
                tenth("x2").note(GPU_POLICY, "binpack,mutex"),
                tenth("n1").note(GPU_POLICY, "numa"),
                tenth("n2").note(GPU_POLICY, "numa,binpack"),
                whole("o1", 2).note(GPU_POLICY, "topology-aware"),
                whole("o2", 1).note(GPU_POLICY, "topology-aware"),
                whole("x3", 4).note(GPU_POLICY, "mutex"),
            ])],
        ),
        scenario(
            "numa-bind",
            "all cards of a container on one NUMA node, or none",
            vec![node("a")],
            vec![Step::Submit(vec![
                whole("w1", 1),
                whole("n1", 4).note("nvidia.com/numa-bind", "true"),
                whole("n2", 4).note("nvidia.com/numa-bind", "true"),
                whole("n3", 2).note("nvidia.com/numa-bind", "1"),
                tenth("n4").note("nvidia.com/numa-bind", "maybe"),
            ])],
        ),
        scenario(
            "topology",
            "cards chosen by the links between them",
            vec![small_node("a", 4).note("hami.io/node-nvidia-score", &links())],
            vec![Step::Submit(vec![
                asks("o1", &[("gpu", 2), ("gpumem", 100)]).note(GPU_POLICY, "topology-aware"),
                asks("o2", &[("gpu", 1), ("gpumem", 100)]).note(GPU_POLICY, "topology-aware"),
                asks("o3", &[("gpu", 3), ("gpumem", 100)]).note(GPU_POLICY, "topology-aware"),
            ])],
        ),
        scenario(
            "scoring-weights",
            "a pod's own weights, and weights that are none",
            vec![node("a")],
            vec![Step::Submit(vec![
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
            ])],
        ),
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
    let burst = |name, about, policy, limit, count| {
        scenario(name, about, nodes(), vec![Step::Burst(pods(count))])
            .policies(policy, Spread)
            .limit(limit)
            .alike()
            .loosely(RACE)
    };
    vec![
        burst(
            "burst-spread",
            "12 pods at once on 4 machines",
            Spread,
            RAISED,
            12,
        ),
        burst(
            "burst-binpack",
            "12 pods at once, which all want one machine",
            Binpack,
            RAISED,
            12,
        ),
        burst(
            "burst-spread-hami-default",
            "6 pods at once at 5 calls a second",
            Spread,
            HAMI_DEFAULT,
            6,
        ),
        burst(
            "burst-binpack-hami-default",
            "4 pods at once at 5 calls a second",
            Binpack,
            HAMI_DEFAULT,
            4,
        ),
    ]
}
