//! What requests waited for, from submit to useful work.
//!
//! In: a run's records, its calls second by second, the client limits in force. Out: the seconds that each team's requests
//! waited for each [`Cause`], and how many of them a client limit was used up meanwhile. Only a request's first attempt
//! counts: what an eviction costs is counted apart. Background teams wait for nobody.

use std::collections::BTreeMap;

use plan::{Capacity, ClientLimit, Component, Plan, QuotaUnit, TenantPlan, Via};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run_folder::{Attempt, Calls, Record};

/// What a request waits for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Quota: what the team may hold, or what its cohort has, is taken.
    Quota,
    /// Kueue, although quota is free.
    Kueue,
    /// Its pod, although it has quota: Kueue starts the Job, kube-controller-manager creates the pod.
    Controllers,
    /// kube-scheduler.
    Scheduler,
    /// HAMi: its client limit is used up, or it refused the bind since the machine was locked.
    Hami,
    /// A machine: kube-scheduler found none on which it fits.
    Machine,
    /// Its start on the machine.
    Start,
}

impl Cause {
    /// All, in the order of a request's life.
    pub const ALL: [Self; 7] = [
        Self::Quota,
        Self::Kueue,
        Self::Controllers,
        Self::Scheduler,
        Self::Hami,
        Self::Machine,
        Self::Start,
    ];

    /// In words, after "waited for".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Kueue => "Kueue to look",
            Self::Controllers => "a pod",
            Self::Scheduler => "kube-scheduler",
            Self::Hami => "HAMi",
            Self::Machine => "a machine with room",
            Self::Start => "the start on the machine",
        }
    }

    /// Components whose client limit can be behind it, the likelier first.
    fn limits(self) -> &'static [Component] {
        match self {
            Self::Quota | Self::Machine | Self::Start => &[],
            Self::Kueue => &[Component::Kueue],
            Self::Controllers => &[Component::KubeControllerManager, Component::Kueue],
            Self::Scheduler => &[Component::KubeScheduler],
            Self::Hami => &[Component::Hami],
        }
    }
}

/// What the requests of a team, or of several, waited for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Seconds by cause, of all requests together.
    pub secs: BTreeMap<Cause, f64>,
    /// Of these, seconds in which a component's client limit was used up, by cause, then component.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at_limit: BTreeMap<Cause, BTreeMap<String, f64>>,
}

/// The cause of most waiting.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// It.
    pub cause: Cause,
    /// Seconds that requests waited for it, all together.
    pub secs: f64,
    /// Share of all waiting.
    pub share: f64,
    /// The component whose client limit was used up for at least half of that time, and the share of it.
    pub limit: Option<(String, f64)>,
}

impl Waits {
    /// Adds another team's.
    pub fn add(&mut self, other: &Self) {
        for (cause, secs) in &other.secs {
            *self.secs.entry(*cause).or_default() += secs;
        }
        for (cause, by) in &other.at_limit {
            let own = self.at_limit.entry(*cause).or_default();
            for (component, secs) in by {
                *own.entry(component.clone()).or_default() += secs;
            }
        }
    }

    /// The bottleneck; `None` if nothing waited.
    #[must_use]
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        let all: f64 = self.secs.values().sum();
        let (cause, secs) = self.secs.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        let by = self.at_limit.get(cause).into_iter().flatten();
        let most = by.max_by(|a, b| a.1.total_cmp(b.1));
        let limit = most.map(|(component, at)| (component.clone(), at / secs));
        (*secs > 0.0).then(|| Bottleneck {
            cause: *cause,
            secs: *secs,
            share: secs / all,
            limit: limit.filter(|(_, share)| *share >= 0.5),
        })
    }

    fn took(&mut self, cause: Cause, span: Span, limits: &BTreeMap<&str, UsedUp>) {
        let secs = (span.1 - span.0).max(0.0);
        if secs == 0.0 {
            return;
        }
        *self.secs.entry(cause).or_default() += secs;
        for component in cause.limits() {
            let used_up = limits.get(component.name());
            let at = used_up.map_or(0.0, |used_up| used_up.within(span));
            if at > 0.0 {
                let by = self.at_limit.entry(cause).or_default();
                *by.entry(component.name().to_owned()).or_default() += at;
            }
        }
    }
}

/// From when to when, seconds of the run.
type Span = (f64, f64);

