//! Ends one component for good while the others run on.

use std::{
    sync::PoisonError,
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use super::{GRACE, Supervisor, proc};

impl Supervisor {
    /// Stops the component with this name for good. Once it returns, another program may run under the name. Blocks for a
    /// few seconds at most. Does nothing if there is no such component, or if it is an adopted one.
    pub fn dismiss(&self, name: &str) {
        if !self.shared.lock().kept.contains(name) {
            return;
        }
        self.shared.lock().dismissed.insert(name.to_owned());
        // It may be waiting for its next start.
        self.shared.stop.notify_all();
        let deadline = Instant::now() + GRACE;
        let mut told = None;
        loop {
            let (kept, pid) = {
                let state = self.shared.lock();
                let pid = state.running.get(name).map(|running| running.pid);
                (state.kept.contains(name), pid)
            };
            match pid {
                _ if !kept => break,
                Some(pid) if Instant::now() >= deadline => proc::signal(pid, Signal::SIGKILL),
                Some(pid) if told != Some(pid) => {
                    proc::signal(pid, Signal::SIGTERM);
                    proc::signal(pid, Signal::SIGCONT);
                    told = Some(pid);
                }
                _ => {}
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.shared.lock().dismissed.remove(name);
    }
}

/// Removes a component from the list of supervised ones when its thread ends, however that ends.
pub(super) struct Kept<'a>(pub &'a super::Shared, pub &'a str);

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.kept.remove(self.1);
    }
}
