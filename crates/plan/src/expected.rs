//! How long a run will take, to be told before it starts.

use super::{DataPlanePlan, Plan, TenantPlan, Via, schedule};

/// What the control plane adds to each turn of a card: 2 to 4 s from one experiment's end to the next one's start were
/// measured with the real components on two cores.
const TURNAROUND_SECS: f64 = 3.0;

/// API calls that HAMi spends on one pod through its own limiter: seven and two events (v2.9 and v2.10).
const HAMI_CALLS_PER_POD: f64 = 9.0;

/// API calls that kube-controller-manager spends on a Job from its submission to its end: `runs/examples/regimes`.
const CALLS_PER_JOB: f64 = 11.45;

/// Jobs a second that are created, admitted and bound where HAMi's limit is not what binds: 400 took 54 s on two cores.
const JOBS_PER_SEC: f64 = 7.4;

/// Seconds that bring-up and tear-down of one run take on two cores.
const AROUND_A_RUN_SECS: f64 = 20.0;

/// How long a run will take, seconds, from the start of bring-up to the end of tear-down.
#[must_use]
pub fn run_secs(plan: &Plan) -> f64 {
    expected_secs(plan) + AROUND_A_RUN_SECS
}

/// A duration for people, e.g. `19 min 30 s`, from two hours on `6 h 52 min`.
#[must_use]
pub fn minutes(secs: f64) -> String {
    let secs = secs.round();
    if secs < 7200.0 {
        format!("{:.0} min {:02.0} s", (secs / 60.0).floor(), secs % 60.0)
    } else {
        let minutes = (secs / 60.0).round();
        format!(
            "{:.0} h {:02.0} min",
            (minutes / 60.0).floor(),
            minutes % 60.0
        )
    }
}

/// How long a run will take, seconds, bring-up and tear-down excluded: background work until it is bound, then
/// `observe_secs`, or the slowest team's ideal schedule with 3 s of control plane at each turn of a card, but no less than the
/// client limits allow.
#[must_use]
pub fn expected_secs(plan: &Plan) -> f64 {
    let work = work_secs(plan, TURNAROUND_SECS + data_plane_secs(plan)).max(calls_secs(plan));
    let observed = plan.observe_secs.unwrap_or(work);
    let work = work + plan.linger_secs;
    prepare_secs(plan)
        + if plan.endless() {
            observed
        } else {
            observed.min(work)
        }
}

impl Plan {
    /// Whether any team but a background one submits work that runs until the run's end.
    fn endless(&self) -> bool {
        let teams = self.tenants.iter().filter(|t| t.awaited);
        teams
            .flat_map(TenantPlan::groups)
            .any(|g| g.run_secs.is_none())
    }
}

/// When what is not done is given up, unless the experiment says so itself.
pub(super) fn give_up_secs(plan: &Plan) -> f64 {
    3.0 * work_secs(plan, data_plane_secs(plan)) + 600.0
}

/// The slowest team's list schedule; the observation's length where there is none.
fn work_secs(plan: &Plan, turnaround_secs: f64) -> f64 {
    plan.tenants
        .iter()
        .filter(|t| t.awaited && !t.stages.is_empty())
        .map(|team| {
            schedule::makespan_secs(&team.stages, plan.capacity(team), turnaround_secs)
                .or(plan.observe_secs)
                .unwrap_or(0.0)
        })
        .fold(0.0, f64::max)
}

/// What kube-controller-manager's and HAMi's client limits take for the work that is waited for.
fn calls_secs(plan: &Plan) -> f64 {
    let count = |via: Option<Via>| -> f64 {
        let awaited = plan.tenants.iter().filter(|t| t.awaited);
        let groups = awaited.flat_map(TenantPlan::groups);
        let groups = groups.filter(|g| via.is_none_or(|via| g.via == via));
        groups.map(|g| f64::from(g.count)).sum()
    };
    let jobs = count(Some(Via::Job)) * CALLS_PER_JOB / plan.controller_manager.limit.qps;
    let pods = count(None) * HAMI_CALLS_PER_POD / plan.hami.limit.qps;
    jobs.max(pods)
}

/// What the data plane adds to each turn of a card at most.
fn data_plane_secs(plan: &Plan) -> f64 {
    let data_plane = plan.data_plane.as_ref();
    data_plane.map_or(0.0, DataPlanePlan::longest_secs)
}

fn prepare_secs(plan: &Plan) -> f64 {
    let pods: u32 = plan
        .tenants
        .iter()
        .filter(|t| t.background)
        .flat_map(TenantPlan::groups)
        .map(|g| g.count)
        .sum();
    let bound = f64::from(pods) / JOBS_PER_SEC.min(plan.hami.limit.qps / HAMI_CALLS_PER_POD);
    // The clock starts when the last of them is at work.
    let at_work = if pods > 0 { data_plane_secs(plan) } else { 0.0 };
    bound + at_work
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, load, plans};

    #[test]
    fn a_burst_of_short_jobs_takes_as_long_as_the_calls_for_them() {
        let experiment = load("regimes").unwrap();
        let mut plan = plans(&experiment, &Overrides::default()).unwrap().remove(0);
        let ideal = expected_secs(&plan);
        let jobs: u32 = plan
            .tenants
            .iter()
            .flat_map(TenantPlan::groups)
            .map(|g| g.count)
            .sum();
        plan.controller_manager.limit.qps = 0.5;
        let slow = expected_secs(&plan);
        assert!(
            (slow - f64::from(jobs) * 11.45 / 0.5).abs() < 1e-6,
            "{slow} of {jobs}"
        );
        assert!(slow > ideal, "{ideal}");
    }

    #[test]
    fn a_duration_is_rounded_before_it_is_taken_apart() {
        assert_eq!(minutes(59.7), "1 min 00 s");
        assert_eq!(minutes(1170.0), "19 min 30 s");
        assert_eq!(minutes(24_720.0), "6 h 52 min");
        assert_eq!(minutes(57_599.0), "16 h 00 min");
    }
}
