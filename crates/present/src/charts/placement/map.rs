//! An arm's machines and cards at the moment.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::super::material::{Material, RunMaterial};
use super::super::panel::HEAD;
use super::super::pen::{Area, Drawn, Mark, bar, spot};
use super::super::theme::{GRID, INK, MARGIN, WIDTH, wash};
use super::super::words::{Words, write};
use crate::text::{count, short};
use plan::CARDS_PER_NODE;
use results::run_folder::Record;

/// Machines in a row of the map.
const COLUMNS: usize = 50;
/// The most machines whose cards are drawn.
const NODES: usize = 400;
/// Room below a row of machines for their numbers.
const BELOW: i32 = 34;

/// An arm at the moment.
#[derive(Debug)]
pub(super) struct Arm {
    pub name: String,
    pub moment_secs: f64,
    pub nodes: Vec<Node>,
    pub asked: usize,
    pub placed: usize,
    /// Pods whose cards are not in their records.
    pub unknown: usize,
}

/// A machine at the moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// Cards in use by their UUID: colour, and whether only parts of it are.
    pub used: BTreeMap<String, (RGBColor, bool)>,
    /// Whether a whole machine was placed on it by the observation's end.
    pub placed: bool,
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

fn is_whole_machine(record: &Record) -> bool {
    record.request.cards == CARDS_PER_NODE && record.request.gpumem_mib.is_none()
}

/// The machines of a run when whole machines were first asked for; `None` if they were not, or over and over.
pub(super) fn arm(material: &Material, run: &RunMaterial) -> Option<Arm> {
    let plan = &run.run.info.plan;
    // Where a timeline asks for whole machines over and over, no single moment tells much.
    plan.observe_secs?;
    let records = &run.run.records;
    let moment_secs = records
        .iter()
        .filter(|r| is_whole_machine(r))
        .map(|r| r.intended_secs)
        .reduce(f64::min)?;
    let machines = usize::try_from(plan.cluster.nodes())
        .unwrap_or(0)
        .min(NODES);
    let mut arm = Arm {
        name: run.summary.arm.clone(),
        moment_secs,
        nodes: vec![Node::default(); machines],
        asked: records.iter().filter(|r| is_whole_machine(r)).count(),
        placed: 0,
        unknown: 0,
    };
    for record in records {
        let whole_machine = is_whole_machine(record);
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
                node.placed = true;
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
    /// Cards that no pod holds.
    pub fn idle(&self) -> usize {
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
            "{}: {}, {} scattered; {} free; {} of {} placed",
            short(&self.name, 20),
            count(self.idle() as u64, "idle card"),
            self.scattered(),
            count(self.free_machines() as u64, "machine"),
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

    pub fn height(&self) -> i32 {
        HEAD + self.rows() * (self.cell() * CARDS_PER_NODE.cast_signed() + BELOW)
    }

    pub fn draw<DB: DrawingBackend>(&self, body: &Area<DB>, top: i32) -> Drawn {
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
            if node.placed {
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
            super::super::finding(&[arm]),
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
