//! What makes two runs different before anything is measured: programs, plan, machine, harness.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CompareError;
use super::side::Side;
use plan::{Component, HamiKind};
use results::run_folder::{Program, RunInfo};

/// What two runs may differ in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// Which HAMi ran.
    Hami,
    /// Kueue.
    Kueue,
    /// etcd, kube-apiserver, kube-controller-manager, kube-scheduler.
    Kubernetes,
    /// kwok, kwokctl.
    Kwok,
    /// Settings: cluster, quotas, limits, work, seed, compression, sources of evidence.
    Plan,
    /// CPU, cores, memory, kernel, distribution.
    Machine,
    /// headroom itself, the built-in extender included.
    Headroom,
}

impl Topic {
    /// Its name on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hami => "hami",
            Self::Kueue => "kueue",
            Self::Kubernetes => "kubernetes",
            Self::Kwok => "kwok",
            Self::Plan => "plan",
            Self::Machine => "machine",
            Self::Headroom => "headroom",
        }
    }
}

/// Something in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What it belongs to.
    pub topic: Topic,
    /// What it is, e.g. `HAMi` or `hami.limit.qps`.
    pub what: String,
    /// On the baseline's side.
    pub base: String,
    /// On the new side.
    pub new: String,
}

/// What a run was made of, flat: value by topic and name.
pub type Facts = BTreeMap<(Topic, String), String>;

/// Stands where a run lacks something that the other has.
const ABSENT: &str = "none";

/// The built-in extender's checksum, which only two built-in extenders have in common.
const EXTENDER: &str = "built-in extender";

/// Share by which two machines' memory may differ: what a kernel keeps for itself varies from boot to boot.
const MEMORY_TOLERANCE: f64 = 0.02;

/// The facts of a run.
#[must_use]
pub fn facts(info: &RunInfo) -> Facts {
    let mut all = Facts::new();
    let mut put = |topic, name: &str, value: String| all.insert((topic, name.to_owned()), value);
    if info.hami.source == HamiKind::Builtin {
        put(Topic::Hami, "HAMi", "built-in extender".into());
        put(Topic::Headroom, EXTENDER, checksum(&info.hami.sha256));
    } else {
        put(Topic::Hami, "HAMi", info.hami.label());
    }
    put(Topic::Headroom, "headroom", info.headroom.clone());
    for (name, program) in &info.components {
        let component = Component::of_program(name);
        let topic = match component.and_then(Component::module) {
            _ if component == Some(Component::Hami) => continue,
            Some("kueue") => Topic::Kueue,
            Some("kwok") => Topic::Kwok,
            _ => Topic::Kubernetes,
        };
        let Program { version, sha256 } = program;
        put(topic, name, format!("{version} ({})", checksum(sha256)));
    }
    for key in ["cpu", "cores", "memory_mib", "kernel", "os"] {
        if let Some(value) = info.machine.get(key) {
            put(Topic::Machine, key, plain(value));
        }
    }
    // What is there need not be named: an older headroom named less of it.
    for source in info.evidence.lacking() {
        put(
            Topic::Plan,
            &format!("evidence of {source}"),
            "absent".into(),
        );
    }
    for (name, limit) in &info.client_limits {
        let limit = limit.map_or_else(|| ABSENT.into(), |l| format!("{}/{}", l.qps, l.burst));
        put(Topic::Plan, &format!("client limit of {name}"), limit);
    }
    // A plan is made of numbers, words and maps with words as keys, all of which JSON has.
    let mut plan = serde_json::to_value(&info.plan).unwrap_or_default();
    // Not what a run does: its arm stands apart, its number of repeats, what was published.
    for key in ["experiment", "arm", "repeats", "soak_secs"] {
        plan.as_object_mut().map(|p| p.remove(key));
    }
    let teams = plan.get_mut("tenants").and_then(Value::as_array_mut);
    for team in teams.into_iter().flatten() {
        team.as_object_mut().map(|t| t.remove("published"));
    }
    let mut settings = Vec::new();
    flat("", &plan, &mut settings);
    for (name, value) in settings {
        put(Topic::Plan, &name, value);
    }
    all
}

