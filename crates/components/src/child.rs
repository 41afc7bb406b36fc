//! A program run to its end in a process group of its own, which goes away with its handle.
//!
//! duct starts the program, captures what it prints and waits for it. The group is ours, because duct ends the programs that
//! it started and not what those started (`go build` has compilers below it). So is the waiting: duct's blocks a thread that
//! nobody can call back, so its handle is polled, and dropping the future (cancellation, error, panic) kills the group.

use std::io::{self, PipeWriter, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::Output;
use std::time::{Duration, Instant};

use duct::{Expression, Handle};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::task::JoinHandle;

/// How often a running program is asked whether it has ended; the shortest of them needs 10 ms.
const POLL: Duration = Duration::from_millis(5);

/// How long a killed group may take to be gone; compilers die at once, unless the disk hangs.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Bytes that are kept of what a program prints; a version is one line.
pub(crate) const MOST_PRINTED: u64 = 64 * 1024;

/// A child and everything it starts.
#[derive(Debug)]
pub(crate) struct ChildGroup {
    handle: Handle,
    group: Pid,
    ended: bool,
}

impl ChildGroup {
    /// Starts a command as the leader of a new process group.
    pub(crate) fn start(command: &Expression) -> io::Result<Self> {
        let command = command.before_spawn(|command| {
            command.process_group(0);
            Ok(())
        });
        let handle = command.unchecked().start()?;
        // A command is one process, and Linux' ids fit into an i32.
        let id = handle.pids().first().and_then(|id| i32::try_from(*id).ok());
        let id = id.ok_or_else(|| io::Error::other("the child has no process id"))?;
        Ok(Self {
            handle,
            group: Pid::from_raw(id),
            ended: false,
        })
    }

    /// Process id of the leader, which is also the group's.
    pub(crate) fn id(&self) -> i32 {
        self.group.as_raw()
    }

    /// Waits for the leader to end.
    pub(crate) async fn wait(&mut self) -> io::Result<Output> {
        loop {
            if let Some(output) = self.handle.try_wait()? {
                self.ended = true;
                return Ok(output.clone());
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if !self.ended {
            kill_group(self.group);
            // duct reaps the leader when the handle is dropped, right after this.
            await_gone(self.group);
        }
    }
}

/// Runs a command to its end; dropping the future kills it. At most [`MOST_PRINTED`] of each of its two outputs is kept.
pub(crate) async fn run(command: &Expression) -> io::Result<Output> {
    let ((stdout, out), (stderr, err)) = (bounded()?, bounded()?);
    let mut child = ChildGroup::start(&command.stdout_file(out).stderr_file(err))?;
    Ok(Output {
        status: child.wait().await?.status,
        stdout: stdout.await??,
        stderr: stderr.await??,
    })
}

/// A pipe, and what its beginning will have been once all its writers are gone. The rest is read, and thrown away.
fn bounded() -> io::Result<(JoinHandle<io::Result<Vec<u8>>>, PipeWriter)> {
    let (mut reader, writer) = io::pipe()?;
    let kept = tokio::task::spawn_blocking(move || {
        let mut kept = Vec::new();
        reader.by_ref().take(MOST_PRINTED).read_to_end(&mut kept)?;
        io::copy(&mut reader, &mut io::sink())?;
        Ok(kept)
    });
    Ok((kept, writer))
}

/// What a program printed: standard output, then standard error.
pub(crate) fn printed(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
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
