//! Taint the node for the one request before anything is listed; stop whatever holds a card until the request lands.
//!
//! No window by construction:
//! 1. From the taint on, no decision that sees it puts anything but the request here.
//! 2. Decisions made before it are finite in number, and each ends as a bound pod or not at all. Those that HAMi has
//!    already written down (its claim on an unbound pod) hold the hand-over back for a while; those that show later are
//!    stopped when they are bound, since the node is attended until the request has landed.
//! 3. HAMi never gives one card to two whole-card tasks, so the request waits rather than shares.
//!
//! It is woken by the watches instead of polling, so it is no later than the cluster itself.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use super::Strategy;
use crate::clearer::api::Api;
use crate::clearer::clearing::{Clearing, Guard, Halt};
use crate::clearer::facts;

/// How long a claim without a bind is taken to be a bind in flight. HAMi stamps whole seconds, and at its default rate
/// limit a bind follows its claim within about two seconds (HAMi v2.10: some five calls at 5 a second); the claims of
/// binds that failed stay on the pods and must not hold anything back for long. Too short costs the request a second
/// attempt, never a wrong landing.
const CLAIM_FRESH: Duration = Duration::from_secs(3);

/// See the module.
pub struct Reserve;

impl<A: Api> Strategy<A> for Reserve {
    fn clear<'a>(&'a self, c: &'a mut Clearing<A>) -> BoxFuture<'a, Result<(), Halt>> {
        async move {
            c.guard(Guard::Reservation, Vec::new()).await?;
            // Subscribed before the first list: nothing that happens after a list is slept through.
            let mut changes = c.api().changes();
            loop {
                // Unbound before bound: a pod that is bound between the two calls is in the second answer.
                let unbound = c.unbound().await?;
                let holders = c.holders().await?;
                if holders.is_empty() {
                    let now = c.api().now();
                    let claims = unbound.iter().filter_map(|p| claim_age(p, c.node(), now));
                    match claims.filter(|age| *age < CLAIM_FRESH).min() {
                        None => return Ok(()),
                        Some(age) => {
                            tracing::debug!(?age, "a bind is in flight");
                        }
                    }
                }
                c.stop(&holders).await?;
                c.next_change(&mut changes).await;
            }
        }
        .boxed()
    }

    fn attend<'a>(&'a self, c: &'a Clearing<A>) -> BoxFuture<'a, Halt> {
        async move {
            let mut changes = c.api().changes();
            loop {
                // The watch says when to look closer; the list says what is there.
                if c.seen_holders() {
                    let stray = match c.holders().await {
                        Ok(holders) => c.stop(&holders).await,
                        Err(halt) => Err(halt),
                    };
                    if let Err(halt) = stray {
                        return halt;
                    }
                }
                c.next_change(&mut changes).await;
            }
        }
        .boxed()
    }
}

/// Age of a pod's claim on the node, if HAMi has written one.
fn claim_age(pod: &Pod, node: &str, now: Timestamp) -> Option<Duration> {
    let annotations = pod.annotations();
    if annotations.get(facts::CLAIMED_NODE).map(String::as_str) != Some(node) {
        return None;
    }
    let at = annotations.get(facts::CLAIMED_AT)?.parse().ok()?;
    let at = Timestamp::from_second(at).ok()?;
    Some(now.duration_since(at).unsigned_abs())
}
