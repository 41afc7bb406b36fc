//! A process that is stopped where it stands, and goes on at the latest when it is let go of.

use nix::sys::signal::Signal;

use super::proc;

/// A stopped process. Dropping it lets the process go on, so that no way out of a run leaves one behind.
#[derive(Debug)]
#[must_use = "the process goes on when this is dropped"]
pub struct Paused(i32);

impl Paused {
    /// Stops a process.
    pub(super) fn new(pid: i32) -> Self {
        proc::signal(pid, Signal::SIGSTOP);
        Self(pid)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        proc::signal(self.0, Signal::SIGCONT);
    }
}
