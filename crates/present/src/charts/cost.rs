//! Makespan and card-seconds by team, beside what was published and what the timeline asks for without a control plane.

use plotters::prelude::*;

use super::bars::{Bars, HEADING, STEP};
use super::canvas::{Key, Sketch};
use super::material::Material;
use super::measured::Measured;
use super::pen::{Area, Drawn, Mark, spot};
use super::theme::{GRID, INK, wash};
use crate::text::{percent, secs, times, whole};
use plan::metric::{Metric, MetricKey};

/// The most teams that one picture shows.
const ROWS: usize = 8;

/// The chart's data.
#[derive(Debug)]
pub struct Cost {
    suffix: String,
    arm: String,
    teams: Vec<Team>,
    repeats: usize,
    /// Whether a data plane was played: then the control plane is not all that the ideal leaves out.
    data_plane: bool,
    origin: String,
}

#[derive(Debug)]
struct Team {
    name: String,
    colour: RGBColor,
    makespan: Measured,
    ideal_secs: Option<f64>,
    reserved: Option<Measured>,
    admitted: Option<Measured>,
    bound: Option<Measured>,
}

impl Cost {
    /// A chart for each arm in which teams finished their work; of several arms for those with more than one such team.
    pub fn of(material: &Material) -> Vec<Self> {
        let charts = material.shown().into_iter().map(|run| {
            let arm = &run.summary.arm;
            let teams = run.working().filter_map(|t| {
                let measured =
                    |metric| Measured::of(material, arm, &MetricKey::team(&t.name, metric));
                // One that was not reached is no length to draw.
                let makespan = measured(Metric::MakespanSecs)?;
                makespan.known()?;
                Some(Team {
                    name: t.name.clone(),
                    colour: material.teams.colour(&t.name),
                    makespan,
                    ideal_secs: t
                        .ideal_secs
                        .filter(|_| !run.run.info.plan.shares_machines(&t.name)),
                    reserved: measured(Metric::CardSecondsReserved),
                    admitted: measured(Metric::CardSecondsAdmitted),
                    bound: measured(Metric::CardSecondsBound),
                })
            });
            Self {
                suffix: material.suffix(arm),
                arm: arm.clone(),
                teams: teams.take(ROWS).collect(),
                repeats: material.all_of(arm).count(),
                data_plane: run.data_plane().is_some(),
                origin: material.origin(),
            }
        });
        let least = if material.arms().len() == 1 { 1 } else { 2 };
        charts.filter(|c| c.teams.len() >= least).collect()
    }
}

/// How the teams' makespans compare with the first team's that has cards set aside (else the first team's), measured and
/// published.
fn finding(teams: &[Team]) -> String {
    let base = teams.iter().position(|t| t.reserved.is_some()).unwrap_or(0);
    let Some(base) = teams.get(base) else {
        return String::new();
    };
    let base_secs = base.makespan.of_arm.at_least();
    let mut parts: Vec<String> = Vec::new();
    for team in teams.iter().filter(|t| t.name != base.name).take(3) {
        let ratio = times(team.makespan.of_arm.at_least() / base_secs);
        let published = team.makespan.published.zip(base.makespan.published);
        let published = published.map_or_else(String::new, |(own, theirs)| {
            format!(" (published {})", times(own / theirs))
        });
        parts.push(match parts[..] {
            [] => format!(
                "{} took {ratio} as long as {}{published}",
                team.name, base.name
            ),
            _ => format!("{} {ratio}{published}", team.name),
        });
    }
    if parts.is_empty() {
        let ideal = base.ideal_secs.filter(|i| *i > 0.0);
        let over = ideal.map_or_else(String::new, |ideal| {
            format!(", {} over its ideal", percent(base_secs / ideal - 1.0))
        });
        return format!("{} took {}{over}", base.name, secs(base_secs));
    }
    parts.join(", ")
}

/// Room for the names of bars and for what they amount to.
const LEFT: i32 = 230;
const VALUE: i32 = 370;
/// Space between two teams' bars.
const GAP: i32 = 14;

impl Cost {
    fn bars(team: &Team) -> Vec<(&'static str, RGBColor, &Measured)> {
        let all = [
            ("reserved", GRID, &team.reserved),
            ("held", team.colour, &team.admitted),
            ("bound", wash(team.colour), &team.bound),
        ];
        let there = |(name, colour, measured)| Some((name, colour, Option::as_ref(measured)?));
        all.into_iter().filter_map(there).collect()
    }
}

impl Sketch for Cost {
    fn name(&self) -> String {
        format!("makespan-and-cost{}", self.suffix)
    }

    fn title(&self) -> String {
        finding(&self.teams)
    }

