//! The committed schema, and a summary made by hand.

use std::path::Path;

use serde_json::Value;

use super::*;
use crate::fixtures::full;

/// Set to any value, it makes the schema's test write the file instead of comparing it.
const UPDATE: &str = "UPDATE_SCHEMA";

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("schemas/summary.schema.json");
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

#[test]
fn a_summary_reads_back_and_a_percentile_has_the_shapes_that_the_schema_says() {
    let summary = full();
    let json = serde_json::to_value(&summary).unwrap();
    let bound = &json["runs"][0]["tenants"][0]["latency"]["whole-card"]["bind_latency"];
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
