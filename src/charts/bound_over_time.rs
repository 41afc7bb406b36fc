//! Requests bound over time, a panel an arm, under the ceiling that HAMi's client limit sets: limit ÷ calls for each pod.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::figures::steps;
use super::grid;
use super::material::{Material, RunMaterial};
use super::panel::Panel;
use super::pen::{Area, Drawn, Mark};
use super::scale::Scale;
use super::text::{secs, short};
use super::theme::{INK, WRONG};
use super::words::{Words, write};
use crate::cluster::HAMI;
use crate::plan::{ClientLimit, Via};

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
    for record in run.run.records.iter().filter(|r| !background(&r.tenant)) {
        asked += 1;
        let at = record.first_bind_secs().filter(|at| *at <= end_secs);
        done += u32::from(at.is_some());
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
            .get(HAMI)
            .map(|calls| calls.values().sum())
            .filter(|n| *n > 0.0),
        end_secs,
        asked,
        bound: done,
        curves,
    }
}

impl Arm {
    /// How many pods HAMi's limit allows for by `secs`.
    fn ceiling(&self, secs: f64) -> Option<f64> {
        Some((f64::from(self.limit.burst) + self.limit.qps * secs) / self.calls?)
    }

    /// The ceiling as a line, as far as it lies below what was asked for.
    fn ceiling_line(&self) -> Option<[(f64, f64); 2]> {
        let asked = f64::from(self.asked);
        let full = (asked * self.calls? - f64::from(self.limit.burst)) / self.limit.qps;
        let until = full.clamp(0.0, self.end_secs);
        Some([
            (0.0, self.ceiling(0.0)?.min(asked)),
            (until, self.ceiling(until)?.min(asked)),
        ])
    }
}

/// `a`, or `a to b` where the values differ when printed: the smallest and the largest of numbers of like length.
fn span(values: impl Iterator<Item = String>) -> Option<String> {
    let number = |text: &String| text.parse::<f64>().unwrap_or(f64::NAN);
    let mut values: Vec<String> = values.collect();
    values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    values.dedup();
    match &values[..] {
        [] => None,
        [one] => Some(one.clone()),
        [first, .., last] => Some(format!("{first} to {last}")),
    }
}

/// For each limit how many were bound, over its arms, and how many it allows.
fn finding(arms: &[Arm]) -> String {
    let mut limits: Vec<ClientLimit> = Vec::new();
    for arm in arms {
        if !limits.contains(&arm.limit) {
            limits.push(arm.limit);
        }
    }
    let parts = limits.iter().take(3).map(|limit| {
        let own = || arms.iter().filter(|a| a.limit == *limit);
        let least = own().map(|a| a.bound).min().unwrap_or(0);
        let most = own().map(|a| a.bound).max().unwrap_or(0);
        let asked = own().map(|a| a.asked).max().unwrap_or(0);
        let fewest = own().map(|a| a.asked).min().unwrap_or(0);
        let range = |least: u32, most: u32| {
            if least == most {
                least.to_string()
            } else {
                format!("{least} to {most}")
            }
        };
        let (bound, of) = (range(least, most), range(fewest, asked));
        let end = own().map(|a| a.end_secs).fold(0.0, f64::max);
        // A ceiling above what was asked for explains nothing.
        let allowed: Vec<(f64, f64)> = own()
            .filter_map(|a| Some((a.calls?, a.ceiling(a.end_secs)?, f64::from(a.asked))))
            .filter(|(_, n, asked)| n < asked)
            .map(|(calls, n, _)| (calls, n))
            .collect();
        let calls = span(allowed.iter().map(|(calls, _)| format!("{calls:.1}")));
        let pods = span(allowed.iter().map(|(_, n)| format!("{n:.0}")));
        let allowed = calls.zip(pods).map_or_else(String::new, |(calls, n)| {
            format!(" ({calls} calls a pod allow {n})")
        });
        format!(
            "{} / {} bound {bound} of {of} in {}{allowed}",
            limit.qps,
            limit.burst,
            secs(end)
        )
    });
    format!(
        "HAMi's client limit: {}",
        parts.collect::<Vec<_>>().join("; ")
    )
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
        if self.arms.iter().any(|a| a.calls.is_some()) {
            keys.push(Key::new(
                Mark::Dash,
                WRONG,
                "what the limit ÷ calls a pod allows",
            ));
        }
        keys
    }

    fn note(&self) -> String {
        format!(
            "Requests bound so far, one run of each arm; the ceiling is (burst + rate × time) ÷ calls for each bound pod. {}",
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
            let bound = format!("{} of {} bound", arm.bound, arm.asked);
            write(body, (left + 12, top + 20), &bound, &Words::plain())?;
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
mod tests {
    use super::*;

    fn arm(qps: f64, burst: u32, bound: u32) -> Arm {
        Arm {
            name: "a".into(),
            limit: ClientLimit { qps, burst },
            calls: Some(9.0),
            end_secs: 90.0,
            asked: 120,
            bound,
            curves: Vec::new(),
        }
    }

    #[test]
    fn the_ceiling_is_the_limit_over_the_calls() {
        let slow = arm(5.0, 10, 44);
        let line = slow.ceiling_line().unwrap();
        assert!((line[0].1 - 10.0 / 9.0).abs() < 1e-9);
        assert!((line[1].1 - 460.0 / 9.0).abs() < 1e-9);
        let fast = arm(100.0, 200, 120).ceiling_line().unwrap();
        assert!((fast[1].0 - 8.8).abs() < 1e-9 && (fast[1].1 - 120.0).abs() < 1e-9);
    }

    #[test]
    fn arms_of_a_limit_with_other_calls_give_a_range_of_ceilings() {
        let mut binpack = arm(5.0, 10, 22);
        binpack.calls = Some(18.4);
        assert_eq!(
            finding(&[arm(5.0, 10, 54), binpack]),
            "HAMi's client limit: 5 / 10 bound 22 to 54 of 120 in 90 s (9.0 to 18.4 calls a pod allow 25 to 51)"
        );
    }

    #[test]
    fn the_title_takes_the_arms_of_a_limit_together() {
        let arms = [arm(5.0, 10, 44), arm(5.0, 10, 41), arm(100.0, 200, 120)];
        assert_eq!(
            finding(&arms),
            "HAMi's client limit: 5 / 10 bound 41 to 44 of 120 in 90 s (9.0 calls a pod allow 51); 100 / 200 bound \
             120 of 120 in 90 s"
        );
    }
}
