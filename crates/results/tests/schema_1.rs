//! A session in the words of schema 1, cut from a real one, reads as what schema 2 says.

#![allow(clippy::float_cmp)] // read from the same text

use std::fs;
use std::path::{Path, PathBuf};

use headroom_results::run_folder::summary::SCHEMA;
use headroom_results::run_folder::{Percentile, Placed, ReadError, Session, upgrade};
use plan::metric::Phase;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema-1")
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn an_old_summary_is_read_in_today_s_words() {
    let old = json(&folder().join("summary.json"));
    let summary = Session::load(&folder()).unwrap().summary;
    assert_eq!(summary.schema, SCHEMA);
    let run = &summary.runs[0];
    let (old_run, old_arm) = (&old["runs"][0], &old["arms"][0]);

    assert_eq!(run.evictions.len(), 2);
    assert_eq!(run.evictions[0].at_secs, old_run["stops"][0]["at_secs"]);
    assert_eq!(run.placements.len(), 2);
    assert_eq!(run.placements[0].placed, Placed::Right);
    assert_eq!(old_run["landings"][0]["landed"], "right");

    let team = &run.tenants[0];
    let old_team = &old_run["tenants"][0];
    assert_eq!(team.submitted, old_team["experiments"]);
    let phases = &team.latency["whole-card"];
    let old_phases = &old_team["latency"]["whole-card"];
    let p50 = |phase: Phase| match phases[&phase].p50 {
        Percentile::Secs(secs) => secs,
        other => panic!("{other:?}"),
    };
    assert_eq!(p50(Phase::BindLatency), old_phases["bound"]["p50"]);
    assert_eq!(p50(Phase::SchedulingLatency), old_phases["bind"]["p50"]);
    assert_eq!(p50(Phase::Admit), old_phases["admit"]["p50"]);

    let arm = &summary.arms[0];
    assert_eq!(arm.claims_hold, Some(true));
    let right = arm.placements.as_ref().unwrap().right;
    assert_eq!((right.count, right.of), (5, 5));
    assert_eq!(old_arm["landings"]["right"]["of"], 5);
    let keys: Vec<&str> = arm.metrics.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "idle_cards",
            "research.not_placed_right",
            "research.placed_elsewhere_share",
            "research.placed_right",
            "research.whole-machine.bind_latency_p50_secs",
            "research.whole-machine.bound_count",
            "restarts",
            "vision.evictions",
        ]
    );
    let median = arm.metrics["research.whole-machine.bind_latency_p50_secs"].median;
    let was = &old_arm["figures"]["research.whole-machine.bound_p50_secs"]["median"];
    assert_eq!(serde_json::to_value(median).unwrap(), *was);
    let published: Vec<&String> = arm.published.keys().collect();
    assert_eq!(
        published,
        [
            "research.placed_right_share",
            "research.whole-machine.bind_latency_p50_secs"
        ]
    );
    assert_eq!(
        arm.claims[0].reason,
        "research.placed_right_share is 1.000, expected at least 1"
    );
    // What a user wrote is a user's.
    assert_eq!(arm.claims[0].claim, old_arm["claims"][0]["claim"]);
}

#[test]
fn an_old_summary_that_was_brought_up_to_date_is_the_one_that_is_written_today() {
    let mut value = json(&folder().join("summary.json"));
    upgrade::summary(&mut value);
    let once = value.clone();
    upgrade::summary(&mut value);
    assert_eq!(value, once, "a second time changes nothing");
    let read = Session::load(&folder()).unwrap().summary;
    assert_eq!(serde_json::to_value(&read).unwrap(), value);
}

#[test]
fn the_files_of_an_old_run_are_read_too() {
    let run = Session::load(&folder()).unwrap().run("clearer-1").unwrap();
    let lacking = |note: &&String| !note.ends_with("is missing");
    assert_eq!(
        run.notes.iter().filter(lacking).count(),
        0,
        "{:?}",
        run.notes
    );
    let clearer = run.info.plan.clearer.as_ref().unwrap();
    assert_eq!(clearer.evicts, ["vision", "speech"]);
    let research = &run.info.plan.tenants[1];
    let published: Vec<&String> = research.published.keys().collect();
    assert_eq!(
        published,
        ["placed_right_share", "whole-machine.bind_latency_p50_secs"]
    );
    assert_eq!((run.records.len(), run.usage.len()), (2, 3));
    let events: Vec<&str> = run.decisions.iter().map(|d| d.event.as_str()).collect();
    assert_eq!(events, ["evicted", "placed"]);
}

#[test]
fn a_later_schema_is_refused_in_one_line() {
    let copy = tempfile::tempdir().unwrap();
    let mut value = json(&folder().join("summary.json"));
    value["schema"] = (SCHEMA + 1).into();
    fs::write(copy.path().join("summary.json"), value.to_string()).unwrap();
    let error = Session::load(copy.path()).unwrap_err();
    assert!(matches!(error, ReadError::Future { found: 3, .. }));
    let line = error.to_string();
    assert!(
        line.contains("has schema 3, this headroom reads up to 2; use a newer headroom"),
        "{line}"
    );
}
