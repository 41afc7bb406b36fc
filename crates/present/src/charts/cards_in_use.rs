//! Cards in use over time, a panel a team, over what was set aside for it: the article's picture.

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, HEAD, NAME, Panel};
use super::pen::{Area, Drawn, Mark};
use super::scale::Scale;
use super::steps::highest;
use super::theme::{GRID, INK};
use crate::text::{count, percent, short, times, unless_none, whole};
use plan::TenantPlan;
use results::run_folder::{CardSeconds, TenantSummary, UsageRow};

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
    /// Whether it may hold more than that, of others' quota.
    may_borrow: bool,
    bound: Vec<(f64, f64)>,
    admitted: Vec<(f64, f64)>,
}

impl CardsInUse {
    /// A chart for each arm that has a usage series; of several arms for those in which cards are set aside.
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
    let plan = run.planned(&summary.name);
    let until = summary.makespan_secs.unwrap_or(run.summary.observed_secs);
    let series = |cards: fn(&UsageRow) -> u32| -> Vec<(f64, f64)> {
        let own = run
            .run
            .usage
            .iter()
            .filter(|row| row.tenant == summary.name);
        let own = own.filter(|row| row.secs >= 0.0);
        own.map(|row| (row.secs, f64::from(cards(row)))).collect()
    };
    let quota = plan.and_then(|p| p.quota.as_ref());
    Team {
        name: summary.name.clone(),
        colour: material.teams.colour(&summary.name),
        card_seconds: summary.card_seconds,
        makespan_secs: summary.makespan_secs,
        reserved: plan
            .and_then(|p| p.reserved_cards)
            .map(|c| (f64::from(c), until)),
        quota: quota.map(|q| f64::from(q.nominal_cards)),
        may_borrow: plan.is_some_and(|p| may_borrow(p, &run.run.info.plan.tenants)),
        bound: series(|row| row.bound_cards),
        admitted: series(|row| row.admitted_cards),
    }
}

impl Team {
    /// Share of the cards set aside that its work held, by its quota as it was published; of a team without one on bound
    /// pods.
    fn held_share(&self) -> Option<f64> {
        let reserved = self.card_seconds.reserved.filter(|r| *r > 0.0)?;
        Some((self.held() / reserved).min(1.0))
    }

    fn held(&self) -> f64 {
        match self.quota {
            Some(_) => self.card_seconds.admitted,
            None => self.card_seconds.bound,
        }
    }

    fn most(&self) -> f64 {
        highest(&self.bound)
    }
}

/// What the cards set aside were worth, and what a team that shares did with the same work instead.
fn finding(teams: &[Team]) -> String {
    let wasted = |t: &&Team| t.card_seconds.reserved.unwrap_or(0.0) - t.held();
    let owner = teams
        .iter()
        .filter(|t| t.held_share().is_some())
        .max_by(|a, b| wasted(a).total_cmp(&wasted(b)));
    let Some(owner) = owner else {
        let most = teams.iter().max_by(|a, b| a.most().total_cmp(&b.most()));
        return most.map_or_else(String::new, |t| {
            let most = whole(t.most());
            format!("{} had up to {most} cards in use at once", t.name)
        });
    };
    let reserved = owner.card_seconds.reserved.unwrap_or(0.0);
    let held = owner.held_share().unwrap_or(0.0);
    let what = match owner.quota {
        Some(_) => "quota held",
        None => "on bound pods",
    };
    let text = format!(
        "Of the {} card·s set aside for {}, {} were held by its work ({what}), {} stood idle",
        whole(reserved),
        owner.name,
        percent(held),
        percent(1.0 - held)
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
            percent(sharer.held() / reserved),
            times(own / base)
        );
    }
    text
}

/// Whether a team may hold more than its quota, and somebody is there to lend.
fn may_borrow(team: &TenantPlan, all: &[TenantPlan]) -> bool {
    let Some(quota) = &team.quota else {
        return false;
    };
    let lends = |other: &TenantPlan| {
        other.quota.as_ref().is_some_and(|theirs| {
            let lends = theirs.lending_limit_cards != Some(0) && theirs.nominal_cards > 0;
            lends && theirs.cohort == quota.cohort
        })
    };
    quota.cohort.is_some()
        && quota.borrowing_limit_cards != Some(0)
        && all.iter().any(|t| t.name != team.name && lends(t))
}

/// What the dashed line means, where one is drawn.
fn quota_label(teams: &[Team]) -> Option<&'static str> {
    let is_drawn = |t: &&Team| t.reserved.is_none() && t.quota.is_some();
    let drawn = || teams.iter().filter(is_drawn);
    let borrowers = drawn().filter(|t| t.may_borrow).count();
    match (borrowers, drawn().count()) {
        (_, 0) => None,
        (0, _) => Some("nominal quota"),
        (some, all) if some < all => Some("nominal quota (some teams may borrow)"),
        _ => Some("nominal quota, may borrow"),
    }
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
        if let Some(label) = quota_label(&self.teams) {
            keys.push(Key::new(Mark::Dash, INK, label));
        }
        keys
    }

    fn note(&self) -> String {
        let more = unless_none(self.left_out, |n| {
            format!(" {} not shown.", count(n as u64, "more team"))
        });
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
            let level = team.reserved.map(|(cards, _)| cards).or(team.quota);
            let most = team.most().max(highest(&team.admitted));
            let y = Scale::linear(most.max(level.unwrap_or(0.0)));
            let rows = (top, top + PANEL_HEIGHT);
            let panel = Panel::new(body, (90, right), rows, x.clone(), y);
            if let Some((cards, until)) = team.reserved {
                panel.block(0.0, until, cards, GRID)?;
            }
            panel.axes(&short(&team.name, 40), "cards")?;
            panel.fill_steps(&team.bound, team.colour)?;
            panel.line_steps(&team.admitted, Mark::Line, INK)?;
            if let (None, Some(quota)) = (team.reserved, team.quota) {
                let quota = [(0.0, quota), (self.observed_secs, quota)];
                panel.line(&quota, Mark::Dash, INK)?;
            }
            let last = i + 1 == self.teams.len();
            // Without labels, the axis has no name.
            panel.x_axis("seconds since the timeline started", last)?;
            top += PANEL_HEIGHT + HEAD + GAP;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "cards_in_use_tests.rs"]
mod tests;
