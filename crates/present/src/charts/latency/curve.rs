//! How long one team's requests of one class took to be bound, over all repeats of an arm.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::super::material::{Material, RunMaterial};
use super::super::panel::Panel;
use super::super::pen::{Area, Drawn, Mark, spot};
use super::super::theme::INK;
use crate::text::percentile;
use plan::metric::{Metric, MetricKey, Phase, Stat};
use results::latency::{Sample, distribution, samples};
use results::metrics::Amount;
use results::run_folder::Percentile;

/// The most curves that one panel shows.
const CURVES: usize = 8;

/// One team's requests of one class.
#[derive(Debug)]
pub(super) struct Curve {
    /// Team and class, as far as they tell curves apart.
    pub label: String,
    pub colour: RGBColor,
    pub mark: Mark,
    /// Observed waits, sorted, seconds.
    pub observed: Vec<f64>,
    /// Waits of those never bound, sorted, seconds.
    pub censored: Vec<f64>,
    /// Highest percentile that there are samples enough for, in words.
    pub tail: String,
    pub tail_amount: Amount,
    /// Published percentiles: share of 1 and seconds.
    pub published: Vec<(f64, f64)>,
}

/// The curves of an arm, over all its repeats; the largest first, should there be too many to show.
pub(super) fn curves(material: &Material, run: &RunMaterial) -> Vec<Curve> {
    let arm = &run.summary.arm;
    let teams = run
        .working()
        .map(|t| (t.name.as_str(), pooled(material, arm, &t.name)));
    let teams = teams.filter(|(_, classes)| !classes.is_empty());
    let teams: Vec<(&str, BTreeMap<String, Vec<Sample>>)> = teams.collect();
    let one_team = teams.len() == 1;
    let mut curves = Vec::new();
    for (team, classes) in teams {
        let one_class = classes.len() == 1;
        for (i, (class, waits)) in classes.into_iter().enumerate() {
            let mut curve = curve(&waits);
            curve.label = match (one_team, one_class) {
                (_, true) => team.to_owned(),
                (true, false) => class.clone(),
                (false, false) => format!("{team}: {class}"),
            };
            curve.colour = material.teams.colour(team);
            curve.mark = [Mark::Line, Mark::Dash, Mark::Dots][i % 3];
            for (share, stat) in [(0.5, Stat::P50), (0.95, Stat::P95), (0.99, Stat::P99)] {
                let metric = Metric::latency(Phase::BindLatency, stat);
                let key = metric.map(|metric| MetricKey::class(team, &class, metric));
                let found = key.and_then(|key| run.published(&key));
                curve.published.extend(found.map(|v| (share, v)));
            }
            curves.push(curve);
        }
    }
    curves.sort_by_key(|c| std::cmp::Reverse(c.count()));
    curves.truncate(CURVES);
    curves
}

/// The waits of a team by class, over all repeats of an arm.
fn pooled(material: &Material, arm: &str, team: &str) -> BTreeMap<String, Vec<Sample>> {
    let mut all: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    for run in material.all_of(arm) {
        let own = run.run.records.iter().filter(|r| r.tenant == team);
        for ((class, phase), waits) in samples(own, run.summary.observed_secs).0 {
            if phase == Phase::BindLatency {
                all.entry(class).or_default().extend(waits);
            }
        }
    }
    all
}

fn curve(waits: &[Sample]) -> Curve {
    let sorted = |censored: bool| -> Vec<f64> {
        let mut own: Vec<f64> = waits
            .iter()
            .filter(|w| w.censored == censored && w.secs.is_finite())
            .map(|w| w.secs)
            .collect();
        own.sort_by(f64::total_cmp);
        own
    };
    let all = distribution(waits);
    let (name, tail) = match all.p95 {
        Percentile::TooFew => ("longest", all.max),
        p95 => ("p95", p95),
    };
    Curve {
        label: String::new(),
        colour: INK,
        mark: Mark::Line,
        observed: sorted(false),
        censored: sorted(true),
        tail: percentile(tail)
            .map(|v| format!("{name} {v}"))
            .unwrap_or_default(),
        tail_amount: Amount::of(tail).unwrap_or(Amount::Is(0.0)),
        published: Vec::new(),
    }
}

impl Curve {
    /// Requests, the never bound among them.
    pub fn count(&self) -> usize {
        self.observed.len() + self.censored.len()
    }

    /// Percentile and seconds of each observed wait; the last one stands where all are shorter or equal.
    #[allow(clippy::cast_precision_loss)] // counts far below 2^52
    fn points(&self) -> Vec<(f64, f64)> {
        let n = self.count() as f64;
        self.observed
            .iter()
            .enumerate()
            .map(|(i, secs)| (i as f64 / n, *secs))
            .collect()
    }

    /// Where the never bound ones begin.
    #[allow(clippy::cast_precision_loss)]
    fn never(&self) -> Option<(f64, f64)> {
        let least = *self.censored.first()?;
        let least = self.observed.last().map_or(least, |last| least.max(*last));
        Some((self.observed.len() as f64 / self.count() as f64, least))
    }

    pub fn draw<DB: DrawingBackend>(&self, body: &Area<DB>, panel: &Panel<DB>) -> Drawn {
        let mut points = self.points();
        if let Some((share, secs)) = self.never() {
            // Up to the bound that is sure, and along it: the true curve is somewhere above.
            points.push((share, secs));
            panel.line_steps(&points, self.mark, self.colour)?;
            panel.line(&[(share, secs), (1.0, secs)], Mark::Dots, self.colour)?;
            spot(body, panel.at(share, secs), Mark::Over, self.colour)?;
            spot(body, panel.at(1.0, secs), Mark::Over, self.colour)?;
        } else {
            panel.line_steps(&points, self.mark, self.colour)?;
        }
        for (share, secs) in &self.published {
            spot(body, panel.at(*share, *secs), Mark::Diamond, INK)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(secs: f64, censored: bool) -> Sample {
        Sample {
            secs,
            censored,
            at_secs: secs,
        }
    }

    #[test]
    fn the_never_bound_stay_in_the_percentiles() {
        let mut waits: Vec<Sample> = (1..=60).map(|i| wait(f64::from(i), false)).collect();
        waits.extend((0..60).map(|_| wait(90.0, true)));
        let mut curve = curve(&waits);
        assert_eq!(curve.points().last(), Some(&(59.0 / 120.0, 60.0)));
        assert_eq!(curve.never(), Some((0.5, 90.0)));
        assert_eq!(curve.tail, "p95 > 90 s");
        curve.label = "tenth".into();
        let arm = super::super::Arm {
            name: "spread".into(),
            curves: vec![curve],
        };
        assert_eq!(
            super::super::finding(60, 120, &super::super::over_arms(&[arm])),
            "60 of 120 requests never bound. Bind latency, tenth: p95 > 90 s in each arm"
        );
    }
}
