//! A session's folder and its runs' folders: types, writer, reader.
//!
//! In: records, series, component exits. Out: files that stay readable after a crash at any moment. Never talks to a
//! cluster.
//!
//! ```text
//! <session>/order.json                what it is to do; written before the first run, locked while it goes on
//! <session>/summary.json              what was measured; rewritten whole after each run
//! <session>/restarts.csv              restarts over time, of a session that goes on for a set time
//! <session>/<run>/run.json            settings, versions, machine; written before the run starts
//!                 jobs.jsonl          records, appended as each ends; replaced once the audit log is joined
//!                 usage.csv           cards by state and team, each second
//!                 components.csv      CPU and memory by process, each second
//!                 restarts.jsonl      exits of components
//!                 latency.hlog        HDR histograms by team, class and phase
//!                 etcd.csv            etcd's disk latencies, every few seconds
//!                 clearer.jsonl       decisions of the node clearer, if the run had one
//!                 calls.json          API calls by component
//!                 logs/
//! ```

mod append;
mod cause;
pub mod decision;
mod ended;
pub mod evictions;
pub mod evidence;
pub mod info;
pub mod named;
pub mod ordered;
pub mod outputs;
pub mod place;
pub mod placements;
pub mod reader;
pub mod record;
pub mod run_summary;
pub mod series;
pub mod sessions;
pub mod soak;
pub mod storage;
pub mod summary;
pub mod upgrade;
pub mod writer;

pub use append::replace;
pub use cause::Cause;
pub use decision::Decision;
pub use ended::Ended;
pub use evictions::{Bill, EvictedBy, Eviction};
pub use evidence::{Evidence, EvidenceSource};
pub use info::{Program, RunInfo};
pub use ordered::Ordered;
pub use placements::{Placed, Placement, PlacementCounts, Placements, Share};
pub use reader::{ReadError, Run, Session};
pub use record::{Attempt, AttemptEnd, Outcome, Phase, Record};
pub use run_summary::{
    Accuracy, BindRate, CardSeconds, Disturbance, FreeCards, Harness, Lag, Latency, Percentile,
    RunSummary, TenantSummary, Unplaced,
};
pub use series::{CallCounts, Calls, ComponentExit, ComponentRow, CsvRow, UsageRow};
pub use soak::{RestartRow, Soak, SoakHour};
pub use storage::{StallExit, StallLatency, StallSummary, Storage, StorageRow};
pub use summary::{ArmSummary, Claim, Control, FailedRun, Resumed, Spread, Summary};
pub use writer::{ReopenError, RunWriter, SessionWriter, Trouble, WriteError};

/// Names of the files in the folders.
pub mod files {
    /// In a session's folder.
    pub const SUMMARY: &str = "summary.json";
    /// In a session's folder.
    pub const ORDER: &str = "order.json";
    /// In a session's folder, if it goes on for a set time.
    pub const RESTARTS_OVER_TIME: &str = "restarts.csv";
    /// In a run's folder.
    pub const RUN: &str = "run.json";
    /// In a run's folder.
    pub const JOBS: &str = "jobs.jsonl";
    /// In a run's folder.
    pub const USAGE: &str = "usage.csv";
    /// In a run's folder.
    pub const COMPONENTS: &str = "components.csv";
    /// In a run's folder.
    pub const RESTARTS: &str = "restarts.jsonl";
    /// In a run's folder.
    pub const HLOG: &str = "latency.hlog";
    /// In a run's folder.
    pub const CALLS: &str = "calls.json";
    /// In a run's folder.
    pub const ETCD: &str = "etcd.csv";
    /// In a run's folder, if the run had a node clearer.
    pub const DECISIONS: &str = "clearer.jsonl";
    /// Folder in a run's folder.
    pub const LOGS: &str = "logs";
    /// In a folder of `headroom bench all`: the page over its sessions, for programs.
    pub const PAGE: &str = "page.json";
    /// The same for people.
    pub const PAGE_TEXT: &str = "page.md";
}
