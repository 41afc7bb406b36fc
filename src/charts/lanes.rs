//! A lane a machine: cards in use over time by team, where work was stopped, and where whole machines landed.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, Words, bar, spot, write};
use super::figures::steps;
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, NAME, Panel};
use super::scale::Scale;
use super::text::{count, short};
use super::theme::{GRID, INK, WRONG};
use crate::plan::CARDS_PER_NODE;
use crate::run_folder::AttemptEnd;

/// The most machines that one picture shows.
const LANES: usize = 16;
const LANE: i32 = 56;
const SPACE: i32 = 14;

/// The chart's data.
#[derive(Debug)]
pub struct Lanes {
    suffix: String,
    run: String,
    origin: String,
    observed_secs: f64,
    #[allow(clippy::struct_field_names)] // a chart of lanes has lanes
    lanes: Vec<Lane>,
    left_out: usize,
    teams: Vec<(String, RGBColor)>,
    stops: usize,
    machines: usize,
    asked: usize,
    landed: usize,
    untouched: usize,
}

#[derive(Debug, Default)]
struct Lane {
    node: String,
    /// Cards in use by team, in the order of the plan: changes over time.
    changes: BTreeMap<usize, Vec<(f64, f64)>>,
    stops: Vec<f64>,
    landings: Vec<f64>,
}

impl Lane {
    /// Landings before which nothing had been stopped on this machine.
    fn untouched(&self) -> usize {
        let first = self.stops.iter().copied().fold(f64::MAX, f64::min);
        self.landings.iter().filter(|at| **at < first).count()
    }
}

impl Lanes {
    /// A chart for each arm in which work was stopped.
    #[must_use]
    pub fn of(material: &Material) -> Vec<Self> {
        material
            .shown()
            .into_iter()
            .filter_map(|run| Self::of_run(material, run))
            .collect()
    }

    fn of_run(material: &Material, run: &RunMaterial) -> Option<Self> {
        let end = run.summary.observed_secs;
        let names: Vec<&str> = run
            .summary
            .tenants
            .iter()
            .map(|t| t.name.as_str())
            .collect();
        let mut lanes: BTreeMap<&str, Lane> = BTreeMap::new();
        let mut asked = 0;
        for record in &run.run.records {
            let team = names.iter().position(|n| *n == record.tenant).unwrap_or(0);
            let cards = f64::from(record.request.cards);
            let whole_machine = record.request.cards == CARDS_PER_NODE;
            asked += usize::from(whole_machine);
            for attempt in &record.attempts {
                let (Some(node), Some(from)) = (attempt.node.as_deref(), attempt.bind_secs())
                else {
                    continue;
                };
                let lane = lanes.entry(node).or_default();
                let changes = lane.changes.entry(team).or_default();
                changes.push((from, cards));
                changes.push((attempt.ended_secs.unwrap_or(f64::MAX), -cards));
                let stopped = matches!(attempt.end, AttemptEnd::Preempted | AttemptEnd::Evicted);
                lane.stops.extend(attempt.ended_secs.filter(|_| stopped));
                lane.landings
                    .extend(Some(from).filter(|at| whole_machine && *at <= end));
            }
        }
        let mut lanes: Vec<Lane> = lanes
            .into_iter()
            .map(|(node, lane)| Lane {
                node: node.to_owned(),
                ..lane
            })
            .collect();
        let stops: usize = lanes.iter().map(|l| l.stops.len()).sum();
        if stops == 0 {
            return None;
        }
        let landed = lanes.iter().map(|l| l.landings.len()).sum();
        let untouched = lanes.iter().map(Lane::untouched).sum();
        let machines = lanes.iter().filter(|l| !l.stops.is_empty()).count();
        lanes.retain(|l| !l.stops.is_empty() || !l.landings.is_empty());
        lanes.sort_by_key(|l| std::cmp::Reverse((l.landings.len(), l.stops.len())));
        let left_out = lanes.len().saturating_sub(LANES);
        lanes.truncate(LANES);
        lanes.sort_by(|a, b| a.node.cmp(&b.node));
        Some(Self {
            suffix: material.suffix(&run.summary.arm),
            run: run.label(),
            origin: material.origin(),
            observed_secs: end,
            lanes,
            left_out,
            teams: names
                .iter()
                .map(|n| ((*n).to_owned(), material.teams.colour(n)))
                .collect(),
            stops,
            machines,
            asked,
            landed,
            untouched,
        })
    }
}

