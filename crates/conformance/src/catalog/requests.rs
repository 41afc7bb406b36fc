//! What pods ask for: memory, cores, too much, fragments, quotas, several containers, init containers.

use serde_json::json;

use super::super::scenario::{Scenario, Step, asks, node, pod, scenario, small_node, tenth, whole};

pub(super) fn scenarios() -> Vec<Scenario> {
    [amounts(), containers()].concat()
}

#[expect(clippy::too_many_lines, reason = "a list")]
fn amounts() -> Vec<Scenario> {
    let one = || vec![small_node("a", 1)];
    vec![
        scenario("memory", "MiB, percent, both, too much of either, none")
            .on([small_node("a", 2)])
            .submit([
                asks("m1", &[("gpu", 1), ("gpumem", 24_564)]),
                asks("m2", &[("gpu", 1), ("gpumem", 24_565)]),
                asks("p1", &[("gpu", 1), ("gpumem-percentage", 60)]),
                asks("p2", &[("gpu", 1), ("gpumem-percentage", 60)]),
                asks(
                    "b1",
                    &[("gpu", 1), ("gpumem", 100), ("gpumem-percentage", 90)],
                ),
                asks("p3", &[("gpu", 1), ("gpumem-percentage", 0)]),
                asks("p4", &[("gpu", 1), ("gpumem-percentage", 250)]),
            ]),
        scenario("cores", "shares of cores, all of them, none left")
            .on([small_node("a", 2)])
            .submit([
                asks("c1", &[("gpu", 1), ("gpumem", 100), ("gpucores", 100)]),
                asks("c2", &[("gpu", 1), ("gpumem", 100), ("gpucores", 60)]),
                asks("c3", &[("gpu", 1), ("gpumem", 100), ("gpucores", 60)]),
                asks("c4", &[("gpu", 1), ("gpumem", 100), ("gpucores", 40)]),
                asks("c5", &[("gpu", 1), ("gpumem", 100)]),
                asks("c6", &[("gpu", 1), ("gpumem", 100), ("gpucores", 100)]),
                asks("c7", &[("gpu", 1), ("gpumem", 100), ("gpucores", 150)]),
            ]),
        scenario(
            "no-card",
            "memory or cores without a card, and no request at all",
        )
        .on(one())
        .then(
            // No write to the pod precedes such a bind, which may so arrive before the extender has seen the pod: held, it does
            // not.
            vec![
                Step::Hold(asks("n1", &[("gpumem", 100)])),
                Step::Hold(asks("n2", &[("gpucores", 10)])),
                Step::Hold(asks("n3", &[("gpu", 0)])),
                Step::Release(&["n1"]),
                Step::Release(&["n2"]),
                Step::Release(&["n3"]),
                Step::Submit(vec![asks("n4", &[])]),
            ],
        ),
        scenario(
            "too-many-cards",
            "more cards than any machine has, and exactly as many",
        )
        .on([small_node("a", 4), small_node("b", 2)])
        .submit([
            whole("w9", 9),
            whole("w5", 5),
            whole("w4", 4),
            whole("w3", 3),
        ]),
        scenario("time-slices", "a card's places run out before its memory")
            .on(one()
                .into_iter()
                .map(|n| n.with(0..1, "count", &json!(2)))
                .collect::<Vec<_>>())
            .submit([tenth("t1"), tenth("t2"), tenth("t3")]),
        scenario("memory-runs-out", "reasons differ from machine to machine")
            .on([
                small_node("a", 1),
                small_node("b", 2).with(0..1, "health", &json!(false)),
            ])
            .submit([
                whole("w1", 1).on("kubernetes.io/hostname", "@a"),
                whole("w2", 1),
                whole("w3", 1),
                asks("c1", &[("gpu", 1), ("gpumem", 0), ("gpucores", 1)]),
            ]),
        scenario(
            "fragmentation",
            "tenths on every card: 90 % idle, and no whole machine or card to be had",
        )
        .on([small_node("a", 2), small_node("b", 2)])
        .then([
            Step::Submit(vec![
                tenth("t1").on("kubernetes.io/hostname", "@a"),
                tenth("t2").on("kubernetes.io/hostname", "@a"),
                tenth("t3").on("kubernetes.io/hostname", "@b"),
                tenth("t4").on("kubernetes.io/hostname", "@b"),
            ]),
            Step::Submit(vec![whole("w2", 2), whole("w1", 1)]),
            Step::Delete("t1"),
            Step::Retry("w1", 1),
        ]),
        scenario(
            "quota",
            "a namespace's limits.nvidia.com/gpumem and gpucores",
        )
        .on([node("a")])
        .then([
            Step::Quota(
                json!({ "limits.nvidia.com/gpumem": "5000", "limits.nvidia.com/gpucores": "50" }),
            ),
            Step::Submit(vec![
                tenth("t1"),
                asks("c1", &[("gpu", 1), ("gpumem", 100), ("gpucores", 45)]),
                tenth("t2"),
                tenth("t3"),
                whole("w1", 1),
            ]),
            Step::Delete("t1"),
            Step::Retry("t3", 1),
        ]),
    ]
}

fn containers() -> Vec<Scenario> {
    let tenth: &[(&str, u32)] = &[("gpu", 1), ("gpumem", 2456), ("gpucores", 10)];
    let most: &[(&str, u32)] = &[("gpu", 1), ("gpumem", 20_000)];
    vec![
        scenario(
            "several-containers",
            "cards by container, containers without cards, more than fits together",
        )
        .on([node("a")])
        .submit([
            pod("two").container(tenth).container(tenth),
            pod("gap")
                .container(tenth)
                .container(&[])
                .container(&[("gpu", 2)]),
            pod("last").container(&[]).container(tenth),
            pod("big").container(&[("gpu", 5)]).container(&[("gpu", 4)]),
        ]),
        scenario(
            "several-containers-one-card",
            "containers of a pod on the same card",
        )
        .on([small_node("a", 1)])
        .submit([
            pod("both").container(tenth).container(tenth),
            pod("much").container(most).container(most),
            pod("rest").container(&[("gpu", 1), ("gpumem", 19_000)]),
        ]),
        scenario(
            "init-containers",
            "an init container that asks for more, for less, alone, among others",
        )
        .on([node("a")])
        .submit([
            pod("more").init(&[("gpu", 2)]).container(tenth),
            pod("less").init(tenth).container(&[("gpu", 2)]),
            pod("alone").init(tenth).container(&[]),
            pod("gap").init(&[]).init(tenth).container(tenth),
            pod("big").init(&[("gpu", 9)]).container(tenth),
        ]),
        scenario(
            "init-containers-done",
            "what init containers took is free once they are through",
        )
        .on([small_node("a", 1)])
        .then([
            Step::Submit(vec![
                pod("first").init(most).container(tenth),
                asks("next", most),
            ]),
            Step::PatchStatus(
                "first",
                json!({ "initContainerStatuses": [{ "name": "i0", "image": "fake",
                    "imageID": "", "ready": true, "restartCount": 0,
                    "state": { "terminated": { "exitCode": 0 } } }] }),
            ),
            Step::Retry("next", 1),
        ]),
    ]
}
