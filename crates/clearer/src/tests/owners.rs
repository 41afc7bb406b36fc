//! Several clearers with Leases of their own, and people who take a clearing's annotation or guard off its node.

use serde_json::{Value, json};

use super::fake::{Cluster, Fake};
use super::*;
use crate::log::FailReason;
use crate::selector;

const CLEARING: &str = "headroom.dev/clearing";

/// A clearer with a Lease of its own, whose scope and allow-list have nothing of a [`busy_cluster`] in them.
fn stranger() -> Args {
    let mut args = args(ClearerStrategy::Reserve, &["--lease-name", "other"]);
    args.scope = selector::parse("zone=elsewhere").unwrap();
    args.allow = vec!["nosuch".into()];
    args
}

/// A [`busy_cluster`] with a clearing of `a` that goes on until its time limit: a task ignores its eviction.
async fn stuck_clearing(strategy: ClearerStrategy) -> (Fake, Running) {
    let fake = busy_cluster();
    fake.lock().stubborn = vec!["young-0-0".into()];
    let running = Running::start(&fake, &args(strategy, &[]));
    pass(&fake, 10.0).await;
    assert!(!note(&fake, "a").is_null(), "{}", running.story());
    (fake, running)
}

fn note(fake: &Fake, node: &str) -> Value {
    fake.lock().nodes[node]["metadata"]["annotations"][CLEARING].clone()
}

