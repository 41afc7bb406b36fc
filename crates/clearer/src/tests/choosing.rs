//! Which node is chosen, and which is never chosen.

use std::collections::HashSet;

use serde_json::json;

use super::fake::{Cluster, Fake};
use super::*;
use crate::decide::{self, Choice};

/// The choice for the request in a [`busy_cluster`] changed by `change`.
async fn choice(change: impl Fn(&mut Cluster)) -> Option<Choice> {
    let fake = busy_cluster();
    fake.edit(&change);
    pass(&fake, 0.25).await;
    choose(&fake, &args(ClearerStrategy::Reserve, &[]))
}

fn choose(fake: &Fake, args: &Args) -> Option<Choice> {
    let world = fake.world();
    let request = decide::waiting(&world, args, fake.now())
        .into_iter()
        .next()?;
    decide::choose(&world, &request, args, fake.now(), &HashSet::new(), &mut 0)
}

fn name(choice: Option<Choice>) -> Option<String> {
    choice.map(|c| c.node.metadata.name.clone().unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_least_work_is_lost() {
    let chosen = choice(|_| {}).await.unwrap();
    // 7 tasks of a card for a minute, and the quarter second that has passed.
    assert!((chosen.cost - 7.0 * 60.2).abs() < 7.0, "{}", chosen.cost);
    assert_eq!(
        (name(Some(chosen.clone())).as_deref(), chosen.victims.len()),
        (Some("a"), 7)
    );
}

#[tokio::test(start_paused = true)]
async fn priority_weighs() {
    // On `a` 5 tasks at the third rank and 2 at the first, a minute each; on `b` 8 at the second. Unweighted, `a` has
    // always less.
    let at = |age: i64| {
        choice(move |cluster| {
            for (key, workload) in &mut cluster.workloads {
                let young = key.1.starts_with("young");
                let rank = if young { 30 } else { 10 };
                workload["spec"]["priority"] = if key.0 == "research" {
                    json!(50)
                } else {
                    json!(rank)
                };
            }
            for (key, pod) in &mut cluster.pods {
                if key.1.starts_with("old") {
                    let since = jiff::Timestamp::from_second(1_767_225_600 - age).unwrap();
                    pod["status"]["startTime"] = json!(since.to_string());
                }
            }
        })
    };
    assert_eq!(name(at(6000).await).as_deref(), Some("a"));
    assert_eq!(name(at(62).await).as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn what_a_task_lost_before_counts_again() {
    let chosen = choice(|cluster| {
        for (key, workload) in &mut cluster.workloads {
            if key.1.starts_with("young") {
                workload["metadata"]["annotations"]["headroom.dev/lost-card-seconds"] =
                    json!("10000");
            }
        }
    });
    assert_eq!(name(chosen.await).as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn never_a_node_that_must_not_be_touched() {
    type Change = fn(&mut Cluster);
    let cases: [(&str, Change); 9] = [
        ("out of scope", |c| {
            c.nodes.get_mut("a").unwrap()["metadata"]["labels"] = json!({"gpu": "off"});
        }),
        ("cordoned by somebody", |c| {
            c.nodes.get_mut("a").unwrap()["spec"]["unschedulable"] = json!(true);
        }),
        ("not ready", |c| {
            c.nodes.get_mut("a").unwrap()["status"]["conditions"][0]["status"] = json!("False");
        }),
        ("tainted against the request", |c| {
            c.nodes.get_mut("a").unwrap()["spec"]["taints"] =
                json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
        }),
        ("a team not on the list", |c| {
            c.add_pod("others", "x", 1, Some("a"), jiff::Timestamp::UNIX_EPOCH, 0);
        }),
        ("a task above the request", |c| {
            c.workloads
                .get_mut(&("small".into(), "young-0".into()))
                .unwrap()["spec"]["priority"] = json!(1);
        }),
        ("a machine cleared for another", |c| {
            let pod = c.pods.get_mut(&("bare".into(), "bare-0".into())).unwrap();
            pod["metadata"]["annotations"] = json!({"headroom.dev/cleared-node": "a"});
        }),
        ("a card broken", |c| {
            let node = c.nodes.get_mut("a").unwrap();
            node["metadata"]["annotations"]["hami.io/node-nvidia-register"] = json!("[]");
        }),
        ("a selector elsewhere", |c| {
            let pod = c
                .pods
                .get_mut(&("research".into(), "big-0".into()))
                .unwrap();
            pod["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
            ]}}});
        }),
    ];
    for (case, change) in cases {
        assert_eq!(name(choice(change).await).as_deref(), Some("b"), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_cleared_for_who_needs_nothing_cleared() {
    type Change = fn(&mut Cluster);
    let cases: [(&str, Change); 4] = [
        ("not admitted", |c| {
            let workload = c
                .workloads
                .get_mut(&("research".into(), "big".into()))
                .unwrap();
            workload["status"]["conditions"][1]["status"] = json!("False");
        }),
        ("less than a machine", |c| {
            let pod = c
                .pods
                .get_mut(&("research".into(), "big-0".into()))
                .unwrap();
            pod["spec"]["containers"][0]["resources"]["limits"] = json!({"nvidia.com/gpu": "4"});
            // Nowhere four cards free.
            c.add_pod(
                "bare",
                "filler",
                1,
                Some("a"),
                jiff::Timestamp::UNIX_EPOCH,
                0,
            );
        }),
        ("slices of eight cards", |c| {
            let pod = c
                .pods
                .get_mut(&("research".into(), "big-0".into()))
                .unwrap();
            pod["spec"]["containers"][0]["resources"]["limits"] =
                json!({"nvidia.com/gpu": "8", "nvidia.com/gpumem": "2456"});
        }),
        ("its own attempts used up", |c| {
            let pod = c
                .pods
                .get_mut(&("research".into(), "big-0".into()))
                .unwrap();
            pod["metadata"]["annotations"]["headroom.dev/clearing-attempts"] = json!("3");
        }),
    ];
    for (case, change) in cases {
        assert!(choice(change).await.is_none(), "{case}");
    }
    let fake = busy_cluster();
    pass(&fake, 0.25).await;
    assert!(choose(&fake, &args(ClearerStrategy::Reserve, &["--patience", "5"])).is_none());
    pass(&fake, 5.0).await;
    assert!(choose(&fake, &args(ClearerStrategy::Reserve, &["--patience", "5"])).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_free_machine_is_left_to_the_scheduler_and_counted_once() {
    let fake = busy_cluster();
    let now = fake.now();
    fake.lock().add_job("research", "big-too", 8, None, now, 0);
    pass(&fake, 0.25).await;
    // Free by now, but the scheduler has not come round to it.
    let mut cluster = fake.lock();
    cluster.pods.retain(|_, pod| pod["spec"]["nodeName"] != "b");
    drop(cluster);
    let args = args(ClearerStrategy::Reserve, &[]);
    let mut world = (*fake.world()).clone();
    world
        .pods
        .retain(|p| crate::facts::bound_to(p) != Some("b"));
    let requests = decide::waiting(&world, &args, fake.now());
    let mut spoken_for = 0;
    let choices: Vec<_> = requests
        .iter()
        .map(|r| {
            name(decide::choose(
                &world,
                r,
                &args,
                fake.now(),
                &HashSet::new(),
                &mut spoken_for,
            ))
        })
        .collect();
    assert_eq!(choices, [None, Some("a".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn why_no_node_may_be_cleared_is_said_unless_one_may_be() {
    let why = |change: fn(&mut Cluster)| async move {
        let fake = busy_cluster();
        fake.edit(change);
        pass(&fake, 0.25).await;
        let (world, args) = (fake.world(), args(ClearerStrategy::Reserve, &[]));
        let request = decide::waiting(&world, &args, fake.now()).remove(0);
        decide::why_none(&world, &request, &args, fake.now(), &HashSet::new())
    };
    assert_eq!(why(|_| {}).await, None);
    let foreign = why(|cluster| {
        for node in ["a", "b"] {
            let name = format!("x-{node}");
            cluster.add_pod(
                "others",
                &name,
                1,
                Some(node),
                jiff::Timestamp::UNIX_EPOCH,
                0,
            );
        }
    });
    assert_eq!(
        foreign.await.unwrap(),
        "2 of 2 machines hold tasks that may not be evicted, of others"
    );
    let closed = why(|cluster| {
        for node in ["a", "b"] {
            cluster.nodes.get_mut(node).unwrap()["spec"]["unschedulable"] = json!(true);
        }
    });
    assert!(closed.await.unwrap().starts_with("2 are closed"));
}
