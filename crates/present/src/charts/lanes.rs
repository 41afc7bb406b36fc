//! A lane a machine: cards in use over time by team, where work was stopped, when it was being cleared, and where whole
//! machines landed.

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::figures::steps;
use super::lanes_data::{Lane, all_stops, lanes};
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, NAME, Panel};
use super::pen::{Area, Drawn, Mark, bar, line, spot};
use super::scale::Scale;
use super::text::{count, short};
use super::theme::{GRID, INK, WRONG};
use super::words::{Words, write};
use plan::CARDS_PER_NODE;
use results::run_folder::{Landing, LandingCounts};

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
    stops: Stops,
    asked: usize,
    landed: usize,
    verdict: Verdict,
}

/// How often work was stopped. A task that was stopped twice counts twice.
#[derive(Debug, Clone, Copy)]
struct Stops {
    /// In all.
    all: usize,
    /// Of these, of a task that had a machine.
    placed: usize,
    /// Machines with any of those.
    machines: usize,
}

/// What can be said of where whole machines landed.
#[derive(Debug, Clone, Copy)]
enum Verdict {
    /// With a node clearer: how its requests fared.
    Cleared(LandingCounts),
    /// Without one: how many landed where nothing had been stopped.
    Untouched(usize),
}

impl Lanes {
    /// A chart for each arm in which work was stopped.
    #[must_use]
    pub fn of(material: &Material) -> Vec<Self> {
        let shown = material.shown().into_iter();
        shown
            .filter_map(|run| Self::of_run(material, telling(material, run)))
            .collect()
    }

    fn of_run(material: &Material, run: &RunMaterial) -> Option<Self> {
        let (mut machines, asked) = lanes(run);
        let placed: usize = machines.iter().map(|l| l.stops.len()).sum();
        if placed == 0 {
            return None;
        }
        let landed = machines.iter().map(|l| l.landings.len()).sum();
        let stops = Stops {
            all: all_stops(run).max(placed),
            placed,
            machines: machines.iter().filter(|l| !l.stops.is_empty()).count(),
        };
        let verdict = if run.summary.landings.is_empty() {
            for lane in &mut machines {
                lane.doubt();
            }
            Verdict::Untouched(machines.iter().map(Lane::untouched).sum())
        } else {
            Verdict::Cleared(counts(run))
        };
        machines
            .retain(|l| !(l.stops.is_empty() && l.landings.is_empty() && l.clearings.is_empty()));
        machines.sort_by_key(|l| {
            std::cmp::Reverse((l.landings.len(), l.clearings.len(), l.stops.len()))
        });
        let left_out = machines.len().saturating_sub(LANES);
        machines.truncate(LANES);
        machines.sort_by(|a, b| a.node.cmp(&b.node));
        let colour = |name: &String| (name.clone(), material.teams.colour(name));
        let arm = &run.summary.arm;
        Some(Self {
            suffix: material.suffix(arm),
            arm: (material.arms().len() > 1).then(|| arm.clone()),
            run: run.label(),
            origin: material.origin(),
            observed_secs: run.summary.observed_secs,
            machines,
            left_out,
            teams: run
                .summary
                .tenants
                .iter()
                .map(|t| colour(&t.name))
                .collect(),
            stops,
            asked,
            landed,
            verdict,
        })
    }
}

/// The run of an arm that tells most: with most requests that did not land right, else the one that is shown anyway.
fn telling<'a>(material: &'a Material, shown: &'a RunMaterial) -> &'a RunMaterial {
    let own = material
        .runs
        .iter()
        .filter(|r| r.summary.arm == shown.summary.arm);
    let missed = |run: &RunMaterial| {
        let counts = counts(run);
        counts.elsewhere().saturating_add(counts.never)
    };
    // Of several with as many, the first.
    own.rev()
        .max_by_key(|r| missed(r))
        .filter(|r| missed(r) > missed(shown))
        .unwrap_or(shown)
}

fn counts(run: &RunMaterial) -> LandingCounts {
    LandingCounts::of(&run.summary.landings.iter().collect::<Vec<&Landing>>())
}

