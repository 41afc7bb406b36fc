//! Values over sessions of the same experiment: what changed, when, and how sure that is.
//!
//! Shown are the declared metrics, so that the picture is about what a comparison is about. Each session stands with the
//! range of its runs and the interval, from the same test as `headroom compare`'s, in which those before it put it.

mod data;

use plotters::prelude::*;

use self::data::{Point, chosen, points};
use super::canvas::{Key, Sketch};
use super::grid;
use super::material::Material;
use super::panel::Panel;
use super::pen::{Area, Drawn, Mark, line, spot};
use super::scale::Scale;
use super::theme::{INK, LINE, SOFT};
use super::words::{Words, write};
use crate::text::{count, each_once, joined, short, to_the_second};
use compare::baseline::NIGHTS;
use plan::metric::{MetricKey, Unit};

/// The most metrics that one picture shows.
const PANELS: usize = 6;
/// Of a panel and of the second line above it.
const PANEL_HEIGHT: i32 = 220 + LINE;

/// The chart's data.
#[derive(Debug)]
pub struct Trend {
    metrics: Vec<Metric>,
    /// Start of each session, oldest first.
    started: Vec<String>,
    sources: usize,
    experiment: String,
}

/// One metric of one arm.
#[derive(Debug)]
struct Metric {
    /// Arm, if there are several.
    arm: Option<String>,
    key: MetricKey,
    colour: RGBColor,
    points: Vec<Point>,
}

impl Trend {
    /// A chart of the sessions of one experiment; `None` of fewer than two.
    pub fn of(sessions: &[&Material]) -> Option<Self> {
        let mut sessions = sessions.to_vec();
        sessions.sort_by(|a, b| a.session.summary.started.cmp(&b.session.summary.started));
        let last = *sessions.last().filter(|_| sessions.len() > 1)?;
        let experiment = last.session.summary.experiment.clone();
        let several = last.arms().len() > 1;
        let mut metrics: Vec<Metric> = Vec::new();
        for (arm, key) in chosen(last, &experiment) {
            let team = key.team_name().unwrap_or_default();
            metrics.push(Metric {
                points: points(&sessions, &arm, &key),
                arm: several.then_some(arm),
                colour: last.teams.colour(team),
                key,
            });
        }
        metrics.retain(|f| f.points.len() > 1);
        metrics.truncate(PANELS);
        let summaries = || sessions.iter().map(|m| &m.session.summary);
        let sources = each_once(summaries().map(|summary| summary.hami.label()));
        (!metrics.is_empty()).then(|| Self {
            metrics,
            started: summaries().map(|s| to_the_second(&s.started)).collect(),
            sources: sources.len(),
            experiment,
        })
    }
}

impl Metric {
    fn change(&self) -> Option<(f64, Option<(f64, f64)>)> {
        self.points.last()?.change
    }

    fn name(&self) -> String {
        match &self.arm {
            Some(arm) => format!("{arm}: {}", self.key.words()),
            None => self.key.words(),
        }
    }

    /// As its name, for the two lines above a panel: of what (arm, team, class), and the metric with its unit.
    fn lines(&self) -> (String, String) {
        let of = [
            self.arm.as_deref(),
            self.key.team_name(),
            self.key.class_name(),
        ];
        let row = self.key.row();
        let unit = match row.unit.symbol() {
            "" => String::new(),
            symbol => format!(", {symbol}"),
        };
        (
            short(&joined(of.into_iter().flatten(), " "), 24),
            short(&format!("{}{unit}", row.name), 30),
        )
    }
}

impl Sketch for Trend {
    fn name(&self) -> String {
        "trend".into()
    }

