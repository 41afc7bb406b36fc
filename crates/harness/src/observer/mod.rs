//! Observes a run: keeps one record per Job, during the run and afterwards.
//!
//! In: the plan, the driver's announcements, watches on Jobs, Workloads and pods, and afterwards the audit log. Out: records,
//! the 1 s series, metrics. It must never change the cluster, watch nodes, or report something that was not seen.
//!
//! - [`Clock`]: the run's time line
//! - [`Observer`]: the live part; [`state`] and [`job`] are its core, a state machine
//! - [`live`]: snapshots for the progress display
//! - [`audit`]: the audit log, joined into the records after the run
//! - [`storage`]: etcd's disk latencies, from its own metrics
//! - [`metrics`]: everything as a [`results::run_folder::RunSummary`]
//! - [`disturbed`]: faults of host and harness, with remedies

pub mod audit;
mod clock;
#[cfg(test)]
mod data_plane_tests;
mod disturbed;
mod job;
pub(crate) mod live;
pub mod metrics;
mod objects;
mod observe;
mod state;
pub(crate) mod storage;
mod tick;
mod watch;

pub(crate) use clock::Clock;
pub use clock::ClockJump;
pub(crate) use live::{Live, LiveTenant};
pub use observe::Observation;
pub(crate) use observe::Observer;
pub(crate) use state::Submission;
pub use tick::HarnessUse;
pub(crate) use tick::Pids;
