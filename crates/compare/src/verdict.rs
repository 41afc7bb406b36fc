//! The declared metrics of all arms together: p-values against each metric's threshold, corrected for their number.
//!
//! The hypothesis that a metric must reject is not "no change" but "no change beyond the threshold": the baseline is moved by
//! the threshold first. So a change that is certain and small is no regression, and neither is one that is large and may be
//! chance. With both a relative and an absolute threshold, both hypotheses must be rejected. Holm's step-down correction (1979)
//! keeps the chance of any false alarm, over all metrics and arms, at its level or below, however the metrics depend on each other.
//!
//! Events that should not happen are too rare for that: one test counts them all ([`RARE`] of alpha), and Holm's family has the
//! rest.

use serde::{Deserialize, Serialize};

use super::Outcome;
use super::metrics::DeclaredMetric;
use super::nights::{Events, Known, Sides, Test, p_more_events};
use super::rank::{Ends, interval, smallest_p};
use super::side::OneRun;
use super::thresholds::{Change, Thresholds};
use plan::metric::{Better, MetricKey};
use results::metrics::Amount;
use results::run_folder::Percentile;

/// One-sided level of each end of the interval of a metric that is not declared: 95 % in all, for that metric alone.
const INFORMATION: f64 = 0.025;

/// Share of alpha for the rare events, where any are declared.
pub(crate) const RARE: f64 = 0.4;

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
    /// The night of each run of the baseline, from 0; empty in a comparison of an older headroom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_nights: Vec<usize>,
    /// The night of each new run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_nights: Vec<usize>,
    /// Whether it counts events that should not happen.
    #[serde(default)]
    pub rare: bool,
    /// The test that it went through.
    #[serde(default)]
    pub test: Test,
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
pub fn rows(arm: &str, base: &[&OneRun], new: &[&OneRun], metrics: &[DeclaredMetric]) -> ArmRows {
    let own: Vec<&DeclaredMetric> = metrics.iter().filter(|m| m.counts_in(arm)).collect();
    let runs = base.iter().chain(new);
    let mut names: Vec<&MetricKey> = runs.flat_map(|run| run.metrics.keys()).collect();
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
    base: &[&OneRun],
    new: &[&OneRun],
    declared: Option<&DeclaredMetric>,
) -> Row {
    let all = |runs: &[&OneRun]| -> Vec<Option<Amount>> {
        runs.iter()
            .map(|run| run.metrics.get(metric).copied())
            .collect()
    };
    let nights = |runs: &[&OneRun]| runs.iter().map(|run| run.night).collect();
    let (base_nights, new_nights) = (nights(base), nights(new));
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
        base_nights,
        new_nights,
        rare: declared.is_some_and(|m| m.rare),
        test: Test::Runs,
        change: change.relative,
        difference: change.difference,
        at_least: matches!(change.new, Some(Amount::Over(_))),
        interval: Interval {
            low: None,
            high: None,
            relative,
            level: INFORMATION,
        },
        p: None,
        p_corrected: None,
        verdict: None,
    };
    if !base.is_empty() && !new.is_empty() {
        row.bound(interval(&base, &new, relative, INFORMATION));
    }
    row
}

impl Row {
    /// Takes the ends of its interval.
    fn bound(&mut self, (low, high): Ends) {
        let relative = self.interval.relative;
        let end = |end: Option<f64>| end.map(|v| if relative { v - 1.0 } else { v });
        self.interval.low = end(low);
        self.interval.high = end(high);
    }

    /// The values of a side that are known, each with its night; without nights all are of one.
    fn known(side: &[Percentile], nights: &[usize]) -> Known {
        let nights = nights.iter().copied().chain(std::iter::repeat(0));
        let known = side.iter().zip(nights);
        let known = known.filter_map(|(p, night)| Some((Amount::of(*p)?, night)));
        let (runs, nights) = known.unzip();
        Known { runs, nights }
    }

    /// Events of both sides.
    pub(crate) fn events(base: &Known, new: &Known) -> Events {
        let sum = |of: &Known| of.runs.iter().map(|a| a.at_least()).sum();
        Events {
            base: sum(base),
            base_runs: base.runs.len(),
            new: sum(new),
            new_runs: new.runs.len(),
        }
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

/// What came of testing rows together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Metrics that Holm's correction counts.
    pub metrics: usize,
    /// Level of all of them together.
    pub alpha: f64,
    /// The rare events; null where none are declared.
    pub rare: Option<Rare>,
}

/// What came of the rare events of a night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rare {
    /// Events in the new runs, of all kinds.
    pub new: f64,
    /// Events in the baseline.
    pub base: f64,
    /// One-sided p-value of their being more frequent in the new runs.
    pub p: f64,
    /// Level of the test.
    pub alpha: f64,
}