fn checksum(sha256: &str) -> String {
    format!("sha256 {}", sha256.get(..12).unwrap_or(sha256))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => ABSENT.to_owned(),
        other => other.to_string(),
    }
}

/// A JSON value as names and values. Members of a list go by their own name where they have one, else by number.
fn flat(name: &str, value: &Value, all: &mut Vec<(String, String)>) {
    let inner = |key: &str| {
        if name.is_empty() {
            key.to_owned()
        } else {
            format!("{name}.{key}")
        }
    };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flat(&inner(key), value, all);
            }
        }
        Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                let own = value.get("name").and_then(Value::as_str);
                flat(&inner(own.unwrap_or(&i.to_string())), value, all);
            }
        }
        other => all.push((name.to_owned(), plain(other))),
    }
}

/// What differs between two runs.
#[must_use]
pub fn differences(base: &Facts, new: &Facts) -> Vec<Difference> {
    let mut keys: Vec<&(Topic, String)> = base.keys().chain(new.keys()).collect();
    keys.sort();
    keys.dedup();
    let different = keys.into_iter().filter_map(|key| {
        let (topic, name) = key;
        let (a, b) = (base.get(key), new.get(key));
        let same = match (a, b) {
            (Some(a), Some(b)) if name == "memory_mib" => near(a, b),
            (None, _) | (_, None) if name == EXTENDER => true,
            _ => a == b,
        };
        let text = |side: Option<&String>| side.map_or_else(|| ABSENT.to_owned(), Clone::clone);
        (!same).then(|| Difference {
            topic: *topic,
            what: name.clone(),
            base: text(a),
            new: text(b),
        })
    });
    different.collect()
}

fn near(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= MEMORY_TOLERANCE * a.abs().max(b.abs()),
        _ => a == b,
    }
}

/// What differs between the sides in any of `arms`, each named once.
#[must_use]
pub fn between(base: &Side, new: &Side, arms: &[&str]) -> Vec<Difference> {
    let mut all: Vec<Difference> = Vec::new();
    for arm in arms {
        let (Some(base), Some(new)) = (base.first_of(arm), new.first_of(arm)) else {
            continue;
        };
        for difference in differences(&base.facts, &new.facts) {
            if !all.contains(&difference) {
                all.push(difference);
            }
        }
    }
    all.sort_by(|a, b| (a.topic, &a.what).cmp(&(b.topic, &b.what)));
    all
}

/// Checks that every difference is declared.
///
/// # Errors
/// Names those that are not, and the options that declare them.
pub fn declared(all: &[Difference], across: &[Topic]) -> Result<(), CompareError> {
    let undeclared: Vec<Difference> = all
        .iter()
        .filter(|d| !across.contains(&d.topic))
        .cloned()
        .collect();
    if undeclared.is_empty() {
        return Ok(());
    }
    let mut topics: Vec<Topic> = undeclared.iter().map(|d| d.topic).collect();
    topics.dedup();
    let options: Vec<String> = topics
        .iter()
        .map(|t| format!("--across {}", t.name()))
        .collect();
    Err(CompareError::Undeclared {
        what: in_words(&undeclared),
        options: options.join(" "),
    })
}

/// The most differences of one topic that a sentence names.
const NAMED: usize = 3;

/// Differences in one line: `HAMi is a on one side, b on the other; …`.
#[must_use]
pub fn in_words(all: &[Difference]) -> String {
    let mut topics: Vec<Topic> = all.iter().map(|d| d.topic).collect();
    topics.sort_unstable();
    topics.dedup();
    let mut parts = Vec::new();
    for topic in topics {
        let own: Vec<&Difference> = all.iter().filter(|d| d.topic == topic).collect();
        let named = own.iter().take(NAMED);
        parts.extend(
            named.map(|d| format!("{} is {} in one, {} in the other", d.what, d.base, d.new)),
        );
        if own.len() > NAMED {
            parts.push(format!(
                "{} more differences in the {}",
                own.len() - NAMED,
                topic.name()
            ));
        }
    }
    parts.join("; ")
}
