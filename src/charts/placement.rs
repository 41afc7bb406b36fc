//! Every card of every machine at the moment whole machines were asked for, a panel an arm: fragmentation at a glance.
//!
//! Records say on which machine a request sits, not on which of its cards. Which cards are touched follows from HAMi's
//! card policy (spread: an idle card first; binpack: a card in use first), and only their number is shown.

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, Words, bar, spot, write};
use super::material::{Material, RunMaterial};
use super::panel::HEAD;
use super::text::{secs, short};
use super::theme::{GRID, INK, MARGIN, WIDTH, wash};
use crate::plan::{CARD_MEMORY_MIB, CARDS_PER_NODE, Policy};
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
}

/// A machine at the moment.
#[derive(Debug, Clone, Default)]
struct Node {
    /// Whole cards in use, by colour.
    whole: Vec<RGBColor>,
    /// Parts of cards in use: colour and share of a card.
    parts: Vec<(RGBColor, f64)>,
    /// Whole machines that landed on it by the observation's end.
    landed: bool,
    /// Cards touched by parts.
    touched: usize,
}

const CARDS: usize = CARDS_PER_NODE as usize;

impl Node {
    fn idle(&self) -> usize {
        CARDS.saturating_sub(self.whole.len() + self.touched)
    }

    /// Its cards from the bottom: colour, and whether in part only.
    fn cards(&self) -> Vec<(RGBColor, bool)> {
        let whole = self.whole.iter().map(|c| (*c, false));
        let parts = (0..self.touched).filter_map(|i| Some((self.parts.get(i)?.0, true)));
        whole.chain(parts).take(CARDS).collect()
    }
}

impl Placement {
    /// A chart, if whole machines were asked for by bare pods or under several arms.
    #[must_use]
    pub fn of(material: &Material) -> Option<Self> {
        let shown = material.shown().into_iter().take(PANELS);
        let arms: Vec<Arm> = shown.filter_map(|run| arm(material, run)).collect();
        let mut teams: Vec<(String, RGBColor)> = Vec::new();
        for team in material
            .runs
            .iter()
            .flat_map(super::material::RunMaterial::working)
        {
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
    let count = usize::try_from(plan.cluster.nodes())
        .unwrap_or(0)
        .min(NODES);
    let mut nodes = vec![Node::default(); count];
    let (mut asked, mut placed) = (0, 0);
    for record in records {
        let colour = material.teams.colour(&record.tenant);
        let whole_machine = is_whole_machine(&record);
        asked += usize::from(whole_machine);
        let mut landed = false;
        for attempt in &record.attempts {
            let node = attempt
                .node
                .as_deref()
                .and_then(number)
                .and_then(|n| nodes.get_mut(n));
            let (Some(node), Some(bound)) = (node, attempt.bind_secs()) else {
                continue;
            };
            if whole_machine && bound <= run.summary.observed_secs {
                node.landed = true;
                landed = true;
            }
            if bound > moment_secs || attempt.ended_secs.is_some_and(|end| end <= moment_secs) {
                continue;
            }
            let cards = (record.request.cards as usize).min(CARDS);
            match record.request.gpumem_mib {
                None => node.whole.extend(std::iter::repeat_n(colour, cards)),
                Some(mib) => {
                    let share = f64::from(mib) / f64::from(CARD_MEMORY_MIB);
                    node.parts
                        .extend(std::iter::repeat_n((colour, share), cards));
                }
            }
        }
        placed += usize::from(landed);
    }
    for node in &mut nodes {
        node.touched = touched(node, plan.hami.gpu_policy);
    }
    Some(Arm {
        name: run.summary.arm.clone(),
        moment_secs,
        nodes,
        asked,
        placed,
    })
}

/// The number at the end of a machine's name.
fn number(node: &str) -> Option<usize> {
    node.rsplit('-').next()?.parse().ok()
}

/// Cards that a machine's parts touch.
fn touched(node: &Node, policy: Policy) -> usize {
    let free = CARDS.saturating_sub(node.whole.len());
    let least: f64 = node.parts.iter().map(|(_, share)| share).sum();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // shares of a few cards
    let least = (least - 1e-6).ceil().max(0.0) as usize;
    match policy {
        Policy::Spread => node.parts.len().min(free),
        Policy::Binpack => least.min(free),
    }
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
            let cards = node.cards();
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
        let seen = |c: &RGBColor| {
            self.arms
                .iter()
                .flat_map(|a| &a.nodes)
                .flat_map(Node::cards)
                .any(|(o, _)| o == *c)
        };
        let part = |c: &RGBColor| {
            self.arms
                .iter()
                .flat_map(|a| &a.nodes)
                .flat_map(Node::cards)
                .any(|(o, part)| o == *c && part)
        };
        let mut keys = Vec::new();
        for (name, colour) in self.teams.iter().filter(|(_, c)| seen(c)) {
            if part(colour) {
                keys.push(Key::new(
                    Mark::Fill,
                    wash(*colour),
                    format!("{name}: a part of a card"),
                ));
            } else {
                keys.push(Key::new(
                    Mark::Fill,
                    *colour,
                    format!("{name}: a whole card"),
                ));
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
        format!(
            "A column is a machine, a square a card, when whole machines were asked for (at {}). Scattered: idle on \
             machines in use. Cards touched by parts follow from HAMi's card policy. {}",
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
    fn parts_touch_as_many_cards_as_the_policy_lets_them() {
        let node = Node {
            parts: vec![(INK, 0.1); 12],
            whole: vec![INK],
            ..Node::default()
        };
        assert_eq!(touched(&node, Policy::Spread), 7);
        assert_eq!(touched(&node, Policy::Binpack), 2);
        assert_eq!(touched(&Node::default(), Policy::Spread), 0);
    }

    #[test]
    fn idle_cards_on_machines_in_use_are_scattered() {
        let used = Node {
            parts: vec![(INK, 0.1)],
            touched: 1,
            ..Node::default()
        };
        let arm = Arm {
            name: "spread".into(),
            moment_secs: 0.0,
            nodes: vec![used.clone(), used, Node::default()],
            asked: 5,
            placed: 1,
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
