//! A lane a machine: cards in use over time by team, where work was evicted, when it was being cleared, and where whole
//! machines were placed.

mod data;
mod finding;

use plotters::prelude::*;

use self::data::{Lane, all_evictions, lanes};
use self::finding::{Evictions, Verdict, counts, finding, telling};
use super::canvas::{Key, Sketch};
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, NAME, Panel};
use super::pen::{Area, Drawn, Mark, bar, line, spot};
use super::scale::Scale;
use super::steps::steps;
use super::theme::{GRID, INK, WRONG};
use super::words::{Words, write};
use crate::text::{count, short, unless_none};
use plan::CARDS_PER_NODE;

/// The most machines that one picture shows.
const LANES: usize = 16;
const LANE: i32 = 56;
/// Room above a lane for its clearings.
const ABOVE: i32 = 14;
const SPACE: i32 = 10;

/// The chart's data.
#[derive(Debug)]
pub struct Lanes {
    suffix: String,
    /// The arm, where there are several.
    arm: Option<String>,
    run: String,
    origin: String,
    observed_secs: f64,
    machines: Vec<Lane>,
    left_out: usize,
    teams: Vec<(String, RGBColor)>,
    evictions: Evictions,
    asked: usize,
    placed: usize,
    verdict: Verdict,
}

impl Lanes {
    /// A chart for each arm in which work was evicted.
    pub fn of(material: &Material) -> Vec<Self> {
        let shown = material.shown().into_iter();
        shown
            .filter_map(|run| Self::of_run(material, telling(material, run)))
            .collect()
    }

    fn of_run(material: &Material, run: &RunMaterial) -> Option<Self> {
        let (mut machines, asked) = lanes(run);
        let on_machines: usize = machines.iter().map(|l| l.evictions.len()).sum();
        if on_machines == 0 {
            return None;
        }
        let placed = machines.iter().map(|l| l.placements.len()).sum();
        let evictions = Evictions {
            all: all_evictions(run).max(on_machines),
            on_machines,
            machines: machines.iter().filter(|l| !l.evictions.is_empty()).count(),
        };
        let verdict = if run.summary.placements.is_empty() {
            for lane in &mut machines {
                lane.doubt();
            }
            Verdict::Untouched(machines.iter().map(Lane::untouched).sum())
        } else {
            Verdict::Cleared(counts(run))
        };
        machines.retain(|l| {
            !(l.evictions.is_empty() && l.placements.is_empty() && l.clearings.is_empty())
        });
        machines.sort_by_key(|l| {
            // The picture is about evictions; where there is no room for all machines, those without one are left out first.
            let evicted = !l.evictions.is_empty();
            std::cmp::Reverse((
                evicted,
                l.placements.len(),
                l.clearings.len(),
                l.evictions.len(),
            ))
        });
        let left_out = machines.len().saturating_sub(LANES);
        machines.truncate(LANES);
        machines.sort_by(|a, b| a.node.cmp(&b.node));
        let colour = |name: &String| (name.clone(), material.teams.colour(name));
        let teams = run.summary.tenants.iter();
        let arm = &run.summary.arm;
        Some(Self {
            suffix: material.suffix(arm),
            arm: (material.arms().len() > 1).then(|| arm.clone()),
            run: run.label(),
            origin: material.origin(),
            observed_secs: run.summary.observed_secs,
            machines,
            left_out,
            teams: teams.map(|t| colour(&t.name)).collect(),
            evictions,
            asked,
            placed,
            verdict,
        })
    }
}

impl Sketch for Lanes {
    fn name(&self) -> String {
        format!("machines{}", self.suffix)
    }

    fn title(&self) -> String {
        let placed = (self.placed, self.asked);
        let finding = finding(self.evictions, placed, self.verdict);
        match &self.arm {
            Some(arm) => format!("{arm}: {finding}"),
            None => finding,
        }
    }

