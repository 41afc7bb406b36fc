//! Cards admitted over time against the quota, a panel an arm: what the quota's unit lets through.

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::grid;
use super::material::{Material, RunMaterial};
use super::panel::Panel;
use super::pen::{Area, Drawn, Mark};
use super::scale::Scale;
use super::steps::{admitted_over_time, highest};
use super::theme::WRONG;
use crate::text::{joined, short, whole};
use plan::QuotaUnit;

/// The most arms that one picture shows.
const PANELS: usize = 8;
const PANEL_HEIGHT: i32 = 220;

/// The chart's data.
#[derive(Debug)]
pub struct Quota {
    arms: Vec<Arm>,
    origin: String,
}

#[derive(Debug)]
struct Arm {
    name: String,
    team: String,
    colour: RGBColor,
    quota: f64,
    end_secs: f64,
    admitted: Vec<(f64, f64)>,
}

impl Quota {
    /// A chart, if a quota of the session counts anything but cards.
    pub fn of(material: &Material) -> Option<Self> {
        let shown = material.shown();
        let unit = |r: &&RunMaterial| r.run.info.plan.kueue.quota_unit != QuotaUnit::Cards;
        if !shown.iter().any(unit) {
            return None;
        }
        let shown = shown.into_iter().take(PANELS);
        let arms: Vec<Arm> = shown.filter_map(|r| arm(material, r)).collect();
        (!arms.is_empty()).then(|| Self {
            arms,
            origin: material.origin(),
        })
    }
}

/// The arm's first team with work and a quota.
fn arm(material: &Material, run: &RunMaterial) -> Option<Arm> {
    let plan = &run.run.info.plan;
    let team = run.working().find_map(|t| {
        let mut teams = plan.tenants.iter().filter(|p| p.quota.is_some());
        teams.find(|p| p.name == t.name)
    })?;
    let records = run.run.records.iter().filter(|r| r.tenant == team.name);
    let end_secs = run.summary.observed_secs;
    Some(Arm {
        name: run.summary.arm.clone(),
        team: team.name.clone(),
        colour: material.teams.colour(&team.name),
        quota: f64::from(team.quota.as_ref()?.nominal_cards),
        end_secs,
        admitted: admitted_over_time(records, end_secs),
    })
}

impl Arm {
    fn most(&self) -> f64 {
        highest(&self.admitted)
    }
}

fn finding(arms: &[Arm]) -> String {
    let quota = arms.first().map_or(0.0, |a| a.quota);
    let each = arms
        .iter()
        .take(6)
        .map(|a| format!("{} {}", a.name, whole(a.most())));
    format!(
        "Cards admitted at once under a quota of {} cards, by quota unit: {}",
        whole(quota),
        joined(each, ", ")
    )
}

impl Sketch for Quota {
    fn name(&self) -> String {
        "quota".into()
    }

    fn title(&self) -> String {
        finding(&self.arms)
    }

    fn legend(&self) -> Vec<Key> {
        let first = self.arms.first().map(|a| {
            let label = format!("cards of {} admitted", a.team);
            Key::new(Mark::Fill, a.colour, label)
        });
        let quota = Key::new(Mark::Dash, WRONG, "the quota, in cards");
        first.into_iter().chain([quota]).collect()
    }

    fn note(&self) -> String {
        format!(
            "Cards of admitted requests, from the records of one run of each arm. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        grid::height(self.arms.len(), PANEL_HEIGHT)
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let most = self.arms.iter().map(|a| a.most().max(a.quota));
        let y = Scale::linear(most.fold(0.0, f64::max));
        for (arm, (sides, rows), last) in grid::each(&self.arms, PANEL_HEIGHT) {
            let panel = Panel::new(body, sides, rows, Scale::exact(arm.end_secs), y.clone());
            panel.axes(&short(&arm.name, 24), "cards")?;
            panel.fill_steps(&arm.admitted, arm.colour)?;
            let quota = [(0.0, arm.quota), (arm.end_secs, arm.quota)];
            panel.line(&quota, Mark::Dash, WRONG)?;
            panel.x_axis(if last { "seconds" } else { "" }, true)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::theme::INK;
    use super::*;

    #[test]
    fn the_title_says_what_each_unit_let_through() {
        let arm = |name: &str, most| Arm {
            name: name.into(),
            team: "research".into(),
            colour: INK,
            quota: 10.0,
            end_secs: 60.0,
            admitted: vec![(0.0, 0.0), (1.0, most), (20.0, 0.0)],
        };
        assert_eq!(
            finding(&[arm("memory", 24.0), arm("cards", 8.0)]),
            "Cards admitted at once under a quota of 10 cards, by quota unit: memory 24, cards 8"
        );
    }
}
