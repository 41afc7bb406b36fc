//! Keeps the system under test running, and records each exit.
//!
//! In: programs to run, and the substrate's processes to watch. Out: an [`Exit`] each time one ended, and the processes
//! that run now. A supervised program is started again, as a kubelet would do. An adopted one, which kwokctl started, is
//! only watched. Logs go straight into files; the supervisor reads only their last lines, to find and quote the cause.

mod backoff;
mod child;
mod dismiss;
mod exit;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
    process::ExitStatus,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::Signal,
        wait::{WaitPidFlag, waitpid},
    },
    unistd::Pid,
};

pub use exit::Exit;
pub(super) use exit::tail;

use super::proc;
use backoff::Backoff;
use child::{cpu_secs, start, wait_for};
use dismiss::Kept;
use host::process;
use results::run_folder::Cause;

/// How often the components' peak memory is read. The kernel keeps the peak, so only a peak between the last reading and
/// the end is missed.
const PEAK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a component may take to stop after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// A program to keep running.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of the component.
    pub name: String,
    /// The program.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment. Nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// File to which its output is appended.
    pub log: PathBuf,
    /// File to which its standard output is appended; with `None` it goes to the log, too.
    pub stdout: Option<PathBuf>,
}

/// Supervises components until it is stopped or dropped.
#[derive(Debug)]
pub struct Supervisor {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when `stopping` is set or a component is dismissed.
    stop: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    /// Components that a thread keeps running.
    kept: BTreeSet<String>,
    /// Those of them that must end for good.
    dismissed: BTreeSet<String>,
    running: BTreeMap<String, Running>,
    exits: Vec<Exit>,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    pid: i32,
    since: Instant,
    peak_rss_mib: f64,
    adopted: bool,
}

impl Running {
    /// Keeps the process's peak memory as long as the kernel has it.
    fn look(&mut self) {
        if let Some(usage) = process::usage(self.pid.unsigned_abs()) {
            self.peak_rss_mib = usage.peak_rss_mib.max(self.peak_rss_mib);
        }
    }
}

impl State {
    /// Whether this component must not be started again.
    fn ends(&self, name: &str) -> bool {
        self.stopping || self.dismissed.contains(name)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Supervisor {
    /// A supervisor without components.
    pub fn new() -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            stop: Condvar::new(),
        });
        let this = Self {
            shared,
            threads: Mutex::default(),
        };
        this.spawn("peaks", |shared| watch_peaks(&shared));
        this
    }

    /// Starts a program and keeps it running.
    pub fn run(&self, program: Program) {
        let name = program.name.clone();
        self.shared.lock().kept.insert(name.clone());
        self.spawn(&name, move |shared| keep_running(&shared, &program));
    }

    /// Watches a process that something else started. It is not started again.
    pub fn adopt(&self, name: &str, pid: i32, log: PathBuf) {
        let running = Running {
            pid,
            since: Instant::now(),
            peak_rss_mib: 0.0,
            adopted: true,
        };
        self.shared.lock().running.insert(name.to_owned(), running);
        let component = name.to_owned();
        self.spawn(name, move |shared| {
            let status = wait_for(pid);
            let cpu_secs = cpu_secs(pid);
            // Reaps it, if it is a child of this process.
            let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            let _ = record(&shared, &component, status, cpu_secs, tail(&log, 0), None);
        });
    }

    /// Components that run now, with their process ids.
    pub fn components(&self) -> Vec<(String, i32)> {
        self.census()()
    }

    /// Says at any time which components run, without holding the supervisor.
    pub fn census(&self) -> impl Fn() -> Vec<(String, i32)> + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || {
            let state = shared.lock();
            let running = state.running.iter();
            running.map(|(name, r)| (name.clone(), r.pid)).collect()
        }
    }

    /// Every exit so far.
    pub fn exits(&self) -> Vec<Exit> {
        self.shared.lock().exits.clone()
    }

    /// Stops every component: first those that it started, which get a moment to finish, then the adopted ones, on which the
    /// others depend and whose state is removed anyway. Blocks for a few seconds at most.
    pub fn stop(&self) {
        self.shared.lock().stopping = true;
        self.shared.stop.notify_all();
        for pid in self.pids(false) {
            proc::signal(pid, Signal::SIGTERM);
            // A paused process does not see SIGTERM before it continues.
            proc::signal(pid, Signal::SIGCONT);
        }
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && !self.pids(false).is_empty() {
            thread::sleep(Duration::from_millis(10));
        }
        for pid in [self.pids(false), self.pids(true)].concat() {
            proc::signal(pid, Signal::SIGKILL);
        }
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            let _ = thread.join();
        }
    }

    /// Lets every component run on without supervision.
    pub fn release(self) {
        self.shared.lock().stopping = true;
        self.shared.stop.notify_all();
        // Its threads wait for processes that go on; they end with this program.
        lock(&self.threads).clear();
    }

    fn pids(&self, adopted: bool) -> Vec<i32> {
        let state = self.shared.lock();
        let running = state.running.values().filter(|r| r.adopted == adopted);
        running.map(|r| r.pid).collect()
    }

    fn spawn(&self, name: &str, work: impl FnOnce(Arc<Shared>) + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        let builder = thread::Builder::new()
            .name(format!("watch-{name}"))
            .stack_size(256 * 1024);
        match builder.spawn(move || work(shared)) {
            Ok(thread) => lock(&self.threads).push(thread),
            Err(error) => tracing::error!("cannot start a thread to watch {name}: {error}"),
        }
    }
}

