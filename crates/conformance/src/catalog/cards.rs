//! Which cards a pod may have: lists of models and cards, sharing modes, unhealthy and cordoned cards.

use serde_json::json;

use super::super::scenario::{
    Node, Scenario, Step, annotations, cards, node, scenario, small_node, tenth, whole,
};

const USE_TYPE: &str = "nvidia.com/use-gputype";
const NO_TYPE: &str = "nvidia.com/nouse-gputype";
const USE_UUID: &str = "nvidia.com/use-gpuuuid";
const NO_UUID: &str = "nvidia.com/nouse-gpuuuid";

/// Two RTX 4090 and two A100.
fn mixed(name: &'static str) -> Node {
    small_node(name, 4).with(2..4, "type", &json!("NVIDIA-NVIDIA A100-SXM4-40GB"))
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let register = |value: &serde_json::Value| {
        annotations("hami.io/node-nvidia-register", &json!(value.to_string()))
    };
    let sick = small_node("a", 4).with(0..3, "health", &json!(false));
    vec![
        scenario(
            "card-types",
            "use-gputype and nouse-gputype: one, several, any case, none that exists, blank",
        )
        .on([mixed("a")])
        .submit([
            tenth("u1").note(USE_TYPE, "A100"),
            tenth("u2").note(USE_TYPE, "a100, 4090"),
            tenth("u3").note(USE_TYPE, "H100"),
            tenth("u4").note(USE_TYPE, ""),
            tenth("n1").note(NO_TYPE, "A100"),
            tenth("n2").note(NO_TYPE, "geforce,A100"),
            tenth("n3").note(NO_TYPE, ""),
            tenth("b1")
                .note(USE_TYPE, "NVIDIA")
                .note(NO_TYPE, "GeForce"),
            whole("w3", 3).note(USE_TYPE, "A100"),
        ]),
        scenario(
            "card-uuids",
            "use-gpuuuid and nouse-gpuuuid: one, several, none that exists, both",
        )
        .on([small_node("a", 4)])
        .submit([
            tenth("u1").note(USE_UUID, "GPU-@a-2"),
            tenth("u2").note(USE_UUID, "GPU-@a-0, GPU-@a-1"),
            tenth("u3").note(USE_UUID, "GPU-nowhere"),
            tenth("u4").note(USE_UUID, "gpu-@a-0"),
            tenth("n1").note(NO_UUID, "GPU-@a-3,GPU-@a-1"),
            tenth("n2").note(NO_UUID, "GPU-@a-0,GPU-@a-1,GPU-@a-2,GPU-@a-3"),
            tenth("b1")
                .note(USE_UUID, "GPU-@a-3")
                .note(NO_UUID, "GPU-@a-3"),
            whole("w2", 2).note(USE_UUID, "GPU-@a-1"),
        ]),
        scenario("card-modes", "the sharing mode a pod insists on")
            .on([small_node("a", 2).with(1..2, "mode", &json!("mps"))])
            .submit([
                tenth("m1").note("nvidia.com/vgpu-mode", "mps"),
                tenth("m2").note("nvidia.com/vgpu-mode", "hami-core"),
                tenth("m3").note("nvidia.com/vgpu-mode", "mig"),
                tenth("m4").note("nvidia.com/vgpu-mode", ""),
            ]),
        scenario(
            "unhealthy-cards",
            "three of four cards are unhealthy; then they are well",
        )
        .on([sick])
        .then([
            Step::Submit(vec![whole("w1", 1), whole("w2", 2)]),
            Step::PatchNode("a", register(&cards("a", 4))),
            Step::Register,
            Step::Retry("w2", 1),
        ]),
        scenario("card-falls-sick", "a card in use becomes unhealthy")
            .on([small_node("a", 2)])
            .then([
                Step::Submit(vec![tenth("t1")]),
                Step::PatchNode(
                    "a",
                    register(&small_node("a", 2).with(0..2, "health", &json!(false)).cards),
                ),
                Step::Register,
                Step::Submit(vec![tenth("t2")]),
            ]),
        scenario("cordoned-cards", "cards that take no new pods")
            .on([
                node("a").note("hami.io/device-cordon", "GPU-@a-7, GPU-@a-6"),
                small_node("b", 1).note("hami.io/device-cordon", "GPU-@b-0"),
            ])
            .submit([whole("w1", 1), whole("w8", 8)]),
        scenario("cards-without-health", "a report without the field health")
            .on([small_node("a", 1).with(0..1, "health", &json!(null))])
            .submit([tenth("t1")]),
    ]
}
