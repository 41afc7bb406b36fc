//! What happened in a run beside its metrics: restarts with their causes, stalls, whole machines that found no place.
//!
//! Pure: from a [`RunSummary`] to text.

use std::fmt::Write as _;

use crate::text::{percent, percentile};
use plan::CARDS_PER_NODE;
use results::run_folder::{EvidenceSource, FreeCards, Percentile, RunSummary};

/// Why whole machines found no place: idle cards, and on how many machines they were, once for all that saw the same.
pub fn unplaced(run: &RunSummary) -> String {
    let mut alike: Vec<(&str, &FreeCards, u32)> = Vec::new();
    for request in &run.unplaced {
        let (team, free) = (request.tenant.as_str(), &request.at_end);
        match alike.iter_mut().find(|(t, f, _)| *t == team && *f == free) {
            Some((.., n)) => *n += 1,
            None => alike.push((team, free, 1)),
        }
    }
    let mut text = String::new();
    for (team, free, n) in alike {
        let whole = free.machines.get(&CARDS_PER_NODE).copied().unwrap_or(0);
        let machines: Vec<String> = free
            .machines
            .iter()
            .map(|(cards, n)| format!("{n} × {cards}"))
            .collect();
        let why = if whole > 0 {
            format!("{whole} machines were idle, so time ran out and not room")
        } else {
            let share = free.unusable_share.map_or("-".into(), percent);
            format!(
                "{} cards were idle, {share} of them on machines in use",
                free.idle_cards
            )
        };
        let _ = writeln!(
            text,
            "{team}: {n} whole-machine requests were not placed; {why} (machines × idle cards: {})",
            machines.join(", "),
        );
    }
    text
}

/// Restarts by component, with their causes.
pub fn restarts(run: &RunSummary) -> String {
    if let Some(reason) = run.evidence.absent(EvidenceSource::ComponentExits) {
        return format!("not known: {reason}");
    }
    let each = run.restarts.iter().map(|(name, n)| {
        let causes = run.restart_causes.get(name).into_iter().flatten();
        let causes: Vec<String> = causes.map(|(cause, n)| format!("{cause} {n}")).collect();
        if *n == 0 || causes.is_empty() {
            format!("{name} {n}")
        } else {
            format!("{name} {n} ({})", causes.join(", "))
        }
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Stalls of the storage: what exited after each, and how long binding took inside and outside.
pub fn stalls(run: &RunSummary) -> String {
    let mut text = String::new();
    for stall in &run.stalls {
        let exits = stall.exits.iter();
        let exits = exits.map(|e| {
            format!(
                "{} {:.1} s after its begin ({})",
                e.component, e.after_secs, e.cause
            )
        });
        let exits: Vec<String> = exits.collect();
        let exits = match &exits[..] {
            [] => "nothing restarted".to_owned(),
            some => format!("restarted: {}", some.join(", ")),
        };
        let _ = writeln!(
            text,
            "etcd stalled {:.1} s at {:.1} s: {exits}",
            stall.secs, stall.at_secs
        );
    }
    if let Some(bound) = &run.bound_in_stalls {
        for (what, l) in [
            ("that overlap a stall", &bound.inside),
            ("of the rest", &bound.outside),
        ] {
            let [p50, p95, max] = [l.p50, l.p95, l.max].map(in_words);
            let _ = writeln!(
                text,
                "  bind latency of the {} {what}, p50 / p95 / longest: {p50} / {p95} / {max}",
                l.count,
            );
        }
    }
    if let Some(disk) = &run.storage {
        let [sync_p50, sync_p99] = [disk.fsync_p50, disk.fsync_p99].map(in_words);
        let [commit_p50, commit_p99] = [disk.commit_p50, disk.commit_p99].map(in_words);
        let _ = writeln!(
            text,
            "etcd: {} fsyncs, p50 / p99 at most {sync_p50} / {sync_p99}; {} commits: {commit_p50} / {commit_p99}",
            disk.fsyncs, disk.commits,
        );
    }
    text
}

fn in_words(value: Percentile) -> String {
    percentile(value).unwrap_or_else(|| "too few samples".into())
}
