//! What room and stalls cost, in a session's table: each team's bill, the cards that stood idle, what restarted.
//!
//! Pure: from a [`RunSummary`] to text.

use std::fmt::Write as _;

use super::table::{NOTHING, percentile, whole};
use plan::{CARDS_PER_NODE, Plan};
use results::run_folder::{Bill, FreeCards, Latency, Percentile, RunSummary, Source};

/// Text of one row for one team's bill.
type Value = fn(&Bill) -> String;

/// Rows about what a team paid for others' room: label and value.
pub const ROWS: [(&str, Value); 6] = [
    ("  by Kueue / clearer / other", |b| {
        format!("{} / {} / {}", b.by_kueue, b.by_clearer, b.by_other)
    }),
    ("  card-seconds lost", |b| whole(Some(b.lost_card_seconds))),
    ("  card-seconds waited to run again", |b| {
        whole(Some(b.waited_card_seconds))
    }),
    ("  until bound again p50 / max, s", |b| {
        spread(b.rebound.as_ref())
    }),
    ("  until useful again p50 / max, s", |b| {
        spread(b.useful_again.as_ref())
    }),
    ("  until done again p50 / max, s", |b| {
        spread(b.done_again.as_ref())
    }),
];

/// A row's cell; empty for a team that paid nothing.
pub fn cell(bill: &Bill, value: Value) -> String {
    match bill.evictions() {
        0 => NOTHING.into(),
        _ => value(bill),
    }
}

fn spread(latency: Option<&Latency>) -> String {
    latency.map_or(NOTHING.into(), |l| {
        format!("{} / {}", percentile(l.p50), percentile(l.max))
    })
}

/// How many cards had no pod, on average over the observation.
pub fn idle(run: &RunSummary, plan: &Plan) -> String {
    let idle = run.idle_card_seconds.filter(|_| run.observed_secs > 0.0);
    let Some(idle) = idle else {
        return String::new();
    };
    format!(
        "cards without a pod: {:.0} of {} on average\n",
        idle / run.observed_secs,
        plan.cluster.nodes() * CARDS_PER_NODE,
    )
}

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
            format!("{whole} machines were idle, so it was for lack of time and not of room")
        } else {
            let share = free
                .unusable_share
                .map_or(NOTHING.into(), |s| format!("{:.0} %", s * 100.0));
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
    if let Some(reason) = run.evidence.absent(Source::ComponentExits) {
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
        for (what, l) in [("met", &bound.inside), ("did not meet", &bound.outside)] {
            let _ = writeln!(
                text,
                "  submit → bound of the {} that {what} a stall, p50 / p95 / max, s: {} / {} / {}",
                l.count,
                percentile(l.p50),
                percentile(l.p95),
                percentile(l.max),
            );
        }
    }
    if let Some(disk) = &run.storage {
        let _ = writeln!(
            text,
            "etcd: {} fsyncs p50 / p99, s, at most: {} / {}; {} commits: {} / {}",
            disk.fsyncs,
            fine(disk.fsync_p50),
            fine(disk.fsync_p99),
            disk.commits,
            fine(disk.commit_p50),
            fine(disk.commit_p99),
        );
    }
    text
}

/// Seconds to the millisecond, the width of etcd's first bucket.
fn fine(value: Percentile) -> String {
    match value {
        Percentile::Secs(secs) => format!("{secs:.3}"),
        other => percentile(other),
    }
}
