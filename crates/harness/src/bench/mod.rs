//! Runs experiments: a session of runs, each on a fresh cluster.
//!
//! In: plans and programs. Out: a session's folder, an event for each run while the session goes on, and how it ended. It
//! stops everything that it starts.
//!
//! - [`session`]: the runs of one experiment
//! - [`going`]: a session in progress
//! - [`resume`]: a session that was interrupted
//! - [`start_line`]: runs that start together
//! - [`run`]: one run, from bring-up to tear-down
//! - [`play`]: one run, from the first submission to the end of the work
//! - [`soak`]: restarts over the hours of a soak session
//! - [`clearer`]: the node clearer beside a run
//! - [`stalls`]: stalls of etcd
//! - [`exits`]: what components' exits mean for a run
//! - [`foreign`]: CPU time of other programs during a run
//! - [`frozen`]: components that somebody else paused during a run
//! - [`progress`]: what a user sees during a run

mod clearer;
mod exits;
mod foreign;
mod frozen;
mod going;
mod play;
mod progress;
pub mod resume;
pub mod run;
mod session;
mod soak;
mod stalls;
mod start_line;

pub use run::Bench;
pub use session::{News, session};
