//! The table that ends a session: what each regime took and cost, beside what was published.
//!
//! Pure: from a [`Summary`] and the plans of its runs to text.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::bill;
use plan::metric::Phase;
use plan::{Plan, TenantPlan};
use results::run_folder::{Latency, Percentile, RunSummary, Summary, TenantSummary};

/// Renders one run of a session: what it is, the table, what restarted, what disturbed it. `plan` is the run's own.
#[must_use]
pub fn run_table(run: &RunSummary, plan: &Plan, session: &Summary) -> String {
    let mut text = format!(
        "{} / {}, repeat {}, compression {}{}\nHAMi: {}\n",
        session.experiment,
        run.arm,
        run.repeat,
        session.compress,
        plan.not_comparable(),
        session.hami.label(),
    );
    if let Some(data_plane) = &plan.data_plane {
        let by = data_plane.compressed_by;
        let _ = writeln!(text, "data plane: played, its seconds divided by {by}");
    }
    text += &teams_table(run, plan);
    let _ = writeln!(text, "\nrestarts: {}", bill::restarts(run));
    if let Some(lag) = run.accuracy.watch_lag_ms {
        let _ = writeln!(
            text,
            "watch lag p50/p99/max: {:.1}/{:.1}/{:.1} ms; harness: {:.1} s CPU, {:.0} MiB, {} late submits (worst {:.1} ms)",
            lag.p50,
            lag.p99,
            lag.max,
            run.harness.cpu_secs,
            run.harness.peak_rss_mib,
            run.harness.late_submits,
            run.harness.max_submit_lateness_ms,
        );
    }
    text += &bill::idle(run, plan);
    text += &bill::stalls(run);
    text += &calls(run);
    text += &bill::unplaced(run);
    for disturbance in &run.disturbed {
        let _ = writeln!(
            text,
            "DISTURBED ({}): {} → {}",
            disturbance.kind, disturbance.detail, disturbance.remedy
        );
    }
    text
}

fn teams_table(run: &RunSummary, plan: &Plan) -> String {
    let tenants: Vec<&TenantSummary> = run.tenants.iter().filter(|t| t.submitted > 0).collect();
    let dedicated = tenants
        .iter()
        .find(|t| t.name == "dedicated")
        .and_then(|t| t.makespan_secs);
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let mut header = vec![Cell::new("")];
    header.extend(
        tenants
            .iter()
            .map(|t| Cell::new(&t.name).set_alignment(CellAlignment::Right)),
    );
    table.set_header(header);
    let published = |tenant: &TenantSummary, metric: &str| {
        plan.tenants
            .iter()
            .find(|t| t.name == tenant.name)
            .and_then(|t| t.published.get(metric).copied())
    };
    let mut row = |label: &str, value: &dyn Fn(&TenantSummary) -> String| {
        let values: Vec<String> = tenants.iter().map(|t| value(t)).collect();
        if values.iter().any(|v| v != NOTHING) {
            let mut cells = vec![Cell::new(label)];
            cells.extend(
                values
                    .into_iter()
                    .map(|v| Cell::new(v).set_alignment(CellAlignment::Right)),
            );
            table.add_row(cells);
        }
    };
    row("makespan, s", &|t| secs(t.makespan_secs));
    row("  published", &|t| beside(t, published(t, "makespan_secs")));
    row("  ÷ dedicated", &|t| ratio(t.makespan_secs, dedicated));
    row("  published ÷ dedicated", &|t| {
        let base = plan.tenants.iter().find(|d| d.name == "dedicated");
        let base = base.and_then(|d| d.published.get("makespan_secs").copied());
        dedicated.map_or(NOTHING.into(), |_| {
            ratio(published(t, "makespan_secs"), base)
        })
    });
    let [ideal, share] = beyond_ideal(plan);
    row(ideal, &|t| beside(t, t.ideal_secs));
    row(share, &|t| {
        secs(
            t.makespan_secs
                .zip(t.ideal_secs)
                .map(|(measured, ideal)| measured - ideal),
        )
    });
    row("card-seconds reserved", &|t| whole(t.card_seconds.reserved));
    row("  published", &|t| {
        whole(published(t, "card_seconds_reserved"))
    });
    row("card-seconds admitted (quota held)", &|t| {
        whole(Some(t.card_seconds.admitted))
    });
    row("  published", &|t| {
        whole(published(t, "card_seconds_admitted"))
    });
    row("card-seconds bound", &|t| whole(Some(t.card_seconds.bound)));
    row("card-seconds running", &|t| {
        whole(Some(t.card_seconds.running))
    });
    row("card-seconds at useful work", &|t| {
        whole(t.card_seconds.useful)
    });
    row("  ideal of the timeline", &|t| {
        whole(Some(t.card_seconds.ideal))
    });
    row("card-seconds borrowed / lent", &|t| {
        format!(
            "{:.0} / {:.0}",
            t.card_seconds.borrowed, t.card_seconds.lent
        )
    });
    row("experiments (failed, unfinished)", &|t| {
        experiments(t, plan)
    });
    row("evictions", &|t| t.evictions.to_string());
    for (label, value) in &bill::ROWS {
        row(label, &|t| bill::cell(&t.bill, *value));
    }
    let mut classes: Vec<&String> = tenants.iter().flat_map(|t| t.latency.keys()).collect();
    classes.sort();
    classes.dedup();
    for class in classes {
        for (phase, label) in WAITS {
            let wait = |t: &TenantSummary| t.latency.get(class)?.get(&phase).map(latency);
            row(&format!("{class}: {label} p50 / p95, s"), &|t| {
                wait(t).unwrap_or(NOTHING.into())
            });
        }
    }
    table.to_string()
}