/// Locks. A panic in another thread does not make the content wrong, since each change is a single assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if !lock(&self.threads).is_empty() {
            self.stop();
        }
    }
}

/// Starts the program, waits for its end, records that, waits as a kubelet would, and begins again.
fn keep_running(shared: &Shared, program: &Program) {
    let mut backoff = Backoff::default();
    let _kept = Kept(shared, &program.name);
    loop {
        let log_start = program.log.metadata().map_or(0, |m| m.len());
        let started = {
            let mut state = shared.lock();
            if state.ends(&program.name) {
                return;
            }
            // Started under the lock: a stop either sees the process, or prevents its start.
            let started = start(program);
            if let Ok(child) = &started {
                let running = Running {
                    pid: child.id().cast_signed(),
                    since: Instant::now(),
                    peak_rss_mib: 0.0,
                    adopted: false,
                };
                state.running.insert(program.name.clone(), running);
            }
            started
        };
        let (status, cpu_secs, lines) = match started {
            Ok(mut child) => {
                let pid = child.id().cast_signed();
                wait_for(pid);
                let cpu_secs = cpu_secs(pid);
                (child.wait().ok(), cpu_secs, tail(&program.log, log_start))
            }
            Err(error) => (None, 0.0, vec![error.to_string()]),
        };
        let Some(delay) = record(
            shared,
            &program.name,
            status,
            cpu_secs,
            lines,
            Some(&mut backoff),
        ) else {
            return;
        };
        let state = shared.lock();
        let (state, _) = shared
            .stop
            .wait_timeout_while(state, delay, |s| !s.ends(&program.name))
            .unwrap_or_else(PoisonError::into_inner);
        drop(state);
    }
}

/// Records an exit. Returns the delay until the restart, or `None` if there will be none.
fn record(
    shared: &Shared,
    name: &str,
    status: Option<ExitStatus>,
    cpu_secs: f64,
    lines: Vec<String>,
    backoff: Option<&mut Backoff>,
) -> Option<Duration> {
    let instant = Instant::now();
    let mut state = shared.lock();
    let ran = state.running.remove(name);
    let (cause, last_lines) = match status {
        _ if state.ends(name) => (Cause::Stopped, vec![]),
        Some(status) => exit::classify(status, &lines),
        None if ran.is_none() => (Cause::NotStarted, lines),
        None => (Cause::Failed, lines),
    };
    let delay = backoff
        .filter(|_| !state.ends(name))
        .map(|b| b.after_exit(instant));
    let exit = Exit {
        component: name.to_owned(),
        pid: ran.map_or(0, |r| r.pid),
        at: jiff::Timestamp::now().to_string(),
        instant,
        code: status.and_then(|s| s.code()),
        signal: status.and_then(exit::signal_name),
        cause,
        ran_secs: ran.map_or(0.0, |r| (instant - r.since).as_secs_f64()),
        cpu_secs,
        peak_rss_mib: ran.map_or(0.0, |r| r.peak_rss_mib),
        restart_delay_secs: delay.map(|d| d.as_secs_f64()),
        last_lines,
    };
    state.exits.push(exit);
    delay
}

/// Keeps each running component's peak memory, which /proc no longer has once the process has ended.
fn watch_peaks(shared: &Shared) {
    let mut state = shared.lock();
    while !state.stopping {
        state.running.values_mut().for_each(Running::look);
        (state, _) = shared
            .stop
            .wait_timeout(state, PEAK_INTERVAL)
            .unwrap_or_else(PoisonError::into_inner);
    }
    // A last reading before the components are stopped.
    state.running.values_mut().for_each(Running::look);
}

#[cfg(test)]
mod tests;
