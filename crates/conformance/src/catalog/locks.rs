//! The node lock: contended, expired, dangling, old, unreadable; and binds that arrive too late.

use serde_json::{Value, json};

use super::super::scenario::{
    Scenario, Step, annotations, node, scenario, small_node, tenth, whole,
};

const LOCK: &str = "hami.io/mutex.lock";

/// A time stamp from the year 2000, far older than any time-out.
const LONG_AGO: &str = "2000-01-01T00:00:00Z";

/// A time stamp in the far future. For HAMi such a lock has not expired, like a fresh one; but it is the same in each play.
const UNEXPIRED: &str = "2100-01-01T00:00:00Z";

fn locked(text: &str) -> Step {
    Step::PatchNode("a", annotations(LOCK, &json!(text)))
}

fn unlocked() -> Step {
    Step::PatchNode("a", annotations(LOCK, &Value::Null))
}

/// A pod that only holds a lock.
fn holder() -> Step {
    Step::Submit(vec![whole("holder", 1).unscheduled()])
}

pub(super) fn scenarios() -> Vec<Scenario> {
    [held(), overtaken()].concat()
}

fn held() -> Vec<Scenario> {
    let one = || vec![small_node("a", 2)];
    let live = |stamp: &str| format!("{stamp},@ns,holder");
    let play = |name, about| scenario(name, about).on(one());
    let submit = || Step::Submit(vec![tenth("t1")]);
    vec![
        play(
            "lock-contended",
            "the lock's holder lives: refused, and bound when it is released",
        )
        .then([
            holder(),
            locked(&live(UNEXPIRED)),
            submit(),
            unlocked(),
            Step::Retry("t1", 1),
        ]),
        play(
            "lock-contended-twice",
            "refused again and again, and released",
        )
        .then([
            holder(),
            locked(&live(UNEXPIRED)),
            submit(),
            Step::Retry("t1", 1),
            unlocked(),
            Step::Retry("t1", 1),
        ]),
        play("lock-expired", "the holder lives, but the lock is too old").then([
            holder(),
            locked(&live(LONG_AGO)),
            submit(),
        ]),
        play("lock-dangling", "the lock is fresh, but its holder is gone")
            .then([locked(&format!("{UNEXPIRED},@ns,nobody")), submit()]),
        play("lock-own", "the pod holds the lock already")
            .then([locked(&format!("{UNEXPIRED},@ns,t1")), submit()]),
        play("lock-old-form", "a stamp without holder, fresh").then([locked(UNEXPIRED), submit()]),
        play("lock-old-form-expired", "a stamp without holder, too old")
            .then([locked(LONG_AGO), submit()]),
        play("lock-torn", "no stamp").then([locked("soon"), submit()]),
        play("lock-torn-fields", "a stamp and half a holder")
            .then([locked(&format!("{UNEXPIRED},@ns")), submit()]),
        play("lock-empty", "an empty lock").then([locked(""), submit()]),
        play(
            "lock-holder-terminating",
            "the lock's holder is being deleted",
        )
        .then([
            Step::Submit(vec![whole("holder", 1).unscheduled().kept()]),
            locked(&live(UNEXPIRED)),
            Step::Delete("holder"),
            submit(),
        ]),
        play("lock-two-at-once", "two binds arrive at the same moment")
            .then([
                Step::Hold(tenth("t1").tries(1000)),
                Step::Hold(tenth("t2").tries(1000)),
                Step::Release(&["t1", "t2"]),
                Step::Retry("t1", 0),
                Step::Retry("t2", 0),
            ])
            .loosely("which of the two sees the lock first, and at which of its reads, is chance"),
        play(
            "lock-pod-group",
            "a pod group's member waits for the lock instead of failing",
        )
        .then([
            holder(),
            Step::Hold(group_member("member")),
            locked(&live(UNEXPIRED)),
            Step::Begin(&["member"]),
            unlocked(),
            Step::Retry("member", 0),
        ])
        .loosely("it asks for the lock every 0.1 s: how often depends on the machine"),
    ]
}

fn group_member(name: &'static str) -> super::super::scenario::Pod {
    let mut pod = tenth(name);
    pod.object["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = json!("group");
    pod
}

fn overtaken() -> Vec<Scenario> {
    let two = || vec![small_node("a", 1), small_node("b", 1)];
    let on_a = |name| whole(name, 1).on("kubernetes.io/hostname", "@a");
    let held = |name, about| {
        let held = Step::Hold(on_a("w1"));
        scenario(name, about).on(two()).then([held])
    };
    let release = || Step::Release(&["w1"]);
    let next = |name| Step::Submit(vec![on_a(name)]);
    vec![
        held(
            "pod-deleted-mid-bind",
            "the pod is gone when its bind arrives; its cards are free",
        )
        .then([Step::Delete("w1"), release(), next("w2")]),
        scenario(
            "pod-terminating-mid-bind",
            "the pod is being deleted when its bind arrives",
        )
        .on(two())
        .then([
            Step::Hold(on_a("w1").kept()),
            Step::Delete("w1"),
            release(),
            next("w2"),
        ]),
        held(
            "pod-finished-mid-bind",
            "the pod has failed when its bind arrives",
        )
        .then([
            Step::PatchStatus("w1", json!({ "phase": "Failed" })),
            release(),
            next("w2"),
        ]),
        held(
            "pod-replaced-mid-bind",
            "another pod has its name when the bind arrives",
        )
        .then([
            Step::Delete("w1"),
            Step::Submit(vec![whole("w1", 1).unscheduled()]),
            release(),
        ]),
        held(
            "node-lost-mid-bind",
            "the machine is gone when the bind arrives",
        )
        .then([Step::DropNode("a"), release()]),
        held(
            "node-cordoned-mid-bind",
            "the machine is cordoned when the bind arrives",
        )
        .then([
            Step::PatchNode("a", json!({ "spec": { "unschedulable": true } })),
            release(),
        ]),
        held(
            "locked-mid-bind",
            "another takes the lock before the bind arrives; the pod's cards stay reserved",
        )
        .then([
            holder(),
            locked(&format!("{UNEXPIRED},@ns,holder")),
            release(),
            next("w2"),
            unlocked(),
            Step::Retry("w1", 1),
        ]),
        scenario(
            "bind-without-plugin",
            "the device plugin never answers: the lock stays, and the next pod is refused",
        )
        .on([node("a")])
        .submit([tenth("t1")])
        .then([locked(&format!("{UNEXPIRED},@ns,t1"))])
        .submit([tenth("t2")]),
    ]
}
