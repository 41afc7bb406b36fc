//! Describes the host that a run happens on, to explain why two runs differ.
//!
//! In: the folder whose disk the run will use. Out: a [`Fingerprint`]. It changes nothing, except for a small file that it
//! removes.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, RefreshKind, System};

/// Bytes of one write: the size of writes to etcd's log, as in etcd's disk guide (fio with `--bs=2300 --fdatasync=1`).
const WRITE_BYTES: usize = 2300;

/// Number of writes measured: the fewest that have a 99th percentile.
const WRITES: usize = 100;

/// How long a disk is measured that is too slow for [`WRITES`].
const MEASURE_FOR: Duration = Duration::from_secs(3);

/// What the host is, and how busy it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint {
    /// Model of the CPU; empty if the kernel does not tell.
    pub cpu: String,
    /// Cores this process may use, also by a container's quota.
    pub cores: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Memory available at the time of measuring, MiB.
    pub available_mib: u64,
    /// Version of the kernel.
    pub kernel: String,
    /// The distribution, as it names itself.
    pub os: String,
    /// Load averages over 1, 5 and 15 minutes at the time of measuring; null if the kernel does not tell.
    pub load: Option<[f64; 3]>,
    /// The disk that etcd writes to; null if it could not be measured.
    pub disk: Option<DiskSync>,
}

/// How long a small write takes to be on the disk (fdatasync), in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskSync {
    /// Number of writes measured.
    pub writes: u32,
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile; null below 100 writes.
    pub p99_ms: Option<f64>,
    /// The slowest.
    pub max_ms: f64,
}

/// Reads the host's fingerprint, and measures the disk with `folder`: up to 3 s, 0.1 s on a good disk.
#[must_use]
pub fn fingerprint(folder: &Path) -> Fingerprint {
    let system = System::new_with_specifics(
        RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(sysinfo::MemoryRefreshKind::nothing().with_ram()),
    )
    .ok();
    let mib = |bytes: u64| bytes / (1 << 20);
    Fingerprint {
        cpu: system
            .as_ref()
            .and_then(|system| Some(system.cpus().first()?.brand().trim().to_owned()))
            .unwrap_or_default(),
        cores: cores(),
        memory_mib: system
            .as_ref()
            .map_or(0, |system| mib(system.total_memory())),
        available_mib: system
            .as_ref()
            .map_or(0, |system| mib(system.available_memory())),
        kernel: System::kernel_version().unwrap_or_default(),
        os: System::long_os_version().unwrap_or_default(),
        load: load(),
        disk: measure_disk(folder).ok(),
    }
}

/// Cores this process may use.
#[must_use]
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// Cores of the whole host, whether or not this process may use them.
#[must_use]
pub fn all_cores() -> u32 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let names = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    let each = names.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    match u32::try_from(each.count()) {
        Ok(n) if n > 0 => n,
        _ => cores(),
    }
}

/// CPU time that all cores together have used since boot, seconds; `None` if the kernel does not tell.
#[must_use]
pub fn busy_cpu_secs() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line
        .split_ascii_whitespace()
        .map_while(|n| n.parse().ok())
        .collect();
    // proc(5): user, nice, system, idle, iowait, irq, softirq, steal, in ticks of 1/100 s. What a hypervisor stole was
    // not to be had either.
    let busy = [0, 1, 2, 5, 6, 7].into_iter().filter_map(|i| ticks.get(i));
    Some(busy.sum::<f64>() / 100.0)
}

/// Load averages over 1, 5 and 15 minutes.
#[must_use]
pub fn load() -> Option<[f64; 3]> {
    let load = System::load_average().ok()?;
    Some([load.one, load.five, load.fifteen])
}

/// Measures how long small writes take to reach the disk with `folder`.
///
/// # Errors
/// The folder cannot be written to.
pub fn measure_disk(folder: &Path) -> io::Result<DiskSync> {
    let file = tempfile::Builder::new()
        .prefix(".fsync-")
        .tempfile_in(folder)?;
    measure(file.as_file(), WRITES, MEASURE_FOR)
}

fn measure(mut file: &File, writes: usize, within: Duration) -> io::Result<DiskSync> {
    let block = [0x55; WRITE_BYTES];
    let mut took_ms = Vec::with_capacity(writes);
    let start = Instant::now();
    while took_ms.len() < writes && (took_ms.is_empty() || start.elapsed() < within) {
        let before = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        took_ms.push(before.elapsed().as_secs_f64() * 1e3);
    }
    Ok(DiskSync::of(took_ms))
}

impl DiskSync {
    fn of(mut took_ms: Vec<f64>) -> Self {
        took_ms.sort_by(f64::total_cmp);
        let count = took_ms.len();
        // Nearest rank: the smallest sample that at least this share is not above.
        let rank = |percent: usize| {
            let index = (count * percent).div_ceil(100).saturating_sub(1);
            took_ms.get(index).copied().unwrap_or_default()
        };
        Self {
            writes: u32::try_from(count).unwrap_or(u32::MAX),
            p50_ms: rank(50),
            p99_ms: (count >= WRITES).then(|| rank(99)),
            max_ms: rank(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_and_p99_needs_a_hundred() {
        let hundred = DiskSync::of((1..=100).rev().map(f64::from).collect());
        assert_eq!(
            hundred,
            DiskSync {
                writes: 100,
                p50_ms: 50.0,
                p99_ms: Some(99.0),
                max_ms: 100.0
            }
        );
        let few = DiskSync::of(vec![3.0, 1.0, 2.0]);
        assert_eq!(
            few,
            DiskSync {
                writes: 3,
                p50_ms: 2.0,
                p99_ms: None,
                max_ms: 3.0
            }
        );
    }

    #[test]
    fn a_slow_disk_ends_the_measurement_with_what_there_is() {
        let file = tempfile::tempfile().unwrap();
        let measured = measure(&file, WRITES, Duration::ZERO).unwrap();
        assert_eq!((measured.writes, measured.p99_ms), (1, None));
    }

    #[test]
    fn measuring_leaves_nothing_and_this_machine_is_described() {
        let folder = tempfile::tempdir().unwrap();
        let machine = fingerprint(folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(machine.cores > 0 && machine.memory_mib >= machine.available_mib);
        assert!(machine.available_mib > 0 && !machine.kernel.is_empty());
        assert!(machine.disk.is_some_and(|disk| disk.max_ms > 0.0));
        assert_eq!(fingerprint(Path::new("/nowhere")).disk, None);
    }
}