/// What each team's requests waited for, by team, up to `end_secs`; empty where the calls were not counted by the second.
#[must_use]
pub fn waits(
    plan: &Plan,
    records: &[Record],
    calls: &Calls,
    limits: &BTreeMap<String, Option<ClientLimit>>,
    end_secs: f64,
) -> BTreeMap<String, Waits> {
    if calls.by_second.is_empty() {
        return BTreeMap::new();
    }
    let limit = |(component, limit): (&'_ String, &Option<ClientLimit>)| {
        let per_sec = calls.by_second.get(component)?;
        Some(UsedUp::new(per_sec, limit.as_ref()?))
    };
    let used_up: BTreeMap<&str, UsedUp> = limits
        .iter()
        .filter_map(|of| Some((of.0.as_str(), limit(of)?)))
        .collect();
    let teams = plan.tenants.iter().filter(|team| !team.background);
    let of_team = |team: &TenantPlan| {
        let quota = Quota::new(plan, team, records);
        let mut waits = Waits::default();
        for record in records.iter().filter(|r| r.tenant == team.name) {
            let life = Life::of(record, end_secs);
            for (free, span) in quota.parts(life.reserving(), record.request.cards) {
                let cause = if free { Cause::Kueue } else { Cause::Quota };
                waits.took(cause, span, &used_up);
            }
            waits.took(Cause::Controllers, life.creating(), &used_up);
            let (scheduling, machine) = life.scheduling();
            for (is_hami, span) in by_hami(scheduling, life.refused, used_up.get("hami")) {
                let cause = if is_hami {
                    Cause::Hami
                } else {
                    Cause::Scheduler
                };
                waits.took(cause, span, &used_up);
            }
            waits.took(Cause::Machine, machine, &used_up);
            waits.took(Cause::Start, life.starting(), &used_up);
        }
        (team.name.clone(), waits)
    };
    teams.map(of_team).collect()
}

/// The stamps of a request's first attempt; what was not reached is at the end of its waiting.
struct Life {
    submitted: f64,
    reserved: f64,
    created: f64,
    bound: f64,
    useful: f64,
    refused: Option<f64>,
    unschedulable: Option<f64>,
}

impl Life {
    fn of(record: &Record, end_secs: f64) -> Self {
        let first = record.attempts.first();
        // A first attempt that was evicted before it got that far waits for nothing more.
        let over = first
            .and_then(Attempt::evicted_secs)
            .or(record.finished_secs);
        let end = over.unwrap_or(end_secs).min(end_secs);
        let submitted = record.intended_secs.clamp(0.0, end.max(0.0));
        let stamp = |of: fn(&Attempt) -> Option<f64>, before: f64| {
            let at = first.and_then(of).unwrap_or(end);
            at.clamp(before, end.max(before))
        };
        let reserved = match record.via {
            Via::Job => stamp(|a| a.reserved_secs, submitted),
            Via::Pod => submitted,
        };
        let created = stamp(|a| a.pod_created_secs, reserved);
        let bound = stamp(Attempt::bind_secs, created);
        let useful = match record.data_plane {
            Some(_) => stamp(|a| a.useful_secs, bound),
            None => stamp(|a| a.running_secs, bound),
        };
        Self {
            submitted,
            reserved,
            created,
            bound,
            useful,
            refused: first.and_then(|a| a.refused_secs),
            unschedulable: first.and_then(|a| a.unschedulable_secs),
        }
    }

    fn reserving(&self) -> Span {
        (self.submitted, self.reserved)
    }

    fn creating(&self) -> Span {
        (self.reserved, self.created)
    }

    /// Until no machine was found for it, and from then on.
    fn scheduling(&self) -> (Span, Span) {
        let from = self.unschedulable.unwrap_or(self.bound);
        let from = from.clamp(self.created, self.bound);
        ((self.created, from), (from, self.bound))
    }

    fn starting(&self) -> Span {
        (self.bound, self.useful)
    }
}

/// The seconds of a run in which a component's client limit was used up.
struct UsedUp(Vec<bool>);

impl UsedUp {
    /// Plays the token bucket second by second: a client waits in a second that leaves less than one token. The limiter of
    /// client-go is such a bucket (`flowcontrol.NewTokenBucketRateLimiter`): full at first, `qps` more each second.
    fn new(per_sec: &[u32], limit: &ClientLimit) -> Self {
        let full = f64::from(limit.burst);
        let mut tokens = full;
        let used_up = per_sec.iter().map(|calls| {
            tokens = (tokens + limit.qps).min(full.max(limit.qps)) - f64::from(*calls);
            // Calls are stamped on arrival, so that one may count a second late.
            tokens = tokens.max(0.0);
            tokens < 1.0
        });
        Self(used_up.collect())
    }