/// A declared row with its known values.
struct Tested<'a> {
    row: &'a mut Row,
    thresholds: Thresholds,
    base: Known,
    new: Known,
}

/// Gives each declared row its verdict, with `alpha` shared over all of them; `blind`: no verdict, whatever they say.
pub fn judge<'a>(
    arms: impl IntoIterator<Item = &'a mut ArmRows>,
    alpha: f64,
    blind: bool,
) -> Family {
    let (mut tested, mut rare): (Vec<Tested>, Vec<Tested>) = (Vec::new(), Vec::new());
    for row in arms.into_iter().flat_map(|arm| &mut arm.declared) {
        let base = Row::known(&row.base, &row.base_nights);
        let new = Row::known(&row.new, &row.new_nights);
        match row.thresholds() {
            Some(thresholds) if !base.runs.is_empty() && !new.runs.is_empty() => {
                let family = if row.rare { &mut rare } else { &mut tested };
                family.push(Tested {
                    row,
                    thresholds,
                    base,
                    new,
                });
            }
            _ => {
                row.p = None;
                row.verdict = Some(Verdict::NotMeasured);
            }
        }
    }
    let for_rare = if rare.is_empty() { 0.0 } else { RARE };
    let family = Family {
        metrics: tested.len(),
        alpha: alpha * (1.0 - for_rare),
        rare: judge_rare(&mut rare, alpha * for_rare, blind),
    };
    judge_family(&mut tested, family.alpha, blind);
    family
}

/// The rare events, all together: a night has them, and those kinds are to blame that became more frequent.
fn judge_rare(tested: &mut [Tested<'_>], alpha: f64, blind: bool) -> Option<Rare> {
    let kinds: Vec<Events> = tested
        .iter()
        .map(|t| Row::events(&t.base, &t.new))
        .collect();
    let p = p_more_events(&kinds);
    for (t, kind) in tested.iter_mut().zip(&kinds) {
        let rate = |events: f64, runs: usize| events / number(runs);
        let more = rate(kind.new, kind.new_runs) > rate(kind.base, kind.base_runs);
        t.row.test = Test::Pooled;
        (t.row.p, t.row.p_corrected) = (Some(p), Some(p));
        t.row.verdict = Some(match (blind, p <= alpha && more) {
            (true, _) => Verdict::NoVerdict,
            (false, true) => Verdict::Regression,
            (false, false) if more => Verdict::Unclear,
            (false, false) => Verdict::Within,
        });
    }
    (!kinds.is_empty()).then(|| Rare {
        new: kinds.iter().map(|kind| kind.new).sum(),
        base: kinds.iter().map(|kind| kind.base).sum(),
        p,
        alpha,
    })
}

fn judge_family(tested: &mut [Tested<'_>], alpha: f64, blind: bool) {
    let family = number(tested.len());
    let sides: Vec<Sides> = tested
        .iter()
        .map(|t| Sides::of(&t.base, &t.new, &t.thresholds, alpha / family))
        .collect();
    let p = |of: fn(&Thresholds, &Sides) -> f64| -> Vec<f64> {
        let each = tested.iter().zip(&sides);
        each.map(|(t, sides)| of(&t.thresholds, sides)).collect()
    };
    // Whether something became better is a question of its own, with an alpha of its own; no exit code hangs on it.
    let (worse, better) = (p(Thresholds::p_worse), p(Thresholds::p_better));
    let holms = holm(&worse, alpha).into_iter().zip(holm(&better, alpha));
    for (((t, sides), p), (worse, better)) in tested.iter_mut().zip(&sides).zip(worse).zip(holms) {
        let least = sides.smallest_p(&t.thresholds) * family;
        let change = Change::of(&sides.base, &sides.new);
        t.row.test = sides.test;
        t.row.p = Some(p);
        t.row.p_corrected = Some(worse.0);
        t.row.interval.level = worse.1;
        t.row
            .bound(sides.interval(t.row.interval.relative, worse.1));
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
}

/// What the rows of a comparison say together.
#[must_use]
pub fn outcome(arms: &[ArmRows]) -> Outcome {
    let rows = || arms.iter().flat_map(|arm| &arm.declared);
    if rows().any(|row| row.verdict == Some(Verdict::Regression)) {
        return Outcome::Regression;
    }
    // That no rare event came says little; it counts only where nothing else was to be tested.
    let others = rows().any(|row| !row.rare);
    let counted = rows().filter(|row| !(row.rare && others));
    let none = [
        Verdict::TooFewRuns,
        Verdict::NoVerdict,
        Verdict::NotMeasured,
    ];
    let mut verdicts = counted.filter_map(|row| row.verdict);
    if verdicts.any(|v| !none.contains(&v)) {
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
