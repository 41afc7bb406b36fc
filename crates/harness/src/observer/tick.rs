//! Once a second: samples the usage of cards, components and the harness itself, compares the clocks, and flushes the files.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::live;
use super::observe::Shared;
use host::process;
use results::run_folder::ComponentRow;
use results::usage;

/// Name of the harness in `components.csv`.
const HARNESS: &str = "headroom";

/// A tick later than this is counted: for that long the harness got no CPU.
const LATE: Duration = Duration::from_millis(500);

/// Lists the processes to sample: component and process ID. It is asked each second, since components restart.
pub struct Pids(Box<dyn Fn() -> Vec<(String, u32)> + Send + Sync>);

impl Pids {
    /// Asks `of` each second.
    pub fn new(of: impl Fn() -> Vec<(String, u32)> + Send + Sync + 'static) -> Self {
        Self(Box::new(of))
    }
}

impl fmt::Debug for Pids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pids")
    }
}

/// What the harness used since the clock's zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HarnessUse {
    pub(crate) begun_cpu_secs: f64,
    /// CPU time, seconds.
    pub cpu_secs: f64,
    /// Largest resident memory seen, MiB.
    pub peak_rss_mib: f64,
    /// Ticks that came more than 500 ms late.
    pub late_ticks: u32,
    /// How late the latest tick came, seconds.
    pub latest_tick_secs: f64,
}

impl HarnessUse {
    pub(crate) fn begin() -> Self {
        let now = process::own_usage();
        Self {
            begun_cpu_secs: now.map_or(0.0, |u| u.cpu_secs),
            peak_rss_mib: now.map_or(0.0, |u| u.rss_mib),
            ..Self::default()
        }
    }

    pub(crate) fn end(&mut self) {
        if let Some(now) = process::own_usage() {
            self.note(now);
        }
    }

    fn note(&mut self, now: process::ProcessUsage) {
        self.cpu_secs = now.cpu_secs - self.begun_cpu_secs;
        self.peak_rss_mib = self.peak_rss_mib.max(now.rss_mib);
    }
}

/// Ticks for ever. Rows are written once the clock's zero is set.
pub(crate) async fn run(shared: Arc<Shared>, pids: Pids) {
    let mut due = Instant::now();
    loop {
        tokio::time::sleep_until(due).await;
        let late = due.elapsed();
        shared.clock.sample();
        second(&shared, &pids, late);
        // On a thread of its own: a slow disk must not delay the watches.
        let writer = shared.writer.clone();
        let _ = tokio::task::spawn_blocking(move || writer.flush()).await;
        due += Duration::from_secs(1);
        if due < Instant::now() {
            // Missed ticks are not made up for: the gap in the series is true.
            due = Instant::now() + Duration::from_secs(1);
        }
    }
}

fn second(shared: &Shared, pids: &Pids, late: Duration) {
    let mut inner = shared.inner();
    if !inner.started {
        return;
    }
    let secs = shared.clock.now_secs();
    let snapshot = live::live(&shared.plan, &inner.state, Some(secs));
    let harness = &mut inner.harness;
    harness.late_ticks += u32::from(late > LATE);
    harness.latest_tick_secs = harness.latest_tick_secs.max(late.as_secs_f64());
    let own = process::own_usage();
    if let Some(own) = own {
        inner.harness.note(own);
    }
    drop(inner);

    let admitted: Vec<u32> = snapshot.tenants.iter().map(|t| t.cards.admitted).collect();
    let sharing = usage::sharing(&shared.plan.tenants, &admitted);
    for (tenant, share) in snapshot.tenants.iter().zip(sharing) {
        shared
            .writer
            .usage(&tenant.usage(secs, share.borrowed, share.lent));
    }
    let components: Vec<_> = (pids.0)()
        .into_iter()
        .filter_map(|(component, pid)| Some((component, pid, process::usage(pid)?)))
        .collect();
    let stopped = components.iter().filter(|(.., used)| used.stopped);
    let stopped = stopped.map(|(component, ..)| (component.clone(), secs));
    shared.inner().stopped.extend(stopped);
    let harness = own.map(|own| (HARNESS.to_owned(), std::process::id(), own));
    for (component, pid, used) in components.into_iter().chain(harness) {
        shared.writer.component(&ComponentRow {
            secs,
            component,
            pid,
            cpu_secs: used.cpu_secs,
            rss_mib: used.rss_mib,
        });
    }
}
