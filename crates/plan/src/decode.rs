//! Decodes a [`Node`] into a type by serde. An error names the field, and the place where it was written.

use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Unexpected,
    Visitor,
};

use super::error::{Place, PlanError, number, shorten, suggestion};
use super::tree::{Entry, Node, Value};

/// Decodes a document.
pub(super) fn decode<T: DeserializeOwned>(node: &Node) -> Result<T, PlanError> {
    T::deserialize(node).map_err(|err| {
        let mut path = err.path;
        path.reverse();
        PlanError::Field {
            at: err.place.unwrap_or_else(|| node.place.clone()),
            field: if path.is_empty() {
                "the document".to_owned()
            } else {
                path.join(".")
            },
            problem: err.problem,
        }
    })
}

/// What serde found wrong. Path and place are added on the way out.
#[derive(Debug)]
pub(super) struct DecodeError {
    problem: String,
    /// The path's keys, innermost first.
    path: Vec<String>,
    place: Option<Place>,
}

impl DecodeError {
    fn new(problem: String) -> Self {
        Self {
            problem,
            path: Vec::new(),
            place: None,
        }
    }

    fn at(mut self, place: &Place) -> Self {
        self.place.get_or_insert_with(|| place.clone());
        self
    }

    fn under(mut self, key: &str) -> Self {
        self.path.push(shorten(key));
        self
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
        Self::new(format!("unknown field{}", suggestion(field, expected))).under(field)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!(
            "{:?} is not known{}",
            shorten(variant),
            suggestion(variant, expected)
        ))
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
        text if text.starts_with("struct ") || text == "a map" => "a mapping".to_owned(),
        text if text.starts_with("enum ") || text.starts_with("variant ") => {
            "one of its names".to_owned()
        }
        text => text.to_owned(),
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(v) => visitor.visit_bool(*v),
            Value::Int(v) => match (u64::try_from(*v), i64::try_from(*v)) {
                (Ok(v), _) => visitor.visit_u64(v),
                (_, Ok(v)) => visitor.visit_i64(v),
                _ => Err(DecodeError::new(format!("{v} is out of range"))),
            },
            // Here and not in the parser, so that the error names the field.
            Value::Float(v) if !v.is_finite() => Err(DecodeError::new(format!(
                "{v} is not allowed; must be a finite number"
            ))),
            Value::Float(v) => visitor.visit_f64(*v),
            Value::Text(v) => visitor.visit_borrowed_str(v),
            Value::List(items) => visitor.visit_seq(Items {
                items: items.iter().enumerate(),
            }),
            Value::Map(entries) => visitor.visit_map(Entries {
                entries: entries.iter(),
                current: None,
            }),
        };
        result.map_err(|err| err.at(&self.place))
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

    /// A derived type would also accept a list for a struct.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.value {
            Value::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor))
                .map_err(|err: DecodeError| err.at(&self.place)),
            _ => self.deserialize_any(visitor),
        }
    }

    /// A variant is written `name`, or `name: value` if it has one.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let result = match &self.value {
            Value::Text(name) => visitor.visit_enum(
                IntoDeserializer::<DecodeError>::into_deserializer(name.as_str()),
            ),
            Value::Map(entries) if entries.len() == 1 => {
                visitor.visit_enum(Variant { entry: &entries[0] })
            }
            _ => Err(DecodeError::new(format!(
                "{} is not a {}; expected exactly one of: {}",
                in_words(self.unexpected()),
                name.to_lowercase(),
                variants.join(", ")
            ))),
        };
        result.map_err(|err| err.at(&self.place))
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

struct Items<'de> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, node)) = self.items.next() else {
            return Ok(None);
        };
        seed.deserialize(node)
            .map(Some)
            .map_err(|err| err.at(&node.place).under(&index.to_string()))
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.entries.next();
        let Some(entry) = self.current else {
            return Ok(None);
        };
        let key = IntoDeserializer::<DecodeError>::into_deserializer(entry.key.as_str());
        seed.deserialize(key)
            .map(Some)
            .map_err(|err| err.at(&entry.place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DecodeError> {
        let entry = self
            .current
            .ok_or_else(|| DecodeError::new("a value without its key".to_owned()))?;
        seed.deserialize(&entry.node)
            .map_err(|err| err.at(&entry.node.place).under(&entry.key))
    }
}

struct Variant<'de> {
    entry: &'de Entry,
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DecodeError> {
        let key = IntoDeserializer::<DecodeError>::into_deserializer(self.entry.key.as_str());
        let value = seed
            .deserialize(key)
            .map_err(|err: DecodeError| err.at(&self.entry.place))?;
        Ok((value, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        Err(DecodeError::new(format!("{:?} takes no value", self.entry.key)).at(&self.entry.place))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        seed.deserialize(&self.entry.node)
            .map_err(|err| err.at(&self.entry.node.place).under(&self.entry.key))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.entry
            .node
            .deserialize_any(visitor)
            .map_err(|err| err.under(&self.entry.key))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.entry
            .node
            .deserialize_any(visitor)
            .map_err(|err| err.under(&self.entry.key))
    }
}