/// Waits that are shown for each class: phase and label. Those for useful work are there in a run with a data plane only.
const WAITS: [(Phase, &str); 5] = [
    (Phase::BindLatency, "bind latency"),
    (Phase::Useful, "submit → useful work"),
    (Phase::SchedulingLatency, "scheduling latency"),
    (Phase::Prepare, "bound → useful work"),
    (Phase::Stop, "told to stop → cards free"),
];

/// What the ideal leaves out, and so what is measured beyond it.
fn beyond_ideal(plan: &Plan) -> [&'static str; 2] {
    match plan.data_plane {
        None => ["  ideal (no control plane)", "  control plane's share"],
        Some(_) => [
            "  ideal (no control or data plane)",
            "  control and data plane's share",
        ],
    }
}

fn experiments(team: &TenantSummary, plan: &Plan) -> String {
    let own = plan.tenants.iter().find(|t| t.name == team.name);
    let mut groups = own.into_iter().flat_map(TenantPlan::groups);
    // Work without an end is not left over when the run ends.
    if groups.any(|group| group.run_secs.is_none()) {
        format!("{} ({}, endless)", team.submitted, team.failed)
    } else {
        format!("{} ({}, {})", team.submitted, team.failed, team.unfinished)
    }
}

/// Who spends its client limit on what: API calls per bound pod, and the rate of binds that each limit allows.
fn calls(run: &RunSummary) -> String {
    let rate = &run.bind_rate;
    if rate.ceiling_per_sec.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let head = [
        "component",
        "limit, calls/s",
        "calls a bound pod",
        "allows, pods/s",
        "most of them",
    ];
    table.set_header(head);
    for (component, ceiling) in &rate.ceiling_per_sec {
        let Some(calls) = run.calls_per_pod.get(component) else {
            continue;
        };
        let total: f64 = calls.values().sum();
        let mut by_verb: Vec<(&String, &f64)> = calls.iter().collect();
        by_verb.sort_by(|a, b| b.1.total_cmp(a.1));
        let most: Vec<String> = by_verb
            .iter()
            .take(3)
            .map(|(verb, n)| format!("{verb} {n:.2}"))
            .collect();
        let number = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(component),
            // By definition of the ceiling.
            number(format!("{:.0}", ceiling * total)),
            number(format!("{total:.2}")),
            number(format!("{ceiling:.2}")),
            Cell::new(most.join(", ")),
        ]);
    }
    let measured = rate
        .measured_per_sec
        .map_or(NOTHING.into(), |rate| format!("{rate:.2}"));
    format!("{table}\nmeasured: {measured} pods/s bound\n")
}

/// What a cell shows when there is nothing to show.
pub(super) const NOTHING: &str = "-";

fn secs(value: Option<f64>) -> String {
    value.map_or(NOTHING.into(), |v| format!("{v:.1}"))
}

/// What stands beside a makespan, where there is one.
fn beside(team: &TenantSummary, value: Option<f64>) -> String {
    secs(value.filter(|_| team.makespan_secs.is_some()))
}

pub(super) fn whole(value: Option<f64>) -> String {
    value.map_or(NOTHING.into(), |v| format!("{v:.0}"))
}

fn ratio(value: Option<f64>, base: Option<f64>) -> String {
    match (value, base) {
        (Some(value), Some(base)) if base > 0.0 => format!("{:.3}", value / base),
        _ => NOTHING.into(),
    }
}

fn latency(latency: &Latency) -> String {
    let mut text = format!("{} / {}", percentile(latency.p50), percentile(latency.p95));
    if latency.censored > 0 {
        text = format!("{text} ({} of {} never)", latency.censored, latency.count);
    }
    text
}

/// A percentile as tables print it: `1.52`, `> 90 s`, or `n < 20` when there are too few samples for the 95th.
pub(super) fn percentile(value: Percentile) -> String {
    match value {
        Percentile::Secs(secs) => format!("{secs:.2}"),
        Percentile::Over { over } => format!("> {over:.0} s"),
        Percentile::TooFew => "n < 20".into(),
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
