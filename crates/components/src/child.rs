//! A program run to completion in a process group of its own, which goes away with its handle.
//!
//! Dropping the handle (cancellation, error, panic) kills the whole group: `go build` has compilers below it.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

/// How long a killed group may take to be gone; compilers die at once, unless the disk hangs.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// A child and everything it starts.
#[derive(Debug)]
pub(crate) struct ChildGroup {
    child: Child,
    group: Pid,
    ended: bool,
}

impl ChildGroup {
    /// Starts `command` as the leader of a new process group.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        // A child that was not waited for has an id, and Linux' ids fit into an i32.
        let group =
            Pid::from_raw(id.ok_or_else(|| io::Error::other("the child has no process id"))?);
        Ok(Self {
            child,
            group,
            ended: false,
        })
    }

    /// Process id of the leader, which is also the group's.
    pub(crate) fn id(&self) -> i32 {
        self.group.as_raw()
    }

    /// Waits for the leader to end.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.ended = true;
        Ok(status)
    }

    /// Waits for the leader to end and collects what it printed: standard output, then standard error.
    pub(crate) async fn output(&mut self) -> io::Result<(ExitStatus, String)> {
        let (mut out, mut err) = (self.child.stdout.take(), self.child.stderr.take());
        let mut printed = (Vec::new(), Vec::new());
        let reads = async {
            tokio::try_join!(
                async {
                    match &mut out {
                        Some(out) => out.read_to_end(&mut printed.0).await,
                        None => Ok(0),
                    }
                },
                async {
                    match &mut err {
                        Some(err) => err.read_to_end(&mut printed.1).await,
                        None => Ok(0),
                    }
                },
            )
        };
        reads.await?;
        let status = self.wait().await?;
        printed.0.append(&mut printed.1);
        Ok((status, String::from_utf8_lossy(&printed.0).into_owned()))
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if !self.ended {
            kill_group(self.group);
            // Reap the leader: as a zombie it would keep the group alive.
            let start = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) && start.elapsed() < GONE_WITHIN {
                std::thread::sleep(Duration::from_millis(5));
            }
            await_gone(self.group);
        }
    }
}

/// Kills a process group.
pub(crate) fn kill_group(group: Pid) {
    // An error means that it is gone already, or not ours: either way there is nothing to do.
    let _ = killpg(group, Signal::SIGKILL);
}

/// Waits until no process of a killed group is left, so that nothing writes into a folder about to be removed.
pub(crate) fn await_gone(group: Pid) {
    let start = Instant::now();
    while group_lives(group) && start.elapsed() < GONE_WITHIN {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process group has a process that is not a zombie.
fn group_lives(group: Pid) -> bool {
    if killpg(group, None) == Err(Errno::ESRCH) {
        return false;
    }
    // killpg also finds zombies, which somebody else (init) will reap or not.
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(stat)
        .any(|stat| stat.group == group.as_raw() && stat.state != "Z")
}

/// Whether a process exists and is not a zombie.
#[cfg(test)]
pub(crate) fn runs(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| stat.state != "Z")
}

/// When a process was started, in clock ticks since boot: with its id, it names a process for good.
pub(crate) fn start_ticks(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_ticks)
}

struct Stat {
    state: String,
    group: i32,
    start_ticks: u64,
}

/// Reads `/proc/PID/stat`; proc(5) numbers its fields from 1, the name in parentheses being the second.
fn stat(pid: i32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Stat {
        state: field(3)?.to_owned(),
        group: field(5)?.parse().ok()?,
        start_ticks: field(22)?.parse().ok()?,
    })
}
