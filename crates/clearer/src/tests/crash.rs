//! The clearer is killed at every call, before the call is carried out or before its answer arrives, and started again.

use super::fake::{Cluster, Fake, Hook, When};
use super::*;

/// Kills the clearer at a call, lets `meanwhile` happen, starts another, and returns the cluster once it is quiet.
/// `None` if it never made so many calls.
async fn killed_at(
    strategy: ClearerStrategy,
    call: usize,
    when: When,
    meanwhile: fn(&mut Cluster),
) -> Option<(Fake, Running)> {
    let fake = busy_cluster();
    fake.hook(call, when, Hook::Crash);
    let first = Running::start(&fake, &args(strategy, &[]));
    let killed = tokio::select! {
        () = fake.crashed.notified() => true,
        () = settle(&fake, &first, 50) => false,
    };
    first.task.abort();
    if !killed {
        return None;
    }
    pass(&fake, 1.0).await;
    fake.edit(meanwhile);
    let second = Running::start(&fake, &args(strategy, &[]));
    settle(&fake, &second, 50).await;
    Some((fake, second))
}

async fn at_each_call(meanwhile: fn(&mut Cluster), check: impl Fn(&Cluster, &str)) {
    for strategy in ALL {
        let mut tried = 0;
        for call in 1.. {
            let mut reached = false;
            for when in [When::Before, When::After] {
                if let Some((fake, running)) = killed_at(strategy, call, when, meanwhile).await {
                    reached = true;
                    let cluster = fake.lock();
                    let context = format!(
                        "{strategy:?}, killed {when:?} call {call}\n{}",
                        running.story()
                    );
                    assert_eq!(cluster.stuck(), Vec::<String>::new(), "{context}");
                    check(&cluster, &context);
                }
            }
            if !reached {
                break;
            }
            tried += 1;
        }
        assert!(
            tried >= 15,
            "{strategy:?}: only {tried} calls to be killed at"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_call_the_next_one_finishes_the_work() {
    at_each_call(
        |_| {},
        |cluster, context| {
            assert_eq!(
                cluster.node_of("research", "big").as_deref(),
                Some("a"),
                "{context}"
            );
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_call_and_the_request_gone_meanwhile() {
    let gone = |cluster: &mut Cluster| {
        cluster
            .pods
            .retain(|(namespace, _), _| namespace != "research");
        cluster
            .workloads
            .retain(|(namespace, _), _| namespace != "research");
    };
    at_each_call(gone, |_, _| {}).await;
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_call_and_the_node_gone_meanwhile() {
    let gone = |cluster: &mut Cluster| {
        cluster.nodes.remove("a");
        cluster.pods.retain(|_, pod| pod["spec"]["nodeName"] != "a");
    };
    at_each_call(gone, |_, _| {}).await;
}
