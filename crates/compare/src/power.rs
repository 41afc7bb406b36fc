//! How often a comparison errs and what it can see: simulated comparisons whose noise comes from real runs that differ by
//! chance alone (A/A runs).
//!
//! In: a comparison of such runs. Out: shares of simulated comparisons. Each simulated run is a real one drawn with
//! replacement, with all its metrics, so that metrics that go together stay together. Nothing is assumed on how they are
//! distributed; but drift from night to night is in the simulation only as far as it was between the real runs.

use rand::SeedableRng as _;
use rand::rngs::SmallRng;

use super::Comparison;
pub use super::power_types::{Detection, Noise, Power, Shape};
use super::rank::{Shift, resample};
use super::thresholds::{Change, Thresholds};
use super::verdict::{ArmRows, holm};
use plan::metric::{Better, MetricKey};
use results::metrics::Amount;

/// Fewest A/A runs from which anything is simulated.
pub const FEWEST: usize = 20;

/// Numbers of runs that are simulated: baseline, new. The last two are a week of nights
/// against one, of three and of five runs each.
const SHAPES: [(usize, usize); 5] = [(3, 3), (5, 5), (10, 10), (21, 3), (35, 5)];

/// Changes for the worse that are simulated, per cent.
const EFFECTS: [f64; 9] = [1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 20.0, 50.0, 100.0];

/// Why nothing can be simulated.
#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    /// Too few runs.
    #[error(
        "{found} runs are too few to simulate from; make at least {FEWEST} like ones and compare them with each other"
    )]
    TooFew {
        /// Runs there are.
        found: usize,
    },
    /// The sides differ.
    #[error("the runs differ in {0}; only like runs show what chance does")]
    Differ(String),
    /// The file is not as it was written.
    #[error("{0}; the comparison was changed after it was written")]
    Damaged(String),
    /// No declared metric was measured in all runs.
    #[error("no declared metric of {0} was measured in every run")]
    Nothing(String),
}

impl host::usage::UserError for PowerError {}

/// A metric's values over the A/A runs of its arm.
struct Column {
    arm: String,
    metric: MetricKey,
    thresholds: Thresholds,
    values: Vec<Amount>,
}

/// Simulates `draws` comparisons of each kind from the runs of `aa`, both sides together.
///
/// # Errors
/// If they are too few or not alike, or nothing declared was measured.
pub fn power(aa: &Comparison, draws: u32, seed: u64) -> Result<Power, PowerError> {
    let columns = columns(aa)?;
    let shapes = SHAPES
        .iter()
        .map(|shape| simulate(&columns, *shape, aa.alpha, &EFFECTS, draws, seed));
    let shapes = shapes.collect();
    let mut ran = aa.base.clone();
    ran.sessions.extend(aa.new.sessions.iter().cloned());
    ran.runs = ran.runs.saturating_add(aa.new.runs);
    ran.disturbed = ran.disturbed.saturating_add(aa.new.disturbed);
    Ok(Power {
        experiment: aa.experiment.clone(),
        runs: ran.runs,
        disturbed: ran.disturbed,
        ran,
        metrics: columns.iter().map(Column::noise).collect(),
        draws,
        seed,
        alpha: aa.alpha,
        shapes,
    })
}

fn columns(aa: &Comparison) -> Result<Vec<Column>, PowerError> {
    if !aa.across.is_empty() {
        return Err(PowerError::Differ(super::alike::in_words(&aa.across)));
    }
    whole(aa)?;
    let found = |arm: &ArmRows| arm.base_runs.saturating_add(arm.new_runs);
    let least = aa.arms.iter().map(found).min().unwrap_or(0);
    if least < FEWEST {
        return Err(PowerError::TooFew { found: least });
    }
    let mut columns = Vec::new();
    for arm in &aa.arms {
        for row in &arm.declared {
            let values: Option<Vec<Amount>> = row
                .base
                .iter()
                .chain(&row.new)
                .map(|v| Amount::of(*v))
                .collect();
            if let (Some(values), Some(thresholds)) = (values, row.thresholds()) {
                columns.push(Column {
                    arm: arm.arm.clone(),
                    metric: row.metric.clone(),
                    thresholds,
                    values,
                });
            }
        }
    }
    if columns.is_empty() {
        return Err(PowerError::Nothing(aa.experiment.clone()));
    }
    Ok(columns)
}

/// Checks what is drawn from: a comparison has a value of each metric for each run, and an alpha that can be meant.
fn whole(aa: &Comparison) -> Result<(), PowerError> {
    let no = |what: String| Err(PowerError::Damaged(what));
    if !(aa.alpha > 0.0 && aa.alpha < 1.0) {
        return no(format!(
            "alpha is {}, expected more than 0 and less than 1",
            aa.alpha
        ));
    }
    for (i, arm) in aa.arms.iter().enumerate() {
        if aa.arms[..i].iter().any(|other| other.arm == arm.arm) {
            return no(format!("arm {} is in it twice", arm.arm));
        }
        for row in &arm.declared {
            for (side, values, runs) in [
                ("baseline", row.base.len(), arm.base_runs),
                ("new side", row.new.len(), arm.new_runs),
            ] {
                if values != runs {
                    return no(format!(
                        "arm {}: {} has {values} values for the {runs} runs of the {side}",
                        arm.arm, row.metric
                    ));
                }
            }
        }
    }
    Ok(())
}

