//! Requests bound over time, a panel an arm, under the ceiling that HAMi's client limit sets: limit ÷ calls for each pod.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::grid;
use super::material::{Material, RunMaterial};
use super::metrics::steps;
use super::panel::Panel;
use super::pen::{Area, Drawn, Mark};
use super::scale::Scale;
use super::text::{secs, short, wrap};
use super::theme::{INK, MARGIN, TITLE, WIDTH, WRONG};
use super::words::{Words, write};
use plan::Component;
use plan::{ClientLimit, Via};

/// The most arms that one picture shows.
const PANELS: usize = 8;
const PANEL_HEIGHT: i32 = 260;

/// The chart's data.
#[derive(Debug)]
pub struct BoundOverTime {
    arms: Vec<Arm>,
    origin: String,
}

#[derive(Debug)]
struct Arm {
    name: String,
    limit: ClientLimit,
    /// HAMi's calls for each bound pod, if the audit log told.
    calls: Option<f64>,
    end_secs: f64,
    asked: u32,
    bound: u32,
    /// When the last of them was bound, seconds.
    last_secs: Option<f64>,
    curves: Vec<Curve>,
}

/// One class of a team's requests.
#[derive(Debug)]
struct Curve {
    label: String,
    colour: RGBColor,
    mark: Mark,
    steps: Vec<(f64, f64)>,
}

impl BoundOverTime {
    /// A chart, if the session watched bare pods for a fixed time.
    #[must_use]
    pub fn of(material: &Material) -> Option<Self> {
        let watched = |r: &&RunMaterial| {
            let plan = &r.run.info.plan;
            let background =
                |team: &str| plan.tenants.iter().any(|t| t.name == team && t.background);
            let mut own = r.run.records.iter().filter(|r| !background(&r.tenant));
            // Jobs wait for quota, too, which is another ceiling.
            plan.observe_secs.is_some() && own.all(|r| r.via == Via::Pod)
        };
        let shown = material.shown().into_iter();
        let arms: Vec<Arm> = shown
            .filter(watched)
            .take(PANELS)
            .map(|r| arm(material, r))
            .collect();
        (!arms.is_empty()).then(|| Self {
            arms,
            origin: material.origin(),
        })
    }
}

fn arm(material: &Material, run: &RunMaterial) -> Arm {
    let end_secs = run.summary.observed_secs;
    let plan = &run.run.info.plan;
    let background = |team: &str| plan.tenants.iter().any(|t| t.name == team && t.background);
    let mut bound: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
    let (mut asked, mut done) = (0, 0);
    let mut last_secs: Option<f64> = None;
    for record in run.run.records.iter().filter(|r| !background(&r.tenant)) {
        asked += 1;
        let at = record.first_bind_secs().filter(|at| *at <= end_secs);
        done += u32::from(at.is_some());
        last_secs = last_secs.into_iter().chain(at).reduce(f64::max);
        bound
            .entry((&record.tenant, &record.class))
            .or_default()
            .extend(at.map(|at| (at, 1.0)));
    }
    let several = bound
        .keys()
        .any(|(team, _)| Some(team) != bound.keys().next().map(|(t, _)| t));
    let mut marks: BTreeMap<&str, usize> = BTreeMap::new();
    let mut curves = Vec::new();
    for ((team, class), changes) in bound {
        let nth = marks.entry(team).or_default();
        curves.push(Curve {
            label: if several {
                format!("{team}: {class}")
            } else {
                class.to_owned()
            },
            colour: material.teams.colour(team),
            mark: [Mark::Line, Mark::Dash, Mark::Dots][*nth % 3],
            steps: steps(changes, end_secs),
        });
        *nth += 1;
    }
    Arm {
        name: run.summary.arm.clone(),
        limit: plan.hami.limit,
        calls: run
            .summary
            .calls_per_pod
            .get(Component::Hami.name())
            .map(|calls| calls.values().sum())
            .filter(|n| *n > 0.0),
        end_secs,
        asked,
        bound: done,
        last_secs,
        curves,
    }
}

impl Arm {
    /// How many pods HAMi's limit allows for by `secs`.
    fn ceiling(&self, secs: f64) -> Option<f64> {
        Some((f64::from(self.limit.burst) + self.limit.qps * secs) / self.calls?)
    }

    /// The ceiling as a line, as far as it lies below what was asked for: nowhere where the burst is enough for all.
    fn ceiling_line(&self) -> Option<[(f64, f64); 2]> {
        let asked = f64::from(self.asked);
        let full = (asked * self.calls? - f64::from(self.limit.burst)) / self.limit.qps;
        let until = full.min(self.end_secs);
        (until > 0.0).then_some([
            (0.0, self.ceiling(0.0)?.min(asked)),
            (until, self.ceiling(until)?.min(asked)),
        ])
    }

    /// How many pods the limit allows for by the end, where that is less than what was asked for: a ceiling above it explains
    /// nothing.
    fn allowed(&self) -> Option<f64> {
        let allowed = self.ceiling(self.end_secs)?;
        (allowed < f64::from(self.asked)).then_some(allowed)
    }

    /// `raised 120 of 120 by 8.4 s`.
    fn in_words(&self) -> String {
        let by = self.last_secs.map(|at| format!(" by {}", secs(at)));
        format!(
            "{} {} of {}{}",
            short(&self.name, 30),
            self.bound,
            self.asked,
            by.unwrap_or_default()
        )
    }

    /// `raised 120/120, 8 s`.
    fn in_short(&self) -> String {
        let by = self.last_secs.map(|at| match at {
            at if at < 9.95 => format!(", {at:.1} s"),
            at => format!(", {at:.0} s"),
        });
        format!(
            "{} {}/{}{}",
            short(&self.name, 24),
            self.bound,
            self.asked,
            by.unwrap_or_default()
        )
    }
}

