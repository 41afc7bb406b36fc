//! Cordon the node, evict its tasks, and list again each second until no task holds a card: the article's second version.
//!
//! The scheduler may have decided for this node before the cordon. Such a task is evicted like the others if it is bound
//! before the last list, and is not seen if it is bound later. The window is as long as the slowest bind in flight; that of
//! list-then-evict is open at every clearing.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};

use super::Strategy;
use crate::api::Api;
use crate::clearing::{Clearing, Guard, Halt};

/// Time between two lists, as published in the article.
const EVERY: Duration = Duration::from_secs(1);

/// See the module.
pub struct Recheck;

impl<A: Api> Strategy<A> for Recheck {
    fn clear<'a>(&'a self, c: &'a mut Clearing<A>) -> BoxFuture<'a, Result<(), Halt>> {
        async move {
            c.guard(Guard::Cordon, Vec::new()).await?;
            loop {
                let holders = c.holders().await?;
                if holders.is_empty() {
                    return Ok(());
                }
                c.evict(&holders).await?;
                tokio::time::sleep(EVERY).await;
            }
        }
        .boxed()
    }
}
