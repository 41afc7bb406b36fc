//! The file of declared metrics as it is written, with words of today or of an older headroom.

use std::collections::BTreeMap;
use std::path::Path;

use plan::metric::{Better, MetricKey};
use plan::{Hint, Place};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::metrics::{Declared, DeclaredMetric};

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    alpha: f64,
    #[serde(default)]
    nightly: Vec<String>,
    experiments: BTreeMap<String, Vec<WrittenMetric>>,
}

/// A metric in it. `figure`, `limit` and `limit_percent` are what an older headroom wrote.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMetric {
    metric: Option<Spanned<String>>,
    figure: Option<Spanned<String>>,
    better: Better,
    threshold_percent: Option<Spanned<f64>>,
    limit_percent: Option<Spanned<f64>>,
    threshold: Option<Spanned<f64>>,
    limit: Option<Spanned<f64>>,
    #[serde(default)]
    rare: bool,
    #[serde(default)]
    arms: Vec<String>,
}

/// Reads the file's text. What it means is not checked.
pub(crate) fn read(text: &str, file: &Path) -> Result<Declared, String> {
    let written: Written =
        serde_saphyr::from_str(text).map_err(|e| e.to_string().replace('\n', " "))?;
    let mut words = Words {
        file: file.display().to_string(),
        hints: Vec::new(),
    };
    let mut experiments = BTreeMap::new();
    for (name, metrics) in written.experiments {
        let each = metrics.into_iter().map(|metric| words.metric(metric));
        let metrics: Result<Vec<DeclaredMetric>, String> = each.collect();
        let metrics = metrics.map_err(|problem| format!("{name}: {problem}"))?;
        experiments.insert(name, metrics);
    }
    // Experiments are read in the order of their names.
    words.hints.sort_by_key(|hint| hint.at.line);
    Ok(Declared {
        alpha: written.alpha,
        nightly: written.nightly,
        experiments,
        hints: words.hints,
    })
}

/// The old words found so far.
struct Words {
    file: String,
    hints: Vec<Hint>,
}

impl Words {
    fn metric(&mut self, written: WrittenMetric) -> Result<DeclaredMetric, String> {
        let metric = self.either(("metric", written.metric), ("figure", written.figure))?;
        let metric = metric.ok_or("a metric has no field `metric`")?;
        let key: MetricKey = metric
            .value
            .parse()
            .map_err(|e| format!("line {}: {e}", metric.referenced.line()))?;
        let today = key.to_string();
        if today != metric.value {
            self.hint(&metric, &metric.value, &today);
        }
        let percent = self.either(
            ("threshold_percent", written.threshold_percent),
            ("limit_percent", written.limit_percent),
        )?;
        let threshold = self.either(("threshold", written.threshold), ("limit", written.limit))?;
        Ok(DeclaredMetric {
            metric: key,
            better: written.better,
            threshold_percent: percent.map(|p| p.value),
            threshold: threshold.map(|t| t.value),
            rare: written.rare,
            arms: written.arms,
        })
    }

    /// What stands under today's word or under the old one.
    fn either<T>(
        &mut self,
        (new, today): (&str, Option<Spanned<T>>),
        (old, before): (&str, Option<Spanned<T>>),
    ) -> Result<Option<Spanned<T>>, String> {
        match (today, before) {
            (Some(today), Some(_)) => Err(format!(
                "line {}: `{new}` and `{old}` are the same; leave one out",
                today.referenced.line()
            )),
            (None, Some(before)) => {
                self.hint(&before, old, new);
                Ok(Some(before))
            }
            (today, None) => Ok(today),
        }
    }

    fn hint<T>(&mut self, at: &Spanned<T>, old: &str, new: &str) {
        let at = Place {
            line: at.referenced.line(),
            column: at.referenced.column(),
            ..Place::whole(&self.file)
        };
        self.hints.push(Hint::new(at, old, new));
    }
}
