//! Restarts of components over time, and the waits of those who submitted meanwhile.

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, Words, spot, write};
use super::figures::tails;
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, HEAD, NAME, Panel};
use super::scale::Scale;
use super::text::{count, secs, short};
use super::theme::{INK, WRONG};
use crate::run_folder::ComponentExit;

const PANEL_HEIGHT: i32 = 400;
const LANE: i32 = 46;
/// The most components whose exits one picture shows.
const LANES: usize = 8;

/// The chart's data.
#[derive(Debug)]
pub struct Components {
    suffix: String,
    run: String,
    origin: String,
    observed_secs: f64,
    restarts: u32,
    exits: Vec<ComponentExit>,
    teams: Vec<Waits>,
    /// Of each request never bound when it was due and for how long it waited.
    never: Vec<(RGBColor, f64, f64)>,
    tails: Option<String>,
}

/// Team, colour, and of each request when it was due and how long it took to be bound.
type Waits = (String, RGBColor, Vec<(f64, f64)>);

impl Components {
    /// A chart for each arm, and of several arms for those in which a component exited.
    #[must_use]
    pub fn of(material: &Material) -> Vec<Self> {
        let one = material.arms().len() == 1;
        let shown = material.shown().into_iter();
        let charts = shown
            .map(|run| Self::of_run(material, run))
            .filter(|chart| one || !chart.exits.is_empty());
        charts
            .filter(|c| !c.teams.is_empty() || !c.exits.is_empty())
            .collect()
    }

    fn of_run(material: &Material, run: &RunMaterial) -> Self {
        let end = run.summary.observed_secs;
        let mut teams = Vec::new();
        let mut never = Vec::new();
        for team in run.working() {
            let colour = material.teams.colour(&team.name);
            let mut waits = Vec::new();
            for record in run.run.records.iter().filter(|r| r.tenant == team.name) {
                let due = record.intended_secs;
                match record.first_bind_secs().filter(|at| *at <= end) {
                    Some(at) => waits.push((due, at - due)),
                    None => never.push((colour, due, end - due)),
                }
            }
            if !waits.is_empty() {
                teams.push((team.name.clone(), colour, waits));
            }
        }
        Self {
            suffix: material.suffix(&run.summary.arm),
            run: run.label(),
            origin: material.origin(),
            observed_secs: end,
            restarts: run
                .summary
                .restarts
                .values()
                .fold(0, |a, b| a.saturating_add(*b)),
            // What the harness stops at the end is no finding.
            exits: run
                .run
                .exits
                .iter()
                .filter(|e| e.secs <= end)
                .cloned()
                .collect(),
            teams,
            never,
            tails: tails(run, 1),
        }
    }

    /// Components that exited, the most frequent first.
    fn lanes(&self) -> Vec<(&str, usize)> {
        let mut lanes: Vec<(&str, usize)> = Vec::new();
        for exit in &self.exits {
            match lanes.iter_mut().find(|(name, _)| *name == exit.component) {
                Some((_, n)) => *n += 1,
                None => lanes.push((&exit.component, 1)),
            }
        }
        lanes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        lanes.truncate(LANES);
        lanes
    }
}

fn finding(
    restarts: u32,
    exits: &[ComponentExit],
    observed_secs: f64,
    tails: Option<&str>,
) -> String {
    let what = match restarts {
        0 => format!("No component restarted in {}", secs(observed_secs)),
        n => format!(
            "{} in {}{}",
            count(u64::from(n), "restart"),
            secs(observed_secs),
            causes(exits)
        ),
    };
    tails.map_or(what.clone(), |tails| {
        format!("{what}. Submit to bound, {tails}")
    })
}

/// Why components were restarted, the most frequent cause first: ` (2 × leader election lost, 1 × crash)`.
fn causes(exits: &[ComponentExit]) -> String {
    let mut causes: Vec<(&str, usize)> = Vec::new();
    for exit in exits.iter().filter(|e| e.restarted) {
        match causes.iter_mut().find(|(cause, _)| *cause == exit.cause) {
            Some((_, n)) => *n += 1,
            None => causes.push((&exit.cause, 1)),
        }
    }
    causes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let words: Vec<String> = causes
        .iter()
        .take(3)
        .map(|(cause, n)| format!("{n} × {}", short(cause, 40)))
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.join(", "))
    }
}

