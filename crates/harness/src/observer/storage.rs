//! etcd's disk latencies, sampled from its metrics.
//!
//! In: etcd's /metrics. Out: a row every few seconds, and the whole observation's metrics. A stalled etcd does not answer:
//! its rows are missing then, and the next row covers the whole time since the last.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;

use super::clock::Clock;
use results::run_folder::{Percentile, RunWriter, Storage, StorageRow};

/// Time between two samples. At this rate they cost little, and a stall of some seconds is visible.
const EVERY: Duration = Duration::from_secs(5);

/// etcd's names for the syncs of its write-ahead log, and for its commits.
const FSYNC: &str = "etcd_disk_wal_fsync_duration_seconds";
const COMMIT: &str = "etcd_disk_backend_commit_duration_seconds";

/// A histogram of etcd: cumulative counts by upper bound, seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram(Vec<(f64, u64)>);

impl Histogram {
    /// Reads the histogram called `name` from a metrics page; empty if it is missing.
    pub fn read(page: &str, name: &str) -> Self {
        let start = format!("{name}_bucket{{le=\"");
        let bucket = |line: &str| {
            let (bound, count) = line.strip_prefix(&start)?.split_once("\"}")?;
            // "+Inf" reads as infinite. Counts are printed as floating-point numbers.
            let count: f64 = count.trim().parse().ok()?;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
            Some((bound.parse().ok()?, count as u64))
        };
        Self(page.lines().filter_map(bucket).collect())
    }

    /// What was added since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |bound: f64| {
            let mut of = before.0.iter().filter(|(b, _)| b.total_cmp(&bound).is_eq());
            of.next().map_or(0, |(_, n)| *n)
        };
        let each = self.0.iter();
        // A new etcd counts from zero.
        Self(
            each.map(|(b, n)| (*b, n.saturating_sub(earlier(*b))))
                .collect(),
        )
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.0.last().map_or(0, |(_, n)| *n)
    }

    /// Upper bound of the bucket with the quantile `q`, seconds; infinite beyond the last finite one.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        #[allow(
            clippy::cast_precision_loss, // counts far below 2⁵²
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let rank = (q * self.count() as f64).ceil().max(1.0) as u64;
        let all = self.count();
        let reached = self.0.iter().find(|(_, n)| *n >= rank);
        reached.filter(|_| all > 0).map(|(bound, _)| *bound)
    }

    fn percentile(&self, q: f64) -> Percentile {
        let finite = self.0.iter().filter(|(b, _)| b.is_finite());
        match self.quantile(q) {
            None => Percentile::TooFew,
            Some(secs) if secs.is_finite() => Percentile::Secs(secs),
            Some(_) => Percentile::Over {
                over: finite.map(|(b, _)| *b).fold(0.0, f64::max),
            },
        }
    }
}

/// Both histograms at one moment.
#[derive(Debug, Clone, Default)]
struct Disk {
    fsync: Histogram,
    commit: Histogram,
}

impl Disk {
    fn read(page: &str) -> Self {
        Self {
            fsync: Histogram::read(page, FSYNC),
            commit: Histogram::read(page, COMMIT),
        }
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            fsync: self.fsync.since(&before.fsync),
            commit: self.commit.since(&before.commit),
        }
    }

    fn row(&self, secs: f64) -> StorageRow {
        let ms = |h: &Histogram, q| h.quantile(q).map(|secs| secs * 1e3);
        StorageRow {
            secs,
            fsyncs: self.fsync.count(),
            fsync_p50_ms: ms(&self.fsync, 0.5),
            fsync_p99_ms: ms(&self.fsync, 0.99),
            commits: self.commit.count(),
            commit_p50_ms: ms(&self.commit, 0.5),
            commit_p99_ms: ms(&self.commit, 0.99),
        }
    }
}

/// First and last sample of a run.
#[derive(Debug, Clone, Default)]
pub struct Sampled(Arc<Mutex<Option<(Disk, Disk)>>>);

impl Sampled {
    /// The whole observation's metrics; `None` with less than two samples.
    pub fn storage(&self) -> Option<Storage> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = ends.as_ref()?;
        let all = last.since(first);
        Some(Storage {
            fsyncs: all.fsync.count(),
            fsync_p50: all.fsync.percentile(0.5),
            fsync_p99: all.fsync.percentile(0.99),
            commits: all.commit.count(),
            commit_p50: all.commit.percentile(0.5),
            commit_p99: all.commit.percentile(0.99),
        })
    }

    fn note(&self, now: &Disk) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *ends {
            Some((_, last)) => last.clone_from(now),
            none => *none = Some((now.clone(), now.clone())),
        }
    }
}

/// Samples for ever, from the clock's zero on. `etcd` is a client for etcd's address.
pub async fn sample(etcd: Client, clock: Clock, writer: Arc<RunWriter>, sampled: Sampled) {
    let mut before: Option<Disk> = None;
    loop {
        // The client's time-out ends the wait for a stalled etcd.
        let request = http::Request::get("/metrics").body(vec![]);
        let Ok(request) = request else { return };
        if let Ok(page) = etcd.request_text(request).await {
            let now = Disk::read(&page);
            if let Some(before) = &before {
                writer.storage(&now.since(before).row(clock.now_secs()));
            }
            sampled.note(&now);
            before = Some(now);
        }
        tokio::time::sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"} 10
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.002\"} 90
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"8.192\"} 99
etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 100
etcd_disk_wal_fsync_duration_seconds_sum 0.4
etcd_disk_wal_fsync_duration_seconds_count 100
";

    #[test]
    fn percentiles_are_the_upper_ends_of_etcd_s_buckets() {
        let all = Histogram::read(PAGE, FSYNC);
        assert_eq!(all.count(), 100);
        assert_eq!(all.quantile(0.05), Some(0.001));
        assert_eq!(all.quantile(0.5), Some(0.002));
        assert_eq!(all.quantile(0.99), Some(8.192));
        assert_eq!(all.percentile(1.0), Percentile::Over { over: 8.192 });
        assert_eq!(
            Histogram::read(PAGE, COMMIT).percentile(0.5),
            Percentile::TooFew
        );
    }

    #[test]
    fn a_sample_is_about_what_came_since_the_one_before() {
        let first = Histogram::read(PAGE, FSYNC);
        let later = PAGE.replace("\"8.192\"} 99", "\"8.192\"} 109");
        let later = Histogram::read(&later.replace("+Inf\"} 100", "+Inf\"} 110"), FSYNC);
        let new = later.since(&first);
        assert_eq!((new.count(), new.quantile(0.5)), (10, Some(8.192)));
        // An etcd that was started again counts from nothing.
        assert_eq!(first.since(&later).count(), 0);
        assert_eq!(first.since(&first).quantile(0.5), None);
    }
}