fn reason(running: &Running) -> Option<FailReason> {
    let said = running.said.lock().unwrap();
    said.iter().find_map(|l| match l.event {
        Event::Failed { reason, .. } => Some(reason),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn a_clearer_leaves_the_clearings_of_another_alone() {
    for strategy in ALL {
        let (fake, running) = stuck_clearing(strategy).await;
        let before = note(&fake, "a");
        let other = Running::start(&fake, &stranger());
        pass(&fake, 20.0).await;
        assert_eq!(other.story(), "", "{strategy:?}");
        assert_eq!(reason(&running), None, "{}", running.story());
        assert_eq!(note(&fake, "a"), before);
        assert!(release_all(&fake, &stranger()).await.is_ok());
        assert_eq!(note(&fake, "a"), before, "released by a stranger");
        // A reserved node without an annotation is not a stranger's either.
        running.kill().await;
        fake.edit(|c| drop_note(c, "a"));
        let guarded = fake.lock().nodes["a"]["spec"].clone();
        pass(&fake, 10.0).await;
        assert_eq!(fake.lock().nodes["a"]["spec"], guarded);
    }
}

/// `--put-back-all`.
async fn release_all(fake: &Fake, args: &Args) -> anyhow::Result<()> {
    let quiet = Log::to(|_| {});
    tokio::select! {
        ended = control::release_everything(fake, args, &quiet) => ended,
        () = pass(fake, 60.0) => panic!("it does not end"),
    }
}

fn drop_note(cluster: &mut Cluster, node: &str) {
    let node = cluster.nodes.get_mut(node).unwrap();
    let annotations = node["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.remove(CLEARING);
    touch(node);
}

/// A hand's write is a write like any other.
fn touch(node: &mut Value) {
    node["metadata"]["resourceVersion"] = json!(format!(
        "{}-by-hand",
        node["metadata"]["resourceVersion"].as_str().unwrap()
    ));
}

#[tokio::test(start_paused = true)]
async fn a_clearing_without_an_owner_is_whose_scope_the_node_is_in() {
    for strategy in ALL {
        let (fake, running) = stuck_clearing(strategy).await;
        running.kill().await;
        fake.edit(|cluster| {
            let node = cluster.nodes.get_mut("a").unwrap();
            let text = node["metadata"]["annotations"][CLEARING].as_str().unwrap();
            let mut state: Value = serde_json::from_str(text).unwrap();
            let old = state["id"].as_str().unwrap().to_owned();
            state.as_object_mut().unwrap().remove("owner");
            state["id"] = json!("0123456789ab");
            node["metadata"]["annotations"][CLEARING] = json!(state.to_string());
            for taint in node["spec"]["taints"].as_array_mut().unwrap() {
                if taint["value"] == old.as_str() {
                    taint["value"] = json!("0123456789ab");
                }
            }
            touch(node);
        });
        pass(&fake, 1.0).await;
        let before = note(&fake, "a");
        let other = Running::start(&fake, &stranger());
        pass(&fake, 10.0).await;
        assert_eq!((other.story(), note(&fake, "a")), (String::new(), before));
        let heir = Running::start(&fake, &args(strategy, &[]));
        settle(&fake, &heir, 200).await;
        assert!(heir.count(|e| matches!(e, Event::Resumed)) == 1);
        assert_eq!(
            fake.lock().stuck(),
            Vec::<String>::new(),
            "{}",
            heir.story()
        );
    }
}

/// A hand takes something off node `a` in mid-clearing; returns the clearer once all is quiet.
async fn with_hand(strategy: ClearerStrategy, hand: impl Fn(&mut Cluster)) -> (Fake, Running) {
    let (fake, running) = stuck_clearing(strategy).await;
    fake.edit(&hand);
    pass(&fake, 0.3).await;
    assert_eq!(
        reason(&running),
        Some(FailReason::GuardLost),
        "{strategy:?}\n{}",
        running.story()
    );
    // Without the guard new tasks may come, and they are not this clearing's victims.
    let now = fake.now();
    let uid = {
        let mut cluster = fake.lock();
        cluster.add_pod("small", "late", 1, None, now, 0)
    };
    fake.edit(|c| c.bind("small", "late", "a", now));
    settle(&fake, &running, 40).await;
    let evicted = running.count(|e| matches!(e, Event::Evicted { victim } if victim.uid == uid));
    assert_eq!(evicted, 0, "{strategy:?}\n{}", running.story());
    let on_a = {
        let said = running.said.lock().unwrap();
        let chosen = said
            .iter()
            .filter(|l| matches!(l.event, Event::Chosen { .. }));
        let nodes = chosen.map(|l| l.clearing.as_ref().unwrap().node.clone());
        nodes.filter(|n| n == "a").count()
    };
    assert_eq!(on_a, 1, "cleared again at once\n{}", running.story());
    assert_eq!(
        fake.lock().stuck(),
        Vec::<String>::new(),
        "{strategy:?}\n{}",
        running.story()
    );
    assert_eq!(fake.lock().node_of("research", "big").as_deref(), Some("b"));
    (fake, running)
}

#[tokio::test(start_paused = true)]
async fn a_clearing_whose_annotation_is_taken_away_ends_and_its_victims_queue_again() {
    for strategy in ALL {
        with_hand(strategy, |cluster| drop_note(cluster, "a")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_clearing_whose_annotation_is_overwritten_ends() {
    for strategy in ALL {
        with_hand(strategy, |cluster| {
            let node = cluster.nodes.get_mut("a").unwrap();
            node["metadata"]["annotations"][CLEARING] = json!("{");
            touch(node);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_clearing_whose_guard_is_taken_away_ends() {
    for strategy in ALL {
        with_hand(strategy, |cluster| {
            let node = cluster.nodes.get_mut("a").unwrap();
            node["spec"]["unschedulable"] = json!(false);
            node["spec"]["taints"] =
                json!([{"key": "old", "value": "x", "effect": "PreferNoSchedule"}]);
            touch(node);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn clearers_with_overlapping_scopes_do_not_take_each_other_s_nodes_nor_requests() {
    for strategy in ALL {
        let fake = busy_cluster();
        let both = ["one", "two"]
            .map(|lease| Running::start(&fake, &args(strategy, &["--lease-name", lease])));
        pass(&fake, 40.0).await;
        let story = both.each_ref().map(Running::story).join("---\n");
        let guarded = |r: &Running| r.count(|e| matches!(e, Event::Guarded));
        assert_eq!(guarded(&both[0]) + guarded(&both[1]), 1, "{story}");
        let placed = |r: &Running| r.count(|e| matches!(e, Event::Placed { .. }));
        assert_eq!(placed(&both[0]) + placed(&both[1]), 1, "{story}");
        assert_eq!(fake.lock().stuck(), Vec::<String>::new(), "{story}");
    }
}

/// Overwrites the annotation of a stuck clearing with `text` and releases everything.
async fn release_after(strategy: ClearerStrategy, text: &str) -> (Fake, anyhow::Result<()>) {
    let (fake, running) = stuck_clearing(strategy).await;
    running.kill().await;
    fake.edit(|cluster| {
        let node = cluster.nodes.get_mut("a").unwrap();
        node["metadata"]["annotations"][CLEARING] = json!(text);
        touch(node);
    });
    pass(&fake, 1.0).await;
    let ended = release_all(&fake, &args(strategy, &[])).await;
    (fake, ended)
}

#[tokio::test(start_paused = true)]
async fn put_back_all_releases_a_node_it_cannot_read_as_far_as_it_can_and_says_what_is_left() {
    for strategy in ALL {
        for text in ["not JSON", r#"{"id": 7, "cordoned": "perhaps"}"#] {
            let (fake, ended) = release_after(strategy, text).await;
            let stuck = fake.lock().stuck();
            if strategy == ClearerStrategy::Reserve {
                assert!(ended.is_ok(), "{ended:?}");
                assert_eq!(stuck, Vec::<String>::new());
            } else {
                assert_eq!(stuck, ["a is cordoned"], "{strategy:?}");
                let said = ended.unwrap_err().to_string();
                assert!(
                    said.contains("node a") && said.contains("kubectl uncordon a"),
                    "{said}"
                );
            }
        }
        // What can be read of it is used.
        let text = if strategy == ClearerStrategy::Reserve {
            r#"{"cordoned": false}"#
        } else {
            r#"{"cordoned": true, "phase": "of a later version"}"#
        };
        let (fake, ended) = release_after(strategy, text).await;
        assert!(ended.is_ok(), "{ended:?}");
        assert_eq!(fake.lock().stuck(), Vec::<String>::new());
    }
}
