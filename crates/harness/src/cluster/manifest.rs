//! YAML files that are part of the program, and how settings get into them.
//!
//! A manifest is parsed, its open fields are set by path, and it is written as JSON, which every YAML reader accepts. No
//! text is pasted into YAML.

use serde_json::{Map, Value};

/// Parses an embedded manifest of one document.
pub(super) fn parse(text: &str) -> Value {
    // The text is compiled in, and a unit test parses each of them.
    serde_saphyr::from_str(text).expect("embedded manifest is valid YAML")
}

/// Parses an embedded manifest of several documents.
pub(super) fn parse_all(text: &str) -> Vec<Value> {
    // As above.
    serde_saphyr::from_multiple(text).expect("embedded manifest is valid YAML")
}

/// Sets the field at a path like `options/etcdPort`, and creates the objects on the way.
pub(super) fn set(document: &mut Value, path: &str, value: impl Into<Value>) {
    let mut at = document;
    for key in path.split('/') {
        at = if let (true, Ok(index)) = (at.is_array(), key.parse::<usize>()) {
            &mut at[index]
        } else {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            &mut at[key]
        };
    }
    *at = value.into();
}

/// Writes documents as a multi-document file.
pub(super) fn render(documents: &[Value]) -> String {
    documents
        .iter()
        .map(|d| format!("{d:#}\n"))
        .collect::<Vec<_>>()
        .join("---\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn set_reaches_into_arrays_and_makes_missing_objects() {
        let mut doc = parse("a: [{b: 1}]");
        set(&mut doc, "a/0/b", 2);
        set(&mut doc, "c/d.e", "x");
        assert_eq!(doc, json!({"a": [{"b": 2}], "c": {"d.e": "x"}}));
    }

    #[test]
    fn a_rendered_file_reads_back_as_the_same_documents() {
        let docs = parse_all(include_str!("../../../../kwok/pod-stages.yaml"));
        assert_eq!(docs.len(), 5);
        assert_eq!(parse_all(&render(&docs)), docs);
    }
}
