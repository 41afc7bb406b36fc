//! Ways to have room for a burst, side by side: how long the burst waits in each, what it costs the others, and how many
//! cards stand idle for it.

use plotters::prelude::*;

use super::bars::{Bars, HEADING, STEP};
use super::canvas::{Key, Sketch};
use super::material::{Material, RunMaterial};
use super::payment::bills;
use super::pen::{Area, Drawn, Mark};
use super::theme::{GRID, wash};
use crate::text::{joined, percentile, short, whole};
use plan::metric::Phase;
use plan::{CARDS_PER_NODE, TenantPlan, Via};
use results::metrics::Amount;

/// The most arms that one picture shows.
const ARMS: usize = 6;
/// Space between two blocks.
const GAP: i32 = 20;
/// Room for the names of bars and for what they amount to.
const LEFT: i32 = 270;
const VALUE: i32 = 330;

/// The chart's data.
#[derive(Debug)]
pub struct Burst {
    team: String,
    colour: RGBColor,
    ways: Vec<Way>,
    origin: String,
}

/// An arm.
#[derive(Debug)]
struct Way {
    name: String,
    /// Until the last of the burst's machines was bound.
    wait: Amount,
    /// Of each other team, card-seconds of work lost and of waiting.
    others: Vec<(RGBColor, f64, f64)>,
    /// Cards without a pod, mean over the observation.
    idle: f64,
}

impl Burst {
    /// A chart, if arms differ in how a team finds whole machines on a cluster that others fill.
    pub fn of(material: &Material) -> Option<Self> {
        let shown = material.shown();
        let team = shown.iter().find_map(|run| bursting(run))?.name.clone();
        let ways = shown.iter().filter_map(|run| way(material, run, &team));
        let ways: Vec<Way> = ways.take(ARMS).collect();
        (ways.len() > 1).then(|| Self {
            colour: material.teams.colour(&team),
            team,
            ways,
            origin: material.origin(),
        })
    }
}

/// The team of a run that asks for whole machines at one moment while others' Jobs fill the cluster.
fn bursting(run: &RunMaterial) -> Option<&TenantPlan> {
    let plan = &run.run.info.plan;
    let fills = |t: &&TenantPlan| t.background && t.quota.is_some();
    plan.observe_secs
        .filter(|_| plan.tenants.iter().any(|t| fills(&t)))?;
    plan.tenants.iter().find(|t| {
        let mut groups = t.groups();
        let whole = groups.all(|g| g.request.cards == CARDS_PER_NODE && g.via == Via::Job);
        whole && !t.stages.is_empty() && !t.background && t.awaited
    })
}

fn way(material: &Material, run: &RunMaterial, team: &str) -> Option<Way> {
    let idle = run.summary.idle_card_seconds?;
    let own = run.summary.tenants.iter().find(|t| t.name == team)?;
    let mut classes = own.latency.values();
    let bound = classes.find_map(|phases| phases.get(&Phase::BindLatency))?;
    let wait = Amount::of(bound.max)?;
    let others = bills(run).into_iter().filter(|(name, _)| *name != team);
    let paid = others.map(|(name, bill)| {
        let colour = material.teams.colour(name);
        (colour, bill.lost_card_seconds, bill.waited_card_seconds)
    });
    Some(Way {
        name: run.summary.arm.clone(),
        wait,
        others: paid.collect(),
        idle: idle / run.summary.observed_secs.max(1.0),
    })
}

impl Way {
    fn lost(&self) -> f64 {
        self.others.iter().fold(0.0, |sum, (_, lost, _)| sum + lost)
    }

    fn waited(&self) -> f64 {
        let waited = self.others.iter().map(|(_, _, waited)| waited);
        waited.fold(0.0, |sum, waited| sum + waited)
    }

    fn wait(&self) -> String {
        percentile(self.wait.into()).unwrap_or_default()
    }
}

fn finding(team: &str, ways: &[Way]) -> String {
    let each = ways.iter().take(4).map(|w| {
        let cost = match w.lost() + w.waited() {
            c if c < 0.5 => String::new(),
            c => format!(" at {} card·s of others", whole(c)),
        };
        format!("{} after {}{cost}", w.name, w.wait())
    });
    format!("{team} had its last machine: {}", joined(each, "; "))
}

