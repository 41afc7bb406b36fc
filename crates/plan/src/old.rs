//! Words of experiment files of an older headroom: each is read as today's, with a hint.

use std::fmt;

use super::error::Place;
use super::metric::Metric;
use super::tree::{Entry, Node, Value};

/// That a file uses a word of an older headroom. It is read all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Where.
    pub at: Place,
    /// What stands there, and what it is called today.
    pub text: String,
}

impl Hint {
    /// A word, and what it is called today.
    #[must_use]
    pub fn new(at: Place, old: &str, new: &str) -> Self {
        Self {
            at,
            text: format!("`{old}` is now `{new}`"),
        }
    }
}

/// File, line, and what the word is now.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at.source)?;
        if self.at.line > 0 {
            write!(f, ":{}", self.at.line)?;
        }
        write!(f, ": {}", self.text)
    }
}

/// Replaces old words in an experiment file by today's.
pub(super) fn modernise(document: &mut Node) -> Vec<Hint> {
    let mut hints = Vec::new();
    rename_in(document.get_mut("clearer"), "stops", "evicts", &mut hints);
    let arms = document.get_mut("arms").into_iter();
    for arm in arms.flat_map(Node::entries_mut) {
        let changes = arm.node.get_mut("changes");
        let clearer = changes.and_then(|changes| changes.get_mut("clearer"));
        rename_in(clearer, "stops", "evicts", &mut hints);
    }
    rename_in(document.get_mut("expect"), "shape", "claims", &mut hints);
    if let Some(expect) = document.get_mut("expect") {
        metrics(expect, &mut hints);
    }
    hints
}

fn rename_in(mapping: Option<&mut Node>, old: &str, new: &str, hints: &mut Vec<Hint>) {
    for entry in mapping.into_iter().flat_map(Node::entries_mut) {
        rename(entry, old, new, hints);
    }
}

/// Every `figure`, and every metric by an old id, wherever `expect` has one.
fn metrics(node: &mut Node, hints: &mut Vec<Hint>) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| metrics(item, hints)),
        Value::Map(entries) => {
            for entry in entries {
                rename(entry, "figure", "metric", hints);
                metrics(&mut entry.node, hints);
                if entry.key != "metric" {
                    continue;
                }
                if let Value::Text(id) = &mut entry.node.value
                    && let Some(metric) = Metric::by_id(id)
                    && metric.id() != id
                {
                    hints.push(Hint::new(entry.node.place.clone(), id, metric.id()));
                    metric.id().clone_into(id);
                }
            }
        }
        _ => {}
    }
}

fn rename(entry: &mut Entry, old: &str, new: &str, hints: &mut Vec<Hint>) {
    if entry.key == old {
        hints.push(Hint::new(entry.place.clone(), old, new));
        new.clone_into(&mut entry.key);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{load, plans};

    /// Every old word, and what it is called today.
    const WORDS: [(&str, &str); 7] = [
        ("stops: [tasks]", "evicts: [tasks]"),
        ("  shape:", "  claims:"),
        ("figure: landed_right", "metric: placed_right"),
        ("figure: bound_p95_secs", "metric: bind_latency_p95_secs"),
        ("figure: not_landed_right", "metric: not_placed_right"),
        (
            "figure: landed_elsewhere_share",
            "metric: placed_elsewhere_share",
        ),
        ("figure: makespan_secs", "metric: makespan_secs"),
    ];

    const TODAY: &str = "\
name: old-words
title: Old words
clearer: { evicts: [tasks] }
tenants:
  tasks:
    workload:
      - burst:
          requests:
            - { count: 2, request: whole-card, run_secs: 3 }
  research:
    workload:
      - burst:
          requests:
            - { count: 1, request: whole-machine, run_secs: 3 }
observe_secs: 30
arms:
  recheck:
    description: one
    changes:
      clearer: { evicts: [tasks], strategy: recheck }
  reserve:
    description: another
expect:
  published:
    - { tenant: research, metric: placed_elsewhere_share, value: 0.28 }
    - { tenant: tasks, class: whole-card, metric: bind_latency_p95_secs, value: 9 }
    - { tenant: tasks, metric: makespan_secs, value: 9 }
  claims:
    - claim: right
      holds:
        within: { of: { tenant: research, metric: not_placed_right }, at_most: 0 }
    - claim: as many
      arms: [reserve]
      holds:
        ratio:
          of: { tenant: research, metric: placed_right }
          to: { tenant: research, metric: placed_right, arm: recheck }
          at_least: 1
";

    #[test]
    fn an_old_file_means_what_today_s_does_and_each_old_word_gives_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let load = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            load(path.to_str().unwrap()).unwrap()
        };
        let mut text = TODAY.to_owned();
        for (old, new) in WORDS {
            assert!(text.contains(new), "{new}");
            text = text.replace(new, old);
        }
        let today = load("x.yaml", TODAY);
        assert_eq!(today.hints, []);
        let old = load("x.yaml", &text);
        assert_eq!(old.expect, today.expect);
        let plans = |experiment| plans(experiment, &crate::Overrides::default()).unwrap();
        assert_eq!(plans(&old), plans(&today));

        let path = folder.path().join("x.yaml").display().to_string();
        let lines: Vec<String> = old
            .hints
            .iter()
            .map(|h| h.to_string().replace(&path, "x.yaml"))
            .collect();
        assert_eq!(
            lines,
            [
                "x.yaml:3: `stops` is now `evicts`",
                "x.yaml:20: `stops` is now `evicts`",
                "x.yaml:28: `shape` is now `claims`",
                "x.yaml:25: `figure` is now `metric`",
                "x.yaml:25: `landed_elsewhere_share` is now `placed_elsewhere_share`",
                "x.yaml:26: `figure` is now `metric`",
                "x.yaml:26: `bound_p95_secs` is now `bind_latency_p95_secs`",
                "x.yaml:27: `figure` is now `metric`",
                "x.yaml:31: `figure` is now `metric`",
                "x.yaml:31: `not_landed_right` is now `not_placed_right`",
                "x.yaml:36: `figure` is now `metric`",
                "x.yaml:36: `landed_right` is now `placed_right`",
                "x.yaml:37: `figure` is now `metric`",
                "x.yaml:37: `landed_right` is now `placed_right`",
            ]
        );
    }

    #[test]
    fn embedded_experiments_use_today_s_words() {
        for experiment in crate::embedded() {
            assert_eq!(experiment.hints, [], "{}", experiment.name);
        }
    }
}
