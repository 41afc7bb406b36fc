//! The record of a component's exit, with the cause that its log shows.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::ExitStatus,
    time::Instant,
};

use nix::sys::signal::Signal;
use results::run_folder::Cause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many bytes at the end of a log are read.
const TAIL_BYTES: u64 = 64 * 1024;

/// How many lines of the log a record keeps.
const KEPT_LINES: usize = 20;

/// One exit of a component.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    /// Name of the component.
    pub component: String,
    /// Process id it had.
    pub pid: i32,
    /// UTC time of the exit, RFC 3339.
    pub at: String,
    /// The same moment on the monotonic clock.
    #[serde(skip, default = "Instant::now")]
    pub instant: Instant,
    /// Exit code, if it exited by itself.
    pub code: Option<i32>,
    /// Name of the signal that ended it, e.g. `SIGKILL`.
    pub signal: Option<String>,
    /// Why it exited.
    pub cause: Cause,
    /// How long it had run, seconds.
    pub ran_secs: f64,
    /// CPU time it used, seconds.
    pub cpu_secs: f64,
    /// Its largest resident memory, MiB, sampled once a second.
    pub peak_rss_mib: f64,
    /// Seconds from the exit until it is started again; null if it is not.
    pub restart_delay_secs: Option<f64>,
    /// Last lines of its log.
    pub last_lines: Vec<String>,
}

impl Exit {
    /// How it ended, as part of a sentence: `exited with code 1`, `was ended by SIGKILL`.
    #[must_use]
    pub fn how(&self) -> String {
        match (&self.signal, self.code) {
            _ if self.cause == Cause::NotStarted => "could not be started".into(),
            (Some(signal), _) => format!("was ended by {signal}"),
            (None, Some(code)) => format!("exited with code {code}"),
            (None, None) => "exited".into(),
        }
    }
}

/// What a log says of a lost Lease: that of kube-scheduler and kube-controller-manager, controller-runtime's and client-go's, in
/// lower case.
const LEASE_LOST: [&str; 3] = [
    "leaderelection lost",
    "leader election lost",
    "failed to renew lease",
];

/// Name of the signal that ended a process.
pub(super) fn signal_name(status: ExitStatus) -> Option<String> {
    let number = status.signal()?;
    Some(Signal::try_from(number).map_or_else(|_| number.to_string(), |s| s.as_str().to_owned()))
}

/// Why a process exited that the harness did not stop, and the last lines of its log that show it.
pub(super) fn classify(status: ExitStatus, lines: &[String]) -> (Cause, Vec<String>) {
    let find = |words: &[&str]| {
        lines.iter().position(|line| {
            let line = line.to_lowercase();
            words.iter().any(|w| line.contains(w))
        })
    };
    let end = || lines[lines.len().saturating_sub(KEPT_LINES)..].to_vec();
    // A stack dump follows the line that matters.
    let crash = find(&["panic:", "fatal error:", "panicked at"]);
    let crash_lines = |at: usize| lines[at..lines.len().min(at + KEPT_LINES)].to_vec();
    if status.signal() == Some(Signal::SIGABRT as i32) {
        (Cause::Crash, crash.map_or_else(end, crash_lines))
    } else if status.signal().is_some() {
        (Cause::Killed, end())
    } else if status.success() {
        (Cause::Ended, end())
    } else if find(&LEASE_LOST).is_some() {
        (Cause::LeaseLost, end())
    } else if let Some(at) = crash {
        (Cause::Crash, crash_lines(at))
    } else {
        (Cause::Failed, end())
    }
}

/// The last lines of a log, from byte `from` on.
pub(in crate::cluster) fn tail(log: &Path, from: u64) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(len.saturating_sub(TAIL_BYTES))))?;
        let mut bytes = vec![];
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_scheduler_that_lost_its_lease_is_told_from_one_that_crashed() {
        let lost = lines(
            "E1 leaderelection.go:441] \"Failed to renew lease\" lease=\"kube-system/hami-scheduler\"\n\
             E1 server.go:301] \"Leaderelection lost\"",
        );
        assert_eq!(classify(exited(1), &lost).0, Cause::LeaseLost);
        assert_eq!(classify(exited(1), &lines("bad flag")).0, Cause::Failed);
        let dump = format!("panic: nil map\n{}", "goroutine 1 [running]:\n".repeat(500));
        let (cause, shown) = classify(exited(2), &lines(&dump));
        assert_eq!((cause, shown[0].as_str()), (Cause::Crash, "panic: nil map"));
    }

    #[test]
    fn a_signal_counts_as_killed_whatever_the_log_says() {
        let log = lines("panic: old news");
        assert_eq!(classify(ExitStatus::from_raw(9), &log).0, Cause::Killed);
        assert_eq!(
            signal_name(ExitStatus::from_raw(9)).as_deref(),
            Some("SIGKILL")
        );
        assert_eq!(classify(exited(0), &log).0, Cause::Ended);
    }

    #[test]
    fn the_tail_holds_only_lines_of_the_last_incarnation() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("x.log");
        std::fs::write(&log, "old\nnew\n\nlast\n").unwrap();
        assert_eq!(tail(&log, 4), ["new", "last"]);
        assert!(tail(&dir.path().join("none.log"), 0).is_empty());
    }
}
