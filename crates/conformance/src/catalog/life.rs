//! What is reserved, and until when: restarts of the extender, pods that end, annotations by others.

use serde_json::json;

use super::super::scenario::{
    Pod, Scenario, Step, annotations, scenario, small_node, tenth, whole,
};

const NODE: &str = "hami.io/vgpu-node";
const ALLOCATED: &str = "hami.io/vgpu-devices-allocated";

/// A pod whose annotations say that HAMi gave it a card.
fn annotated(name: &'static str, devices: &str) -> Pod {
    whole(name, 1)
        .unscheduled()
        .note(NODE, "@a")
        .note(ALLOCATED, devices)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = || vec![small_node("a", 1)];
    let two = || vec![small_node("a", 2)];
    let locked = annotations(
        "hami.io/mutex.lock",
        &json!("2100-01-01T00:00:00Z,@ns,holder"),
    );
    let unlocked = annotations("hami.io/mutex.lock", &json!(null));
    vec![
        scenario("restart", "reservations are restored after a restart").on(two()).then([
                Step::Submit(vec![whole("w1", 1), tenth("t1")]),
                Step::Restart,
                Step::Submit(vec![whole("w2", 1), tenth("t2"), tenth("t3")]),
                Step::Delete("w1"),
                Step::Retry("w2", 1),
            ]),
        scenario("restart-undecided", "a pod waits over a restart").on(one()).then([
                Step::Submit(vec![whole("w1", 1), whole("w2", 1)]),
                Step::Restart,
                Step::Delete("w1"),
                Step::Retry("w2", 1),
            ]),
        scenario("restart-unbound", "a pod whose bind failed still holds its cards after a restart").on(one()).then([
                Step::Submit(vec![whole("holder", 1).unscheduled()]),
                Step::PatchNode("a", locked),
                Step::Submit(vec![whole("w1", 1)]),
                Step::Restart,
                Step::PatchNode("a", unlocked),
                Step::Submit(vec![tenth("t1")]),
                Step::Delete("w1"),
                Step::Retry("t1", 1),
            ]),
        scenario("restart-torn-annotations", "pods with annotations that cannot be read, or name cards or machines that are not there").on(two()).then([
                Step::Submit(vec![
                    annotated("x1", "GPU-@a-0,NVIDIA,lots,0:;"),
                    annotated("x2", "GPU-@a-0,NVIDIA:;"),
                    annotated("x3", "GPU-nowhere-0,NVIDIA,100,0:;"),
                    annotated("x4", "GPU-@a-0,NVIDIA,100,0:;").note(NODE, "nowhere"),
                    annotated("x5", ""),
                    annotated("x6", ";;"),
                    annotated("x7", "GPU-@a-1,NVIDIA,1000,0:;"),
                ]),
                Step::Restart,
                Step::Submit(vec![whole("w1", 1), whole("w2", 1)]),
            ]),
        scenario("foreign-annotations", "pods that come with annotations, or get them later").on(two()).then([
                Step::Submit(vec![
                    annotated("x1", "GPU-@a-1,NVIDIA,1000,0:;"),
                    whole("x2", 1).unscheduled(),
                    tenth("t1"),
                ]),
                Step::PatchPod(
                    "x2",
                    json!({ "metadata": { "annotations": { NODE: "@a", ALLOCATED: "GPU-@a-0,NVIDIA,1000,0:;" } } }),
                ),
                Step::Submit(vec![whole("w1", 1)]),
                Step::Delete("x1"),
                Step::Delete("x2"),
                Step::Delete("t1"),
                Step::Retry("w1", 1),
            ]),
        scenario("own-annotations", "a pod submitted with HAMi's annotations on it already").on(two()).submit([
                tenth("t1")
                    .note(NODE, "nowhere")
                    .note(ALLOCATED, "GPU-@a-0,NVIDIA,24564,0:;"),
                whole("w1", 1),
                whole("w2", 1),
            ]),
        scenario("pod-ends", "cards are free again when a pod succeeds, fails, is deleted").on(one()).then([
                Step::Submit(vec![
                    whole("w1", 1),
                    whole("w2", 1),
                    whole("w3", 1),
                    whole("w4", 1),
                ]),
                Step::PatchStatus("w1", json!({ "phase": "Succeeded" })),
                Step::Retry("w2", 1),
                Step::PatchStatus("w2", json!({ "phase": "Failed" })),
                Step::Retry("w3", 1),
                Step::Delete("w3"),
                Step::Retry("w4", 1),
            ]),
        scenario("refused-then-smaller", "a pod that was refused holds nothing").on(one()).submit([
                tenth("t1"),
                whole("w1", 1),
                whole("w2", 2),
                tenth("t2"),
            ]),
    ]
}
