//! A figure over sessions of the same experiment, with the range of its repeats: what changed, and when.

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, line, spot};
use super::figures::{Repeats, Unit, words};
use super::grid;
use super::material::Material;
use super::panel::Panel;
use super::scale::Scale;
use super::text::{count, short};
use super::theme::INK;

/// The most figures that one picture shows.
const PANELS: usize = 6;
const PANEL_HEIGHT: i32 = 220;

/// The chart's data.
#[derive(Debug)]
pub struct Trend {
    figures: Vec<Figure>,
    /// Start of each session, oldest first.
    started: Vec<String>,
    arm: String,
    sources: usize,
    experiment: String,
}

/// One figure of one team.
#[derive(Debug)]
struct Figure {
    team: String,
    key: String,
    colour: RGBColor,
    /// Number of the session, and the figure over its repeats.
    points: Vec<(usize, Repeats)>,
}

impl Trend {
    /// A chart of the sessions of one experiment; `None` of fewer than two.
    #[must_use]
    pub fn of(sessions: &[&Material]) -> Option<Self> {
        let mut sessions = sessions.to_vec();
        sessions.sort_by(|a, b| a.session.summary.started.cmp(&b.session.summary.started));
        let last = *sessions.last().filter(|_| sessions.len() > 1)?;
        let arm = (*last.arms().first()?).to_owned();
        let run = last.runs.iter().find(|r| r.summary.arm == arm)?;
        let mut figures = Vec::new();
        for team in run.working() {
            let classes = team.latency.keys().map(|c| format!("{c}.bound_p95_secs"));
            let key = match team.makespan_secs {
                Some(_) => Some("makespan_secs".to_owned()),
                None => classes.into_iter().next(),
            };
            let Some(key) = key else { continue };
            let repeats =
                |(i, m): (usize, &&Material)| Some((i, Repeats::of(m, &arm, &team.name, &key)?));
            figures.push(Figure {
                points: sessions.iter().enumerate().filter_map(repeats).collect(),
                team: team.name.clone(),
                colour: last.teams.colour(&team.name),
                key,
            });
        }
        figures.retain(|f| f.points.len() > 1);
        figures.truncate(PANELS);
        let mut sources: Vec<String> = sessions
            .iter()
            .map(|m| m.session.summary.hami.label())
            .collect();
        sources.sort();
        sources.dedup();
        (!figures.is_empty()).then(|| Self {
            figures,
            started: sessions
                .iter()
                .map(|m| m.session.summary.started.clone())
                .collect(),
            arm,
            sources: sources.len(),
            experiment: last.session.summary.experiment.clone(),
        })
    }
}

impl Figure {
    /// How the last session compares with the median of those before it; and whether their ranges overlap.
    fn change(&self) -> Option<(f64, bool)> {
        let ((_, last), before) = self.points.split_last()?;
        let mut medians: Vec<f64> = before.iter().map(|(_, r)| r.median.at_least()).collect();
        medians.sort_by(f64::total_cmp);
        let base = *medians.get(medians.len().checked_sub(1)? / 2)?;
        let all = before
            .iter()
            .flat_map(|(_, r)| &r.values)
            .map(|v| v.at_least());
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        let own = last.values.iter().map(|v| v.at_least());
        let inside = own.into_iter().any(|v| (low..=high).contains(&v));
        (base > 0.0).then(|| (last.median.at_least() / base - 1.0, inside))
    }
}

impl Sketch for Trend {
    fn name(&self) -> String {
        "trend".into()
    }

    fn title(&self) -> String {
        let n = self.started.len().saturating_sub(1);
        let changes: Vec<(&Figure, f64, bool)> = self
            .figures
            .iter()
            .filter_map(|f| f.change().map(|(change, inside)| (f, change, inside)))
            .collect();
        let each = changes
            .iter()
            .take(4)
            .map(|(f, change, _)| format!("{} {:+.1} %", f.team, change * 100.0));
        let outside: Vec<&str> = changes
            .iter()
            .filter(|(_, _, inside)| !inside)
            .map(|(f, _, _)| f.team.as_str())
            .take(4)
            .collect();
        let range = match outside[..] {
            [] => "within the range of before".to_owned(),
            _ => format!("outside the range of before: {}", outside.join(", ")),
        };
        let each = each.collect::<Vec<_>>().join(", ");
        format!(
            "The latest against {} before: {each}; {range}",
            count(n as u64, "session")
        )
    }

