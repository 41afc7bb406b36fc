//! Makespan and card-seconds by team, beside what was published and what the timeline asks for without a control plane.

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::figures::Repeats;
use super::material::Material;
use super::names::Unit;
use super::pen::{Area, Drawn, Mark, bar, spot};
use super::scale::Scale;
use super::text::{percent, secs, short, times, whole};
use super::theme::{GRID, INK, LINE, WIDTH, wash};
use super::words::{Words, write};

/// The most teams that one picture shows.
const ROWS: usize = 8;

/// The chart's data.
#[derive(Debug)]
pub struct Cost {
    suffix: String,
    arm: String,
    teams: Vec<Team>,
    repeats: usize,
    origin: String,
}

#[derive(Debug)]
struct Team {
    name: String,
    colour: RGBColor,
    makespan: Repeats,
    ideal_secs: Option<f64>,
    reserved: Option<Repeats>,
    admitted: Option<Repeats>,
    bound: Option<Repeats>,
}

impl Cost {
    /// A chart for each arm in which teams finished their work; of several arms for those with more than one such team.
    #[must_use]
    pub fn of(material: &Material) -> Vec<Self> {
        let charts = material.shown().into_iter().map(|run| {
            let arm = &run.summary.arm;
            let teams = run.working().filter_map(|t| {
                let figure = |key: &str| Repeats::of(material, arm, &t.name, key);
                Some(Team {
                    name: t.name.clone(),
                    colour: material.teams.colour(&t.name),
                    makespan: figure("makespan_secs")?,
                    ideal_secs: t.ideal_secs,
                    reserved: figure("card_seconds_reserved"),
                    admitted: figure("card_seconds_admitted"),
                    bound: figure("card_seconds_bound"),
                })
            });
            Self {
                suffix: material.suffix(arm),
                arm: arm.clone(),
                teams: teams.take(ROWS).collect(),
                repeats: material
                    .runs
                    .iter()
                    .filter(|r| r.summary.arm == *arm)
                    .count(),
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
    let base_secs = base.makespan.median.at_least();
    let mut parts: Vec<String> = Vec::new();
    for team in teams.iter().filter(|t| t.name != base.name).take(3) {
        let ratio = times(team.makespan.median.at_least() / base_secs);
        let published = team.makespan.published.zip(base.makespan.published);
        let published =
            published.map(|(own, theirs)| format!(" (published {})", times(own / theirs)));
        let published = published.unwrap_or_default();
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

/// Height of a bar and of the space that it takes.
const BAR: i32 = 36;
const STEP: i32 = 46;
/// Where bars begin.
const LEFT: i32 = 230;
/// Room at the right for what a bar amounts to.
const VALUE: i32 = 370;

impl Cost {
    fn bars(team: &Team) -> Vec<(&'static str, RGBColor, &Repeats)> {
        let all = [
            ("reserved", GRID, &team.reserved),
            ("held", team.colour, &team.admitted),
            ("bound", wash(team.colour), &team.bound),
        ];
        let there = all
            .into_iter()
            .filter_map(|(name, colour, r)| Some((name, colour, r.as_ref()?)));
        there.collect()
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
        let published = |r: &Option<Repeats>| r.as_ref().is_some_and(|r| r.published.is_some());
        if self.teams.iter().any(|t| {
            t.makespan.published.is_some() || published(&t.reserved) || published(&t.admitted)
        }) {
            keys.push(Key::new(Mark::Diamond, INK, "published"));
        }
        if any(|t| t.ideal_secs.is_some()) {
            keys.push(Key::new(Mark::Tick, INK, "ideal, without a control plane"));
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
        let right = WIDTH.cast_signed() - 48 - VALUE;
        let values = |r: &Repeats| -> Vec<f64> {
            let numbers = r.values.iter().map(|v| v.at_least());
            numbers.chain(r.published).collect()
        };
        let makespans = self.teams.iter().flat_map(|t| values(&t.makespan));
        let scale = Scale::exact(makespans.fold(0.0, f64::max));
        let mut row = Row { y: 0, right, scale };
        heading(body, row.y, "makespan, seconds")?;
        row.y += HEADING;
        for team in &self.teams {
            write(body, (0, row.y), &short(&team.name, 12), &Words::plain())?;
            row.draw(body, team.colour, &team.makespan, Unit::Secs)?;
            if let Some(ideal) = team.ideal_secs {
                spot(body, row.at(ideal), Mark::Tick, INK)?;
            }
            row.y += STEP;
        }
        let all = self
            .teams
            .iter()
            .flat_map(Self::bars)
            .flat_map(|(_, _, r)| values(r));
        row.scale = Scale::exact(all.fold(0.0, f64::max));
        row.y += GAP;
        heading(body, row.y, "card-seconds")?;
        row.y += HEADING;
        for team in &self.teams {
            write(body, (0, row.y), &short(&team.name, 12), &Words::plain())?;
            for (name, colour, repeats) in Self::bars(team) {
                row.draw(body, colour, repeats, Unit::CardSecs)?;
                let label = format!("{name} {}", value(repeats, whole));
                row.value(body, &label)?;
                row.y += STEP;
            }
            row.y += GAP;
        }
        Ok(())
    }
}

const HEADING: i32 = 50;
const GAP: i32 = 14;

fn heading<DB: DrawingBackend>(body: &Area<DB>, y: i32, text: &str) -> Drawn {
    write(body, (0, y + 10), text, &Words::bold())
}

fn value(repeats: &Repeats, print: fn(f64) -> String) -> String {
    let published = repeats
        .published
        .map_or_else(String::new, |p| format!(" (publ. {})", print(p)));
    format!("{}{published}", print(repeats.median.at_least()))
}

/// Where a bar is drawn.
struct Row {
    y: i32,
    right: i32,
    scale: Scale,
}

impl Row {
    #[allow(clippy::cast_possible_truncation)] // a share of a picture's width
    fn at(&self, v: f64) -> (i32, i32) {
        (
            LEFT + (self.scale.at(v) * f64::from(self.right - LEFT)).round() as i32,
            self.y,
        )
    }

    fn draw<DB: DrawingBackend>(
        &self,
        body: &Area<DB>,
        colour: RGBColor,
        repeats: &Repeats,
        unit: Unit,
    ) -> Drawn {
        let end = self.at(repeats.median.at_least());
        bar(
            body,
            (LEFT, self.y - BAR / 2),
            (end.0, self.y + BAR / 2),
            colour,
        )?;
        if repeats.values.len() > 1 {
            for v in &repeats.values {
                spot(body, self.at(v.at_least()), Mark::Ring, INK)?;
            }
        }
        if let Some(published) = repeats.published {
            spot(body, self.at(published), Mark::Diamond, INK)?;
        }
        if unit == Unit::Secs {
            self.value(body, &value(repeats, |v| format!("{v:.1}")))?;
        }
        Ok(())
    }

    fn value<DB: DrawingBackend>(&self, body: &Area<DB>, text: &str) -> Drawn {
        write(
            body,
            (self.right + 24, self.y),
            text,
            &Words::soft().size(27.0),
        )
    }
}

/// From one line to the next; kept in step with the letters' height.
const _: () = assert!(STEP > LINE);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Amount;

    fn team(name: &str, secs: f64, published: Option<f64>, reserved: bool) -> Team {
        let repeats = |v: f64, published| Repeats {
            median: Amount::Is(v),
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
