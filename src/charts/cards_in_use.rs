//! Cards in use over time, a panel a team, over what was set aside for it: the article's picture.

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, HEAD, NAME, Panel};
use super::pen::{Area, Drawn, Mark};
use super::scale::Scale;
use super::text::{count, percent, short, times, whole};
use super::theme::{GRID, INK};
use crate::run_folder::{CardSeconds, TenantSummary, UsageRow};

/// The most teams that one picture shows.
const PANELS: usize = 6;
const PANEL_HEIGHT: i32 = 190;
/// Space between two panels.
const GAP: i32 = 16;

/// The chart's data.
#[derive(Debug)]
pub struct CardsInUse {
    suffix: String,
    teams: Vec<Team>,
    left_out: usize,
    observed_secs: f64,
    origin: String,
    run: String,
}

#[derive(Debug, Clone)]
struct Team {
    name: String,
    colour: RGBColor,
    card_seconds: CardSeconds,
    makespan_secs: Option<f64>,
    /// Cards set aside and until when.
    reserved: Option<(f64, f64)>,
    /// Nominal quota, cards.
    quota: Option<f64>,
    bound: Vec<(f64, f64)>,
    admitted: Vec<(f64, f64)>,
}

impl CardsInUse {
    /// A chart for each arm that has a usage series; of several arms for those in which cards are set aside.
    #[must_use]
    pub fn of(material: &Material) -> Vec<Self> {
        let one = material.arms().len() == 1;
        let charts = material.shown().into_iter().map(|run| {
            let mut teams: Vec<Team> = run
                .working()
                .map(|t| team(material, run, t))
                .filter(|t| !t.bound.is_empty())
                .collect();
            let left_out = teams.len().saturating_sub(PANELS);
            teams.truncate(PANELS);
            Self {
                suffix: material.suffix(&run.summary.arm),
                teams,
                left_out,
                observed_secs: run.summary.observed_secs,
                origin: material.origin(),
                run: run.label(),
            }
        });
        let worth = |c: &Self| one || c.teams.iter().any(|t| t.reserved.is_some());
        charts.filter(|c| !c.teams.is_empty() && worth(c)).collect()
    }
}

fn team(material: &Material, run: &RunMaterial, summary: &TenantSummary) -> Team {
    let plan = run
        .run
        .info
        .plan
        .tenants
        .iter()
        .find(|t| t.name == summary.name);
    let until = summary.makespan_secs.unwrap_or(run.summary.observed_secs);
    let own = || {
        run.run
            .usage
            .iter()
            .filter(|row| row.tenant == summary.name)
    };
    let series = |cards: fn(&UsageRow) -> u32| -> Vec<(f64, f64)> {
        own()
            .filter(|row| row.secs >= 0.0)
            .map(|row| (row.secs, f64::from(cards(row))))
            .collect()
    };
    Team {
        name: summary.name.clone(),
        colour: material.teams.colour(&summary.name),
        card_seconds: summary.card_seconds,
        makespan_secs: summary.makespan_secs,
        reserved: plan
            .and_then(|p| p.reserved_cards)
            .map(|c| (f64::from(c), until)),
        quota: plan
            .and_then(|p| p.quota.as_ref())
            .map(|q| f64::from(q.nominal_cards)),
        bound: series(|row| row.bound_cards),
        admitted: series(|row| row.admitted_cards),
    }
}

impl Team {
    fn idle_share(&self) -> Option<f64> {
        let reserved = self.card_seconds.reserved.filter(|r| *r > 0.0)?;
        Some((1.0 - self.card_seconds.bound / reserved).max(0.0))
    }

    fn most(&self) -> f64 {
        self.bound
            .iter()
            .map(|(_, cards)| *cards)
            .fold(0.0, f64::max)
    }
}

/// What the cards set aside were worth, and what a team that shares did with the same work instead.
fn finding(teams: &[Team]) -> String {
    let wasted = |t: &&Team| t.card_seconds.reserved.unwrap_or(0.0) - t.card_seconds.bound;
    let owner = teams
        .iter()
        .filter(|t| t.idle_share().is_some())
        .max_by(|a, b| wasted(a).total_cmp(&wasted(b)));
    let Some(owner) = owner else {
        let most = teams.iter().max_by(|a, b| a.most().total_cmp(&b.most()));
        return most.map_or_else(String::new, |t| {
            format!(
                "{} had up to {} cards in use at once",
                t.name,
                whole(t.most())
            )
        });
    };
    let reserved = owner.card_seconds.reserved.unwrap_or(0.0);
    let idle = owner.idle_share().unwrap_or(0.0);
    let text = format!(
        "Of the {} card·s set aside for {}, {} stood idle",
        whole(reserved),
        owner.name,
        percent(idle)
    );
    let same_work = |t: &&Team| {
        t.reserved.is_none() && (t.card_seconds.ideal / owner.card_seconds.ideal - 1.0).abs() < 0.01
    };
    if let Some(sharer) = teams.iter().find(same_work)
        && let (Some(own), Some(base)) = (sharer.makespan_secs, owner.makespan_secs)
    {
        return format!(
            "{text}; {} held {} for the same work and took {} as long",
            sharer.name,
            percent(sharer.card_seconds.admitted / reserved),
            times(own / base)
        );
    }
    text
}

