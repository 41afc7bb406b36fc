//! Metrics of a team and of its classes of request.

use plan::TenantPlan;
use plan::metric::{Of, Phase, Stat};

use super::{Amount, Source, value};
use crate::count;
use crate::run_folder::{Bill, Latency, Placement, PlacementCounts, Record, TenantSummary};
use crate::waits::Cause;

/// What the values of a team are taken from.
pub(super) struct Team<'a> {
    pub source: &'a Source<'a>,
    pub summary: &'a TenantSummary,
    pub plan: Option<&'a TenantPlan>,
    pub records: Vec<&'a Record>,
    placements: Vec<&'a Placement>,
}

impl<'a> Team<'a> {
    pub fn all(source: &'a Source<'a>) -> Vec<Self> {
        let teams = source.summary.tenants.iter();
        teams
            .map(|summary| {
                let own = |tenant: &String| *tenant == summary.name;
                let records = source.records.iter().filter(|r| own(&r.tenant));
                let placements = source.summary.placements.iter();
                let mut plans = source.plan.into_iter().flat_map(|p| &p.tenants);
                Self {
                    source,
                    summary,
                    plan: plans.find(|t| own(&t.name)),
                    records: records.collect(),
                    placements: placements.filter(|p| own(&p.tenant)).collect(),
                }
            })
            .collect()
    }

    pub fn name(&self) -> &'a str {
        &self.summary.name
    }

    /// Whether it submitted anything, or was to.
    pub fn asked(&self) -> bool {
        self.summary.submitted > 0
    }

    pub fn end_secs(&self) -> f64 {
        self.source.summary.observed_secs
    }

    pub fn class(&self, class: &str) -> Of {
        Of::Class {
            team: self.summary.name.clone(),
            class: class.to_owned(),
        }
    }

    /// Its classes of request.
    pub fn classes(&self) -> impl Iterator<Item = &'a str> {
        self.summary.latency.keys().map(String::as_str)
    }

    pub fn latency(&self, class: &str, phase: Phase, stat: Stat) -> Option<Amount> {
        let of = self.summary.latency.get(class)?.get(&phase)?;
        Amount::of(match stat {
            Stat::P50 => of.p50,
            Stat::P95 => of.p95,
            Stat::P99 => of.p99,
            Stat::Max => of.max,
        })
    }

    /// What it paid. An older headroom counted evictions and billed none.
    pub fn bill(&self) -> Option<&'a Bill> {
        let bill = &self.summary.bill;
        (self.summary.evictions == 0 || bill.evictions() > 0).then_some(bill)
    }

    /// Where its whole-machine requests went, if the node clearer answers for any.
    pub fn placements(&self) -> Option<PlacementCounts> {
        let any = !self.placements.is_empty();
        any.then(|| PlacementCounts::of(&self.placements))
    }

    fn bind_latency(&self, class: &str) -> Option<&'a Latency> {
        self.summary.latency.get(class)?.get(&Phase::BindLatency)
    }
}

/// One that was not reached is longer than the observation.
pub(super) fn makespan(team: &Team<'_>) -> Option<Amount> {
    let of = team.summary;
    match of.makespan_secs {
        Some(secs) => Some(Amount::Is(secs)),
        None => (of.ideal_secs.is_some() && of.unfinished > 0)
            .then_some(Amount::Over(team.end_secs()))
            .filter(|over| over.at_least().is_finite()),
    }
}

/// What its requests waited for one cause.
pub(super) fn waited(team: &Team<'_>, cause: Cause) -> Option<Amount> {
    let waits = team.summary.waits.as_ref()?;
    Some(Amount::Is(waits.secs.get(&cause).copied().unwrap_or(0.0)))
}

pub(super) fn most_evictions(team: &Team<'_>) -> Option<Amount> {
    let of = |record: &&Record| {
        let evicted = record.attempts.iter().filter(|a| a.end.is_eviction());
        count(evicted.count())
    };
    value::count(team.records.iter().map(of).max().unwrap_or(0))
}

pub(super) fn bound(team: &Team<'_>) -> Option<Amount> {
    let classes = team.classes().filter_map(|class| team.bind_latency(class));
    value::count64(classes.map(bound_of).sum())
}

pub(super) fn bound_of_class(team: &Team<'_>, class: &str) -> Option<Amount> {
    value::count64(bound_of(team.bind_latency(class)?))
}

pub(super) fn submitted_of_class(team: &Team<'_>, class: &str) -> Option<Amount> {
    value::count64(team.bind_latency(class)?.count)
}

fn bound_of(latency: &Latency) -> u64 {
    latency.count.saturating_sub(latency.censored)
}
