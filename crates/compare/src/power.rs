//! How often a comparison errs and what it can see: simulated comparisons whose noise comes from real runs that differ by
//! chance alone (A/A runs).
//!
//! In: a comparison of such runs. Out: shares of simulated comparisons. Each simulated run is a real one drawn with
//! replacement, with all its metrics, so that metrics that go together stay together. Nothing is assumed on how runs of one night
//! are distributed. A night multiplies all of them by a factor whose logarithm is normal and varies as the real sessions' medians
//! did; it moves all metrics the same way.

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::Comparison;
use super::nights::{Events, Known, Sides, p_more_events};
pub use super::power_types::{Detection, Noise, Power, Shape};
use super::rank::{Shift, resample};
use super::thresholds::{Change, Thresholds};
use super::verdict::{ArmRows, RARE, Row, holm};
use plan::metric::{Better, MetricKey};
use results::metrics::Amount;
use results::run_folder::Percentile;

/// Fewest A/A runs from which anything is simulated.
pub const FEWEST: usize = 20;

/// Nights of the baseline, and runs a night; the new side is one more night. The last two are a week against one night.
const SHAPES: [(usize, usize); 5] = [(1, 3), (1, 5), (1, 10), (7, 3), (7, 5)];

/// Shares of new runs with a rare event that are simulated, where none has one before.
const RATES: [f64; 3] = [0.1, 0.2, 0.4];

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
    rare: bool,
    /// Without what its session did to each.
    values: Vec<Amount>,
    /// Standard deviation of the logarithm of a night's effect.
    night: f64,
}

/// A run of a simulated night.
#[derive(Clone, Copy)]
struct Drawn {
    /// Its place among the real runs.
    run: usize,
    /// Its night, from 0.
    night: usize,
    /// The night's effect on every metric, in standard deviations of it.
    effect: f64,
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
                let (values, night) = levelled(&values, &sessions(row));
                columns.push(Column {
                    arm: arm.arm.clone(),
                    metric: row.metric.clone(),
                    thresholds,
                    rare: row.rare,
                    values,
                    night,
                });
            }
        }
    }
    if columns.is_empty() {
        return Err(PowerError::Nothing(aa.experiment.clone()));
    }
    Ok(columns)
}

/// The values without their session's effect, a factor, and the standard deviation of its logarithm.
fn levelled(values: &[Amount], sessions: &[usize]) -> (Vec<Amount>, f64) {
    let known = Known {
        runs: values.to_vec(),
        nights: sessions.to_vec(),
    };
    let medians: Vec<f64> = known.by_night().iter().map(|m| m.at_least()).collect();
    // A count that is 0 in some session has no such effect.
    if medians.len() < 2 || medians.iter().any(|m| *m <= 0.0) {
        return (values.to_vec(), 0.0);
    }
    let logs: Vec<f64> = medians.iter().map(|m| m.ln()).collect();
    let count = f64::from(u32::try_from(logs.len()).unwrap_or(u32::MAX));
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let level = |(value, session): (&Amount, &usize)| {
        let effect = logs.get(*session).map_or(0.0, |log| log - mean);
        Shift::Times((-effect).exp()).of(*value)
    };
    let values = values.iter().zip(sessions).map(level).collect();
    (values, (squares / (count - 1.0)).sqrt())
}