/// Bars of one block: a row a way.
struct Block<'a, DB: DrawingBackend> {
    top: i32,
    bars: Bars<'a, DB>,
}

impl<DB: DrawingBackend> Block<'_, DB> {
    fn heading(&self, text: &str) -> Drawn {
        self.bars.heading(self.top + 24, text)
    }

    fn row(&self, i: usize, name: &str, parts: &[(f64, RGBColor)], value: &str) -> Drawn {
        let y = self.top + HEADING + i32::try_from(i).unwrap_or(0) * STEP + STEP / 2;
        self.bars.name(y, name, 15)?;
        self.bars.parts(y, parts)?;
        self.bars.value(y, value)
    }
}

impl Sketch for Burst {
    fn name(&self) -> String {
        "ways-to-room".into()
    }

    fn title(&self) -> String {
        finding(&self.team, &self.ways)
    }

    fn legend(&self) -> Vec<Key> {
        let fill = |colour, label: &str| Key::new(Mark::Fill, colour, label);
        let mut keys = vec![fill(self.colour, &format!("{} waits", self.team))];
        let mut others = self.ways.iter().flat_map(|w| &w.others);
        if let Some((colour, ..)) = others.find(|(_, l, w)| l + w > 0.0) {
            keys.push(fill(*colour, "others' work lost"));
            keys.push(fill(wash(*colour), "others wait to run again"));
        }
        keys.push(fill(GRID, "idle"));
        keys
    }

    fn note(&self) -> String {
        format!(
            "One run of each arm; the others in their teams' colours. A task not bound again counts as waiting until the end \
             of the observation. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        let rows = i32::try_from(self.ways.len()).unwrap_or(1);
        (3 * (HEADING + rows * STEP + GAP)).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let rows = i32::try_from(self.ways.len()).unwrap_or(1);
        let most = |of: fn(&Way) -> f64| self.ways.iter().map(of).fold(0.0, f64::max);
        let block = |i: i32, most: f64| Block {
            top: i * (HEADING + rows * STEP + GAP),
            bars: Bars::new(body, LEFT, VALUE, most),
        };
        let waits = block(0, most(|w| w.wait.at_least()));
        waits.heading(&format!(
            "until {} has all its machines, seconds",
            short(&self.team, 20)
        ))?;
        let costs = block(1, most(|w| w.lost() + w.waited()));
        costs.heading("what it costs the others, card-seconds")?;
        let idle = block(2, most(|w| w.idle));
        idle.heading("cards without a pod, mean over the observation")?;
        for (i, way) in self.ways.iter().enumerate() {
            let wait = [(way.wait.at_least(), self.colour)];
            waits.row(i, &way.name, &wait, &way.wait())?;
            let lost = way.others.iter().map(|(colour, lost, _)| (*lost, *colour));
            let waited = way.others.iter().map(|(colour, _, w)| (*w, wash(*colour)));
            let parts: Vec<_> = lost.chain(waited).collect();
            let value = format!("{} lost, {} waited", whole(way.lost()), whole(way.waited()));
            costs.row(i, &way.name, &parts, &value)?;
            let value = format!("{} cards", whole(way.idle));
            idle.row(i, &way.name, &[(way.idle, GRID)], &value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::theme::INK;
    use super::*;

    #[test]
    fn the_title_says_how_long_and_at_whose_cost() {
        let way = |name: &str, wait, lost| Way {
            name: name.into(),
            wait,
            others: vec![(INK, lost, 0.0), (INK, lost, 0.0)],
            idle: 30.0,
        };
        let ways = [
            way("dedicated", Amount::Is(0.52), 0.0),
            way("evict", Amount::Is(3.7), 35.0),
            way("wait", Amount::Over(600.0), 0.0),
        ];
        assert_eq!(
            finding("research", &ways),
            "research had its last machine: dedicated after 520 ms; evict after 3.7 s at 70 card·s of others; wait after > \
             600 s"
        );
    }
}
