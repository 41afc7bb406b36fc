//! `order.json`: what a session is to do, by which it can be continued after it was interrupted.
//!
//! In: what was recorded, and what a command asks for now. Out: the differences, in words.

use std::collections::BTreeMap;
use std::path::Path;

use plan::expect::Expect;
use plan::{HamiSource, Order, Plan};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Program, ReadError, files, reader, summary, upgrade};

/// What a session is to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ordered<'a> {
    /// [`super::summary::SCHEMA`].
    pub schema: u32,
    /// Version of headroom.
    pub headroom: &'a str,
    /// Name of the experiment.
    pub experiment: &'a str,
    /// One plan an arm.
    pub plans: &'a [Plan],
    /// What it is judged by.
    pub expect: &'a Expect,
    /// Which HAMi runs; `None`: not known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hami: Option<&'a HamiSource>,
    /// The programs that run, by component; `None`: not known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<BTreeMap<String, Program>>,
}

impl<'a> Ordered<'a> {
    /// What is known of an order before its programs are.
    #[must_use]
    pub fn new(order: &'a Order) -> Self {
        Self {
            schema: summary::SCHEMA,
            headroom: env!("CARGO_PKG_VERSION"),
            experiment: &order.experiment,
            plans: &order.plans,
            expect: &order.expect,
            hami: None,
            components: None,
        }
    }

    /// In what this differs from what a session recorded, a few words each; empty: in nothing. Of what is not known here
    /// nothing is said.
    #[must_use]
    pub fn differences(&self, recorded: &Value) -> Vec<String> {
        // Through text, as the recorded one came: a number read back may differ in its last bit from the one written.
        // It can't fail, since it was written before; were it to, everything would differ.
        let text = serde_json::to_string(self).unwrap_or_default();
        let now: Value = serde_json::from_str(&text).unwrap_or_default();
        let mut found = Vec::new();
        for part in ["headroom", "experiment", "hami", "components", "expect"] {
            if !now[part].is_null() {
                compare(part, &recorded[part], &now[part], &mut found);
            }
        }
        let (before, after) = (arms(&recorded["plans"]), arms(&now["plans"]));
        let names = |arms: &Map<String, Value>| arms.keys().cloned().collect::<Vec<_>>();
        if names(&before) == names(&after) {
            for (arm, plan) in &after {
                compare(&format!("arm {arm}"), &before[arm], plan, &mut found);
            }
        } else {
            let [before, after] = [before, after].map(|arms| names(&arms).join(", "));
            found.push(format!("arms were {before} and are {after}"));
        }
        found
    }
}

/// Reads what a session recorded.
///
/// # Errors
/// If it recorded nothing, or something that can't be read.
pub fn read(dir: &Path) -> Result<Value, ReadError> {
    let mut order = reader::versioned(dir, "session that can be continued", files::ORDER, |_| {})?;
    upgrade::order(&mut order);
    Ok(order)
}

/// Plans by their arm.
fn arms(plans: &Value) -> Map<String, Value> {
    let plans = plans.as_array().into_iter().flatten();
    let name = |plan: &Value| plan["arm"].as_str().unwrap_or_default().to_owned();
    plans.map(|plan| (name(plan), plan.clone())).collect()
}

/// Adds the places at which two values differ.
fn compare(at: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
    let below = |key: &str| format!("{at}, {key}");
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let absent = |map: &Map<String, Value>, key| map.get(key).cloned().unwrap_or_default();
            let keys = before
                .keys()
                .chain(now.keys().filter(|k| !before.contains_key(*k)));
            for key in keys {
                compare(&below(key), &absent(before, key), &absent(now, key), found);
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (i, (before, now)) in before.iter().zip(now).enumerate() {
                let name = before["name"].as_str().map(ToOwned::to_owned);
                let name = name.unwrap_or_else(|| (i + 1).to_string());
                compare(&below(&name), before, now, found);
            }
        }
        (before, now) if before == now => {}
        (before, now) => found.push(format!("{at}: {} → {}", shown(before), shown(now))),
    }
}

/// The most characters of a value that are shown.
const SHOWN: usize = 40;

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Overrides;
    use serde_json::json;

    fn order(overrides: &Overrides) -> Order {
        let experiment = plan::load("quota-unit").unwrap();
        let plans = plan::plans(&experiment, overrides).unwrap();
        Order {
            expect: experiment.expected(&plans, overrides),
            plans,
            experiment: experiment.name,
            host: plan::Host::default(),
            command: Vec::new(),
            resume: true,
        }
    }

    fn recorded(ordered: &Ordered<'_>) -> Value {
        serde_json::from_str(&serde_json::to_string(ordered).unwrap()).unwrap()
    }

    #[test]
    fn the_same_order_does_not_differ_and_another_says_in_what() {
        let first = order(&Overrides::default());
        let before = recorded(&Ordered::new(&first));
        assert_eq!(Ordered::new(&first).differences(&before), [""; 0]);
        let nodes = order(&Overrides {
            nodes: Some(5),
            ..Overrides::default()
        });
        let found = Ordered::new(&nodes).differences(&before);
        let words = "arm cards, cluster, groups, all, nodes: 50 → 5";
        assert!(found.iter().any(|d| d == words), "{found:?}");
        let seed = order(&Overrides {
            seed: Some(7),
            arms: vec!["cards".into()],
            ..Overrides::default()
        });
        let found = Ordered::new(&seed).differences(&before);
        let arms = "arms were ";
        assert!(found.iter().any(|d| d.starts_with(arms)), "{found:?}");
    }

    #[test]
    fn programs_differ_once_they_are_known() {
        let order = order(&Overrides::default());
        let hami = |version: &str| HamiSource {
            source: plan::HamiKind::Builtin,
            version: version.into(),
            sha256: "ab".into(),
        };
        let components = |version: &str| {
            let (version, sha256) = (version.into(), "cd".into());
            BTreeMap::from([("etcd".to_owned(), Program { version, sha256 })])
        };
        let (hami_1, hami_2) = (hami("1"), hami("2"));
        let (etcd_1, etcd_2) = (components("3.5"), components("3.6"));
        let before = recorded(&Ordered {
            headroom: "0.0.9",
            hami: Some(&hami_1),
            components: Some(etcd_1),
            ..Ordered::new(&order)
        });
        let version = concat!("headroom: 0.0.9 → ", env!("CARGO_PKG_VERSION"));
        assert_eq!(Ordered::new(&order).differences(&before), [version]);
        let now = Ordered {
            hami: Some(&hami_2),
            components: Some(etcd_2),
            ..Ordered::new(&order)
        };
        let etcd = "components, etcd, version: 3.5 → 3.6";
        let expected = [version, "hami, version: 1 → 2", etcd];
        assert_eq!(now.differences(&before), expected);
    }

    #[test]
    fn a_long_value_is_cut() {
        let mut found = Vec::new();
        compare("x", &json!("é".repeat(50)), &json!(null), &mut found);
        assert_eq!(found, [format!("x: {}… → nothing", "é".repeat(40))]);
    }
}
