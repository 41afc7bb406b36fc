//! What happened: one record a Job, while it runs and afterwards.
//!
//! In: the plan, announcements of the driver, watches on Jobs, Workloads and pods, and afterwards the audit log. Out:
//! records, the 1 s series, metrics. It must never change anything in the cluster, watch nodes, or say that something
//! happened which was not seen.
//!
//! - [`Clock`]: the run's time line
//! - [`Observer`]: the live part; [`state`] and [`job`] are its core, a pure state machine
//! - [`live`]: snapshots for progress
//! - [`audit`]: the audit log, joined into the records afterwards
//! - [`storage`]: etcd's disk latencies, from its metrics
//! - [`placement`]: which cards were idle when a whole machine found no place
//! - [`metrics`]: all of it as a [`results::run_folder::RunSummary`]
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
mod placement;
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