impl Stops {
    /// `65 stops, 64 of them on 26 machines and 1 before there was a machine`.
    fn in_words(self) -> String {
        let all = count(self.all as u64, "stop");
        let machines = count(self.machines as u64, "machine");
        match self.all.saturating_sub(self.placed) {
            0 => format!("{all} on {machines}"),
            early => format!(
                "{all}, {} of them on {machines} and {early} before there was a machine",
                self.placed
            ),
        }
    }
}

fn finding(stops: Stops, landed: (usize, usize), verdict: Verdict) -> String {
    let stopped = stops.in_words();
    let also = |n: u32, what: &str| match n {
        0 => String::new(),
        n => format!(", {n} {what}"),
    };
    match verdict {
        Verdict::Cleared(c) => format!(
            "{stopped}; {} of {} landed on the machine cleared for {}{}{}{}",
            c.right,
            count(u64::from(c.judged()), "request"),
            if c.judged() == 1 { "it" } else { "them" },
            also(c.elsewhere(), "elsewhere"),
            also(c.never, "nowhere"),
            also(c.unaided, "more on a machine that was free"),
        ),
        Verdict::Untouched(n) => {
            let untouched = u32::try_from(n).unwrap_or(u32::MAX);
            format!(
                "{stopped}; {} of {} landed{}",
                landed.0,
                count(landed.1 as u64, "whole machine"),
                also(untouched, "where nothing had been stopped")
            )
        }
    }
}

impl Sketch for Lanes {
    fn name(&self) -> String {
        format!("machines{}", self.suffix)
    }

    fn title(&self) -> String {
        let landed = (self.landed, self.asked);
        let finding = finding(self.stops, landed, self.verdict);
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
        keys.push(Key::new(Mark::Tick, WRONG, "a task stopped"));
        if self.machines.iter().any(|l| !l.clearings.is_empty()) {
            keys.push(Key::new(
                Mark::Line,
                INK,
                "being cleared, up to the hand-over",
            ));
        }
        if self
            .machines
            .iter()
            .any(|l| l.clearings.iter().any(|c| !c.handed_over))
        {
            keys.push(Key::new(Mark::Dots, INK, "cleared in vain"));
        }
        let landings = || self.machines.iter().flat_map(|l| &l.landings);
        if landings().any(|l| !l.wrong) {
            keys.push(Key::new(Mark::Diamond, INK, "a whole machine landed"));
        }
        if landings().any(|l| l.wrong) {
            let what = match self.verdict {
                Verdict::Cleared(_) => "landed, not on the first machine handed over to it",
                Verdict::Untouched(_) => "landed where nothing had been stopped",
            };
            keys.push(Key::new(Mark::Diamond, WRONG, what));
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
            let below = teams[..=upto]
                .iter()
                .filter_map(|t| lane.changes.get(t))
                .flatten();
            let colour = self.teams.get(teams[upto]).map_or(INK, |(_, c)| *c);
            panel.fill_steps(&steps(below.copied().collect(), self.observed_secs), colour)?;
        }
        for at in &lane.stops {
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
        for landing in &lane.landings {
            let colour = if landing.wrong { WRONG } else { INK };
            let place = (panel.at(landing.at, 0.0).0, top + LANE / 2);
            spot(body, place, Mark::Diamond, colour)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_says_where_requests_landed() {
        let right = LandingCounts {
            right: 3,
            wrong: 2,
            ..LandingCounts::default()
        };
        let stops = |all, machines| Stops {
            all,
            placed: 40,
            machines,
        };
        assert_eq!(
            finding(stops(41, 5), (5, 5), Verdict::Cleared(right)),
            "41 stops, 40 of them on 5 machines and 1 before there was a machine; 3 of 5 requests landed on the machine cleared for them, 2 elsewhere"
        );
        assert_eq!(
            finding(stops(40, 34), (0, 5), Verdict::Untouched(0)),
            "40 stops on 34 machines; 0 of 5 whole machines landed"
        );
    }
}
