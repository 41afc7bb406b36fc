//! etcd's own view of its disk: rows of `etcd.csv`, and what they come to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::{Columns, CsvRow};
use super::{Latency, Percentile};

/// etcd's disk in the time since the row before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StorageRow {
    /// Seconds since the run's clock started.
    pub secs: f64,
    /// Syncs of the write-ahead log.
    pub fsyncs: u64,
    /// Their median, milliseconds, at most (the upper end of etcd's bucket); none without any, infinite beyond the last
    /// bucket.
    pub fsync_p50_ms: Option<f64>,
    /// Their 99th percentile.
    pub fsync_p99_ms: Option<f64>,
    /// Commits of the database.
    pub commits: u64,
    /// Their median.
    pub commit_p50_ms: Option<f64>,
    /// Their 99th percentile.
    pub commit_p99_ms: Option<f64>,
}

impl CsvRow for StorageRow {
    const HEADER: &'static str =
        "secs,fsyncs,fsync_p50_ms,fsync_p99_ms,commits,commit_p50_ms,commit_p99_ms";

    fn to_csv(&self) -> String {
        let ms = |value: Option<f64>| value.map_or_else(String::new, |ms| ms.to_string());
        format!(
            "{:.3},{},{},{},{},{},{}",
            self.secs,
            self.fsyncs,
            ms(self.fsync_p50_ms),
            ms(self.fsync_p99_ms),
            self.commits,
            ms(self.commit_p50_ms),
            ms(self.commit_p99_ms),
        )
    }

    fn read(columns: &mut Columns<'_>) -> Result<Self, String> {
        Ok(Self {
            secs: columns.next()?,
            fsyncs: columns.next()?,
            fsync_p50_ms: columns.optional()?,
            fsync_p99_ms: columns.optional()?,
            commits: columns.next()?,
            commit_p50_ms: columns.optional()?,
            commit_p99_ms: columns.optional()?,
        })
    }
}

/// etcd's disk over a whole observation. Percentiles are seconds, at most: the upper end of etcd's buckets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// Syncs of the write-ahead log.
    pub fsyncs: u64,
    /// Their median.
    pub fsync_p50: Percentile,
    /// Their 99th percentile.
    pub fsync_p99: Percentile,
    /// Commits of the database.
    pub commits: u64,
    /// Their median.
    pub commit_p50: Percentile,
    /// Their 99th percentile.
    pub commit_p99: Percentile,
}

/// A stall of etcd and what followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallSummary {
    /// When it began, seconds since the run's clock started.
    pub at_secs: f64,
    /// How long it lasted, seconds.
    pub secs: f64,
    /// Components that exited and were started again before the next stall began.
    pub exits: Vec<StallExit>,
}

/// An exit after a stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallExit {
    /// Component.
    pub component: String,
    /// Why, in a few words.
    pub cause: String,
    /// Seconds after the stall's begin.
    pub after_secs: f64,
}

/// Submit to bound, by whether the wait met a stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallLatency {
    /// Of those whose wait met one.
    pub inside: Latency,
    /// Of the others.
    pub outside: Latency,
}
