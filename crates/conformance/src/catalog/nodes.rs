//! Machines that come, go and change: registration, its start-up calls, lost and cordoned machines, changed labels and reports.

use serde_json::{Value, json};

use super::super::scenario::{
    Scenario, Step, annotations, cards, node, scenario, small_node, tenth, whole,
};

const REGISTER: &str = "hami.io/node-nvidia-register";

fn report(cards: &Value) -> Value {
    annotations(REGISTER, &json!(cards.to_string()))
}

/// A device plugin's new report, with the same number of shares in the machine's resources.
fn report_with_shares(cards: &Value, shares: u32) -> Value {
    let mut patch = report(cards);
    let shares = json!({ "nvidia.com/gpu": shares.to_string() });
    patch["status"] = json!({ "allocatable": shares, "capacity": shares });
    patch
}

pub(super) fn scenarios() -> Vec<Scenario> {
    [registration(), changes()].concat()
}

fn registration() -> Vec<Scenario> {
    let three = || vec![node("a"), node("b"), node("c")];
    vec![
        scenario(
            "registration",
            "machines created without handshakes: the calls at start",
        )
        .on(three()
            .into_iter()
            .map(super::super::scenario::Node::unstamped)
            .collect::<Vec<_>>())
        .submit([tenth("t1")])
        .alike(),
        scenario(
            "registration-stamped",
            "machines created with handshakes: no calls at start",
        )
        .on(three())
        .then([Step::Register, Step::Submit(vec![tenth("t1")])])
        .alike(),
        scenario(
            "unregistered",
            "machines without a report, with an empty, a torn and an old one",
        )
        .on([
            node("a").extra(annotations(REGISTER, &Value::Null)),
            node("b").note(REGISTER, "[]"),
            node("c").note(REGISTER, "[{\"id\": "),
            node("d").note(REGISTER, "GPU-@d-0,10,24564,100,NVIDIA-X,0,true:"),
            small_node("e", 1),
        ])
        .submit([whole("w1", 1), whole("w2", 1)]),
    ]
}

fn changes() -> Vec<Scenario> {
    let two = || vec![small_node("a", 1), small_node("b", 1)];
    let on = |name, node: &str| whole(name, 1).on("kubernetes.io/hostname", node);
    vec![
        scenario("node-lost", "a machine goes with its pods; pods go elsewhere; it comes back").on(two()).then([
                Step::Submit(vec![on("w1", "@a")]),
                Step::DropNode("a"),
                Step::Register,
                Step::Submit(vec![whole("w2", 1), whole("w3", 1)]),
                Step::Delete("w1"),
                Step::AddNode(small_node("a", 1)),
                Step::Register,
                Step::Retry("w3", 1),
            ]),
        scenario("node-cordoned", "a cordoned machine is not offered").on(two()).then([
                Step::PatchNode("a", json!({ "spec": { "unschedulable": true } })),
                Step::Submit(vec![whole("w1", 1), whole("w2", 1)]),
                Step::PatchNode("a", json!({ "spec": { "unschedulable": null } })),
                Step::Retry("w2", 1),
            ]),
        scenario("node-label", "a machine loses the label that a pod wants; then all do").on(two()).then([
                Step::PatchNode("a", json!({ "metadata": { "labels": { "gpu": "off" } } })),
                Step::Register,
                Step::Submit(vec![
                    tenth("t1").on("gpu", "on"),
                    tenth("t2").on("gpu", "off"),
                ]),
                Step::PatchNode("b", json!({ "metadata": { "labels": { "gpu": null } } })),
                Step::Submit(vec![tenth("t3").on("gpu", "on")]),
            ]),
        scenario("report-fewer-cards", "a machine reports fewer cards, with and without fewer shares").on([small_node("a", 4)]).then([
                Step::Submit(vec![tenth("t1")]),
                Step::PatchNode("a", report(&cards("a", 3))),
                Step::Register,
                Step::Submit(vec![whole("w3", 3)]),
                Step::PatchNode("a", report_with_shares(&cards("a", 2), 20)),
                Step::Register,
                Step::Submit(vec![whole("w2", 2), whole("w4", 4)]),
            ]),
        scenario("report-more-memory", "a machine reports other memory").on([small_node("a", 1)]).then([
                Step::Submit(vec![tenth("t1")]),
                Step::PatchNode(
                    "a",
                    report(
                        &small_node("a", 1)
                            .with(0..1, "devmem", &json!(81_920))
                            .cards,
                    ),
                ),
                Step::Register,
                Step::Submit(vec![whole("w1", 1), tenth("t2")]),
            ]),
        scenario("report-torn", "a machine's report becomes unreadable: what was known stays").on([small_node("a", 2)]).then([
                Step::PatchNode("a", annotations(REGISTER, &json!("[{"))),
                Step::Register,
                Step::Submit(vec![whole("w1", 1)]),
                Step::PatchNode("a", annotations(REGISTER, &json!("[]"))),
                Step::Register,
                Step::Submit(vec![whole("w2", 1)]),
                Step::PatchNode("a", annotations(REGISTER, &Value::Null)),
                Step::Register,
                Step::Submit(vec![tenth("t3")]),
            ]),
        scenario("shares-gone", "a machine has no shares left among its resources: its cards are taken out").on([small_node("a", 1)]).then([
                Step::PatchNode(
                    "a",
                    json!({ "status": {
                    "allocatable": { "nvidia.com/gpu": "0" }, "capacity": { "nvidia.com/gpu": "0" } } }),
                ),
                Step::Register,
                Step::Submit(vec![tenth("t1")]),
                Step::PatchNode("a", report_with_shares(&cards("a", 1), 10)),
                Step::Register,
                Step::Retry("t1", 1),
            ]),
        scenario("node-added", "a machine comes while a pod waits for one").on([small_node("a", 1)]).then([
                Step::Submit(vec![whole("w1", 1), whole("w2", 1)]),
                Step::AddNode(small_node("b", 1)),
                Step::Register,
                Step::Retry("w2", 1),
            ]),
    ]
}