    fn title(&self) -> String {
        let n = self.started.len().saturating_sub(1);
        let before = count(n as u64, "session");
        let percent = |v: f64| format!("{:+.1}", v * 100.0);
        let clear = self.metrics.iter().filter_map(|f| {
            let (change, ends) = f.change()?;
            let (low, high) = ends.filter(|(low, high)| *low > 0.0 || *high < 0.0)?;
            let ends = format!("{} to {}", percent(low), percent(high));
            Some(format!("{} {} % ({ends})", f.name(), percent(change)))
        });
        let clear: Vec<String> = clear.take(3).collect();
        if !clear.is_empty() {
            return format!(
                "The latest session differs from the {before} before it: {}",
                clear.join("; ")
            );
        }
        let changes = self.metrics.iter().filter_map(|f| Some((f, f.change()?.0)));
        let largest = changes.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let mut changes = self.metrics.iter().filter_map(Metric::change);
        let unsure = changes.all(|(_, ends)| ends.is_none());
        let why = if unsure {
            "too few runs to tell it from chance"
        } else {
            "which may be chance"
        };
        match largest {
            Some((metric, change)) => format!(
                "The latest session against the {before} before it: at most {} %, {}, {why}",
                percent(change),
                metric.name()
            ),
            None => format!("The latest session against the {before} before it"),
        }
    }

    fn legend(&self) -> Vec<Key> {
        let points = || self.metrics.iter().flat_map(|f| &f.points);
        let mut keys = vec![
            Key::new(Mark::Circle, INK, "median of a session's runs"),
            Key::new(Mark::Tick, INK, "range of its runs"),
        ];
        if points().any(|p| p.interval.is_some()) {
            keys.push(Key::new(
                Mark::Line,
                SOFT,
                "95 % interval, from the sessions before",
            ));
        }
        if points().any(|p| p.measured.published.is_some()) {
            keys.push(Key::new(Mark::Dash, INK, "published"));
        }
        keys
    }

    fn note(&self) -> String {
        let first = self.started.first().map_or("", String::as_str);
        let last = self.started.last().map_or("", String::as_str);
        let mixed = if self.sources > 1 {
            " HAMi's source is not the same in all of them."
        } else {
            ""
        };
        format!(
            "{}, sessions from {first} to {last}.{mixed} The interval is that of the change against up to {NIGHTS} sessions \
             before, for each metric alone. `headroom compare` gives verdicts.",
            self.experiment
        )
    }

    fn height(&self) -> u32 {
        grid::height(self.metrics.len(), PANEL_HEIGHT)
    }

    #[allow(clippy::cast_precision_loss)] // numbers of sessions
    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        for (metric, (sides, rows), last) in grid::each(&self.metrics, PANEL_HEIGHT) {
            let values = metric.points.iter().flat_map(|p| {
                let measured = p.measured.values.iter().map(|v| v.at_least());
                let interval = p.interval.into_iter().flat_map(|(low, high)| [low, high]);
                measured.chain(p.measured.published).chain(interval)
            });
            let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
            // Of things that are counted less than one is nothing.
            let counted = matches!(metric.key.row().unit, Unit::Count | Unit::Cards);
            let high = if counted { high.max(low + 1.0) } else { high };
            let x = Scale::numbers(self.started.len());
            let rows = (rows.0 + LINE, rows.1);
            let panel = Panel::new(body, sides, rows, x, Scale::between(low, high));
            panel.axes("", "")?;
            let (of, what) = metric.lines();
            let above = rows.0 - 30;
            write(body, (sides.0, above - LINE), &of, &Words::bold())?;
            write(body, (sides.0, above), &what, &Words::soft())?;
            panel.x_axis(if last { "session, by time" } else { "" }, true)?;
            if let Some(published) = metric.points.iter().find_map(|p| p.measured.published) {
                let ends = [(1.0, published), (self.started.len() as f64, published)];
                panel.line(&ends, Mark::Dash, INK)?;
            }
            for point in &metric.points {
                let x = (point.session + 1) as f64;
                if let Some((low, high)) = point.interval {
                    let ends = [panel.at(x, low), panel.at(x, high)];
                    line(body, &ends, Mark::Line, SOFT, 2)?;
                    for (x, y) in ends {
                        line(body, &[(x - 10, y), (x + 10, y)], Mark::Line, SOFT, 2)?;
                    }
                }
                let values = &point.measured.values;
                if let (Some(low), Some(high)) = (values.first(), values.last()) {
                    let ends = [low, high].map(|end| panel.at(x, end.at_least()));
                    line(body, &ends, Mark::Line, metric.colour, 6)?;
                }
                let median = panel.at(x, point.measured.of_arm.at_least());
                spot(body, median, Mark::Circle, metric.colour)?;
            }
        }
        Ok(())
    }
}