    /// Whether it is used up in the second that begins at `second`.
    fn at(&self, second: usize) -> bool {
        self.0.get(second).copied().unwrap_or(false)
    }

    /// Seconds of a span in which it is.
    fn within(&self, span: Span) -> f64 {
        let parts = seconds(span).filter(|(second, _)| self.at(*second));
        parts.map(|(_, (from, to))| to - from).sum()
    }
}

/// The parts of a span by whole seconds.
fn seconds((from, to): Span) -> impl Iterator<Item = (usize, Span)> {
    // A run has far fewer than 2³² seconds, and a span begins at 0 or later.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let (first, last) = (from.max(0.0) as u32, to.max(0.0).ceil() as u32);
    (first..last).map(move |second| {
        let begin = f64::from(second);
        (second as usize, (begin.max(from), (begin + 1.0).min(to)))
    })
}

/// The parts of a span: those that are HAMi's, and those that are not.
fn by_hami(
    span: Span,
    refused: Option<f64>,
    used_up: Option<&UsedUp>,
) -> impl Iterator<Item = (bool, Span)> {
    seconds(span).map(move |(second, part)| {
        let limited = used_up.is_some_and(|used_up| used_up.at(second));
        let locked = refused.is_some_and(|at| at < part.1);
        (limited || locked, part)
    })
}

/// Whether quota was free for a team, over time.
struct Quota {
    /// When the cards held change, and what then the team and its cohort hold; in order.
    steps: Vec<(f64, u32, u32)>,
    /// What the team may hold.
    team: u32,
    /// What the cohort has.
    cohort: u32,
    /// Whether cards say whether quota is free. Where it counts memory they do not.
    known: bool,
}

impl Quota {
    fn new(plan: &Plan, team: &TenantPlan, records: &[Record]) -> Self {
        let Capacity { cards, .. } = plan.capacity(team);
        let own = team.quota.as_ref();
        let cohort = own.and_then(|quota| quota.cohort.as_ref());
        let with = |other: &&TenantPlan| {
            let quota = other.quota.as_ref();
            let same = quota.is_some_and(|q| cohort.is_some() && q.cohort.as_ref() == cohort);
            other.name == team.name || same
        };
        let together: Vec<&TenantPlan> = plan.tenants.iter().filter(with).collect();
        let nominal = together.iter().filter_map(|t| t.quota.as_ref());
        let mut changes: Vec<(f64, bool, i64)> = Vec::new();
        for record in records {
            if !together.iter().any(|t| t.name == record.tenant) {
                continue;
            }
            let (is_own, cards) = (record.tenant == team.name, i64::from(record.request.cards));
            for attempt in &record.attempts {
                let Some(from) = attempt.reserved_secs else {
                    continue;
                };
                changes.push((from, is_own, cards));
                changes.extend(attempt.released_secs.map(|to| (to, is_own, -cards)));
            }
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut team_holds, mut cohort_holds) = (0_i64, 0_i64);
        let steps = changes.into_iter().map(|(at, is_own, cards)| {
            team_holds += if is_own { cards } else { 0 };
            cohort_holds += cards;
            let held = |n: i64| u32::try_from(n).unwrap_or(0);
            (at, held(team_holds), held(cohort_holds))
        });
        Self {
            steps: steps.collect(),
            team: cards,
            cohort: nominal.map(|quota| quota.nominal_cards).sum(),
            known: plan.kueue.quota_unit == QuotaUnit::Cards,
        }
    }

    /// The parts of a span: those in which quota for so many cards was free, and those in which it was not.
    fn parts(&self, (from, to): Span, cards: u32) -> Vec<(bool, Span)> {
        if !self.known {
            return vec![(false, (from, to))];
        }
        let fits = |held: u32, most: u32| held.saturating_add(cards) <= most;
        let free = |team, cohort| fits(team, self.team) && fits(cohort, self.cohort);
        let first = self.steps.partition_point(|(at, ..)| *at <= from);
        let before = first.checked_sub(1).map(|i| self.steps[i]);
        let mut now = before.map_or_else(|| free(0, 0), |(_, team, cohort)| free(team, cohort));
        let (mut begin, mut parts) = (from, Vec::new());
        for (at, team, cohort) in &self.steps[first..] {
            if *at >= to {
                break;
            }
            parts.push((now, (begin, *at)));
            (begin, now) = (*at, free(*team, *cohort));
        }
        parts.push((now, (begin, to)));
        parts
    }
}

#[cfg(test)]
#[path = "waits_tests.rs"]
mod tests;
