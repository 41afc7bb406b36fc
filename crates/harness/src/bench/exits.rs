//! Turns components' exits into restarts, the disturbance of a lost substrate, and lines of `restarts.jsonl`.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::cluster::Exit;
use crate::observer::Clock;
use plan::Component;
use results::run_folder::Cause;
use results::run_folder::run_summary::cut;
use results::run_folder::{ComponentExit, Disturbance};

/// Restarts of each supervised component: its exits that the harness did not cause.
pub fn restarts(exits: &[Exit]) -> BTreeMap<String, u32> {
    let mut restarts: BTreeMap<String, u32> = Component::system()
        .map(|c| (c.name().to_owned(), 0))
        .collect();
    for exit in exits.iter().filter(|e| restarted(e)) {
        *restarts.entry(exit.component.clone()).or_default() += 1;
    }
    restarts
}

/// Whether an exit led to a restart. The substrate has no supervisor, so its components are not started again.
pub fn restarted(exit: &Exit) -> bool {
    exit.cause != Cause::Stopped && supervised(exit)
}

fn supervised(exit: &Exit) -> bool {
    Component::named(&exit.component).is_some_and(Component::is_supervised)
}

/// Restarts by component, then by cause.
pub fn causes(exits: &[Exit]) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut causes: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for exit in exits.iter().filter(|e| restarted(e)) {
        let of = causes.entry(exit.component.clone()).or_default();
        *of.entry(exit.cause.name().to_owned()).or_default() += 1;
    }
    causes
}

/// The disturbances of substrate components that died. They stay dead, and from then on the run measures another system.
pub fn lost_substrate(exits: &[Exit]) -> Option<Disturbance> {
    let is_lost = |e: &&Exit| e.cause != Cause::Stopped && !supervised(e);
    let exit = exits.iter().find(is_lost)?;
    let (component, how) = (&exit.component, exit.how());
    Some(Disturbance {
        kind: cut::COMPONENT_LOST.into(),
        detail: format!("{component} {how} and was not started again"),
        remedy: "see its log under the run's logs/, and run again".into(),
    })
}

/// Seconds since `zero`; negative before it.
pub fn secs_of(exit: &Exit, zero: Instant) -> f64 {
    match exit.instant.checked_duration_since(zero) {
        Some(after) => after.as_secs_f64(),
        None => -zero.duration_since(exit.instant).as_secs_f64(),
    }
}

/// An exit as a line of `restarts.jsonl`.
pub fn component_exit(exit: &Exit, clock: &Clock) -> ComponentExit {
    ComponentExit {
        secs: secs_of(exit, clock.instant_at(0.0)),
        component: exit.component.clone(),
        pid: exit.pid.unsigned_abs(),
        cause: format!("{} ({})", exit.cause.name(), exit.how()),
        uptime_secs: exit.ran_secs,
        cpu_secs: exit.cpu_secs,
        peak_rss_mib: exit.peak_rss_mib,
        restarted: exit.restart_delay_secs.is_some(),
    }
}