/// `a`, or `a to b` where the values differ when printed: the smallest and the largest.
fn span(mut values: Vec<f64>) -> Option<String> {
    values.sort_by(f64::total_cmp);
    let (first, last) = (values.first()?, values.last()?);
    let [first, last] = [first, last].map(|v| format!("{v:.0}"));
    Some(if first == last {
        first
    } else {
        format!("{first} to {last}")
    })
}

/// Lines of a title that are still readable.
const LINES: usize = 4;

/// Whether a title is shown whole.
fn fits(title: &str) -> bool {
    let room = WIDTH.cast_signed() - 2 * MARGIN;
    wrap(title, TITLE, true, room, LINES + 1).len() <= LINES
}

/// Of each arm how many were bound and by when, and what HAMi's client limit allows where that is less than what was asked
/// for. In as many words as there is room for.
fn finding(arms: &[Arm]) -> String {
    let each = |arm: &Arm| {
        let limit = arm.allowed().map(|n| {
            let ClientLimit { qps, burst } = arm.limit;
            format!(" (HAMi's limit of {qps} / {burst} allows {n:.0})")
        });
        arm.in_words() + &limit.unwrap_or_default()
    };
    let joined = |words: &dyn Fn(&Arm) -> String| {
        let each: Vec<String> = arms.iter().map(words).collect();
        format!("Bound: {}", each.join("; "))
    };
    let allowed = || arms.iter().filter(|a| a.allowed().is_some());
    let mut limits: Vec<String> = allowed()
        .map(|a| format!("{} / {}", a.limit.qps, a.limit.burst))
        .collect();
    limits.dedup();
    let tail = span(allowed().filter_map(Arm::allowed).collect());
    let tail = tail.map(|n| format!(". HAMi's limit of {} allows {n}", limits.join(" or ")));
    let tail = tail.unwrap_or_default();
    let wordings = [
        joined(&each),
        joined(&Arm::in_words) + &tail,
        joined(&Arm::in_short) + &tail,
        joined(&Arm::in_short),
    ];
    let found = wordings.into_iter().find(|title| fits(title));
    found.unwrap_or_else(|| some(arms))
}

/// As many arms as there is room for; each panel says its own.
fn some(arms: &[Arm]) -> String {
    let title = |n: usize| {
        let each: Vec<String> = arms.iter().take(n).map(Arm::in_short).collect();
        format!(
            "Bound: {}; and {} more arms",
            each.join("; "),
            arms.len() - n
        )
    };
    let fitting = (1..arms.len()).rev().map(title).find(|title| fits(title));
    fitting.unwrap_or_else(|| title(arms.len().min(1)))
}

impl Sketch for BoundOverTime {
    fn name(&self) -> String {
        "bound-over-time".into()
    }

    fn title(&self) -> String {
        finding(&self.arms)
    }

    fn legend(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for curve in self.arms.iter().flat_map(|a| &a.curves) {
            if keys.iter().all(|k| k.label != curve.label) {
                keys.push(Key::new(curve.mark, curve.colour, &curve.label));
            }
        }
        if self.arms.iter().any(|a| a.curves.len() > 1) {
            keys.push(Key::new(Mark::Line, INK, "all"));
        }
        if self.arms.iter().any(|a| a.ceiling_line().is_some()) {
            keys.push(Key::new(
                Mark::Dash,
                WRONG,
                "what HAMi's limit ÷ calls a pod allows",
            ));
        }
        keys
    }

    fn note(&self) -> String {
        let drawn = self.arms.iter().any(|a| a.ceiling_line().is_some());
        let ceiling = if drawn {
            "; the ceiling is (burst + rate × time) ÷ calls for each bound pod"
        } else {
            ""
        };
        format!(
            "Requests bound so far, and when the last of them was, one run of each arm{ceiling}. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        grid::height(self.arms.len(), PANEL_HEIGHT)
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let n = self.arms.len();
        for (i, (arm, (sides, rows))) in self
            .arms
            .iter()
            .zip(grid::places(n, PANEL_HEIGHT))
            .enumerate()
        {
            let x = Scale::exact(arm.end_secs);
            let panel = Panel::new(body, sides, rows, x, Scale::linear(f64::from(arm.asked)));
            panel.axes(&short(&arm.name, 24), "")?;
            let (left, top) = (sides.0, rows.0);
            let last = arm.last_secs.map(|at| format!(", last at {}", secs(at)));
            let last = last.unwrap_or_default();
            let bound = format!("{} of {} bound{last}", arm.bound, arm.asked);
            write(body, (left + 12, top + 20), &bound, &Words::plain())?;
            if let Some(n) = arm.allowed() {
                let allowed = format!("HAMi's limit allows {n:.0}");
                write(body, (left + 12, top + 56), &allowed, &Words::soft())?;
            }
            let last = grid::is_last_row(i, n);
            panel.x_axis(if last { "seconds" } else { "" }, true)?;
            let mut all: Vec<(f64, f64)> = Vec::new();
            for curve in &arm.curves {
                panel.line_steps(&curve.steps, curve.mark, curve.colour)?;
                all.extend(curve.steps.windows(2).map(|w| (w[1].0, w[1].1 - w[0].1)));
            }
            if arm.curves.len() > 1 {
                panel.line_steps(&steps(all, arm.end_secs), Mark::Line, INK)?;
            }
            if let Some(line) = arm.ceiling_line() {
                panel.line(&line, Mark::Dash, WRONG)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "bound_over_time_tests.rs"]
mod tests;
