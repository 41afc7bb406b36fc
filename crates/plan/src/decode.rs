//! Decodes a [`Node`] into a type by serde. An error names the field, and the place where it was written.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor,
};
use serde_path_to_error::Segment;

use super::error::{PlanError, number, shorten, suggestion};
use super::tree::{Entry, Node, Value};

/// Decodes a document.
pub(super) fn decode<T: DeserializeOwned>(node: &Node) -> Result<T, PlanError> {
    serde_path_to_error::deserialize(node).map_err(|err| {
        let (mut at, mut key_place, mut path) = (node, &node.place, Vec::new());
        for segment in err.path() {
            let key = match segment {
                Segment::Seq { index } => index.to_string(),
                Segment::Map { key } | Segment::Enum { variant: key } => key.clone(),
                Segment::Unknown => break,
            };
            let Some((place, next)) = at.child(&key) else {
                break;
            };
            (at, key_place) = (next, place);
            path.push(shorten(&key));
        }
        let DecodeError { problem, wrong } = err.into_inner();
        let place = match (wrong, &at.value) {
            (Wrong::Key, _) => key_place,
            (Wrong::Name, Value::Map(entries)) if !entries.is_empty() => &entries[0].place,
            _ => &at.place,
        };
        PlanError::Field {
            at: place.clone(),
            field: if path.is_empty() {
                "the document".to_owned()
            } else {
                path.join(".")
            },
            problem,
        }
    })
}

/// What serde found wrong.
#[derive(Debug)]
pub(super) struct DecodeError {
    problem: String,
    wrong: Wrong,
}

/// Which part of a field is wrong.
#[derive(Debug)]
enum Wrong {
    Value,
    Key,
    /// A value's name, which may be written as the key of its only entry.
    Name,
}

impl DecodeError {
    fn new(problem: String) -> Self {
        Self {
            problem,
            wrong: Wrong::Value,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(msg: T) -> Self {
        Self::new(msg.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!(
            "{} is not allowed; expected {}",
            in_words(found),
            plainly(expected)
        ))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self {
            wrong: Wrong::Key,
            ..Self::new(format!("unknown field{}", suggestion(field, expected)))
        }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let (name, suggestion) = (shorten(variant), suggestion(variant, expected));
        Self {
            wrong: Wrong::Name,
            ..Self::new(format!("{name:?} is not known{suggestion}"))
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the field {field:?} is missing"))
    }
}

fn in_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(v) => v.to_string(),
        Unexpected::Signed(v) => v.to_string(),
        Unexpected::Unsigned(v) => v.to_string(),
        Unexpected::Float(v) => number(v),
        Unexpected::Str(v) => format!("the text {:?}", shorten(v)),
        Unexpected::Unit | Unexpected::Option => "an empty value".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a mapping".to_owned(),
        Unexpected::UnitVariant => "a name alone".to_owned(),
        other => other.to_string(),
    }
}

/// serde's and Rust's names of types, in words.
fn plainly(expected: &dyn Expected) -> String {
    let expected = expected.to_string();
    match expected.as_str() {
        "u32" | "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "i32" | "i64" => "a whole number".to_owned(),
        "f64" => "a number".to_owned(),
        "a string" => "text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "newtype variant" => "name: value".to_owned(),
        "unit" => "nothing here".to_owned(),
        text if text.starts_with("struct ") || text == "a map" => "a mapping".to_owned(),
        text if text.starts_with("enum ") || text.starts_with("variant ") => {
            "one of its names".to_owned()
        }
        text => text.to_owned(),
    }
}

/// The entries of a mapping, for serde.
fn access(
    entries: &[Entry],
) -> MapDeserializer<'_, impl Iterator<Item = (&str, &Node)>, DecodeError> {
    MapDeserializer::new(entries.iter().map(|e| (e.key.as_str(), &e.node)))
}

impl<'de> IntoDeserializer<'de, DecodeError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(v) => visitor.visit_bool(*v),
            Value::Int(v) => match (u64::try_from(*v), i64::try_from(*v)) {
                (Ok(v), _) => visitor.visit_u64(v),
                (_, Ok(v)) => visitor.visit_i64(v),
                _ => Err(DecodeError::new(format!("{v} is out of range"))),
            },
            Value::Float(v) if !v.is_finite() => Err(DecodeError::new(format!(
                "{v} is not allowed; must be a finite number"
            ))),
            Value::Float(v) => visitor.visit_f64(*v),
            Value::Text(v) => visitor.visit_borrowed_str(v),
            Value::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Value::Map(entries) => visitor.visit_map(access(entries)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    // Without this, serde would take a list for a struct's fields in order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.value {
            Value::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.value {
            Value::Text(name) => visitor.visit_enum(
                IntoDeserializer::<DecodeError>::into_deserializer(name.as_str()),
            ),
            Value::Map(entries) if entries.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(access(entries)))
            }
            _ => Err(DecodeError::new(format!(
                "{} is not a {}; expected exactly one of: {}",
                in_words(self.unexpected()),
                name.to_lowercase(),
                variants.join(", ")
            ))),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl Node {
    fn unexpected(&self) -> Unexpected<'_> {
        match &self.value {
            Value::Null => Unexpected::Unit,
            Value::Bool(v) => Unexpected::Bool(*v),
            Value::Int(v) => {
                i64::try_from(*v).map_or(Unexpected::Other("number"), Unexpected::Signed)
            }
            Value::Float(v) => Unexpected::Float(*v),
            Value::Text(v) => Unexpected::Str(v),
            Value::List(_) => Unexpected::Seq,
            Value::Map(_) => Unexpected::Map,
        }
    }
}
