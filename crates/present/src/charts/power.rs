//! How often a change is found, and how often one is seen that is not there: a panel a metric, a curve for each number of
//! runs.

use std::path::{Path, PathBuf};

use plan::metric::MetricKey;
use plotters::prelude::*;

use super::PlotError;
use super::canvas::{Key, Sketch};
use super::grid;
use super::panel::Panel;
use super::pen::{Area, Drawn, Mark, spot};
use super::scale::Scale;
use super::theme::{INK, Teams, WRONG};
use crate::text::{joined, short, whole};
use compare::power::{Detection, Power, Shape};

/// The most metrics that one picture shows.
const PANELS: usize = 6;
const PANEL_HEIGHT: i32 = 240;

/// The chart's data.
#[derive(Debug)]
pub struct PowerChart<'a>(&'a Power);

/// Draws the chart into `out` as SVG and PNG, and returns the files' paths.
///
/// # Errors
/// If a file can't be drawn or written.
pub fn draw(power: &Power, out: &Path) -> Result<[PathBuf; 2], PlotError> {
    super::folder(out)?;
    super::save(&PowerChart(power), out.join("power.svg"))
}

/// A metric's name as short as a panel is wide; which team it is of, the picture's title or note can say.
fn title(metric: &MetricKey) -> String {
    let words = metric.class_name().into_iter().chain([metric.row().name]);
    short(&joined(words, " "), 28)
}

fn name(shape: &Shape) -> String {
    match shape.nights {
        1 => format!("{} + {} runs", shape.base_runs, shape.new_runs),
        nights => format!("{nights} nights + 1, of {}", shape.new_runs),
    }
}

/// What the first metric needs: the smallest change that the best of the shapes with as many new runs as old ones finds in
/// four of five comparisons, and how often the others do.
fn found(power: &Power) -> Option<String> {
    let even = || power.shapes.iter().filter(|s| s.base_runs == s.new_runs);
    let metric = &power.metrics.first()?.metric;
    let best = &of_metric(even().next_back()?, metric)?.found;
    let at = best.iter().position(|(_, share)| *share >= 0.8)?;
    let (effect, _) = best[at];
    let each = even().filter_map(|s| {
        let (_, share) = *of_metric(s, metric)?.found.get(at)?;
        Some(format!("{:.0} % by {}", share * 100.0, name(s)))
    });
    Some(format!(
        "{} worse by {effect} % is found in {}; ",
        metric.words(),
        joined(each, ", ")
    ))
}

/// How often a change of a metric is found.
fn of_metric<'a>(shape: &'a Shape, metric: &MetricKey) -> Option<&'a Detection> {
    shape.detection.iter().find(|d| d.metric == *metric)
}

/// Where a change lies on an axis of the simulated changes in equal steps, from 1.
#[allow(clippy::cast_precision_loss)] // a handful of changes
fn place(effects: &[f64], percent: f64) -> Option<f64> {
    let next = effects.iter().position(|e| *e >= percent)?;
    let before = match next.checked_sub(1) {
        None => return (percent >= effects[0]).then_some(1.0),
        Some(i) => effects[i],
    };
    Some(next as f64 + (percent - before) / (effects[next] - before))
}

impl PowerChart<'_> {
    fn panels(&self) -> Vec<(&MetricKey, Vec<(&Shape, &Detection)>)> {
        let power = self.0;
        let of = |metric: &MetricKey| {
            let shapes = power.shapes.iter();
            let own = shapes.filter_map(|s| Some((s, of_metric(s, metric)?)));
            own.collect::<Vec<_>>()
        };
        let all = power.metrics.iter().map(|m| (&m.metric, of(&m.metric)));
        all.filter(|(_, curves)| !curves.is_empty())
            .take(PANELS)
            .collect()
    }

    fn colours(&self) -> Teams {
        let names: Vec<String> = self.0.shapes.iter().map(name).collect();
        Teams::new(names.iter().map(String::as_str))
    }
}

impl Sketch for PowerChart<'_> {
    fn name(&self) -> String {
        "power".into()
    }

    fn title(&self) -> String {
        let power = self.0;
        let shapes = power.shapes.iter();
        let alarms = shapes.map(|s| s.false_alarms.max(s.false_alarms_at_threshold));
        let most = alarms.fold(0.0, f64::max);
        format!(
            "{}false alarms at most {:.1} %, allowed {:.0} %",
            found(power).unwrap_or_default(),
            most * 100.0,
            power.alpha * 100.0
        )
    }

    fn legend(&self) -> Vec<Key> {
        let colours = self.colours();
        let key = |s| Key::new(Mark::Line, colours.colour(&name(s)), name(s));
        let mut keys: Vec<Key> = self.0.shapes.iter().map(key).collect();
        keys.push(Key::new(Mark::Dash, WRONG, "threshold of the metric"));
        keys.push(Key::new(Mark::Dots, INK, "false alarms allowed"));
        keys
    }

    fn note(&self) -> String {
        let power = self.0;
        format!(
            "{} simulated comparisons a point, drawn from {} real runs of {} that differ by chance alone, on {}. \
             Baseline + new runs; one metric is made worse, all others are left as they are.",
            whole(f64::from(power.draws)),
            power.runs,
            power.experiment,
            power.ran.hami
        )
    }

    fn height(&self) -> u32 {
        grid::height(self.panels().len(), PANEL_HEIGHT)
    }

    #[allow(clippy::cast_precision_loss)] // a handful of changes
    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let panels = self.panels();
        let colours = self.colours();
        for ((metric, curves), (sides, rows), last) in grid::each(&panels, PANEL_HEIGHT) {
            let effects: Vec<f64> = curves[0].1.found.iter().map(|(e, _)| *e).collect();
            let labels: Vec<String> = effects.iter().map(f64::to_string).collect();
            let (x, y) = (Scale::named(&labels), Scale::exact(100.0));
            let panel = Panel::new(body, sides, rows, x, y);
            panel.axes(&title(metric), "")?;
            panel.x_axis(if last { "worse by, %" } else { "" }, true)?;
            let allowed = self.0.alpha * 100.0;
            let ends = (0.5, effects.len() as f64 + 0.5);
            panel.line(&[(ends.0, allowed), (ends.1, allowed)], Mark::Dots, INK)?;
            let mut metrics = self.0.metrics.iter();
            let threshold = metrics.find(|m| m.metric == **metric);
            let threshold = threshold.and_then(|m| m.threshold_percent);
            if let Some(at) = threshold.and_then(|t| place(&effects, t)) {
                panel.upright(at, Mark::Dash, WRONG)?;
            }
            for (shape, detection) in curves {
                let colour = colours.colour(&name(shape));
                let found = (1..).zip(&detection.found);
                let points = found.map(|(x, (_, share))| (f64::from(x), share * 100.0));
                let points: Vec<(f64, f64)> = points.collect();
                panel.line(&points, Mark::Line, colour)?;
                for (x, y) in points {
                    spot(body, panel.at(x, y), Mark::Circle, colour)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_lies_between_the_changes_around_it() {
        let effects = [1.0, 2.0, 5.0];
        assert_eq!(place(&effects, 1.0), Some(1.0));
        assert_eq!(place(&effects, 2.0), Some(2.0));
        assert_eq!(place(&effects, 3.5), Some(2.5));
        assert_eq!(place(&effects, 0.5), None);
        assert_eq!(place(&effects, 6.0), None);
    }
}