/// The session of each run of both sides. An older headroom kept sides alone.
fn sessions(row: &Row) -> Vec<usize> {
    let of = |values: &[Percentile], nights: &[usize]| -> Vec<usize> {
        let nights = nights.iter().copied().chain(std::iter::repeat(0));
        nights.take(values.len()).collect()
    };
    let mut all = of(&row.base, &row.base_nights);
    let next = all.iter().max().map_or(0, |last| last + 1);
    all.extend(
        of(&row.new, &row.new_nights)
            .into_iter()
            .map(|night| night + next),
    );
    all
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

    fn drawn(&self, which: &[Drawn]) -> Known {
        let each = which.iter().filter_map(|drawn| {
            let effect = Shift::Times((self.night * drawn.effect).exp());
            Some((effect.of(*self.values.get(drawn.run)?), drawn.night))
        });
        let (runs, nights) = each.unzip();
        Known { runs, nights }
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
type Draw = Vec<(Known, Known)>;

fn draw(columns: &[Column], (nights, runs): (usize, usize), random: &mut SmallRng) -> Draw {
    let mut drawn = Draw::new();
    let mut arm: Option<(&str, Vec<Drawn>, Vec<Drawn>)> = None;
    for column in columns {
        // One draw an arm: its metrics come from the same runs.
        if arm.as_ref().is_none_or(|(name, ..)| *name != column.arm) {
            let below = column.values.len();
            let mut side = |nights| simulated(nights, runs, below, random);
            let (base, new) = (side(nights), side(1));
            arm = Some((&column.arm, base, new));
        }
        if let Some((_, base, new)) = &arm {
            drawn.push((column.drawn(base), column.drawn(new)));
        }
    }
    drawn
}

/// So many simulated nights of so many runs, drawn from `below` real ones.
fn simulated(nights: usize, runs: usize, below: usize, random: &mut SmallRng) -> Vec<Drawn> {
    let normal = Normal::standard();
    let mut all = Vec::new();
    for night in 0..nights {
        let effect = normal.inverse_cdf(random.random_range(1e-9..1.0));
        let which = resample(random, runs, below).into_iter();
        all.extend(which.map(|run| Drawn { run, night, effect }));
    }
    all
}

fn moved(values: &Known, shift: Shift) -> Known {
    Known {
        runs: values.runs.iter().map(|v| shift.of(*v)).collect(),
        nights: values.nights.clone(),
    }
}

/// How a comparison shares its alpha over these columns.
struct Levels {
    rare: f64,
    /// Of all other metrics together.
    rest: f64,
    /// Of the first of them.
    first: f64,
}

impl Levels {
    fn of(columns: &[Column], alpha: f64) -> Self {
        let rest = columns.iter().filter(|c| !c.rare).count();
        let rare = if rest < columns.len() {
            RARE * alpha
        } else {
            0.0
        };
        Self {
            rare,
            rest: alpha - rare,
            first: (alpha - rare) / f64::from(u32::try_from(rest.max(1)).unwrap_or(u32::MAX)),
        }
    }

    /// The p-value of a metric, and whether its change is beyond its thresholds.
    fn test(&self, column: &Column, base: &Known, new: &Known) -> (f64, bool) {
        let sides = Sides::of(base, new, &column.thresholds, self.first);
        let change = Change::of(&sides.base, &sides.new);
        (
            column.thresholds.p_worse(&sides),
            column.thresholds.worse(&change),
        )
    }

    /// Which metrics are called a regression: as in [`super::verdict::judge`].
    fn regressions(&self, columns: &[Column], tests: &[(f64, bool)]) -> Vec<bool> {
        let rest = || columns.iter().zip(tests).filter(|(c, _)| !c.rare);
        let p: Vec<f64> = rest().map(|(_, (p, _))| *p).collect();
        let corrected = holm(&p, self.rest);
        let mut corrected = corrected.into_iter();
        let called = columns.iter().zip(tests).map(|(c, (_, worse))| {
            !c.rare
                && corrected
                    .next()
                    .is_some_and(|(p, _)| *worse && p <= self.rest)
        });
        called.collect()
    }

    /// Whether the rare events alarm.
    fn rare_alarm(&self, columns: &[Column], draw: &Draw) -> bool {
        let rare = columns.iter().zip(draw).filter(|(c, _)| c.rare);
        let kinds: Vec<Events> = rare
            .map(|(_, (base, new))| Row::events(base, new))
            .collect();
        !kinds.is_empty() && p_more_events(&kinds) <= self.rare
    }
}

fn simulate(
    columns: &[Column],
    (nights, runs): (usize, usize),
    alpha: f64,
    effects: &[f64],
    draws: u32,
    seed: u64,
) -> Shape {
    let mut random = SmallRng::seed_from_u64(seed);
    let levels = Levels::of(columns, alpha);
    let (mut alarms, mut at_threshold, mut rare_alarms) = (0_u32, 0_u32, 0_u32);
    let mut rare_found = [0_u32; RATES.len()];
    let mut found = vec![vec![0_u32; effects.len()]; columns.len()];
    for _ in 0..draws {
        let draw = draw(columns, (nights, runs), &mut random);
        let judged = |i: usize, new: &Known| levels.test(&columns[i], &draw[i].0, new);
        let tests: Vec<(f64, bool)> = (0..columns.len()).map(|i| judged(i, &draw[i].1)).collect();
        let rare = levels.rare_alarm(columns, &draw);
        rare_alarms += u32::from(rare);
        alarms += u32::from(rare || levels.regressions(columns, &tests).contains(&true));
        let limits: Vec<(f64, bool)> = (0..columns.len())
            .map(|i| match columns[i].allowed() {
                Some(shift) => judged(i, &moved(&draw[i].1, shift)),
                None => tests[i],
            })
            .collect();
        at_threshold += u32::from(rare || levels.regressions(columns, &limits).contains(&true));
        for i in (0..columns.len()).filter(|i| columns[*i].moves()) {
            for (e, effect) in effects.iter().enumerate() {
                let mut tests = tests.clone();
                tests[i] = judged(i, &moved(&draw[i].1, columns[i].worse_by(*effect)));
                found[i][e] += u32::from(levels.regressions(columns, &tests)[i]);
            }
        }
        for (rate, found) in RATES.iter().zip(&mut rare_found) {
            let with = (0..runs).filter(|_| random.random_bool(*rate)).count();
            let events = Events {
                base: 0.0,
                base_runs: nights * runs,
                new: f64::from(u32::try_from(with).unwrap_or(u32::MAX)),
                new_runs: runs,
            };
            *found += u32::from(p_more_events(&[events]) <= RARE * alpha);
        }
    }
    let share = |n: u32| f64::from(n) / f64::from(draws.max(1));
    let detection = columns
        .iter()
        .zip(found)
        .filter(|(c, _)| c.moves() && !c.rare)
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
        nights,
        base_runs: nights * runs,
        new_runs: runs,
        false_alarms: share(alarms),
        false_alarms_of_rare: share(rare_alarms),
        rare_found: RATES.into_iter().zip(rare_found.map(share)).collect(),
        false_alarms_at_threshold: share(at_threshold),
        detection: detection.collect(),
    }
}

#[cfg(test)]
#[path = "power_tests.rs"]
mod tests;
