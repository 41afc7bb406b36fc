//! What host and harness measured of themselves, run by run: the raw values beside the warnings that came of them.

use crate::charts::{Material, RunMaterial};
use crate::text::percentile;
use results::disturbance::{LATE_SUBMIT_SECS, LATE_TICKS, WATCH_LAG_P99_MS};

/// Names of the columns.
pub const COLUMNS: [&str; 8] = [
    "run",
    "load before, 1 min",
    "disk write before, p50 / p99",
    "etcd's log write, p99",
    "watch lag, p99 / longest",
    "late submits (worst)",
    "late ticks",
    "watches lost / resumed",
];

/// From where on each of them disturbs a run.
pub fn limits() -> [String; 8] {
    [
        "disturbed".into(),
        "–".into(),
        "–".into(),
        "–".into(),
        format!("> {WATCH_LAG_P99_MS:.0} ms"),
        format!("> 0 by over {:.0} ms", LATE_SUBMIT_SECS * 1000.0),
        format!("> {LATE_TICKS}"),
        "> 0 lost".into(),
    ]
}

/// A row for each run.
pub fn rows(material: &Material) -> Vec<[String; 8]> {
    material.runs.iter().map(row).collect()
}

fn row(run: &RunMaterial) -> [String; 8] {
    let machine = &run.run.info.machine;
    let number = |path: &str| machine.pointer(path).and_then(serde_json::Value::as_f64);
    let none = || "–".to_owned();
    let ms = |value: Option<f64>| value.map_or_else(none, |v| format!("{v:.1} ms"));
    let summary = &run.summary;
    let storage = summary.storage.and_then(|s| percentile(s.fsync_p99));
    let (accuracy, harness) = (&summary.accuracy, &summary.harness);
    [
        format!("{}, repeat {}", summary.arm, summary.repeat),
        number("/load/0").map_or_else(none, |v| format!("{v:.2}")),
        match (number("/disk/p50_ms"), number("/disk/p99_ms")) {
            (None, None) => none(),
            (p50, p99) => format!("{} / {}", ms(p50), ms(p99)),
        },
        storage.map_or_else(none, |v| format!("≤ {v}")),
        accuracy
            .watch_lag_ms
            .map_or_else(none, |lag| format!("{:.0} / {:.0} ms", lag.p99, lag.max)),
        format!(
            "{} ({:.0} ms)",
            harness.late_submits, harness.max_submit_lateness_ms
        ),
        harness.late_ticks.to_string(),
        format!("{} / {}", accuracy.relists, accuracy.interruptions),
    ]
}
