//! Every card of every machine at the moment whole machines were asked for, a panel an arm: fragmentation at a glance.
//!
//! Which cards a pod holds is in its record, as HAMi noted it. Where it is not, its cards are taken to be others than those
//! known to be in use, and the small print says so.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, Words, bar, spot, write};
use super::material::{Material, RunMaterial};
use super::panel::HEAD;
use super::text::{count, secs, short};
use super::theme::{GRID, INK, MARGIN, WIDTH, wash};
use crate::plan::CARDS_PER_NODE;
use crate::run_folder::Record;

/// The most arms that one picture shows.
const PANELS: usize = 6;
/// Machines in a row of the map.
const COLUMNS: usize = 50;
/// The most machines whose cards are drawn.
const NODES: usize = 400;
/// Room below a row of machines for their numbers.
const BELOW: i32 = 34;

/// The chart's data.
#[derive(Debug)]
pub struct Placement {
    arms: Vec<Arm>,
    teams: Vec<(String, RGBColor)>,
    origin: String,
}

#[derive(Debug)]
struct Arm {
    name: String,
    moment_secs: f64,
    nodes: Vec<Node>,
    asked: usize,
    placed: usize,
    /// Pods whose cards are not in their records.
    unknown: usize,
}

/// A machine at the moment.
#[derive(Debug, Clone, Default)]
struct Node {
    /// Cards in use by their UUID: colour, and whether only parts of it are.
    used: BTreeMap<String, (RGBColor, bool)>,
    /// Whether a whole machine landed on it by the observation's end.
    landed: bool,
}

const CARDS: usize = CARDS_PER_NODE as usize;

impl Node {
    fn idle(&self) -> usize {
        CARDS.saturating_sub(self.used.len())
    }

    /// Marks cards as used: those of the record, or as many others.
    fn take(&mut self, cards: &[String], count: u32, colour: RGBColor, part: bool) {
        for card in cards {
            self.used.insert(card.clone(), (colour, part));
        }
        if cards.is_empty() {
            for _ in 0..count {
                self.used
                    .insert(format!("unknown {}", self.used.len()), (colour, part));
            }
        }
    }
}

