//! What can go wrong around a clearing. Afterwards nothing may be cordoned, tainted, inactive or pinned.

use super::fake::{Cluster, Fake};
use super::*;
use crate::log::FailReason;

/// Runs a clearing, lets `trouble` happen after `secs`, and returns the cluster much later.
async fn with_trouble(
    strategy: ClearerStrategy,
    more: &[&str],
    secs: f64,
    trouble: impl Fn(&mut Cluster),
) -> (Fake, Running) {
    let fake = busy_cluster();
    let running = Running::start(&fake, &args(strategy, more));
    pass(&fake, secs).await;
    fake.edit(&trouble);
    settle(&fake, &running, 300).await;
    (fake, running)
}

fn failed_for(running: &Running, wanted: FailReason) -> bool {
    running.count(|e| matches!(e, Event::Failed { reason, .. } if *reason == wanted)) > 0
}

#[tokio::test(start_paused = true)]
async fn the_request_vanishes_at_any_time() {
    for strategy in ALL {
        let mut seen = 0;
        for tenth in (10..40).step_by(2) {
            let (fake, running) = with_trouble(strategy, &[], f64::from(tenth) / 10.0, |cluster| {
                cluster
                    .pods
                    .retain(|(namespace, _), _| namespace != "research");
                cluster
                    .workloads
                    .retain(|(namespace, _), _| namespace != "research");
            })
            .await;
            assert_eq!(
                fake.lock().stuck(),
                Vec::<String>::new(),
                "{strategy:?} {tenth}\n{}",
                running.story()
            );
            seen += usize::from(failed_for(&running, FailReason::RequestGone));
        }
        assert!(
            seen > 0,
            "{strategy:?}: the clearing was never caught half-way"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_node_is_deleted_at_any_time() {
    for strategy in ALL {
        let mut seen = 0;
        for tenth in (10..40).step_by(2) {
            let (fake, running) = with_trouble(strategy, &[], f64::from(tenth) / 10.0, |cluster| {
                cluster.nodes.remove("a");
                cluster.pods.retain(|_, pod| pod["spec"]["nodeName"] != "a");
            })
            .await;
            assert_eq!(
                fake.lock().stuck(),
                Vec::<String>::new(),
                "{strategy:?} {tenth}\n{}",
                running.story()
            );
            seen += usize::from(failed_for(&running, FailReason::NodeGone));
        }
        assert!(
            seen > 0,
            "{strategy:?}: the clearing was never caught half-way"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_victim_that_ignores_its_eviction_costs_the_node_not_the_request() {
    for strategy in ALL {
        let (fake, running) = with_trouble(strategy, &[], 0.0, |cluster| {
            cluster.stubborn = vec!["young-0-0".into()];
        })
        .await;
        let cluster = fake.lock();
        assert!(
            failed_for(&running, FailReason::TimeLimit),
            "{}",
            running.story()
        );
        assert_eq!(
            cluster.stuck(),
            Vec::<String>::new(),
            "{strategy:?}\n{}",
            running.story()
        );
        // It is never killed by force, and the request is served by the other node.
        assert!(
            cluster
                .pods
                .contains_key(&("small".into(), "young-0-0".into()))
        );
        assert_eq!(
            cluster.node_of("research", "big").as_deref(),
            Some("b"),
            "{}",
            running.story()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_disruption_budget_is_respected_and_waited_for() {
    for strategy in ALL {
        let fake = busy_cluster();
        fake.lock().budget = vec!["bare".into()];
        let running = Running::start(&fake, &args(strategy, &[]));
        pass(&fake, 20.0).await;
        assert!(
            fake.lock()
                .pods
                .contains_key(&("bare".into(), "bare-0".into()))
        );
        // Tried again each second, logged once per pod.
        assert_eq!(running.count(|e| matches!(e, Event::BudgetHolds { .. })), 2);
        fake.edit(|c| c.budget.clear());
        pass(&fake, 20.0).await;
        assert_eq!(
            fake.lock().node_of("research", "big").as_deref(),
            Some("a"),
            "{}",
            running.story()
        );
        assert_eq!(fake.lock().stuck(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn kueue_is_down_and_comes_back() {
    for strategy in ALL {
        let fake = busy_cluster();
        fake.lock().kueue_up = false;
        let running = Running::start(&fake, &args(strategy, &["--attempts", "1"]));
        pass(&fake, 100.0).await;
        assert!(
            failed_for(&running, FailReason::TimeLimit),
            "{}",
            running.story()
        );
        assert_eq!(
            fake.lock().stuck(),
            Vec::<String>::new(),
            "{strategy:?}\n{}",
            running.story()
        );
        fake.edit(|c| c.kueue_up = true);
        pass(&fake, 20.0).await;
        assert_eq!(fake.lock().stuck(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn half_of_all_calls_fail_and_some_are_carried_out_unheard() {
    for strategy in ALL {
        let fake = busy_cluster();
        fake.lock().flaky = true;
        let running = Running::start(&fake, &args(strategy, &[]));
        pass(&fake, 200.0).await;
        assert_eq!(
            fake.lock().node_of("research", "big").as_deref(),
            Some("a"),
            "{strategy:?}\n{}",
            running.story()
        );
        assert_eq!(
            fake.lock().stuck(),
            Vec::<String>::new(),
            "{strategy:?}\n{}",
            running.story()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_kept_waiting_by_something_else_is_left_alone_after_its_attempts() {
    for strategy in ALL {
        let fake = busy_cluster();
        // A pin of the user's own to cards that are nowhere: no node will ever do.
        let key = ("research".to_owned(), "big-0".to_owned());
        fake.lock().pods.get_mut(&key).unwrap()["metadata"]["annotations"]["nvidia.com/use-gpuuuid"] =
            "GPU-elsewhere".into();
        let running = Running::start(&fake, &args(strategy, &["--attempts", "2"]));
        pass(&fake, 1000.0).await;
        assert_eq!(
            running.count(|e| matches!(e, Event::Chosen { .. })),
            2,
            "{}",
            running.story()
        );
        let cluster = fake.lock();
        let annotations = &cluster.pods[&key]["metadata"]["annotations"];
        assert_eq!(
            annotations["nvidia.com/use-gpuuuid"], "GPU-elsewhere",
            "the user's list is the user's"
        );
        let others: Vec<String> = cluster
            .stuck()
            .into_iter()
            .filter(|s| !s.contains("pinned"))
            .collect();
        assert_eq!(others, Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_that_must_not_be_evicted_ends_the_clearing() {
    let (fake, running) = with_trouble(ClearerStrategy::Reserve, &[], 1.2, |cluster| {
        let now = jiff::Timestamp::from_second(1_767_225_600).unwrap();
        cluster.add_pod("untouchable", "stray", 1, Some("a"), now, 0);
    })
    .await;
    assert!(
        failed_for(&running, FailReason::Blocked),
        "{}",
        running.story()
    );
    let cluster = fake.lock();
    assert!(
        cluster
            .pods
            .contains_key(&("untouchable".into(), "stray".into()))
    );
    assert_eq!(cluster.stuck(), Vec::<String>::new());
    assert_eq!(cluster.node_of("research", "big").as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn a_pending_workload_is_given_quota_and_node_before_its_victims_queue_again() {
    for strategy in ALL {
        let fake = busy_cluster();
        {
            let mut cluster = fake.lock();
            cluster
                .pods
                .retain(|(namespace, _), _| namespace != "research");
            cluster
                .workloads
                .retain(|(namespace, _), _| namespace != "research");
            let now = fake.now();
            cluster.add_workload("research", "big", 8, false, now);
            // Three idle cards of quota: with the five of the victims it is exactly enough.
            cluster.quota = 3;
        }
        let running = Running::start(&fake, &args(strategy, &["--trigger", "pending-workload"]));
        pass(&fake, 30.0).await;
        let cluster = fake.lock();
        assert_eq!(
            cluster.node_of("research", "big").as_deref(),
            Some("a"),
            "{strategy:?}\n{}",
            running.story()
        );
        assert_eq!(cluster.stuck(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn put_back_all_undoes_a_clearing_half_way() {
    for strategy in ALL {
        let fake = busy_cluster();
        fake.lock().stubborn = vec!["young-0-0".into()];
        let running = Running::start(&fake, &args(strategy, &[]));
        pass(&fake, 10.0).await;
        running.task.abort();
        assert_ne!(fake.lock().stuck(), Vec::<String>::new(), "nothing to undo");
        let quiet = Log::to(|_| {});
        let args = args(strategy, &[]);
        let undo = control::release_everything(&fake, &args, &quiet);
        tokio::select! {
            undone = undo => assert!(undone.is_ok()),
            () = pass(&fake, 60.0) => panic!("it does not end"),
        }
        assert_eq!(fake.lock().stuck(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_is_never_answered_holds_nothing_up_and_is_not_called_one() {
    for strategy in [ClearerStrategy::Recheck, ClearerStrategy::Reserve] {
        let fake = busy_cluster();
        fake.lock().unanswered = vec!["bare-0".into()];
        let running = Running::start(&fake, &args(strategy, &["--attempts", "1"]));
        pass(&fake, 4.0).await;
        let now = fake.now();
        fake.lock().add_pod("small", "late", 1, None, now, 0);
        fake.edit(|c| c.bind("small", "late", "a", now));
        pass(&fake, 20.0).await;
        let about = |pod: &str, evicted: bool| {
            running.count(|e| match e {
                Event::Evicted { victim } => evicted && victim.pod == pod,
                Event::EvictionUnanswered { victim } => !evicted && victim.pod == pod,
                _ => false,
            })
        };
        assert_eq!(about("late", true), 1, "{strategy:?}\n{}", running.story());
        pass(&fake, 100.0).await;
        assert!(failed_for(&running, FailReason::TimeLimit));
        assert_eq!(
            (about("bare-0", true), about("bare-0", false)),
            (0, 1),
            "{strategy:?}\n{}",
            running.story()
        );
        assert_eq!(fake.lock().stuck(), Vec::<String>::new());
    }
}

#[test]
fn an_allow_list_with_nothing_in_it_is_refused() {
    use clap::Parser as _;

    #[derive(Debug, clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        _args: crate::Args,
    }

    for allow in ["", ",", "vision,", "Vision", "vision, speech"] {
        let line = ["clearer", "--scope", "gpu=on", "--allow", allow];
        let parsed = CommandLine::try_parse_from(line);
        assert!(parsed.is_err(), "{allow:?}");
    }
}