    fn legend(&self) -> Vec<Key> {
        let used = |team: usize| self.machines.iter().any(|l| l.changes.contains_key(&team));
        let teams = self.teams.iter().enumerate().filter(|(i, _)| used(*i));
        let mut keys: Vec<Key> = teams
            .map(|(_, (name, c))| Key::new(Mark::Fill, *c, format!("cards of {name}")))
            .collect();
        keys.push(Key::new(Mark::Tick, WRONG, "a task evicted"));
        if self.machines.iter().any(|l| !l.clearings.is_empty()) {
            keys.push(Key::new(
                Mark::Line,
                INK,
                "being cleared, up to the hand-over",
            ));
        }
        let mut clearings = self.machines.iter().flat_map(|l| &l.clearings);
        if clearings.any(|c| !c.handed_over) {
            keys.push(Key::new(Mark::Dots, INK, "cleared in vain"));
        }
        let placements = || self.machines.iter().flat_map(|l| &l.placements);
        if placements().any(|l| !l.wrong) {
            keys.push(Key::new(Mark::Diamond, INK, "whole machine placed"));
        }
        if placements().any(|l| l.wrong) {
            let what = match self.verdict {
                Verdict::Cleared(_) => "placed, not on the first machine handed over to it",
                Verdict::Untouched(_) => "placed where nothing had been evicted",
            };
            keys.push(Key::new(Mark::Diamond, WRONG, what));
        }
        keys
    }

    fn note(&self) -> String {
        let more = unless_none(self.left_out, |n| {
            let machines = count(n as u64, "more machine");
            format!(" {machines} with evictions not shown.")
        });
        format!(
            "The height of a lane is the {CARDS_PER_NODE} cards of a machine, filled with bound pods by team; {}: {}{more}",
            self.run, self.origin
        )
    }

    fn height(&self) -> u32 {
        let lanes = i32::try_from(self.machines.len()).unwrap_or(1);
        (lanes * (ABOVE + LANE + SPACE) + FOOT + NAME).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let sides = (150, body.dim_in_pixel().0.cast_signed() - 24);
        let mut top = ABOVE;
        for (i, lane) in self.machines.iter().enumerate() {
            let x = Scale::exact(self.observed_secs);
            let y = Scale::exact(f64::from(CARDS_PER_NODE));
            let panel = Panel::new(body, sides, (top, top + LANE), x, y);
            bar(body, (sides.0, top), (sides.1, top + LANE), GRID)?;
            let name = short(&lane.node, 9);
            write(body, (0, top + LANE / 2), &name, &Words::soft())?;
            self.draw_lane(body, &panel, lane, top)?;
            if i + 1 == self.machines.len() {
                panel.x_axis("seconds since the clock started", true)?;
            }
            top += ABOVE + LANE + SPACE;
        }
        Ok(())
    }
}

impl Lanes {
    fn draw_lane<DB: DrawingBackend>(
        &self,
        body: &Area<DB>,
        panel: &Panel<DB>,
        lane: &Lane,
        top: i32,
    ) -> Drawn {
        // Stacked from the top down: the sum of all teams first, then without the last, and so on.
        let teams: Vec<usize> = lane.changes.keys().copied().collect();
        for upto in (0..teams.len()).rev() {
            let below = lane.changes.values().take(upto + 1).flatten();
            let colour = self.teams.get(teams[upto]).map_or(INK, |(_, c)| *c);
            panel.fill_steps(&steps(below.copied().collect(), self.observed_secs), colour)?;
        }
        for at in &lane.evictions {
            panel.upright(*at, Mark::Line, WRONG)?;
        }
        for clearing in &lane.clearings {
            let y = top - 7;
            let [from, to] = [clearing.from, clearing.to].map(|at| panel.at(at, 0.0).0);
            let mark = if clearing.handed_over {
                Mark::Line
            } else {
                Mark::Dots
            };
            line(body, &[(from, y), (to.max(from + 4), y)], mark, INK, 6)?;
            if clearing.handed_over {
                line(body, &[(to, y - 6), (to, top)], Mark::Line, INK, 3)?;
            }
        }
        for placement in &lane.placements {
            let colour = if placement.wrong { WRONG } else { INK };
            let place = (panel.at(placement.at, 0.0).0, top + LANE / 2);
            spot(body, place, Mark::Diamond, colour)?;
        }
        Ok(())
    }
}
