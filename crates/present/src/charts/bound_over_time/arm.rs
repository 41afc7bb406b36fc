//! An arm: its requests bound over time, and what HAMi's client limit allows.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::super::material::{Material, RunMaterial};
use super::super::pen::Mark;
use super::super::steps::steps;
use crate::text::{each_once, secs, short};
use plan::ClientLimit;
use plan::Component;

/// An arm: what of its requests was bound over time.
#[derive(Debug)]
pub(super) struct Arm {
    pub name: String,
    pub limit: ClientLimit,
    /// HAMi's calls for each bound pod, if the audit log told.
    pub calls: Option<f64>,
    pub end_secs: f64,
    pub asked: u32,
    pub bound: u32,
    /// When the last of them was bound, seconds.
    pub last_secs: Option<f64>,
    pub curves: Vec<Curve>,
}

/// One class of a team's requests.
#[derive(Debug)]
pub(super) struct Curve {
    pub label: String,
    pub colour: RGBColor,
    pub mark: Mark,
    pub steps: Vec<(f64, f64)>,
}

/// What of a run to show.
pub(super) fn arm(material: &Material, run: &RunMaterial) -> Arm {
    let end_secs = run.summary.observed_secs;
    let plan = &run.run.info.plan;
    let mut bound: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
    let (mut asked, mut done) = (0, 0);
    let mut last_secs: Option<f64> = None;
    for record in run.foreground() {
        asked += 1;
        let at = record.first_bind_secs().filter(|at| *at <= end_secs);
        done += u32::from(at.is_some());
        last_secs = last_secs.into_iter().chain(at).reduce(f64::max);
        let own = bound.entry((&record.tenant, &record.class)).or_default();
        own.extend(at.map(|at| (at, 1.0)));
    }
    let several = each_once(bound.keys().map(|(team, _)| *team)).len() > 1;
    let mut marks: BTreeMap<&str, usize> = BTreeMap::new();
    let mut curves = Vec::new();
    for ((team, class), changes) in bound {
        let nth = marks.entry(team).or_default();
        curves.push(Curve {
            label: if several {
                format!("{team}: {class}")
            } else {
                class.to_owned()
            },
            colour: material.teams.colour(team),
            mark: [Mark::Line, Mark::Dash, Mark::Dots][*nth % 3],
            steps: steps(changes, end_secs),
        });
        *nth += 1;
    }
    let calls = run.summary.calls_per_pod.get(Component::Hami.name());
    Arm {
        name: run.summary.arm.clone(),
        limit: plan.hami.limit,
        calls: calls.map(|calls| calls.values().sum()).filter(|n| *n > 0.0),
        end_secs,
        asked,
        bound: done,
        last_secs,
        curves,
    }
}

impl Arm {
    /// How many pods HAMi's limit allows for by `secs`.
    pub fn ceiling(&self, secs: f64) -> Option<f64> {
        Some((f64::from(self.limit.burst) + self.limit.qps * secs) / self.calls?)
    }

    /// The ceiling as a line, as far as it lies below what was asked for: nowhere where the burst is enough for all.
    pub fn ceiling_line(&self) -> Option<[(f64, f64); 2]> {
        let asked = f64::from(self.asked);
        let full = (asked * self.calls? - f64::from(self.limit.burst)) / self.limit.qps;
        let until = full.min(self.end_secs);
        (until > 0.0).then_some([
            (0.0, self.ceiling(0.0)?.min(asked)),
            (until, self.ceiling(until)?.min(asked)),
        ])
    }

    /// How many pods the limit allows for by the end, where that is less than what was asked for: a ceiling above it explains
    /// nothing.
    pub fn allowed(&self) -> Option<f64> {
        let allowed = self.ceiling(self.end_secs)?;
        (allowed < f64::from(self.asked)).then_some(allowed)
    }

    /// `raised 120 of 120 by 8.4 s`.
    pub fn in_words(&self) -> String {
        let by = self.last_secs.map(|at| format!(" by {}", secs(at)));
        format!(
            "{} {} of {}{}",
            short(&self.name, 30),
            self.bound,
            self.asked,
            by.unwrap_or_default()
        )
    }

    /// `raised 120/120, 8 s`.
    pub fn in_short(&self) -> String {
        let by = self.last_secs.map(|at| match at {
            at if at < 9.95 => format!(", {at:.1} s"),
            at => format!(", {at:.0} s"),
        });
        format!(
            "{} {}/{}{}",
            short(&self.name, 24),
            self.bound,
            self.asked,
            by.unwrap_or_default()
        )
    }
}