    fn legend(&self) -> Vec<Key> {
        let mut keys = vec![
            Key::new(
                Mark::Circle,
                INK,
                "median of a session's runs, in the team's colour",
            ),
            Key::new(Mark::Tick, INK, "range of its runs"),
        ];
        if self
            .figures
            .iter()
            .any(|f| f.points.iter().any(|(_, r)| r.published.is_some()))
        {
            keys.push(Key::new(Mark::Dash, INK, "published"));
        }
        keys
    }

    fn note(&self) -> String {
        let first = self.started.first().map_or("", String::as_str);
        let last = self.started.last().map_or("", String::as_str);
        let mixed = if self.sources > 1 {
            " They ran on different HAMi sources."
        } else {
            ""
        };
        format!(
            "{}, arm {}, sessions from {first} to {last}.{mixed} A picture, not a verdict.",
            self.experiment, self.arm
        )
    }

    fn height(&self) -> u32 {
        grid::height(self.figures.len(), PANEL_HEIGHT)
    }

    #[allow(clippy::cast_precision_loss)] // numbers of sessions
    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let n = self.figures.len();
        for (i, (figure, (sides, rows))) in self
            .figures
            .iter()
            .zip(grid::places(n, PANEL_HEIGHT))
            .enumerate()
        {
            let values = figure
                .points
                .iter()
                .flat_map(|(_, r)| r.values.iter().map(|v| v.at_least()).chain(r.published));
            let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
            let x = Scale::numbers(self.started.len());
            let panel = Panel::new(body, sides, rows, x, Scale::between(low, high));
            let unit = if Unit::of(&figure.key) == Unit::Secs {
                "seconds"
            } else {
                ""
            };
            panel.axes(
                &short(&format!("{}: {}", figure.team, words(&figure.key)), 34),
                unit,
            )?;
            panel.x_axis(
                if grid::is_last_row(i, n) {
                    "session, by time"
                } else {
                    ""
                },
                true,
            )?;
            if let Some(published) = figure.points.iter().find_map(|(_, r)| r.published) {
                panel.line(
                    &[(1.0, published), (self.started.len() as f64, published)],
                    Mark::Dash,
                    INK,
                )?;
            }
            for (session, repeats) in &figure.points {
                let x = (session + 1) as f64;
                let ends = [repeats.values.first(), repeats.values.last()];
                if let [Some(low), Some(high)] = ends {
                    let (from, to) = (panel.at(x, low.at_least()), panel.at(x, high.at_least()));
                    line(body, &[from, to], Mark::Line, figure.colour, 5)?;
                }
                spot(
                    body,
                    panel.at(x, repeats.median.at_least()),
                    Mark::Circle,
                    figure.colour,
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Amount;

    #[test]
    fn the_latest_is_measured_by_the_median_of_those_before() {
        let point = |i, values: &[f64]| {
            let values: Vec<Amount> = values.iter().map(|v| Amount::Is(*v)).collect();
            (
                i,
                Repeats {
                    median: values[values.len() / 2],
                    values,
                    published: None,
                },
            )
        };
        let figure = |last: &[f64]| Figure {
            team: "shared".into(),
            key: "makespan_secs".into(),
            colour: INK,
            points: vec![
                point(0, &[99.0, 100.0]),
                point(1, &[100.0, 102.0, 104.0]),
                point(2, last),
            ],
        };
        let (change, inside) = figure(&[110.0]).change().unwrap();
        assert!((change - 0.1).abs() < 1e-9 && !inside);
        assert!(figure(&[103.0]).change().unwrap().1);
    }
}
