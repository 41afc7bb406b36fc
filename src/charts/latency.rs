//! Latency from submit to bound on an axis of percentiles, as HDR histograms are shown: every request, the never bound
//! ones too. A panel an arm.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, spot};
use super::figures::tails;
use super::grid::{self, Place};
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, HEAD, NAME, Panel};
use super::scale::Scale;
use super::text::{count, percentile, short};
use super::theme::INK;
use crate::observer::latency::{Sample, distribution, samples};
use crate::run_folder::Phase;

/// The most curves that one panel, and arms that one picture shows.
const CURVES: usize = 8;
const PANELS: usize = 8;
/// Height of the panel of a single arm, and of each of several.
const TALL: i32 = 520;
const LOW: i32 = 280;

/// The chart's data.
#[derive(Debug)]
pub struct BoundLatency {
    arms: Vec<Arm>,
    title: String,
    runs: usize,
    origin: String,
}

#[derive(Debug)]
struct Arm {
    name: String,
    curves: Vec<Curve>,
}

/// One team's requests of one class.
#[derive(Debug)]
struct Curve {
    /// Team and class, as far as they tell curves apart.
    label: String,
    colour: RGBColor,
    mark: Mark,
    /// Observed waits, sorted, seconds.
    observed: Vec<f64>,
    /// Waits of those never bound, sorted, seconds.
    censored: Vec<f64>,
    /// Highest percentile that there are samples enough for, in words.
    tail: String,
    /// Published percentiles: share of 1 and seconds.
    published: Vec<(f64, f64)>,
}

impl BoundLatency {
    /// A chart, if the session has records.
    pub fn of(material: &Material) -> Option<Self> {
        let shown = material.shown();
        let arms: Vec<Arm> = shown
            .iter()
            .map(|run| Arm {
                name: run.summary.arm.clone(),
                curves: curves(material, run),
            })
            .filter(|arm| !arm.curves.is_empty())
            .take(PANELS)
            .collect();
        let never: usize = arms
            .iter()
            .flat_map(|a| &a.curves)
            .map(|c| c.censored.len())
            .sum();
        let all: usize = arms.iter().flat_map(|a| &a.curves).map(Curve::count).sum();
        let words = match (&arms[..], &shown[..]) {
            ([], _) => return None,
            ([_], [run, ..]) => tails(run, 2).unwrap_or_default(),
            (several, _) => over_arms(several),
        };
        Some(Self {
            title: finding(never, all, &words),
            runs: material.runs.len(),
            origin: material.origin(),
            arms,
        })
    }
}

/// The curves of an arm, over all its repeats; the largest first, should there be too many to show.
fn curves(material: &Material, run: &RunMaterial) -> Vec<Curve> {
    let arm = &run.summary.arm;
    let teams: Vec<(&str, BTreeMap<String, Vec<Sample>>)> = run
        .working()
        .map(|t| (t.name.as_str(), pooled(material, arm, &t.name)))
        .collect();
    let one_team = teams
        .iter()
        .filter(|(_, classes)| !classes.is_empty())
        .count()
        == 1;
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
            for (share, name) in [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")] {
                let keys = [
                    format!("{class}.bound_{name}_secs"),
                    format!("bound_{name}_secs"),
                ];
                let found = keys.iter().find_map(|k| run.published(team, k));
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
    for run in material.runs.iter().filter(|r| r.summary.arm == arm) {
        let own = run.run.records.iter().filter(|r| r.tenant == team);
        for ((class, phase), waits) in samples(own, run.summary.observed_secs).0 {
            if phase == Phase::Bound {
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
    let named = |name, p| percentile(p).map(|v| format!("{name} {v}"));
    Curve {
        label: String::new(),
        colour: INK,
        mark: Mark::Line,
        observed: sorted(false),
        censored: sorted(true),
        tail: named("p95", all.p95)
            .or_else(|| named("longest", all.max))
            .unwrap_or_default(),
        published: Vec::new(),
    }
}

impl Curve {
    fn count(&self) -> usize {
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

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>, panel: &Panel<DB>) -> Drawn {
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

/// The largest curve of each arm: what it took there.
fn over_arms(arms: &[Arm]) -> String {
    let largest = arms[0].curves[0].label.clone();
    let each = arms.iter().take(6).filter_map(|arm| {
        let curve = arm.curves.iter().find(|c| c.label == largest)?;
        Some(format!("{} {}", arm.name, curve.tail))
    });
    format!("{largest}: {}", each.collect::<Vec<_>>().join(", "))
}

fn finding(never: usize, all: usize, words: &str) -> String {
    let never = match never {
        0 => String::new(),
        n => format!("{n} of {} never bound. ", count(all as u64, "request")),
    };
    format!("{never}Submit to bound, {words}")
}

impl Sketch for BoundLatency {
    fn name(&self) -> String {
        "bound-latency".into()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn legend(&self) -> Vec<Key> {
        let one = self.arms.len() == 1;
        let mut keys: Vec<Key> = Vec::new();
        let curves = || self.arms.iter().flat_map(|a| &a.curves);
        for curve in curves() {
            let label = if one {
                format!("{} (n = {})", curve.label, curve.count())
            } else {
                curve.label.clone()
            };
            if keys.iter().all(|k| k.label != label) {
                keys.push(Key::new(curve.mark, curve.colour, label));
            }
        }
        if curves().any(|c| !c.published.is_empty()) {
            keys.push(Key::new(Mark::Diamond, INK, "published"));
        }
        if curves().any(|c| !c.censored.is_empty()) {
            keys.push(Key::new(Mark::Over, INK, "never bound: longer than this"));
        }
        keys
    }

    fn note(&self) -> String {
        let runs = count(self.runs as u64, "run");
        format!(
            "From the intended submit time, every request of {runs}; percentile p spaced by 1 ÷ (1 − p), time by its \
             logarithm. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        match self.arms.len() {
            1 => (HEAD + TALL + FOOT + NAME).unsigned_abs(),
            n => grid::height(n, LOW),
        }
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let n = self.arms.len();
        let places: Vec<Place> = match n {
            1 => vec![(
                (120, body.dim_in_pixel().0.cast_signed() - 40),
                (HEAD, HEAD + TALL),
            )],
            n => grid::places(n, LOW),
        };
        let curves = || self.arms.iter().flat_map(|a| &a.curves);
        let most = curves().map(Curve::count).max().unwrap_or(1);
        let y = Scale::log_secs(curves().flat_map(|c| {
            let published = c.published.iter().map(|(_, secs)| *secs);
            c.observed
                .iter()
                .chain(&c.censored)
                .copied()
                .chain(published)
        }));
        for (i, (arm, (sides, rows))) in self.arms.iter().zip(places).enumerate() {
            let panel = Panel::new(body, sides, rows, Scale::percentiles(most), y.clone());
            let title = if n == 1 {
                "submit → bound".to_owned()
            } else {
                short(&arm.name, 40)
            };
            panel.axes(&title, "")?;
            let last = n == 1 || grid::is_last_row(i, n);
            panel.x_axis(if last { "percentile of requests" } else { "" }, true)?;
            for curve in &arm.curves {
                curve.draw(body, &panel)?;
            }
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
        let arm = Arm {
            name: "spread".into(),
            curves: vec![curve],
        };
        assert_eq!(
            finding(60, 120, &over_arms(&[arm])),
            "60 of 120 requests never bound. Submit to bound, tenth: spread p95 > 90 s"
        );
    }
}
