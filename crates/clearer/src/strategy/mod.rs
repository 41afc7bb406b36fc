//! How a node is emptied. In: a [`Clearing`]. Out: the node guarded and, as far as the strategy can tell, free of
//! card-holding tasks. Hand-over is not here: it is the same for all.
//!
//! Every strategy may be killed between any two calls and begun again on the same node.

mod list_then_evict;
mod recheck;
mod reserve;

use futures::future::{BoxFuture, FutureExt as _};

use super::api::Api;
use super::clearing::{Clearing, Halt};
use interface::ClearerStrategy;

/// How a node is emptied.
pub trait Strategy<A: Api>: Send + Sync {
    /// Puts the guard in force and returns once it holds the node to be empty.
    fn clear<'a>(&'a self, clearing: &'a mut Clearing<A>) -> BoxFuture<'a, Result<(), Halt>>;

    /// Runs beside the wait for the request to land, from hand-over on. Never returns but to halt the clearing.
    fn attend<'a>(&'a self, _clearing: &'a Clearing<A>) -> BoxFuture<'a, Halt> {
        std::future::pending().boxed()
    }
}

/// The strategy by its name.
#[must_use]
pub fn named<A: Api>(kind: ClearerStrategy) -> &'static dyn Strategy<A> {
    match kind {
        ClearerStrategy::ListThenEvict => &list_then_evict::ListThenEvict,
        ClearerStrategy::Recheck => &recheck::Recheck,
        ClearerStrategy::Reserve => &reserve::Reserve,
    }
}
