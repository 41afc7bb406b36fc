//! The live view: each team's progress right now. Counts and cards come from the records as they grow.

use serde::Serialize;

use super::job::TrackedJob;
use super::state::State;
use plan::{Plan, TenantPlan};
use results::run_folder::{Attempt, UsageRow};

/// A snapshot of all teams.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Live {
    /// When it was taken, seconds since the clock's zero; `None` before the clock starts.
    pub at_secs: Option<f64>,
    /// The teams, in the plan's order.
    pub tenants: Vec<LiveTenant>,
}

/// A team's progress. Every announced Job is in exactly one of `waiting`, `admitted`, `bound`, `running`, `done`, `failed`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LiveTenant {
    /// Name.
    pub name: String,
    /// Stage of the Job announced last.
    pub stage: Option<String>,
    /// Its round within the stage, from 0.
    pub round: Option<u32>,
    /// Without quota (or, for bare pods, not bound).
    pub waiting: u32,
    /// With quota, not bound.
    pub admitted: u32,
    /// Bound, not running.
    pub bound: u32,
    /// Running.
    pub running: u32,
    /// Done.
    pub done: u32,
    /// Failed or refused.
    pub failed: u32,
    /// Attempts lost to preemption or eviction so far.
    pub lost_attempts: u32,
    /// Cards by state.
    pub cards: LiveCards,
    /// Median bind latency of the Jobs bound so far, as the watch saw it, seconds.
    pub bound_p50_secs: Option<f64>,
    /// Its 95th percentile.
    pub bound_p95_secs: Option<f64>,
}

/// Cards by state. The states overlap: a running card is also bound, and a bound one usually admitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LiveCards {
    /// `nominalQuota`; `None` without a ClusterQueue.
    pub quota: Option<u32>,
    /// Quota held.
    pub admitted: u32,
    /// On bound pods.
    pub bound: u32,
    /// On running pods.
    pub running: u32,
    /// Requested by waiting Jobs.
    pub pending: u32,
}

/// Takes a snapshot at `at_secs`.
pub fn live(plan: &Plan, state: &State, at_secs: Option<f64>) -> Live {
    let tenants = plan.tenants.iter();
    Live {
        at_secs,
        tenants: tenants.map(|tenant| live_tenant(tenant, state)).collect(),
    }
}

fn live_tenant(tenant: &TenantPlan, state: &State) -> LiveTenant {
    let mut live = LiveTenant {
        name: tenant.name.clone(),
        ..LiveTenant::default()
    };
    live.cards.quota = tenant.quota.as_ref().map(|q| q.nominal_cards);
    let mut bound = Vec::new();
    for job in state.jobs() {
        let record = job.live();
        if record.tenant == tenant.name {
            live.count(job);
            live.stage = Some(record.stage.clone());
            live.round = Some(record.round);
            if let Some(at) = record.first_bind_secs() {
                bound.push((at - record.intended_secs).max(0.0));
            }
        }
    }
    bound.sort_by(f64::total_cmp);
    live.bound_p50_secs = results::latency::nearest_rank(&bound, 0.50).copied();
    live.bound_p95_secs = results::latency::nearest_rank(&bound, 0.95).copied();
    live
}

impl LiveTenant {
    fn count(&mut self, job: &TrackedJob) {
        let record = job.live();
        let cards = record.request.cards;
        let any = |is: fn(&Attempt) -> bool| record.attempts.iter().any(is);
        let quota = any(|a| a.admitted_secs.is_some() && a.holds_quota());
        let bound = any(|a| a.bound_secs.is_some() && a.holds_pod());
        let running = any(|a| a.running_secs.is_some() && a.holds_pod());
        let add = |to: &mut u32, when: bool| *to += if when { cards } else { 0 };
        add(&mut self.cards.admitted, quota);
        add(&mut self.cards.bound, bound);
        add(&mut self.cards.running, running);
        self.lost_attempts += job.lost_attempts();
        let state = if job.is_done() && job.succeeded() {
            &mut self.done
        } else if job.is_done() {
            &mut self.failed
        } else if running {
            &mut self.running
        } else if bound {
            &mut self.bound
        } else if quota {
            &mut self.admitted
        } else {
            self.cards.pending += cards;
            &mut self.waiting
        };
        *state += 1;
    }

    /// The team's line of the usage series.
    pub fn usage(&self, secs: f64, borrowed_cards: f64, lent_cards: f64) -> UsageRow {
        UsageRow {
            secs,
            tenant: self.name.clone(),
            quota_cards: self.cards.quota,
            admitted_cards: self.cards.admitted,
            bound_cards: self.cards.bound,
            running_cards: self.cards.running,
            pending_jobs: self.waiting,
            borrowed_cards,
            lent_cards,
        }
    }
}
