//! Results: what a run wrote down, and what follows from it.
//!
//! In: records of a run. Out: run folders, latencies, card-seconds, metrics, verdicts on claims. It never talks to a
//! cluster.

pub mod disturbance;
#[doc(hidden)]
pub mod fixtures;
pub mod hlog;
pub mod judge;
pub mod latency;
pub mod metrics;
pub mod run_folder;
pub mod summarise;
mod unplaced;
pub mod usage;
pub mod waits;

/// A number of things that never comes near the largest `u32`.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
