//! A YAML document as a tree in which every value knows where it was written. Arms and options are merged into it, and an
//! error in the result can still name the line.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{
    DuplicateKeyPolicy, MergeKeyPolicy, MessageFormatter, NonFiniteFloatPolicy, Spanned,
    UserMessageFormatter,
};

use super::error::{Place, PlanError};

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub value: Value,
    pub place: Place,
}

/// What YAML can say.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

/// Parses one YAML document. `source` is its name in errors.
pub(super) fn parse(source: &str, text: &str) -> Result<Node, PlanError> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
        // An experiment file has some hundreds of values. These limits stop a bomb of aliases, not a long timeline.
        budget: serde_saphyr::budget! {
            max_nodes: 50_000,
            max_aliases: 1_000,
            max_depth: 24,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 50_000,
            max_replay_stack_depth: 8,
        },
    };
    let mut node: Node = serde_saphyr::from_str_with_options(text, options).map_err(|err| {
        let mut at = Place::whole(source);
        if let Some(location) = err.location() {
            (at.line, at.column) = (location.line(), location.column());
        }
        let problem = UserMessageFormatter
            .format_message(err.without_snippet())
            .lines()
            .collect::<Vec<_>>()
            .join(" ");
        PlanError::Syntax { at, problem }
    })?;
    node.stamp(&source.into());
    Ok(node)
}

impl Node {
    /// A value that an option sets.
    pub(super) fn option(source: &str, value: Value) -> Self {
        Self {
            value,
            place: Place::whole(source),
        }
    }

    /// This value inside one mapping for each key of `path`, outermost first.
    pub(super) fn nest(self, path: &[&str]) -> Self {
        path.iter().rev().fold(self, |node, key| {
            let place = node.place.clone();
            Self {
                place: place.clone(),
                value: Value::Map(vec![Entry {
                    key: (*key).to_owned(),
                    place,
                    node,
                }]),
            }
        })
    }

    /// The value of a mapping's key. Also `None` if this is no mapping.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.child(key).map(|(_, node)| node)
    }

    /// The value of a mapping's key or at a list's index, and where that key or item was written.
    pub(super) fn child(&self, key: &str) -> Option<(&Place, &Self)> {
        match &self.value {
            Value::Map(entries) => {
                let entry = entries.iter().find(|e| e.key == key)?;
                Some((&entry.place, &entry.node))
            }
            Value::List(items) => {
                let item = items.get(key.parse::<usize>().ok()?)?;
                Some((&item.place, item))
            }
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.entries_mut()
            .find(|e| e.key == key)
            .map(|e| &mut e.node)
    }

    /// A mapping's entries; none if this is no mapping.
    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        let entries = match &mut self.value {
            Value::Map(entries) => entries.as_mut_slice(),
            _ => &mut [],
        };
        entries.iter_mut()
    }

    /// Where the deepest existing part of a dotted path was written. For a mapping or a list that is the place of its key.
    pub(super) fn locate(&self, path: &str) -> Place {
        let (mut key_place, mut node) = (&self.place, self);
        for key in path.split('.') {
            let Some(child) = node.child(key) else { break };
            (key_place, node) = child;
        }
        match node.value {
            Value::Map(_) | Value::List(_) => key_place.clone(),
            _ => node.place.clone(),
        }
    }

    /// Changes this document by another, as JSON Merge Patch does (RFC 7396): mappings are merged, null removes a key,
    /// everything else replaces.
    pub(super) fn merge(&mut self, patch: &Self) {
        self.merge_nulls(patch, false);
    }

    /// As [`Node::merge`], but a null with nothing to remove is kept, so that it can be checked.
    pub(super) fn merge_keeping_idle_nulls(&mut self, patch: &Self) {
        self.merge_nulls(patch, true);
    }

    fn merge_nulls(&mut self, patch: &Self, keep_idle: bool) {
        let Value::Map(changes) = &patch.value else {
            *self = patch.clone();
            return;
        };
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(Vec::new());
            self.place = patch.place.clone();
        }
        let Value::Map(entries) = &mut self.value else {
            return;
        };
        for change in changes {
            let index = entries.iter().position(|e| e.key == change.key);
            match (index, &change.node.value) {
                (Some(index), Value::Null) => {
                    entries.remove(index);
                }
                (None, Value::Null) if !keep_idle => {}
                (Some(index), _) => entries[index].node.merge_nulls(&change.node, keep_idle),
                (None, _) => {
                    let mut entry = change.clone();
                    entry.node.value = Value::Null;
                    entry.node.merge_nulls(&change.node, keep_idle);
                    entries.push(entry);
                }
            }
        }
    }

    fn stamp(&mut self, source: &Arc<str>) {
        self.place.source = Arc::clone(source);
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.stamp(source)),
            Value::Map(entries) => {
                for entry in entries {
                    entry.place.source = Arc::clone(source);
                    entry.node.stamp(source);
                }
            }
            _ => {}
        }
    }
}

fn place(location: serde_saphyr::Location) -> Place {
    Place {
        source: "".into(),
        line: location.line(),
        column: location.column(),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self {
            place: place(spanned.referenced),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping, a list, text, a number, true or false")
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_none<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Int(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Int(value.into()))
            }

            fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
                Ok(Value::Int(value))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, node)) = map.next_entry::<Spanned<String>, Node>()? {
                    entries.push(Entry {
                        place: place(key.referenced),
                        key: key.value,
                        node,
                    });
                }
                Ok(Value::Map(entries))
            }
        }

        deserializer.deserialize_any(Any)
    }
}
