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
//! - [`placement`]: the cards that were idle while a whole-machine request was not bound
//! - [`metrics`]: everything as a [`results::run_folder::RunSummary`]
//! - [`disturbed`]: faults of host and harness, with remedies

pub mod audit;
pub mod clock;
#[cfg(test)]
mod data_plane_tests;
pub mod disturbed;
pub mod job;
pub mod live;
pub mod metrics;
mod objects;
mod observe;
pub mod placement;
pub mod state;
pub mod storage;
mod tick;
mod watch;

pub use clock::{Clock, ClockJump};
pub use live::{Live, LiveCards, LiveTenant};
pub use objects::{NAME_LABEL, TENANT_LABEL};
pub use observe::{Observation, ObserveError, Observer};
pub use state::Submission;
pub use tick::{HarnessUse, Pids};