impl Sketch for CardsInUse {
    fn name(&self) -> String {
        format!("cards-in-use{}", self.suffix)
    }

    fn title(&self) -> String {
        finding(&self.teams)
    }

    fn legend(&self) -> Vec<Key> {
        let colour = self.teams.first().map_or(INK, |t| t.colour);
        let mut keys = vec![
            Key::new(
                Mark::Fill,
                colour,
                "cards on bound pods, in the team's colour",
            ),
            Key::new(Mark::Line, INK, "quota held"),
        ];
        if self.teams.iter().any(|t| t.reserved.is_some()) {
            keys.push(Key::new(Mark::Fill, GRID, "set aside"));
        }
        if self
            .teams
            .iter()
            .any(|t| t.reserved.is_none() && t.quota.is_some())
        {
            keys.push(Key::new(Mark::Dash, INK, "nominal quota, may borrow"));
        }
        keys
    }

    fn note(&self) -> String {
        let more = match self.left_out {
            0 => String::new(),
            n => format!(" {} not shown.", count(n as u64, "more team")),
        };
        format!("Each second of {}: {}{more}", self.run, self.origin)
    }

    fn height(&self) -> u32 {
        let panels = i32::try_from(self.teams.len()).unwrap_or(1);
        (panels * (PANEL_HEIGHT + HEAD + GAP) + FOOT + NAME).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let right = body.dim_in_pixel().0.cast_signed() - 12;
        let x = Scale::exact(self.observed_secs);
        let mut top = HEAD;
        for (i, team) in self.teams.iter().enumerate() {
            let series = team
                .bound
                .iter()
                .chain(&team.admitted)
                .map(|(_, cards)| *cards);
            let level = team
                .reserved
                .map(|(cards, _)| cards)
                .or(team.quota)
                .unwrap_or(0.0);
            let y = Scale::linear(series.fold(level, f64::max));
            let rows = (top, top + PANEL_HEIGHT);
            let panel = Panel::new(body, (90, right), rows, x.clone(), y);
            if let Some((cards, until)) = team.reserved {
                panel.block(0.0, until, cards, GRID)?;
            }
            panel.axes(&short(&team.name, 40), "cards")?;
            panel.fill_steps(&team.bound, team.colour)?;
            panel.line_steps(&team.admitted, Mark::Line, INK)?;
            if let (None, Some(quota)) = (team.reserved, team.quota) {
                panel.line(
                    &[(0.0, quota), (self.observed_secs, quota)],
                    Mark::Dash,
                    INK,
                )?;
            }
            let last = i + 1 == self.teams.len();
            panel.x_axis(
                if last {
                    "seconds since the timeline started"
                } else {
                    ""
                },
                last,
            )?;
            top += PANEL_HEIGHT + HEAD + GAP;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_team(name: &str, reserved: Option<f64>, held: f64, makespan: f64) -> Team {
        Team {
            name: name.into(),
            colour: INK,
            card_seconds: CardSeconds {
                reserved,
                admitted: held,
                bound: held * 0.9,
                ideal: 8248.0,
                ..CardSeconds::default()
            },
            makespan_secs: Some(makespan),
            reserved: reserved.map(|r| (r / makespan, makespan)),
            quota: None,
            bound: vec![(0.0, 3.0), (1.0, 24.0)],
            admitted: Vec::new(),
        }
    }

    #[test]
    fn the_title_says_what_idled_and_what_sharing_cost() {
        let teams = [
            a_team("dedicated", Some(18000.0), 9000.0, 450.0),
            a_team("shared", None, 9000.0, 459.0),
        ];
        assert_eq!(
            finding(&teams),
            "Of the 18,000 card·s set aside for dedicated, 55 % stood idle; shared held 50 % for the same work and took \
             1.02 × as long"
        );
        assert_eq!(
            finding(&teams[1..]),
            "shared had up to 24 cards in use at once"
        );
    }
}
