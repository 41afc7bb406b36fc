//! The declared metrics: which metrics can fail a comparison, from which size of change on. Declared beforehand, so that
//! nobody chooses them by how they came out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use host::text_file;

/// The metrics that come with headroom.
const OWN: &str = include_str!("../../../manifests/metrics.yaml");

/// Larger files are refused: headroom's own has a few kB.
const MOST_MIB: u64 = 1;

/// Why declared metrics can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct MetricsError {
    file: PathBuf,
    problem: String,
}

impl host::usage::UserError for MetricsError {}

/// Metrics by experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// Share of comparisons without a difference that may be called a regression, over all metrics of one together.
    pub alpha: f64,
    /// What `headroom nightly` runs unless it is told otherwise.
    #[serde(default)]
    pub nightly: Vec<String>,
    /// The metrics of each experiment.
    pub experiments: BTreeMap<String, Vec<DeclaredMetric>>,
}

/// A metric that can fail a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredMetric {
    /// Its name: `<team>.<metric>`, `<team>.<class>.<metric>`, or a metric of the whole run such as `restarts`.
    pub metric: String,
    /// What is better.
    pub better: Better,
    /// Change that is allowed, per cent of the baseline.
    #[serde(default)]
    pub limit_percent: Option<f64>,
    /// Change that is allowed, in the metric's own unit. With both limits, only what exceeds both counts.
    #[serde(default)]
    pub limit: Option<f64>,
    /// Arms that it counts in; empty: all.
    #[serde(default, skip_serializing)]
    pub arms: Vec<String>,
}

/// Which way a metric should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Any change is for the worse: a metric that should come out the same.
    Same,
}

impl Declared {
    /// The metrics that come with headroom.
    ///
    /// # Errors
    /// Never: a test reads them.
    pub fn own() -> Result<Self, MetricsError> {
        Self::parse(OWN, Path::new("manifests/metrics.yaml"))
    }

    /// Reads metrics from a file.
    ///
    /// # Errors
    /// If it can't be read or says something that can't be meant.
    pub fn read(file: &Path) -> Result<Self, MetricsError> {
        let text = text_file::read(file, MOST_MIB).map_err(|problem| MetricsError {
            file: file.to_owned(),
            problem,
        })?;
        Self::parse(&text, file)
    }

    fn parse(text: &str, file: &Path) -> Result<Self, MetricsError> {
        let wrong = |problem: String| MetricsError {
            file: file.to_owned(),
            problem,
        };
        let declared: Self =
            serde_saphyr::from_str(text).map_err(|e| wrong(e.to_string().replace('\n', " ")))?;
        if !(declared.alpha > 0.0 && declared.alpha < 0.5) {
            return Err(wrong(format!(
                "alpha is {}, expected more than 0 and less than 0.5",
                declared.alpha
            )));
        }
        for (experiment, metrics) in &declared.experiments {
            for (i, metric) in metrics.iter().enumerate() {
                let of = format!("{experiment}: {}", metric.metric);
                let limits = [metric.limit_percent, metric.limit];
                if limits.iter().all(Option::is_none) {
                    return Err(wrong(format!("{of} needs limit_percent, limit, or both")));
                }
                if !limits.iter().flatten().all(|l| l.is_finite() && *l >= 0.0) {
                    return Err(wrong(format!("{of}: a limit is 0 or more")));
                }
                if metrics[..i]
                    .iter()
                    .any(|m| m.metric == metric.metric && m.shares_arm(metric))
                {
                    return Err(wrong(format!("{of} is declared twice")));
                }
            }
        }
        Ok(declared)
    }

    /// The metrics of an experiment; none if it is not known.
    #[must_use]
    pub fn of(&self, experiment: &str) -> &[DeclaredMetric] {
        self.experiments.get(experiment).map_or(&[], Vec::as_slice)
    }
}

impl DeclaredMetric {
    /// Whether it counts in an arm.
    #[must_use]
    pub fn counts_in(&self, arm: &str) -> bool {
        self.arms.is_empty() || self.arms.iter().any(|a| a == arm)
    }

    fn shares_arm(&self, other: &Self) -> bool {
        self.arms.is_empty()
            || other.arms.is_empty()
            || self.arms.iter().any(|a| other.counts_in(a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_and_a_file_of_any_size_are_refused() {
        let refused = |file: &Path| Declared::read(file).unwrap_err().to_string();
        assert!(refused(Path::new("/dev/null")).contains("not a regular file"));
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large.yaml");
        let comment = format!("{OWN}\n# {}\n", "x".repeat(1 << 20));
        std::fs::write(&large, comment).unwrap();
        assert!(refused(&large).contains("larger than 1 MiB"));
    }

    #[test]
    fn mistakes_name_the_file_and_the_metric() {
        let refused = |text: &str| {
            let error = Declared::parse(text, Path::new("my.yaml")).unwrap_err();
            let line = error.to_string();
            assert!(
                line.starts_with("my.yaml: ") && !line.contains('\n'),
                "{line}"
            );
            line
        };
        let metric = |rest: &str| {
            format!(
                "alpha: 0.05\nexperiments:\n  regimes:\n    - {{ metric: shared.makespan_secs, {rest} }}\n"
            )
        };
        assert!(refused("alpha: 1\nexperiments: {}").contains("alpha"));
        assert!(
            refused(&metric("better: lower")).contains("shared.makespan_secs needs limit_percent")
        );
        assert!(refused(&metric("better: lower, limit: -1")).contains("0 or more"));
        assert!(refused(&metric("better: smaller, limit: 1")).contains("smaller"));
        let twice = metric("better: lower, limit: 1")
            + "    - { metric: shared.makespan_secs, better: lower, limit: 2, arms: [lent] }\n";
        assert!(refused(&twice).contains("twice"));
        assert!(Declared::parse(&metric("better: lower, limit: 1"), Path::new("my.yaml")).is_ok());
    }
}
