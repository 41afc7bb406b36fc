//! Reserve the node for the request by a taint, then list. Evict every task that holds a card until the request is placed.
//!
//! This leaves no window:
//! 1. Once the scheduler sees the taint, it binds no pod but the request to this node.
//! 2. Of the earlier decisions, each ends as a bound pod or not at all. If HAMi has already written one down (its claim on
//!    an unbound pod), the hand-over waits for it for a while. A pod bound later is evicted then, since the strategy keeps
//!    watching the node until the request is placed.
//! 3. HAMi never gives one card to two whole-card tasks, so the request waits and does not share.
//!
//! The strategy does not poll: the watches wake it.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;

use super::Strategy;
use crate::api::Api;
use crate::clearing::{Clearing, Guard, Halt, View};

/// How long a claim without a bind counts as a bind in flight. HAMi's time stamps are whole seconds, and at its default
/// client limit a bind follows its claim within about two seconds (HAMi v2.10: some five calls at 5 per second). After a
/// failed bind the claim stays on the pod, and must not hold back the hand-over for long. A value too short costs the
/// request a second attempt, but never places another task on its node.
const CLAIM_FRESH: Duration = Duration::from_secs(3);

/// See the module.
pub struct Reserve;

impl<A: Api> Strategy<A> for Reserve {
    fn clear<'a>(&'a self, c: &'a mut Clearing<A>) -> BoxFuture<'a, Result<(), Halt>> {
        async move {
            c.guard(Guard::Reservation, Vec::new()).await?;
            let mut changes = c.api.changes();
            let mut first = true;
            loop {
                let view = c.view();
                // The watch says when to list; the list decides.
                if first || view.holders.is_empty() || c.needs_eviction(&view) {
                    first = false;
                    let holders = c.holders().await?;
                    if holders.is_empty() && !is_claimed(&view, c.api.now()) {
                        return Ok(());
                    }
                    c.evict(&holders).await?;
                }
                c.next_change(&mut changes, &view).await;
            }
        }
        .boxed()
    }

    fn attend<'a>(&'a self, c: &'a Clearing<A>) -> BoxFuture<'a, Halt> {
        async move {
            let mut changes = c.api.changes();
            loop {
                let view = c.view();
                if c.needs_eviction(&view) {
                    let evicted = async { c.evict(&c.holders().await?).await };
                    if let Err(halt) = evicted.await {
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
