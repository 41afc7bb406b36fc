//! A paused process. It goes on at the latest when its guard is dropped.

use nix::sys::signal::Signal;

use super::proc;

/// A paused process. Dropping it lets the process go on, so that a run never leaves a paused process behind.
#[derive(Debug)]
#[must_use = "the process goes on when this is dropped"]
pub struct Paused(i32);

impl Paused {
    /// Pauses a process (SIGSTOP).
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
