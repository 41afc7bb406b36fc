//! JSON Schema of the experiment file, for editors: `schemas/experiment.schema.json`.

use serde_json::{Map, Value, json};

use super::file::Document;

/// Fields of the document that an arm cannot change.
pub(super) const FIXED: [&str; 7] = [
    "name",
    "title",
    "description",
    "host",
    "soak_secs",
    "arms",
    "expect",
];

/// JSON Schema of the experiment file. An arm's `changes` are the same document with every field optional.
#[must_use]
pub fn experiment_schema() -> Value {
    let mut schema = schemars::schema_for!(Document).to_value();
    let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
    let mut partial = Map::new();
    let mut changes = schema.clone();
    for key in ["$schema", "$defs", "title"] {
        changes.as_object_mut().map(|object| object.remove(key));
    }
    if let Some(properties) = changes["properties"].as_object_mut() {
        properties.retain(|key, _| !FIXED.contains(&key.as_str()));
    }
    let changes = optional(&changes, &definitions, &mut partial);
    if let Some(defs) = schema["$defs"].as_object_mut() {
        defs.extend(partial);
        defs.insert("Changes".to_owned(), changes);
    }
    schema["$defs"]["ArmDoc"]["properties"]["changes"]["$ref"] = json!("#/$defs/Changes");
    if let Some(own) = schema["$defs"]["ArmDoc"]["properties"]["changes"].as_object_mut() {
        own.retain(|key, _| key == "$ref" || key == "description");
    }
    schema
}

/// A schema that requires nothing and allows null for every field. Lists are replaced as a whole, so their items do not
/// change.
/// Definitions that it needs in this form are added to `partial`.
fn optional(schema: &Value, all: &Map<String, Value>, partial: &mut Map<String, Value>) -> Value {
    let Value::Object(object) = schema else {
        return match schema {
            Value::Array(items) => items.iter().map(|i| optional(i, all, partial)).collect(),
            other => other.clone(),
        };
    };
    let mut result = Map::new();
    for (key, value) in object {
        let value = match (key.as_str(), value) {
            ("required" | "default", _) => continue,
            ("items" | "description" | "enum" | "const", _) => value.clone(),
            ("$ref", Value::String(target)) => {
                let name = target.rsplit('/').next().unwrap_or_default();
                let new = format!("{name}Changes");
                if !partial.contains_key(&new)
                    && let Some(definition) = all.get(name)
                {
                    // Entered first, so that a definition that names itself ends.
                    partial.insert(new.clone(), Value::Null);
                    let definition = optional(definition, all, partial);
                    partial.insert(new.clone(), definition);
                }
                json!(format!("#/$defs/{new}"))
            }
            ("properties", Value::Object(fields)) => fields
                .iter()
                .map(|(name, field)| {
                    let field =
                        json!({ "anyOf": [optional(field, all, partial), { "type": "null" }] });
                    (name.clone(), field)
                })
                .collect::<Map<_, _>>()
                .into(),
            ("additionalProperties", Value::Object(_)) => {
                json!({ "anyOf": [optional(value, all, partial), { "type": "null" }] })
            }
            _ => optional(value, all, partial),
        };
        result.insert(key.clone(), value);
    }
    Value::Object(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_the_generated_one() {
        let path = concat!(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
            "/schemas/experiment.schema.json"
        );
        let generated = serde_json::to_string_pretty(&experiment_schema()).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == generated,
            "schemas/experiment.schema.json is out of date; run UPDATE_SCHEMA=1 cargo test --lib schema"
        );
    }
}
