//! How a node is emptied. In: a [`Clearing`]. Out: a guarded node which, as far as the strategy can tell, has no task that
//! holds a card. The hand-over is the same for all strategies and is not here.
//!
//! A strategy may be killed between any two calls, and is then begun again on the same node.

mod list_then_evict;
mod recheck;
mod reserve;

use futures::future::{BoxFuture, FutureExt as _};

use super::api::Api;
use super::clearing::{Clearing, Halt};
use interface::ClearerStrategy;

/// How a node is emptied.
pub trait Strategy<A: Api>: Send + Sync {
    /// Sets the guard, empties the node, and returns once it takes the node to be empty.
    fn clear<'a>(&'a self, clearing: &'a mut Clearing<A>) -> BoxFuture<'a, Result<(), Halt>>;

    /// Runs from the hand-over on, until the request is placed. Returns only to halt the clearing.
    fn attend<'a>(&'a self, _clearing: &'a Clearing<A>) -> BoxFuture<'a, Halt> {
        std::future::pending().boxed()
    }
}

/// The strategy by its name.
pub fn named<A: Api>(kind: ClearerStrategy) -> &'static dyn Strategy<A> {
    match kind {
        ClearerStrategy::ListThenEvict => &list_then_evict::ListThenEvict,
        ClearerStrategy::Recheck => &recheck::Recheck,
        ClearerStrategy::Reserve => &reserve::Reserve,
    }
}
