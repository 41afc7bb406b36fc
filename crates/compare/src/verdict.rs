//! The declared metrics of all arms together: p-values against each metric's threshold, corrected for their number.
//!
//! The hypothesis that a metric must reject is not "no change" but "no change beyond the threshold": the baseline is moved by
//! the threshold first. So a change that is certain and small is no regression, and neither is one that is large and may be
//! chance. With both a relative and an absolute threshold, both hypotheses must be rejected. Holm's step-down correction (1979)
//! keeps the chance of any false alarm, over all metrics and arms, at alpha or below, however the metrics depend on each other.

use serde::{Deserialize, Serialize};

use super::Outcome;
use super::metrics::DeclaredMetric;
use super::rank::{interval, smallest_p};
use super::thresholds::{Change, Thresholds};
use plan::metric::{Better, MetricKey};
use results::metrics::{Amount, Values};
use results::run_folder::Percentile;

/// One-sided level of each end of the interval of a metric that is not declared: 95 % in all, for that metric alone.
const INFORMATION: f64 = 0.025;

/// An arm's metrics on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmRows {
    /// Name of the arm.
    pub arm: String,
    /// Runs of it in the baseline.
    pub base_runs: usize,
    /// New runs of it.
    pub new_runs: usize,
    /// The declared metrics.
    pub declared: Vec<Row>,
    /// The other metrics, for information.
    pub rest: Vec<Row>,
}

/// A metric on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which.
    #[serde(alias = "figure")]
    pub metric: MetricKey,
    /// Which way is better; null for information only.
    pub better: Option<Better>,
    /// Allowed change, per cent.
    #[serde(alias = "limit_percent")]
    pub threshold_percent: Option<f64>,
    /// Allowed change in the metric's unit.
    #[serde(alias = "limit")]
    pub threshold: Option<f64>,
    /// Each run's value in the baseline, in the order of the runs; null where a run lacks it.
    pub base: Vec<Percentile>,
    /// Each new run's value.
    pub new: Vec<Percentile>,
    /// Median of the baseline; of an even number the lower of the two in the middle.
    pub base_median: Percentile,
    /// Median of the new runs.
    pub new_median: Percentile,
    /// New median ÷ baseline's − 1; null where it is not known or the baseline is 0.
    pub change: Option<f64>,
    /// New median − baseline's.
    pub difference: Option<f64>,
    /// True where the new median is only known to exceed something: the change is at least what is said.
    pub at_least: bool,
    /// The changes that the runs do not exclude.
    pub interval: Interval,
    /// One-sided p-value of being worse than the threshold allows; null for information only.
    pub p: Option<f64>,
    /// The same after Holm's correction over all declared metrics.
    pub p_corrected: Option<f64>,
    /// What comes of it; null for information only.
    pub verdict: Option<Verdict>,
}

/// An interval of changes, from the inverted permutation test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end; null: open, since so few runs exclude nothing there.
    pub low: Option<f64>,
    /// Upper end; null: open.
    pub high: Option<f64>,
    /// True if the ends are shares of the baseline (0.05: 5 % more), false if in the metric's unit.
    pub relative: bool,
    /// One-sided error of each end: of a declared metric the level at which it was tested.
    pub level: f64,
}

/// What comes of a declared metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Worse beyond its threshold and beyond chance.
    Regression,
    /// Better beyond its threshold and beyond chance.
    Better,
    /// Not beyond its threshold.
    Within,
    /// Beyond its threshold, but so may runs that do not differ be.
    Unclear,
    /// So few runs can't show a regression, however large.
    TooFewRuns,
    /// Known on one side only, or on none.
    NotMeasured,
    /// Disturbed runs were taken, which count for nothing.
    NoVerdict,
}

/// Puts an arm's metrics together. Declared rows get their p-values; [`judge`] gives the verdicts.
#[must_use]
pub fn rows(arm: &str, base: &[&Values], new: &[&Values], metrics: &[DeclaredMetric]) -> ArmRows {
    let own: Vec<&DeclaredMetric> = metrics.iter().filter(|m| m.counts_in(arm)).collect();
    let mut names: Vec<&MetricKey> = base.iter().chain(new).flat_map(|f| f.keys()).collect();
    names.sort();
    names.dedup();
    names.retain(|name| own.iter().all(|m| m.metric != **name));
    ArmRows {
        arm: arm.to_owned(),
        base_runs: base.len(),
        new_runs: new.len(),
        declared: own
            .iter()
            .map(|m| row(&m.metric, base, new, Some(m)))
            .collect(),
        rest: names
            .iter()
            .map(|name| row(name, base, new, None))
            .collect(),
    }
}

