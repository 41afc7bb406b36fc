//! Checks of the machine: its size, what else it does, its limits.

use std::fs;
use std::net::TcpListener;

use super::{Check, Verdict};
use host::machine::Fingerprint;

/// etcd's own guidance: 99 % of its log's writes should be on the disk within 10 ms.
const SLOW_SYNC_MS: f64 = 10.0;

/// Free memory below which a run will swap or be killed, MiB: control plane, Kueue and HAMi use just under 1 GiB.
const NEEDED_MEMORY_MIB: u64 = 1024;

/// Free memory below which the page cache becomes short, MiB.
const AMPLE_MEMORY_MIB: u64 = 2048;

/// Load per core at which latencies are no longer the system's own: half of each core is taken.
const BUSY_LOAD: f64 = 0.5;

/// Open files that kube-apiserver and etcd need with some hundred watches, with room.
const NEEDED_FILES: u64 = 4096;

/// inotify instances: each component that watches its certificates or configuration takes one.
const NEEDED_INOTIFY: u64 = 64;

/// Programs of a control plane: another one that runs beside ours disturbs it.
const CONTROL_PLANE: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller"];

/// Checks of limits and neighbours that no fingerprint holds.
pub(super) fn surroundings() -> [Check; 4] {
    [open_files(), inotify(), loopback(), other_control_planes()]
}

/// Checks of the machine's size and state.
pub(super) fn machine(seen: &Fingerprint) -> Vec<Check> {
    let mut checks = vec![
        Check::new(
            "CPU",
            Verdict::warn_if(seen.cores < 2),
            format!("{} × {}", seen.cores, seen.cpu),
            "use a machine with two cores or more: on one, harness and control plane wait for each other",
        ),
        Check::new(
            "memory",
            match seen.available_mib {
                free if free < NEEDED_MEMORY_MIB => Verdict::Fail,
                free if free < AMPLE_MEMORY_MIB => Verdict::Warn,
                _ => Verdict::Ok,
            },
            format!(
                "{} MiB available of {}",
                seen.available_mib, seen.memory_mib
            ),
            "end other programs: a control plane with Kueue and HAMi takes about 1 GiB",
        ),
    ];
    checks.extend(seen.load.map(|[load, ..]| {
        let busy = load > BUSY_LOAD * f64::from(seen.cores);
        Check::new(
            "load",
            Verdict::warn_if(busy),
            format!("{load:.2} on {} cores over the last minute", seen.cores),
            "wait, or end what is running: latencies would be the machine's, not the system's",
        )
    }));
    checks.push(match &seen.disk {
        Some(disk) => {
            // With fewer samples than a percentile needs, the disk is slow beyond doubt: the slowest stands for it.
            let p99 = disk.p99_ms.unwrap_or(disk.max_ms);
            Check::new(
                "disk sync",
                Verdict::warn_if(p99 > SLOW_SYNC_MS),
                format!("p50 {:.1} ms, p99 {p99:.1} ms ({} writes)", disk.p50_ms, disk.writes),
                "use a faster disk (--cache DIR, --out DIR): etcd wants 99 % within 10 ms, or Leases are lost",
            )
        }
        None => Check::new("disk sync", Verdict::Warn, "could not be measured", "see the check of the cache"),
    });
    checks
}

fn open_files() -> Check {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max open files"));
    // Soft and hard; Go programs raise the soft one to the hard one by themselves.
    let limit = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    let remedy = "raise it with `ulimit -Hn` or in limits.conf";
    limit_check("open files", limit, NEEDED_FILES, remedy)
}

fn inotify() -> Check {
    let text = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
    let limit = text.ok().and_then(|text| text.trim().parse().ok());
    let remedy = "raise it: sysctl fs.inotify.max_user_instances=512";
    limit_check("inotify instances", limit, NEEDED_INOTIFY, remedy)
}

/// A limit that is `unlimited` or cannot be read does not hinder.
fn limit_check(name: &str, limit: Option<u64>, needed: u64, remedy: &str) -> Check {
    let detail = limit.map_or("no limit".to_owned(), |limit| format!("{limit} allowed"));
    let verdict = Verdict::warn_if(limit.is_some_and(|limit| limit < needed));
    let remedy = format!("{remedy} (at least {needed})");
    Check::new(name, verdict, detail, &remedy)
}

fn loopback() -> Check {
    match TcpListener::bind(("127.0.0.1", 0)) {
        Ok(_) => Check::ok("loopback", "127.0.0.1 has free ports"),
        Err(error) => Check::new(
            "loopback",
            Verdict::Fail,
            format!("no port can be opened on 127.0.0.1: {error}"),
            "bring the loopback interface up: ip link set lo up",
        ),
    }
}

fn other_control_planes() -> Check {
    const NAME: &str = "other control planes";
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = processes.filter_map(|it| fs::read_to_string(it.path().join("comm")).ok());
    let running: Vec<_> = names
        .map(|name| name.trim().to_owned())
        // The kernel cuts a name after 15 bytes.
        .filter(|name| CONTROL_PLANE.iter().any(|part| name.starts_with(part)))
        .collect();
    if running.is_empty() {
        return Check::ok(NAME, "none running");
    }
    Check::new(
        NAME,
        Verdict::Warn,
        format!("running: {}", running.join(", ")),
        "end them before measuring (`headroom status` shows kept clusters, `headroom down` ends one)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::verdict;
    use host::machine::DiskSync;

    #[test]
    fn a_small_busy_machine_with_a_slow_disk_is_warned_about() {
        let good = Fingerprint {
            cpu: "a CPU".to_owned(),
            cores: 4,
            memory_mib: 8192,
            available_mib: 6000,
            kernel: String::new(),
            os: String::new(),
            load: Some([0.4, 0.0, 0.0]),
            disk: Some(DiskSync {
                writes: 100,
                p50_ms: 0.5,
                p99_ms: Some(2.0),
                max_ms: 4.0,
            }),
        };
        assert!(
            machine(&good)
                .iter()
                .all(|check| check.verdict == Verdict::Ok)
        );
        let bad = Fingerprint {
            cores: 1,
            available_mib: 700,
            load: Some([3.0, 0.0, 0.0]),
            disk: Some(DiskSync {
                writes: 20,
                p50_ms: 90.0,
                p99_ms: None,
                max_ms: 300.0,
            }),
            ..good
        };
        let checks = machine(&bad);
        assert_eq!(verdict(&checks, "CPU"), Verdict::Warn);
        assert_eq!(verdict(&checks, "memory"), Verdict::Fail);
        assert_eq!(verdict(&checks, "load"), Verdict::Warn);
        assert_eq!(verdict(&checks, "disk sync"), Verdict::Warn);
    }

    #[test]
    fn limits_are_compared_and_no_limit_is_fine() {
        assert_eq!(
            limit_check("x", Some(1024), 4096, "raise").verdict,
            Verdict::Warn
        );
        assert_eq!(
            limit_check("x", Some(4096), 4096, "raise").verdict,
            Verdict::Ok
        );
        assert_eq!(limit_check("x", None, 4096, "raise").verdict, Verdict::Ok);
    }
}
