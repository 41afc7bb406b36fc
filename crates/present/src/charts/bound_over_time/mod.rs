//! Requests bound over time, a panel an arm, under the ceiling that HAMi's client limit sets: limit ÷ calls for each pod.

mod arm;
mod finding;
#[cfg(test)]
mod tests;

use plotters::prelude::*;

use self::arm::{Arm, arm};
use self::finding::finding;
use super::canvas::{Key, Sketch};
use super::grid;
use super::material::{Material, RunMaterial};
use super::panel::Panel;
use super::pen::{Area, Drawn, Mark};
use super::scale::Scale;
use super::steps::steps;
use super::theme::{INK, WRONG};
use super::words::{Words, write};
use crate::text::{secs, short};
use plan::Via;

/// The most arms that one picture shows.
const PANELS: usize = 8;
const PANEL_HEIGHT: i32 = 260;

/// The chart's data.
#[derive(Debug)]
pub struct BoundOverTime {
    arms: Vec<Arm>,
    origin: String,
}

impl BoundOverTime {
    /// A chart, if the session watched bare pods for a fixed time.
    pub fn of(material: &Material) -> Option<Self> {
        let watched = |r: &&RunMaterial| {
            // Jobs wait for quota, too, which is another ceiling.
            r.run.info.plan.observe_secs.is_some() && r.foreground().all(|r| r.via == Via::Pod)
        };
        let shown = material.shown().into_iter().filter(watched).take(PANELS);
        let arms: Vec<Arm> = shown.map(|r| arm(material, r)).collect();
        (!arms.is_empty()).then(|| Self {
            arms,
            origin: material.origin(),
        })
    }
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
            let label = "what HAMi's client limit allows";
            keys.push(Key::new(Mark::Dash, WRONG, label));
        }
        keys
    }

    fn note(&self) -> String {
        let drawn = self.arms.iter().any(|a| a.ceiling_line().is_some());
        let ceiling = if drawn {
            "; the ceiling is (burst + rate × time) ÷ calls a bound pod"
        } else {
            ""
        };
        format!(
            "Requests bound over time, one run of each arm{ceiling}. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        grid::height(self.arms.len(), PANEL_HEIGHT)
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        for (arm, (sides, rows), is_last) in grid::each(&self.arms, PANEL_HEIGHT) {
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
            panel.x_axis(if is_last { "seconds" } else { "" }, true)?;
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
