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

use super::Strategy;
use crate::api::Api;
use crate::clearing::{Clearing, Guard, Halt, View};

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
            let mut changes = c.api().changes();
            let mut first = true;
            loop {
                let view = c.view();
                // The watch says when to look closer, the list says what is there.
                if first || view.holders.is_empty() || c.has_untold(&view) {
                    first = false;
                    let holders = c.holders().await?;
                    if holders.is_empty() && !is_claimed(&view, c.api().now()) {
                        return Ok(());
                    }
                    c.stop(&holders).await?;
                }
                c.next_change(&mut changes, &view).await;
            }
        }
        .boxed()
    }

    fn attend<'a>(&'a self, c: &'a Clearing<A>) -> BoxFuture<'a, Halt> {
        async move {
            let mut changes = c.api().changes();
            loop {
                let view = c.view();
                if c.has_untold(&view) {
                    let stopped = match c.holders().await {
                        Ok(holders) => c.stop(&holders).await,
                        Err(halt) => Err(halt),
                    };
                    if let Err(halt) = stopped {
                        return halt;
                    }
                }
                c.next_change(&mut changes, &view).await;
            }
        }
        .boxed()
    }
}

/// True if HAMi has just given cards of the node to a pod that is not bound yet.
fn is_claimed(view: &View, now: Timestamp) -> bool {
    let fresh = |at: &Timestamp| now.duration_since(*at).unsigned_abs() < CLAIM_FRESH;
    view.claims.values().any(fresh)
}