    fn legend(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        let any = |f: fn(&Team) -> bool| self.teams.iter().any(f);
        if any(|t| {
            let all = [Some(&t.makespan), t.reserved.as_ref(), t.admitted.as_ref()];
            all.into_iter().flatten().any(|m| m.published.is_some())
        }) {
            keys.push(Key::new(Mark::Diamond, INK, "published"));
        }
        if any(|t| t.ideal_secs.is_some()) {
            let ideal = if self.data_plane {
                "ideal, without a control or data plane"
            } else {
                "ideal, without a control plane"
            };
            keys.push(Key::new(Mark::Tick, INK, ideal));
        }
        if self.repeats > 1 {
            keys.push(Key::new(Mark::Ring, INK, "each repeat"));
        }
        keys
    }

    fn note(&self) -> String {
        let what = match self.repeats {
            0 | 1 => "One run".to_owned(),
            n => format!("Medians of {n} runs"),
        };
        let reserved =
            "Reserved: cards set aside × makespan; held: quota held; bound: on bound pods.";
        format!("{what}, arm {}. {reserved} {}", self.arm, self.origin)
    }

    fn height(&self) -> u32 {
        let rows = i32::try_from(self.teams.len()).unwrap_or(1);
        let bars: usize = self.teams.iter().map(|t| Self::bars(t).len()).sum();
        let bars = i32::try_from(bars).unwrap_or(1);
        (2 * HEADING + rows * STEP + bars * STEP + rows * GAP + 16).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let bars = |most: f64| Bars::new(body, LEFT, VALUE, most);
        let makespans = bars(most(self.teams.iter().map(|t| &t.makespan)));
        let mut y = 0;
        makespans.heading(y + 10, "makespan, seconds")?;
        y += HEADING;
        for team in &self.teams {
            makespans.name(y, &team.name, 12)?;
            row(body, &makespans, y, team.colour, &team.makespan)?;
            makespans.value(y, &value(&team.makespan, |v| format!("{v:.1}")))?;
            if let Some(ideal) = team.ideal_secs {
                spot(body, (makespans.x(ideal), y), Mark::Tick, INK)?;
            }
            y += STEP;
        }
        let all = self.teams.iter().flat_map(Self::bars);
        let costs = bars(most(all.map(|(_, _, repeats)| repeats)));
        y += GAP;
        costs.heading(y + 10, "card-seconds")?;
        y += HEADING;
        for team in &self.teams {
            costs.name(y, &team.name, 12)?;
            for (name, colour, repeats) in Self::bars(team) {
                row(body, &costs, y, colour, repeats)?;
                costs.value(y, &format!("{name} {}", value(repeats, whole)))?;
                y += STEP;
            }
            y += GAP;
        }
        Ok(())
    }
}

/// The largest of all repeats and published values.
fn most<'a>(all: impl Iterator<Item = &'a Measured>) -> f64 {
    let values = all.flat_map(|r| r.values.iter().map(|v| v.at_least()).chain(r.published));
    values.fold(0.0, f64::max)
}

fn value(repeats: &Measured, print: fn(f64) -> String) -> String {
    let published = repeats
        .published
        .map_or_else(String::new, |p| format!(" (publ. {})", print(p)));
    format!("{}{published}", print(repeats.of_arm.at_least()))
}

/// A bar at the median, the repeats and what was published on it.
fn row<DB: DrawingBackend>(
    body: &Area<DB>,
    bars: &Bars<DB>,
    y: i32,
    colour: RGBColor,
    repeats: &Measured,
) -> Drawn {
    bars.parts(y, &[(repeats.of_arm.at_least(), colour)])?;
    if repeats.values.len() > 1 {
        for v in &repeats.values {
            spot(body, (bars.x(v.at_least()), y), Mark::Ring, INK)?;
        }
    }
    match repeats.published {
        Some(published) => spot(body, (bars.x(published), y), Mark::Diamond, INK),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::metrics::Amount;

    fn team(name: &str, secs: f64, published: Option<f64>, reserved: bool) -> Team {
        let repeats = |v: f64, published| Measured {
            of_arm: Amount::Is(v),
            values: vec![Amount::Is(v)],
            published,
        };
        Team {
            name: name.into(),
            colour: INK,
            makespan: repeats(secs, published),
            ideal_secs: Some(450.0),
            reserved: reserved.then(|| repeats(40.0 * secs, None)),
            admitted: None,
            bound: None,
        }
    }

    #[test]
    fn the_title_compares_with_the_team_that_owns_its_cards() {
        let teams = [
            team("shared", 451.0, Some(461.3), false),
            team("dedicated", 450.0, Some(458.8), true),
            team("workstation", 1125.0, None, true),
        ];
        assert_eq!(
            finding(&teams),
            "shared took 1.00 × as long as dedicated (published 1.01 ×), workstation 2.50 ×"
        );
        assert_eq!(
            finding(&teams[1..2]),
            "dedicated took 450 s, 0 % over its ideal"
        );
    }
}