impl Placement {
    /// A chart, if whole machines were asked for by bare pods or under several arms.
    #[must_use]
    pub fn of(material: &Material) -> Option<Self> {
        let shown = material.shown().into_iter().take(PANELS);
        let arms: Vec<Arm> = shown.filter_map(|run| arm(material, run)).collect();
        let mut teams: Vec<(String, RGBColor)> = Vec::new();
        for team in material.runs.iter().flat_map(|r| &r.summary.tenants) {
            if teams.iter().all(|(name, _)| *name != team.name) {
                teams.push((team.name.clone(), material.teams.colour(&team.name)));
            }
        }
        (!arms.is_empty()).then(|| Self {
            arms,
            teams,
            origin: material.origin(),
        })
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the shape that `filter` asks for
fn is_whole_machine(record: &&Record) -> bool {
    record.request.cards == CARDS_PER_NODE && record.request.gpumem_mib.is_none()
}

fn arm(material: &Material, run: &RunMaterial) -> Option<Arm> {
    let plan = &run.run.info.plan;
    // Where a timeline asks for whole machines over and over, no single moment tells much.
    plan.observe_secs?;
    let records = &run.run.records;
    let moment_secs = records
        .iter()
        .filter(is_whole_machine)
        .map(|r| r.intended_secs)
        .reduce(f64::min)?;
    let machines = usize::try_from(plan.cluster.nodes())
        .unwrap_or(0)
        .min(NODES);
    let mut arm = Arm {
        name: run.summary.arm.clone(),
        moment_secs,
        nodes: vec![Node::default(); machines],
        asked: records.iter().filter(is_whole_machine).count(),
        placed: 0,
        unknown: 0,
    };
    for record in records {
        let whole_machine = is_whole_machine(&record);
        for attempt in &record.attempts {
            let node = attempt
                .node
                .as_deref()
                .and_then(number)
                .and_then(|n| arm.nodes.get_mut(n));
            let (Some(node), Some(bound)) = (node, attempt.bind_secs()) else {
                continue;
            };
            if whole_machine && bound <= run.summary.observed_secs {
                node.landed = true;
                arm.placed += 1;
            }
            if bound <= moment_secs && attempt.ended_secs.is_none_or(|end| end > moment_secs) {
                let colour = material.teams.colour(&record.tenant);
                let part = record.request.gpumem_mib.is_some();
                node.take(
                    &attempt.cards,
                    record.request.cards.min(CARDS_PER_NODE),
                    colour,
                    part,
                );
                arm.unknown += usize::from(attempt.cards.is_empty());
            }
        }
    }
    Some(arm)
}

/// The number at the end of a machine's name.
fn number(node: &str) -> Option<usize> {
    node.rsplit('-').next()?.parse().ok()
}

impl Arm {
    fn idle(&self) -> usize {
        self.nodes.iter().map(Node::idle).sum()
    }

    fn free_machines(&self) -> usize {
        self.nodes.iter().filter(|n| n.idle() == CARDS).count()
    }

    /// Idle cards on machines that are not wholly idle: none of them serves a whole-machine request.
    fn scattered(&self) -> usize {
        self.idle() - self.free_machines() * CARDS
    }

    fn title(&self) -> String {
        format!(
            "{}: {} idle cards, {} scattered; {} machines free; {} of {} placed",
            short(&self.name, 20),
            self.idle(),
            self.scattered(),
            self.free_machines(),
            self.placed,
            self.asked
        )
    }

    fn rows(&self) -> i32 {
        i32::try_from(self.nodes.len().div_ceil(COLUMNS)).unwrap_or(1)
    }

    fn cell(&self) -> i32 {
        let columns = i32::try_from(self.nodes.len().clamp(1, COLUMNS)).unwrap_or(1);
        ((WIDTH.cast_signed() - 2 * MARGIN) / columns).min(40)
    }

    fn height(&self) -> i32 {
        HEAD + self.rows() * (self.cell() * CARDS_PER_NODE.cast_signed() + BELOW)
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>, top: i32) -> Drawn {
        write(body, (0, top + 22), &self.title(), &Words::bold())?;
        let cell = self.cell();
        let per_row = cell * CARDS_PER_NODE.cast_signed();
        for (i, node) in self.nodes.iter().enumerate() {
            let (row, column) = (i / COLUMNS, i % COLUMNS);
            let int = |n: usize| i32::try_from(n).unwrap_or(0);
            let left = int(column) * cell;
            let bottom = top + HEAD + int(row) * (per_row + BELOW) + per_row;
            let cards: Vec<&(RGBColor, bool)> = node.used.values().collect();
            for card in 0..CARDS {
                let colour = cards
                    .get(card)
                    .map_or(GRID, |(c, part)| if *part { wash(*c) } else { *c });
                let y = bottom - int(card) * cell;
                bar(
                    body,
                    (left + 1, y - cell + 1),
                    (left + cell - 1, y - 1),
                    colour,
                )?;
            }
            if node.landed {
                spot(
                    body,
                    (left + cell / 2, bottom - per_row / 2),
                    Mark::Diamond,
                    INK,
                )?;
            }
            if column % 10 == 0 {
                write(
                    body,
                    (left, bottom + 18),
                    &i.to_string(),
                    &Words::soft().size(26.0),
                )?;
            }
        }
        Ok(())
    }
}

fn finding(arms: &[Arm]) -> String {
    let parts: Vec<String> = arms
        .iter()
        .take(4)
        .map(|a| {
            format!(
                "{}: {} of {} placed with {} cards idle",
                a.name,
                a.placed,
                a.asked,
                a.idle()
            )
        })
        .collect();
    format!("Whole machines, {}", parts.join("; "))
}

impl Sketch for Placement {
    fn name(&self) -> String {
        "placement".into()
    }

    fn title(&self) -> String {
        finding(&self.arms)
    }

    fn legend(&self) -> Vec<Key> {
        let used = || {
            self.arms
                .iter()
                .flat_map(|a| &a.nodes)
                .flat_map(|n| n.used.values())
        };
        let mut keys = Vec::new();
        for (name, colour) in &self.teams {
            for (part, what) in [(false, "a whole card"), (true, "parts of a card")] {
                if used().any(|card| *card == (*colour, part)) {
                    let colour = if part { wash(*colour) } else { *colour };
                    keys.push(Key::new(Mark::Fill, colour, format!("{name}: {what}")));
                }
            }
        }
        keys.push(Key::new(Mark::Fill, GRID, "idle card"));
        keys.push(Key::new(
            Mark::Diamond,
            INK,
            "a whole machine landed here later",
        ));
        keys
    }

    fn note(&self) -> String {
        let moment = self.arms.first().map_or(0.0, |a| a.moment_secs);
        let unknown: usize = self.arms.iter().map(|a| a.unknown).sum();
        let assumed = match unknown {
            0 => String::new(),
            n => format!(
                " The cards of {} are not recorded; each is shown on a card of its own.",
                count(n as u64, "pod")
            ),
        };
        format!(
            "A column is a machine, a square a card, when whole machines were asked for (at {}). Scattered: idle on \
             machines in use.{assumed} {}",
            secs(moment),
            self.origin
        )
    }

    fn height(&self) -> u32 {
        self.arms
            .iter()
            .map(Arm::height)
            .sum::<i32>()
            .unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let mut top = 0;
        for arm in &self.arms {
            arm.draw(body, top)?;
            top += arm.height();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_in_use_once_however_many_share_it() {
        let mut node = Node::default();
        node.take(&["GPU-0".into()], 1, INK, true);
        node.take(&["GPU-0".into()], 1, INK, true);
        node.take(&["GPU-1".into(), "GPU-2".into()], 2, INK, false);
        assert_eq!(node.idle(), 5);
        node.take(&[], 2, INK, false);
        assert_eq!(node.idle(), 3);
    }

    #[test]
    fn idle_cards_on_machines_in_use_are_scattered() {
        let mut used = Node::default();
        used.take(&[], 1, INK, true);
        let arm = Arm {
            name: "spread".into(),
            moment_secs: 0.0,
            nodes: vec![used.clone(), used, Node::default()],
            asked: 5,
            placed: 1,
            unknown: 2,
        };
        assert_eq!(
            (arm.idle(), arm.free_machines(), arm.scattered()),
            (22, 1, 14)
        );
        assert_eq!(
            finding(&[arm]),
            "Whole machines, spread: 1 of 5 placed with 22 cards idle"
        );
    }

    #[test]
    fn machines_are_found_by_their_number() {
        assert_eq!(
            [number("gpu-07"), number("gpu-x"), number("")],
            [Some(7), None, None]
        );
    }
}
