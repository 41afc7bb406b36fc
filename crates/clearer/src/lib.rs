//! The node clearer: empties one machine for one waiting whole-machine request, and hands it over to that request only.
//!
//! In: nodes, pods and Kueue Workloads of a cluster (KUBECONFIG), [`Args`]. Out: a machine reserved for the request it
//! was cleared for, the tasks it stopped queued again, and one JSON line a decision on standard output. A program of
//! its own (`headroom clearer`), imported by nothing. It must never stop a task outside its scope and allow-list, never
//! leave a node cordoned or tainted or a Workload inactive, and never keep state that it cannot read back from the
//! cluster: it may be killed at any moment.

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
