//! CPU time and memory of processes, from `/proc`.

use std::fs;

/// Ticks of `/proc/<pid>/stat` in a second: the kernel's `USER_HZ`, fixed at 100 for programs on every architecture
/// this builds for (`proc(5)`, `sysconf(_SC_CLK_TCK)`).
const TICKS_PER_SEC: f64 = 100.0;

/// What a process has used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessUsage {
    /// CPU time so far, user and system, its threads included, seconds.
    pub cpu_secs: f64,
    /// Resident memory now, MiB.
    pub rss_mib: f64,
    /// Largest resident memory so far, MiB.
    pub peak_rss_mib: f64,
    /// Whether a signal or a debugger has paused it.
    pub stopped: bool,
}

/// What this process has used.
#[must_use]
pub fn own_usage() -> Option<ProcessUsage> {
    usage(std::process::id())
}

/// Reads what process `pid` has used; `None` if it is gone. A process that has exited and is not reaped yet has its CPU time
/// and no memory.
#[must_use]
pub fn usage(pid: u32) -> Option<ProcessUsage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(ProcessUsage {
        cpu_secs: cpu_secs(&stat)?,
        rss_mib: mib(&status, "VmRSS:").unwrap_or(0.0),
        peak_rss_mib: mib(&status, "VmHWM:").unwrap_or(0.0),
        stopped: is_stopped(&stat),
    })
}

/// CPU time so far of this process and its children, those that have ended and were waited for included, seconds; `None` if
/// the kernel does not tell.
#[must_use]
pub fn family_cpu_secs() -> Option<f64> {
    let own = fs::read_to_string("/proc/self/stat").ok()?;
    let ended: f64 = fields(&own, 16, 2)?.sum();
    let parent = f64::from(std::process::id());
    let of_child = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let is_child = fields(&stat, 4, 1)?.next()?.total_cmp(&parent).is_eq();
        cpu_secs(&stat).filter(|_| is_child)
    };
    let all = fs::read_dir("/proc").ok()?.flatten();
    let alive: f64 = all.filter_map(of_child).sum();
    Some(cpu_secs(&own)? + ended / TICKS_PER_SEC + alive)
}

/// `utime` and `stime`, fields 14 and 15.
fn cpu_secs(stat: &str) -> Option<f64> {
    Some(fields(stat, 14, 2)?.sum::<f64>() / TICKS_PER_SEC)
}

/// So many numbers of a stat line from one of its fields on, counted from 1 as in `proc(5)`. The program's name, field 2, may
/// contain anything, also brackets.
fn fields(stat: &str, from: usize, count: usize) -> Option<impl Iterator<Item = f64>> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let all = after_name.split_ascii_whitespace().skip(from - 3);
    let numbers: Vec<f64> = all.take(count).map_while(|n| n.parse().ok()).collect();
    (numbers.len() == count).then(|| numbers.into_iter())
}

/// Whether the state, field 3, is `T` (stopped) or `t` (stopped by a tracer).
fn is_stopped(stat: &str) -> bool {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.trim_start().starts_with(['T', 't'])
}

/// A field of `/proc/<pid>/status` that is in KiB.
fn mib(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|l| l.strip_prefix(field))?;
    let kib: f64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_brackets_and_spaces_is_no_trouble() {
        let stat = "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 1000 10";
        assert_eq!(cpu_secs(stat), Some(3.0));
        assert!(!is_stopped(stat) && is_stopped("7 (S) T 1 7") && is_stopped("7 (a) t 1 7"));
        let status = "Name:\tx\nVmHWM:\t   4096 kB\nVmRSS:\t   2048 kB\n";
        assert_eq!(mib(status, "VmRSS:"), Some(2.0));
        assert_eq!(mib(status, "VmHWM:"), Some(4.0));
    }

    #[test]
    fn children_count_while_they_run_and_after_they_ended() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read line";
        let mut child = std::process::Command::new("sh")
            .args(["-c", busy])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let cpu = || usage(child.id()).map_or(0.0, |u| u.cpu_secs);
        while cpu() < 0.05 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let alone = || own_usage().unwrap().cpu_secs;
        let alive = family_cpu_secs().unwrap() - alone();
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = family_cpu_secs().unwrap() - alone();
        assert!(
            alive > 0.04 && ended >= alive - 0.02,
            "{alive}, then {ended}"
        );
    }

    #[test]
    fn this_process_has_memory_and_a_gone_one_has_nothing() {
        let own = own_usage().unwrap();
        assert!(
            own.rss_mib > 0.1 && own.peak_rss_mib >= own.rss_mib,
            "{own:?}"
        );
        assert_eq!(usage(u32::MAX), None);
    }
}
