//! Every card of every machine at the moment whole machines were asked for, a panel an arm: fragmentation at a glance.
//!
//! Which cards a pod holds is in its record, as HAMi noted it. Where it is not, its cards are taken to be others than those
//! known to be in use, and the small print says so.
//!
//! - [`map`]: an arm's machines and cards

mod map;

use plotters::prelude::*;

use self::map::{Arm, arm};
use super::canvas::{Key, Sketch};
use super::material::Material;
use super::pen::{Area, Drawn, Mark};
use super::theme::{GRID, INK, wash};
use crate::text::{count, grouped, joined, secs, unless_none};

/// The most arms that one picture shows.
const PANELS: usize = 6;

/// The chart's data.
#[derive(Debug)]
pub struct Placement {
    arms: Vec<Arm>,
    teams: Vec<(String, RGBColor)>,
    origin: String,
}

impl Placement {
    /// A chart, if whole machines were asked for by bare pods or under several arms.
    pub fn of(material: &Material) -> Option<Self> {
        let shown = material.shown().into_iter().take(PANELS);
        let arms: Vec<Arm> = shown.filter_map(|run| arm(material, run)).collect();
        let all = material.runs.iter().flat_map(|r| &r.summary.tenants);
        let teams = grouped(all.map(|team| (&team.name, ()))).into_iter();
        let teams = teams.map(|(name, _)| (name.clone(), material.teams.colour(name)));
        // On a cluster that is full nothing is scattered.
        let scattered = arms.iter().any(|arm| arm.idle() > 0);
        scattered.then(|| Self {
            arms,
            teams: teams.collect(),
            origin: material.origin(),
        })
    }
}

fn finding(arms: &[Arm]) -> String {
    let parts = arms.iter().take(4).map(|arm| {
        let (name, idle) = (&arm.name, arm.idle());
        format!(
            "{name}: {} of {} placed with {idle} cards idle",
            arm.placed, arm.asked
        )
    });
    format!("Whole machines, {}", joined(parts, "; "))
}

impl Sketch for Placement {
    fn name(&self) -> String {
        "placement".into()
    }

    fn title(&self) -> String {
        finding(&self.arms)
    }

    fn legend(&self) -> Vec<Key> {
        let nodes = || self.arms.iter().flat_map(|a| &a.nodes);
        let used = || nodes().flat_map(|n| n.used.values());
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
        let label = "a whole machine was placed here later";
        keys.push(Key::new(Mark::Diamond, INK, label));
        keys
    }

    fn note(&self) -> String {
        let moment = self.arms.first().map_or(0.0, |a| a.moment_secs);
        let unknown: usize = self.arms.iter().map(|a| a.unknown).sum();
        let assumed = unless_none(unknown, |n| {
            let pods = count(n as u64, "pod");
            format!(" The cards of {pods} are not recorded; each is shown on a card of its own.")
        });
        format!(
            "A column is a machine, a square is a card, at {}, when the whole machines were submitted. Scattered: idle on \
             machines in use.{assumed} {}",
            secs(moment),
            self.origin
        )
    }

    fn height(&self) -> u32 {
        let all: i32 = self.arms.iter().map(Arm::height).sum();
        all.unsigned_abs()
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
