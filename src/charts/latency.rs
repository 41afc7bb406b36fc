//! Latency from submit to bound on an axis of percentiles, as HDR histograms are shown: every request, the never bound
//! ones too.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, spot};
use super::figures::tails;
use super::material::Material;
use super::panel::{FOOT, HEAD, NAME, Panel};
use super::scale::Scale;
use super::text::count;
use super::theme::INK;
use crate::observer::latency::{Sample, samples};
use crate::run_folder::Phase;

/// The most curves that one picture shows.
const CURVES: usize = 8;
const PANEL_HEIGHT: i32 = 520;

/// The chart's data.
#[derive(Debug)]
pub struct BoundLatency {
    suffix: String,
    arm: String,
    curves: Vec<Curve>,
    /// Percentiles in words.
    tails: Option<String>,
    repeats: usize,
    origin: String,
}

/// One team's requests of one class.
#[derive(Debug)]
struct Curve {
    label: String,
    colour: RGBColor,
    mark: Mark,
    /// Observed waits, sorted, seconds.
    observed: Vec<f64>,
    /// Waits of those never bound, sorted, seconds.
    censored: Vec<f64>,
    /// Published percentiles: share of 1 and seconds.
    published: Vec<(f64, f64)>,
}

impl BoundLatency {
    /// A chart for each arm with records.
    #[must_use]
    pub fn of(material: &Material) -> Vec<Self> {
        let charts = material.shown().into_iter().map(|run| {
            let arm = &run.summary.arm;
            let mut curves = Vec::new();
            let teams = run.working().map(|t| t.name.as_str());
            for team in teams {
                let classes = pooled(material, arm, team);
                let several = classes.len() > 1;
                for (i, (class, waits)) in classes.into_iter().enumerate() {
                    let mut curve = curve(&waits);
                    curve.label = if several {
                        format!("{team}: {class}")
                    } else {
                        team.to_owned()
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
            // The largest first, should there be too many to show.
            curves.sort_by_key(|c| std::cmp::Reverse(c.count()));
            curves.truncate(CURVES);
            Self {
                suffix: material.suffix(arm),
                arm: arm.clone(),
                curves,
                tails: tails(run),
                repeats: material
                    .runs
                    .iter()
                    .filter(|r| r.summary.arm == *arm)
                    .count(),
                origin: material.origin(),
            }
        });
        charts.filter(|c| !c.curves.is_empty()).collect()
    }
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
    Curve {
        label: String::new(),
        colour: INK,
        mark: Mark::Line,
        observed: sorted(false),
        censored: sorted(true),
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
}

fn finding(curves: &[Curve], tails: Option<&str>) -> String {
    let never: usize = curves.iter().map(|c| c.censored.len()).sum();
    let all: usize = curves.iter().map(Curve::count).sum();
    let never = match never {
        0 => String::new(),
        n => format!("{n} of {} never bound. ", count(all as u64, "request")),
    };
    format!("{never}Submit to bound, {}", tails.unwrap_or("as recorded"))
}

impl Sketch for BoundLatency {
    fn name(&self) -> String {
        format!("bound-latency{}", self.suffix)
    }

    fn title(&self) -> String {
        finding(&self.curves, self.tails.as_deref())
    }

    fn legend(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self
            .curves
            .iter()
            .map(|c| Key::new(c.mark, c.colour, format!("{} (n = {})", c.label, c.count())))
            .collect();
        if self.curves.iter().any(|c| !c.published.is_empty()) {
            keys.push(Key::new(Mark::Diamond, INK, "published"));
        }
        if self.curves.iter().any(|c| !c.censored.is_empty()) {
            keys.push(Key::new(Mark::Over, INK, "never bound: longer than this"));
        }
        keys
    }

    fn note(&self) -> String {
        let runs = count(self.repeats as u64, "run");
        format!(
            "From the intended submit time, every request of {runs}, arm {}. {}",
            self.arm, self.origin
        )
    }

    fn height(&self) -> u32 {
        (HEAD + PANEL_HEIGHT + FOOT + NAME).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let right = body.dim_in_pixel().0.cast_signed() - 40;
        let most = self.curves.iter().map(Curve::count).max().unwrap_or(1);
        let values = self.curves.iter().flat_map(|c| {
            let published = c.published.iter().map(|(_, secs)| *secs);
            c.observed
                .iter()
                .chain(&c.censored)
                .copied()
                .chain(published)
        });
        let panel = Panel::new(
            body,
            (120, right),
            (HEAD, HEAD + PANEL_HEIGHT),
            Scale::percentiles(most),
            Scale::log_secs(values),
        );
        panel.axes("submit → bound", "time, by its logarithm")?;
        panel.x_axis("percentile p of the requests, spaced by 1 ÷ (1 − p)", true)?;
        for curve in &self.curves {
            let mut points = curve.points();
            if let Some((share, secs)) = curve.never() {
                // Up to the bound that is sure, and along it: the true curve is somewhere above.
                points.push((share, secs));
                panel.line_steps(&points, curve.mark, curve.colour)?;
                panel.line(&[(share, secs), (1.0, secs)], Mark::Dots, curve.colour)?;
                spot(body, panel.at(share, secs), Mark::Over, curve.colour)?;
                spot(body, panel.at(1.0, secs), Mark::Over, curve.colour)?;
            } else {
                panel.line_steps(&points, curve.mark, curve.colour)?;
            }
            for (share, secs) in &curve.published {
                spot(body, panel.at(*share, *secs), Mark::Diamond, INK)?;
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
        let curve = curve(&waits);
        assert_eq!(curve.points().last(), Some(&(59.0 / 120.0, 60.0)));
        assert_eq!(curve.never(), Some((0.5, 90.0)));
        assert_eq!(
            finding(&[curve], Some("whole-card p95: requests > 90.00 s")),
            "60 of 120 requests never bound. Submit to bound, whole-card p95: requests > 90.00 s"
        );
    }
}
