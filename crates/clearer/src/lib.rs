//! The node clearer: it empties a machine for a request that needs the whole machine, and hands it over to that request
//! alone.
//!
//! In: [`Args`], and the nodes, pods and Kueue Workloads of the cluster that KUBECONFIG names. Out: a machine reserved for
//! its request, the evicted tasks back in their queues, and one JSON line per decision on standard output. The clearer is
//! a program of its own (`headroom clearer`).
//!
//! It may be killed at any moment, so it keeps no state that it cannot read back from the cluster. It must never evict a
//! task outside its scope and allow-list, and never leave a node cordoned or tainted or a Workload inactive.

mod api;
mod args;
mod clearing;
mod control;
mod decide;
mod facts;
mod handover;
mod health;
mod lease;
mod live;
pub mod log;
mod owner;
mod selector;
mod state;
mod strategy;
mod sweep;
mod workload;

#[cfg(test)]
mod tests;

pub use args::Args;
pub use control::{Ended, run};