impl Column {
    fn noise(&self) -> Noise {
        let mut values: Vec<f64> = self.values.iter().map(|v| v.at_least()).collect();
        values.sort_by(f64::total_cmp);
        let at = |i: usize| values.get(i).copied().unwrap_or_default();
        Noise {
            arm: self.arm.clone(),
            metric: self.metric.clone(),
            threshold_percent: self.thresholds.percent,
            threshold: self.thresholds.absolute,
            median: at(values.len().saturating_sub(1) / 2),
            min: at(0),
            max: at(values.len().saturating_sub(1)),
        }
    }

    fn drawn(&self, which: &[usize]) -> Vec<Amount> {
        which
            .iter()
            .filter_map(|i| self.values.get(*i))
            .copied()
            .collect()
    }

    /// Whether any change of it in per cent is a change at all.
    fn moves(&self) -> bool {
        self.values.iter().any(|v| v.at_least() != 0.0)
    }

    /// A change for the worse by `percent`.
    fn worse_by(&self, percent: f64) -> Shift {
        let sign = if self.thresholds.better == Better::Higher {
            -1.0
        } else {
            1.0
        };
        Shift::Times((1.0 + sign * percent / 100.0).max(0.0))
    }

    /// The change for the worse that is just allowed: of two thresholds the one that lies farther.
    fn allowed(&self) -> Option<Shift> {
        let shifts = self
            .thresholds
            .shifts(self.thresholds.better != Better::Higher);
        let middle = Amount::Is(self.noise().median);
        let distance = |s: &Shift| (s.of(middle).at_least() - middle.at_least()).abs();
        shifts
            .into_iter()
            .flatten()
            .max_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// The runs of one simulated comparison: for each metric both sides.
type Draw = Vec<(Vec<Amount>, Vec<Amount>)>;

fn draw(columns: &[Column], (base, new): (usize, usize), random: &mut SmallRng) -> Draw {
    let mut drawn = Draw::new();
    let mut arm: Option<(&str, Vec<usize>, Vec<usize>)> = None;
    for column in columns {
        // One draw an arm: its metrics come from the same runs.
        if arm.as_ref().is_none_or(|(name, ..)| *name != column.arm) {
            let runs = column.values.len();
            let pair = (resample(random, base, runs), resample(random, new, runs));
            arm = Some((&column.arm, pair.0, pair.1));
        }
        if let Some((_, base, new)) = &arm {
            drawn.push((column.drawn(base), column.drawn(new)));
        }
    }
    drawn
}

fn moved(values: &[Amount], shift: Shift) -> Vec<Amount> {
    values.iter().map(|v| shift.of(*v)).collect()
}

/// Which metrics are called a regression: as in [`super::verdict::judge`].
fn regressions(p: &[f64], worse: &[bool], alpha: f64) -> Vec<bool> {
    let corrected = holm(p, alpha);
    let both = corrected.iter().zip(worse);
    both.map(|((p, _), worse)| *worse && *p <= alpha).collect()
}

fn simulate(
    columns: &[Column],
    (base_runs, new_runs): (usize, usize),
    alpha: f64,
    effects: &[f64],
    draws: u32,
    seed: u64,
) -> Shape {
    let mut random = SmallRng::seed_from_u64(seed);
    let (mut alarms, mut at_threshold) = (0_u32, 0_u32);
    let mut found = vec![vec![0_u32; effects.len()]; columns.len()];
    for _ in 0..draws {
        let draw = draw(columns, (base_runs, new_runs), &mut random);
        let judged = |i: usize, new: &[Amount]| {
            let (thresholds, base) = (&columns[i].thresholds, &draw[i].0);
            (
                thresholds.p_worse(base, new),
                thresholds.worse(&Change::of(base, new)),
            )
        };
        let (p, worse): (Vec<f64>, Vec<bool>) =
            (0..columns.len()).map(|i| judged(i, &draw[i].1)).unzip();
        alarms += u32::from(regressions(&p, &worse, alpha).contains(&true));
        let (p_limit, worse_limit): (Vec<f64>, Vec<bool>) = (0..columns.len())
            .map(|i| match columns[i].allowed() {
                Some(shift) => judged(i, &moved(&draw[i].1, shift)),
                None => (p[i], worse[i]),
            })
            .unzip();
        at_threshold += u32::from(regressions(&p_limit, &worse_limit, alpha).contains(&true));
        for i in (0..columns.len()).filter(|i| columns[*i].moves()) {
            for (e, effect) in effects.iter().enumerate() {
                let (mut p, mut worse) = (p.clone(), worse.clone());
                (p[i], worse[i]) = judged(i, &moved(&draw[i].1, columns[i].worse_by(*effect)));
                found[i][e] += u32::from(regressions(&p, &worse, alpha)[i]);
            }
        }
    }
    let share = |n: u32| f64::from(n) / f64::from(draws.max(1));
    let detection = columns
        .iter()
        .zip(found)
        .filter(|(c, _)| c.moves())
        .map(|(c, found)| Detection {
            arm: c.arm.clone(),
            metric: c.metric.clone(),
            found: effects
                .iter()
                .copied()
                .zip(found.into_iter().map(share))
                .collect(),
        });
    Shape {
        base_runs,
        new_runs,
        false_alarms: share(alarms),
        false_alarms_at_threshold: share(at_threshold),
        detection: detection.collect(),
    }
}

#[cfg(test)]
#[path = "power_tests.rs"]
mod tests;
