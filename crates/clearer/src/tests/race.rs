//! The race that this program is about: a task comes to the node while it is being cleared.

use std::sync::Arc;

use super::fake::{Fake, Hook, When};
use super::*;

/// Runs one clearing with something happening at a call. True if the first clearing placed the request on `a`.
async fn is_right(
    strategy: ClearerStrategy,
    prepare: impl Fn(&Fake),
    call: usize,
    when: When,
    hook: Hook,
) -> (bool, String) {
    let fake = busy_cluster();
    prepare(&fake);
    fake.hook(call, when, hook);
    let running = Running::start(&fake, &args(strategy, &[]));
    settle(&fake, &running, 50).await;
    let right =
        fake.lock().node_of("research", "big").as_deref() == Some("a") && !running.has_failed();
    (right, running.story())
}

/// The calls of an undisturbed clearing.
async fn calls(strategy: ClearerStrategy) -> Vec<&'static str> {
    let fake = busy_cluster();
    let running = Running::start(&fake, &args(strategy, &[]));
    settle(&fake, &running, 50).await;
    assert_eq!(
        fake.lock().node_of("research", "big").as_deref(),
        Some("a"),
        "{}",
        running.story()
    );
    assert_eq!(fake.lock().stuck(), Vec::<String>::new());
    fake.lock().calls.clone()
}

fn arrival() -> Hook {
    Hook::Do(Arc::new(|cluster| {
        let now = jiff::Timestamp::from_second(1_767_225_600).unwrap();
        cluster.arrive("a", now);
    }))
}

#[tokio::test(start_paused = true)]
async fn an_arrival_finds_a_window_in_list_then_evict_only() {
    for strategy in ALL {
        let calls = calls(strategy).await;
        let mut wrong = Vec::new();
        for call in 1..=calls.len() {
            for when in [When::Before, When::After] {
                let (right, _) = is_right(strategy, |_| {}, call, when, arrival()).await;
                if !right {
                    wrong.push((calls[call - 1], call, when));
                }
            }
        }
        let window: &[_] = match strategy {
            // From the list's answer to the cordon's effect, and nowhere else.
            ClearerStrategy::ListThenEvict => &[
                ("list bound", 1, When::After),
                ("patch node", 2, When::Before),
            ],
            ClearerStrategy::Recheck | ClearerStrategy::Reserve => &[],
        };
        assert_eq!(wrong, window, "{strategy:?}");
    }
}

/// A pod that the scheduler has decided to put on `a` before the clearing began: HAMi has counted and claimed it.
fn decided(fake: &Fake) {
    let now = fake.now();
    let mut cluster = fake.lock();
    cluster.add_pod("small", "in-flight", 1, None, now, 0);
    let key = ("small".to_owned(), "in-flight".to_owned());
    let claim = serde_json::json!({"hami.io/vgpu-node": "a", "hami.io/vgpu-time": now.as_second().to_string()});
    cluster.pods.get_mut(&key).unwrap()["metadata"]["annotations"] = claim;
}

/// Whether the request is placed on `a` if the bind of an earlier decision takes effect after this time.
async fn is_placed_despite_bind_at(strategy: ClearerStrategy, secs: f64) -> bool {
    let fake = busy_cluster();
    decided(&fake);
    let running = Running::start(&fake, &args(strategy, &[]));
    pass(&fake, secs).await;
    let now = fake.now();
    fake.lock().bind("small", "in-flight", "a", now);
    settle(&fake, &running, 40).await;
    let placed = fake.lock().node_of("research", "big").as_deref() == Some("a");
    placed && !running.has_failed()
}

#[tokio::test(start_paused = true)]
async fn reserve_deals_with_a_bind_in_flight_however_late_it_comes() {
    let times: Vec<f64> = (1..20).map(|n| f64::from(n) * 0.4).collect();
    let mut wrong = std::collections::BTreeMap::new();
    for strategy in ALL {
        for secs in &times {
            if !is_placed_despite_bind_at(strategy, *secs).await {
                *wrong.entry(format!("{strategy:?}")).or_insert(0) += 1;
            }
        }
    }
    assert_eq!(wrong.get("Reserve"), None, "{wrong:?}");
    // The two others do not see it, but the window of recheck is shorter.
    assert!(
        wrong["Recheck"] > 0 && wrong["ListThenEvict"] > wrong["Recheck"],
        "{wrong:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn reserve_is_woken_by_the_watch_and_recheck_by_the_clock() {
    let mut secs = std::collections::BTreeMap::new();
    for strategy in ALL {
        let fake = busy_cluster();
        let running = Running::start(&fake, &args(strategy, &[]));
        pass(&fake, 20.0).await;
        let said = running.said.lock().unwrap();
        let placed = said.iter().find_map(|l| match l.event {
            Event::Placed { secs, .. } => Some(secs),
            _ => None,
        });
        secs.insert(format!("{strategy:?}"), placed.unwrap());
    }
    assert!(secs["Reserve"] < secs["Recheck"], "{secs:?}");
}

#[tokio::test(start_paused = true)]
async fn two_requests_at_once_each_get_the_node_cleared_for_them() {
    for strategy in ALL {
        let fake = busy_cluster();
        let now = fake.now();
        fake.lock().add_job("research", "big-too", 8, None, now, 0);
        let running = Running::start(&fake, &args(strategy, &[]));
        pass(&fake, 30.0).await;
        let said = running.said.lock().unwrap();
        let cluster = fake.lock();
        let mut seen = 0;
        for line in said
            .iter()
            .filter(|l| matches!(l.event, Event::Placed { .. }))
        {
            let tag = line.clearing.as_ref().unwrap();
            let pod = &cluster.pods[&("research".to_owned(), tag.request.clone())];
            assert_eq!(pod["spec"]["nodeName"], tag.node.as_str());
            seen += 1;
        }
        assert_eq!(seen, 2, "{strategy:?}");
        assert_eq!(cluster.stuck(), Vec::<String>::new());
    }
}
