//! The declared metrics: which metrics can fail a comparison, from which size of change on. Declared beforehand, so that
//! nobody chooses them by how they came out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use host::text_file;
use plan::Hint;
use plan::metric::{Better, MetricKey, Unit, Use};

use super::metrics_file;

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
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// Share of comparisons without a difference that may be called a regression, over all metrics of one together.
    pub alpha: f64,
    /// What `headroom nightly` runs unless it is told otherwise.
    pub nightly: Vec<String>,
    /// The metrics of each experiment.
    pub experiments: BTreeMap<String, Vec<DeclaredMetric>>,
    /// Words of an older headroom that its file uses.
    pub hints: Vec<Hint>,
}

/// A metric that can fail a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredMetric {
    /// Which: `<team>.<metric>`, `<team>.<class>.<metric>`, or one of the whole run such as `restarts`.
    pub metric: MetricKey,
    /// What is better.
    pub better: Better,
    /// Change that is allowed, per cent of the baseline.
    pub threshold_percent: Option<f64>,
    /// Change that is allowed, in the metric's own unit. With both, only what exceeds both counts.
    pub threshold: Option<f64>,
    /// Whether it counts events that should not happen. All such metrics of a night are tested together.
    pub rare: bool,
    /// Arms that it counts in; empty: all.
    pub arms: Vec<String>,
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

    /// Those of `file`; headroom's own where none is named.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn of_file(file: Option<&Path>) -> Result<Self, MetricsError> {
        file.map_or_else(Self::own, Self::read)
    }

    fn parse(text: &str, file: &Path) -> Result<Self, MetricsError> {
        let wrong = |problem: String| MetricsError {
            file: file.to_owned(),
            problem,
        };
        let declared = metrics_file::read(text, file).map_err(wrong)?;
        if !(declared.alpha > 0.0 && declared.alpha < 0.5) {
            return Err(wrong(format!(
                "alpha is {}, expected more than 0 and less than 0.5",
                declared.alpha
            )));
        }
        for (experiment, metrics) in &declared.experiments {
            for (i, metric) in metrics.iter().enumerate() {
                let of = format!("{experiment}: {}", metric.metric);
                let thresholds = [metric.threshold_percent, metric.threshold];
                if thresholds.iter().all(Option::is_none) != metric.rare {
                    let needs = "threshold_percent, threshold, or both; or rare: true and neither";
                    return Err(wrong(format!("{of} needs {needs}")));
                }
                if !thresholds
                    .iter()
                    .flatten()
                    .all(|t| t.is_finite() && *t >= 0.0)
                {
                    return Err(wrong(format!("{of}: a threshold is 0 or more")));
                }
                if metric.better == Better::Neither {
                    return Err(wrong(format!("{of}: better is lower, higher or same")));
                }
                if metric.rare
                    && (metric.better != Better::Lower || metric.metric.row().unit != Unit::Count)
                {
                    return Err(wrong(format!(
                        "{of}: rare events are counts, and lower is better"
                    )));
                }
                if metric.metric.row().used < Use::Compare {
                    return Err(wrong(format!("{of} is shown, and not compared")));
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
            refused(&metric("better: lower"))
                .contains("shared.makespan_secs needs threshold_percent")
        );
        assert!(refused(&metric("better: lower, threshold: -1")).contains("0 or more"));
        assert!(refused(&metric("better: smaller, threshold: 1")).contains("smaller"));
        let twice = metric("better: lower, threshold: 1")
            + "    - { metric: shared.makespan_secs, better: lower, threshold: 2, arms: [lent] }\n";
        assert!(refused(&twice).contains("twice"));
        assert!(
            Declared::parse(&metric("better: lower, threshold: 1"), Path::new("my.yaml")).is_ok()
        );
    }

    #[test]
    fn an_old_file_means_what_today_s_does_and_each_old_word_gives_a_line() {
        let read = |text: &str| Declared::parse(text, Path::new("my.yaml")).unwrap();
        let today = read(
            "alpha: 0.05\nexperiments:\n  preemption:\n    - { metric: research.placed_right, better: higher, \
             threshold: 0 }\n    - { metric: large.whole-card.bind_latency_p95_secs, better: lower, \
             threshold_percent: 10, threshold: 0.5 }\n",
        );
        let old = read(
            "alpha: 0.05\nexperiments:\n  preemption:\n    - { figure: research.landed_right, better: higher, limit: 0 \
             }\n    - { figure: large.whole-card.bound_p95_secs, better: lower, limit_percent: 10, limit: 0.5 }\n",
        );
        assert_eq!(today.hints, []);
        assert_eq!(old.experiments, today.experiments);
        let lines: Vec<String> = old.hints.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "my.yaml:4: `figure` is now `metric`",
                "my.yaml:4: `research.landed_right` is now `research.placed_right`",
                "my.yaml:4: `limit` is now `threshold`",
                "my.yaml:5: `figure` is now `metric`",
                "my.yaml:5: `large.whole-card.bound_p95_secs` is now `large.whole-card.bind_latency_p95_secs`",
                "my.yaml:5: `limit_percent` is now `threshold_percent`",
                "my.yaml:5: `limit` is now `threshold`",
            ]
        );
    }

    #[test]
    fn its_own_file_uses_today_s_words() {
        assert_eq!(Declared::own().unwrap().hints, []);
    }
}
