//! Files of an older schema as this one writes them: one step on the JSON, before anything is read from it.
//!
//! Version 1 said `figures`, `stops`, `experiments`, `landings` and `landed`, kept `bound` and `bind` among the phases, and
//! had metrics by their old ids.

use plan::metric::{MetricKey, Phase};
use serde_json::{Map, Value};

use super::summary::SCHEMA;

/// Brings a `summary.json` of any older schema up to date.
pub fn summary(value: &mut Value) {
    if is_current(value) {
        return;
    }
    for run in list(value, "runs") {
        rename(run, "stops", "evictions");
        rename(run, "landings", "placements");
        for placement in list(run, "placements") {
            rename(placement, "landed", "placed");
        }
        for team in list(run, "tenants") {
            rename(team, "experiments", "submitted");
            for phases in fields(team, "latency") {
                rekey(phases, |phase| {
                    Phase::by_name(phase).map(|p| p.name().to_owned())
                });
            }
        }
    }
    for arm in list(value, "arms") {
        rename(arm, "figures", "metrics");
        rename(arm, "landings", "placements");
        rename(arm, "shape_holds", "claims_hold");
        for of in ["metrics", "published"] {
            if let Some(of) = arm.get_mut(of) {
                rekey(of, today);
            }
        }
        arm.get_mut("reason").into_iter().for_each(reword);
        for claim in list(arm, "claims") {
            claim.get_mut("reason").into_iter().for_each(reword);
        }
    }
    value["schema"] = SCHEMA.into();
}

/// Brings a `run.json` of any older schema up to date.
pub fn run(value: &mut Value) {
    if is_current(value) {
        return;
    }
    if let Some(plan) = value.get_mut("plan") {
        if let Some(clearer) = plan.get_mut("clearer") {
            rename(clearer, "stops", "evicts");
        }
        for team in list(plan, "tenants") {
            let name = team["name"].as_str().unwrap_or_default().to_owned();
            let own = |key: &str| {
                let key = MetricKey::parse_in_team(&name, key).ok()?;
                Some(key.in_team())
            };
            if let Some(of) = team.get_mut("published") {
                rekey(of, own);
            }
        }
    }
    value["schema"] = SCHEMA.into();
}

/// An `order.json`, whose schema number stayed when `shape` became `claims`.
pub(super) fn order(value: &mut Value) {
    if let Some(expect) = value.get_mut("expect") {
        rename(expect, "shape", "claims");
    }
}

fn is_current(value: &Value) -> bool {
    value["schema"].as_u64() >= Some(SCHEMA.into())
}

/// Today's name of a metric's value.
fn today(key: &str) -> Option<String> {
    key.parse::<MetricKey>().ok().map(|key| key.to_string())
}

/// The elements of a field's array.
fn list<'a>(value: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    let of = value.get_mut(field).and_then(Value::as_array_mut);
    of.into_iter().flatten()
}

/// The values of a field's object.
fn fields<'a>(value: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    let of = value.get_mut(field).and_then(Value::as_object_mut);
    of.into_iter().flat_map(Map::values_mut)
}

/// Calls a field otherwise, in its place.
fn rename(value: &mut Value, old: &str, new: &str) {
    rekey(value, |key| (key == old).then(|| new.to_owned()));
}

/// Calls the keys of an object otherwise, each in its place; those without a new name stay as they are.
fn rekey(value: &mut Value, new: impl Fn(&str) -> Option<String>) {
    if let Value::Object(object) = value {
        let old = std::mem::take(object);
        object.extend(old.into_iter().map(|(k, v)| (new(&k).unwrap_or(k), v)));
    }
}

/// Today's names in a sentence that names metrics by their ids.
fn reword(value: &mut Value) {
    if let Value::String(text) = value {
        let words = text.split(' ').map(|word| {
            let bare = word.trim_end_matches([',', ';', ':']);
            let rest = &word[bare.len()..];
            today(bare).map_or_else(|| word.to_owned(), |new| new + rest)
        });
        *text = words.collect::<Vec<_>>().join(" ");
    }
}
