//! Cordon, stop, and list again each second until no task holds a card: the article's second version.
//!
//! A task that was decided before the cordon is stopped like the others if it is bound before the last list. One that is
//! bound after it is not seen: a window as wide as the slowest bind in flight, where list-then-evict's is always open.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};

use super::Strategy;
use crate::api::Api;
use crate::clearing::{Clearing, Guard, Halt};

/// Between two lists, as published.
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
                c.stop(&holders).await?;
                tokio::time::sleep(EVERY).await;
            }
        }
        .boxed()
    }
}
