//! Runs experiments: a session of runs, each on a fresh cluster.
//!
//! In: plans and programs. Out: a session's folder, a table on standard output, what the exit code must say. Everything it
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
//! - [`table`], [`verdicts`]: what a user sees at the end of a run, and of a session
//! - [`page`]: what a user sees at the end of several sessions
//! - [`bill`]: its rows about what room and stalls cost

mod bill;
mod clearer;
mod exits;
mod foreign;
mod frozen;
pub mod page;
mod play;
pub mod progress;
pub mod run;
pub mod session;
pub mod soak;
mod stalls;
pub mod table;
mod turns;
pub mod verdicts;

pub use foreign::SHARE as OTHERS_SHARE;
pub use run::Bench;
pub use session::{Ended, Order, session};