fn row(
    metric: &MetricKey,
    base: &[&Values],
    new: &[&Values],
    declared: Option<&DeclaredMetric>,
) -> Row {
    let all = |runs: &[&Values]| -> Vec<Option<Amount>> {
        runs.iter().map(|f| f.get(metric).copied()).collect()
    };
    let (base_all, new_all) = (all(base), all(new));
    let known = |all: &[Option<Amount>]| -> Vec<Amount> { all.iter().flatten().copied().collect() };
    let (base, new) = (known(&base_all), known(&new_all));
    let change = Change::of(&base, &new);
    let relative = declared.is_none_or(|m| m.threshold_percent.is_some())
        && !base.is_empty()
        && base.iter().chain(&new).all(|a| a.at_least() > 0.0);
    let written = |all: Vec<Option<Amount>>| -> Vec<Percentile> {
        let one = |a: Option<Amount>| a.map_or(Percentile::TooFew, Into::into);
        all.into_iter().map(one).collect()
    };
    let mut row = Row {
        metric: metric.clone(),
        better: declared.map(|m| m.better),
        threshold_percent: declared.and_then(|m| m.threshold_percent),
        threshold: declared.and_then(|m| m.threshold),
        base_median: change.base.map_or(Percentile::TooFew, Into::into),
        new_median: change.new.map_or(Percentile::TooFew, Into::into),
        base: written(base_all),
        new: written(new_all),
        change: change.relative,
        difference: change.difference,
        at_least: matches!(change.new, Some(Amount::Over(_))),
        interval: Interval {
            low: None,
            high: None,
            relative,
            level: INFORMATION,
        },
        p: declared.map(|m| Thresholds::of(m).p_worse(&base, &new)),
        p_corrected: None,
        verdict: None,
    };
    row.bound(&base, &new);
    row
}

impl Row {
    /// Takes its interval at the level that stands in it.
    fn bound(&mut self, base: &[Amount], new: &[Amount]) {
        if base.is_empty() || new.is_empty() {
            return;
        }
        let Interval {
            relative, level, ..
        } = self.interval;
        let (low, high) = interval(base, new, relative, level);
        let end = |end: Option<f64>| end.map(|v| if relative { v - 1.0 } else { v });
        self.interval.low = end(low);
        self.interval.high = end(high);
    }

    /// The values of a side that are known.
    fn known(side: &[Percentile]) -> Vec<Amount> {
        side.iter().filter_map(|p| Amount::of(*p)).collect()
    }

    /// What it is allowed; `None` for information only.
    #[must_use]
    pub fn thresholds(&self) -> Option<Thresholds> {
        Some(Thresholds {
            better: self.better?,
            percent: self.threshold_percent,
            absolute: self.threshold,
        })
    }
}

/// Holm's corrected p-values, and the level at which each was tested.
#[must_use]
pub fn holm(p: &[f64], alpha: f64) -> Vec<(f64, f64)> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![(1.0, alpha); p.len()];
    let mut before = 0.0_f64;
    for (step, i) in order.into_iter().enumerate() {
        let left = number(p.len() - step);
        before = before.max((p[i] * left).min(1.0));
        corrected[i] = (before, alpha / left);
    }
    corrected
}

/// A declared row with its known values.
struct Tested<'a> {
    row: &'a mut Row,
    thresholds: Thresholds,
    base: Vec<Amount>,
    new: Vec<Amount>,
}

/// Gives each declared row its verdict, with `alpha` shared over all of them; `blind`: no verdict, whatever they say.
pub fn judge(arms: &mut [ArmRows], alpha: f64, blind: bool) -> Outcome {
    let mut tested: Vec<Tested> = Vec::new();
    for row in arms.iter_mut().flat_map(|arm| &mut arm.declared) {
        let (base, new) = (Row::known(&row.base), Row::known(&row.new));
        match row.thresholds() {
            Some(thresholds) if !base.is_empty() && !new.is_empty() => tested.push(Tested {
                row,
                thresholds,
                base,
                new,
            }),
            _ => {
                row.p = None;
                row.verdict = Some(Verdict::NotMeasured);
            }
        }
    }
    let family = number(tested.len());
    let worse: Vec<f64> = tested.iter().map(|t| t.row.p.unwrap_or(1.0)).collect();
    // Whether something became better is a question of its own, with an alpha of its own; no exit code hangs on it.
    let better = tested
        .iter()
        .map(|t| t.thresholds.p_better(&t.base, &t.new));
    let better = holm(&better.collect::<Vec<_>>(), alpha);
    for ((t, worse), better) in tested.iter_mut().zip(holm(&worse, alpha)).zip(better) {
        let least = t.thresholds.smallest_p(t.base.len(), t.new.len()) * family;
        let change = Change::of(&t.base, &t.new);
        t.row.p_corrected = Some(worse.0);
        t.row.interval.level = worse.1;
        t.row.bound(&t.base, &t.new);
        t.row.verdict = Some(if blind {
            Verdict::NoVerdict
        } else if worse.0 <= alpha && t.thresholds.worse(&change) {
            Verdict::Regression
        } else if better.0 <= alpha && t.thresholds.better(&change) {
            Verdict::Better
        } else if least > alpha {
            Verdict::TooFewRuns
        } else if t.thresholds.worse(&change) {
            Verdict::Unclear
        } else {
            Verdict::Within
        });
    }
    let mut verdicts = tested.iter().filter_map(|t| t.row.verdict);
    if verdicts.clone().any(|v| v == Verdict::Regression) {
        Outcome::Regression
    } else if verdicts.any(|v| !matches!(v, Verdict::TooFewRuns | Verdict::NoVerdict)) {
        Outcome::NoRegression
    } else {
        Outcome::NoVerdict
    }
}

/// Fewest runs on each side with which `metrics` declared metrics can show a regression at all.
#[must_use]
pub fn runs_needed(metrics: usize, alpha: f64) -> usize {
    (1..=30)
        .find(|n| smallest_p(*n, *n) * number(metrics) <= alpha)
        .unwrap_or(30)
}

/// Numbers of metrics are far below 2⁵².
#[allow(clippy::cast_precision_loss)] // as said
fn number(n: usize) -> f64 {
    n as f64
}