impl Sketch for Lanes {
    fn name(&self) -> String {
        format!("machines{}", self.suffix)
    }

    fn title(&self) -> String {
        let untouched = match self.untouched {
            0 => String::new(),
            n => format!(", {n} where nothing had been stopped"),
        };
        format!(
            "{} stopped on {}; {} of {} landed{untouched}",
            count(self.stops as u64, "task"),
            count(self.machines as u64, "machine"),
            self.landed,
            count(self.asked as u64, "whole machine")
        )
    }

    fn legend(&self) -> Vec<Key> {
        let used = |team: usize| self.lanes.iter().any(|l| l.changes.contains_key(&team));
        let teams = self.teams.iter().enumerate().filter(|(i, _)| used(*i));
        let mut keys: Vec<Key> = teams
            .map(|(_, (name, c))| Key::new(Mark::Fill, *c, format!("cards of {name}")))
            .collect();
        keys.push(Key::new(Mark::Cross, WRONG, "a task stopped"));
        keys.push(Key::new(Mark::Diamond, INK, "a whole machine landed"));
        if self.untouched > 0 {
            keys.push(Key::new(
                Mark::Diamond,
                WRONG,
                "landed where nothing had been stopped",
            ));
        }
        keys
    }

    fn note(&self) -> String {
        let more = match self.left_out {
            0 => String::new(),
            n => format!(" {} with stops not shown.", count(n as u64, "more machine")),
        };
        format!(
            "A lane's height is a machine's {CARDS_PER_NODE} cards, bound pods by team; {}: {}{more}",
            self.run, self.origin
        )
    }

    fn height(&self) -> u32 {
        (i32::try_from(self.lanes.len()).unwrap_or(1) * (LANE + SPACE) + FOOT + NAME).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let sides = (150, body.dim_in_pixel().0.cast_signed() - 24);
        let mut top = 0;
        for (i, lane) in self.lanes.iter().enumerate() {
            let (x, y) = (
                Scale::exact(self.observed_secs),
                Scale::exact(f64::from(CARDS_PER_NODE)),
            );
            let panel = Panel::new(body, sides, (top, top + LANE), x, y);
            bar(body, (sides.0, top), (sides.1, top + LANE), GRID)?;
            write(
                body,
                (0, top + LANE / 2),
                &short(&lane.node, 9),
                &Words::soft(),
            )?;
            // Stacked from the top down: the sum of all teams first, then without the last, and so on.
            let teams: Vec<usize> = lane.changes.keys().copied().collect();
            for upto in (0..teams.len()).rev() {
                let below = teams[..=upto]
                    .iter()
                    .filter_map(|t| lane.changes.get(t))
                    .flatten();
                let colour = self.teams.get(teams[upto]).map_or(INK, |(_, c)| *c);
                panel.fill_steps(&steps(below.copied().collect(), self.observed_secs), colour)?;
            }
            for at in &lane.stops {
                spot(
                    body,
                    (panel.at(*at, 0.0).0, top + LANE / 2),
                    Mark::Cross,
                    WRONG,
                )?;
            }
            let first = lane.stops.iter().copied().fold(f64::MAX, f64::min);
            for at in &lane.landings {
                let colour = if *at < first { WRONG } else { INK };
                spot(
                    body,
                    (panel.at(*at, 0.0).0, top + LANE / 2),
                    Mark::Diamond,
                    colour,
                )?;
            }
            if i + 1 == self.lanes.len() {
                panel.x_axis("seconds since the clock started", true)?;
            }
            top += LANE + SPACE;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landing_before_any_stop_was_not_made_room_for() {
        let lane = Lane {
            stops: vec![20.0, 25.0],
            landings: vec![10.0, 30.0],
            ..Lane::default()
        };
        assert_eq!(lane.untouched(), 1);
        let lane = Lane {
            landings: vec![10.0],
            ..Lane::default()
        };
        assert_eq!(lane.untouched(), 1);
    }
}