impl Sketch for Components {
    fn name(&self) -> String {
        format!("restarts-and-latency{}", self.suffix)
    }

    fn title(&self) -> String {
        finding(
            self.restarts,
            &self.exits,
            self.observed_secs,
            self.tails.as_deref(),
        )
    }

    fn legend(&self) -> Vec<Key> {
        let teams = self.teams.iter().take(LANES);
        let mut keys: Vec<Key> = teams
            .map(|(name, c, _)| Key::new(Mark::Ring, *c, name))
            .collect();
        if !self.never.is_empty() {
            keys.push(Key::new(Mark::Over, INK, "never bound"));
        }
        if !self.exits.is_empty() {
            keys.push(Key::new(Mark::Cross, WRONG, "component exited"));
        }
        keys
    }

    fn note(&self) -> String {
        format!(
            "Each request at its intended submit time; {}: {}",
            self.run, self.origin
        )
    }

    fn height(&self) -> u32 {
        let lanes = i32::try_from(self.lanes().len()).unwrap_or(0);
        let below = if lanes > 0 { HEAD + lanes * LANE } else { 0 };
        (HEAD + PANEL_HEIGHT + below + FOOT + NAME).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let sides = (120, body.dim_in_pixel().0.cast_signed() - 24);
        let waits = self
            .teams
            .iter()
            .flat_map(|(_, _, waits)| waits.iter().map(|(_, w)| *w));
        let waits = waits.chain(self.never.iter().map(|(_, _, w)| *w));
        let x = Scale::exact(self.observed_secs);
        let rows = (HEAD, HEAD + PANEL_HEIGHT);
        let panel = Panel::new(body, sides, rows, x.clone(), Scale::log_secs(waits));
        let lanes = self.lanes();
        panel.axes("submit → bound", "time, by its logarithm")?;
        panel.x_axis("seconds since the timeline started", lanes.is_empty())?;
        for exit in &self.exits {
            panel.upright(exit.secs, Mark::Dots, WRONG)?;
        }
        for (_, colour, waits) in &self.teams {
            for (due, wait) in waits {
                spot(body, panel.at(*due, *wait), Mark::Ring, *colour)?;
            }
        }
        for (colour, due, wait) in &self.never {
            spot(body, panel.at(*due, *wait), Mark::Over, *colour)?;
        }
        if lanes.is_empty() {
            return Ok(());
        }
        let height = i32::try_from(lanes.len()).unwrap_or(1) * LANE;
        let top = HEAD + PANEL_HEIGHT + HEAD;
        let below = Panel::new(body, sides, (top, top + height), x, Scale::linear(1.0));
        write(body, (0, top - 24), "exits of components", &Words::bold())?;
        below.x_axis("seconds since the timeline started", true)?;
        let mut y = top + LANE / 2;
        for (name, n) in lanes {
            let label = format!("{} ({n})", short(name, 30));
            write(body, (sides.0, y), &label, &Words::soft())?;
            for exit in self.exits.iter().filter(|e| e.component == name) {
                spot(body, (below.at(exit.secs, 0.0).0, y), Mark::Cross, WRONG)?;
            }
            y += LANE;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_counts_restarts_and_names_the_main_cause() {
        let exit = |cause: &str| ComponentExit {
            secs: 1.0,
            component: "kube-scheduler".into(),
            pid: 1,
            cause: cause.into(),
            uptime_secs: 1.0,
            cpu_secs: 0.0,
            peak_rss_mib: 0.0,
            restarted: true,
        };
        let exits = [exit("Lease lost"), exit("crash"), exit("Lease lost")];
        assert_eq!(
            finding(3, &exits, 451.5, Some("whole-card p95: shared 7.00 s")),
            "3 restarts in 451.5 s (2 × Lease lost, 1 × crash). Submit to bound, whole-card p95: shared 7.00 s"
        );
        assert_eq!(
            finding(0, &[], 451.5, None),
            "No component restarted in 451.5 s"
        );
    }
}
