//! The committed schema, and a summary made by hand.

use std::path::Path;

use serde_json::Value;

use super::*;
use crate::run_folder::{
    Accuracy, Bill, BindRate, CardSeconds, Disturbance, FreeCards, Harness, Latency, TenantSummary,
    Unplaced,
};

/// Set to any value, it makes the schema's test write the file instead of comparing it.
const UPDATE: &str = "UPDATE_SCHEMA";

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/summary.schema.json");
    let mut text = serde_json::to_string_pretty(&schema()).unwrap();
    text.push('\n');
    if std::env::var_os(UPDATE).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "schemas/summary.schema.json is not that of the types: run {UPDATE}=1 cargo test summary, and raise SCHEMA if \
         a reader of the old one would misread the new one"
    );
}

fn failed() -> FailedRun {
    FailedRun {
        arm: "default".into(),
        repeat: 2,
        folder: "default-2".into(),
        error: "etcd does not answer".into(),
    }
}

fn soak() -> Soak {
    Soak {
        asked_secs: 7200.0,
        took_secs: 7000.0,
        observed_secs: 6500.0,
        restarts: [("kube-scheduler".to_owned(), 2)].into(),
        restarts_per_hour: Some(1.1),
        hours: vec![super::super::SoakHour {
            observed_secs: 3500.0,
            restarts: 2,
        }],
    }
}

fn harness() -> Harness {
    Harness {
        cpu_secs: 5.0,
        peak_rss_mib: 40.0,
        late_submits: 0,
        max_submit_lateness_ms: 3.5,
        late_ticks: 0,
    }
}

/// A summary with every kind of value in it.
pub(crate) fn full() -> Summary {
    let free = FreeCards {
        at_secs: 2.5,
        machines: [(7, 2), (8, 1)].into(),
        idle_cards: 22,
        unusable_share: Some(14.0 / 22.0),
    };
    let latency = Latency {
        count: 120,
        censored: 7,
        p50: Percentile::Secs(1.25),
        p95: Percentile::Over { over: 90.0 },
        p99: Percentile::TooFew,
        max: Percentile::Over { over: 90.0 },
        values: vec![Percentile::Secs(1.0), Percentile::Over { over: 90.0 }],
    };
    Summary {
        schema: SCHEMA,
        headroom: "0.1.0".into(),
        experiment: "regimes".into(),
        started: "2026-01-01T00:00:00Z".into(),
        command: vec!["bench".into(), "regimes".into()],
        hami: HamiSource {
            source: HamiKind::Builtin,
            version: "0.1.0".into(),
            sha256: "00".into(),
        },
        compress: 120.0,
        quick: false,
        complete: false,
        failed: vec![failed()],
        soak: Some(soak()),
        arms: vec![],
        meaning: String::new(),
        runs: vec![RunSummary {
            bind_rate: BindRate {
                measured_per_sec: Some(0.5),
                ceiling_per_sec: [("hami".to_owned(), 0.55)].into(),
            },
            unplaced: vec![Unplaced {
                tenant: "large".into(),
                name: "burst-0-000".into(),
                first_try: free.clone(),
                at_end: free,
            }],
            landings: vec![],
            stops: vec![],
            restart_causes: BTreeMap::new(),
            storage: None,
            stalls: vec![],
            bound_in_stalls: None,
            idle_card_seconds: Some(120.5),
            arm: "default".into(),
            repeat: 1,
            folder: "default-1".into(),
            bring_up_secs: 12.5,
            wall_secs: 470.0,
            observed_secs: 450.25,
            disturbed: vec![Disturbance {
                kind: "late-submit".into(),
                detail: "2 late".into(),
                remedy: "idle machine".into(),
            }],
            tenants: vec![TenantSummary {
                name: "shared".into(),
                makespan_secs: None,
                ideal_secs: Some(440.0),
                experiments: 8,
                failed: 1,
                unfinished: 1,
                evictions: 0,
                bill: Bill::default(),
                card_seconds: CardSeconds {
                    reserved: None,
                    admitted: 1.5,
                    ..CardSeconds::default()
                },
                latency: BTreeMap::from([(
                    "whole-card".into(),
                    BTreeMap::from([("bound".into(), latency)]),
                )]),
            }],
            restarts: BTreeMap::from([("kube-scheduler".into(), 2)]),
            calls_per_pod: BTreeMap::from([(
                "hami".into(),
                BTreeMap::from([("get nodes".into(), 3.0)]),
            )]),
            accuracy: Accuracy {
                watch_lag_ms: None,
                relists: 0,
                interruptions: 0,
                missing_stamps: 0,
                unmatched_bindings: 0,
            },
            harness: harness(),
        }],
    }
}

#[test]
fn a_summary_reads_back_and_a_percentile_has_the_shapes_that_the_schema_says() {
    let summary = full();
    let json = serde_json::to_value(&summary).unwrap();
    let bound = &json["runs"][0]["tenants"][0]["latency"]["whole-card"]["bound"];
    assert_eq!(bound["p50"], 1.25);
    assert_eq!(bound["p95"], serde_json::json!({"over": 90.0}));
    assert_eq!(bound["p99"], serde_json::Value::Null);
    let shapes = schema().pointer("/$defs/Percentile/anyOf").unwrap().clone();
    let types: Vec<_> = shapes
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["type"])
        .collect();
    assert_eq!(types, ["number", "object", "null"]);
    assert_eq!(serde_json::from_value::<Summary>(json).unwrap(), summary);
}

#[test]
fn every_field_written_stands_in_the_schema_and_every_field_required_is_written() {
    let schema = serde_json::to_value(schema()).unwrap();
    check(&schema, &schema, &serde_json::to_value(full()).unwrap(), "");
}

/// Walks value and schema together, as far as objects and arrays go.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return check(root, root.pointer(&name[1..]).unwrap(), value, at);
    }
    // What may be null is `anyOf` a type and null.
    let types = schema["anyOf"].as_array().into_iter().flatten();
    if let Some(named) = types
        .filter(|_| value.is_object())
        .find(|s| s["$ref"].is_string())
    {
        return check(root, named, value, at);
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let at = format!("{at}/{name}");
                let known = schema["properties"].get(name);
                let known = known.or(schema.get("additionalProperties"));
                let any = schema.get("anyOf").map(|_| &Value::Null);
                check(
                    root,
                    known
                        .or(any)
                        .unwrap_or_else(|| panic!("{at} is not in the schema")),
                    value,
                    &at,
                );
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(
                    fields.contains_key(name.as_str().unwrap()),
                    "{at} lacks {name}"
                );
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| check(root, &schema["items"], item, at)),
        _ => {}
    }
}
