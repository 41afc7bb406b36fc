//! Runs experiments: a session of runs, each on a fresh cluster.
//!
//! In: plans and programs. Out: a session's folder, news of it while it goes on, how it ended. Everything it
//! starts it also stops.
//!
//! - [`session`]: the runs of one experiment
//! - [`turns`]: which comes next
//! - [`run`]: one run
//! - [`play`]: from the first submission to its end
//! - [`soak`]: what restarted over the hours of a session that goes on for a set time
//! - [`clearer`]: the node clearer beside it
//! - [`stalls`]: stalls of etcd
//! - [`exits`]: what components' exits mean for it
//! - [`foreign`]: CPU time of other programs meanwhile
//! - [`frozen`]: components that somebody else stopped meanwhile
//! - [`progress`]: what a user sees meanwhile

mod clearer;
mod exits;
mod foreign;
mod frozen;
mod play;
mod progress;
pub mod run;
mod session;
mod soak;
mod stalls;
mod turns;

pub use run::Bench;
pub use session::{News, session};
