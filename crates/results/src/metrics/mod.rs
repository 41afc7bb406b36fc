//! The values of a run's metrics: one extractor for each row of the catalogue.
//!
//! In: what a run measured ([`Source`]). Out: [`Values`], numbers that know whether they are censored; printing is for
//! others. A metric whose evidence a run lacks has no value: too few samples, no audit log, an older headroom.

mod component;
mod machines;
mod quota;
mod run;
mod stall;
mod team;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use plan::metric::{CATALOGUE, Metric, MetricKey, Of, Row, Use};
use plan::{ClientLimit, Plan};

use crate::run_folder::{Calls, Record, Run, RunSummary};
use crate::waits::Cause;
pub use value::{Amount, Values, medians};

use team::Team;

/// What the values of a run are taken from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its part of the summary.
    pub summary: &'a RunSummary,
    /// Its records.
    pub records: &'a [Record],
    /// What it was to do; without it, metrics of machines and quotas have no value.
    pub plan: Option<&'a Plan>,
    /// Its API calls, if it has an audit log.
    pub calls: Option<&'a Calls>,
    /// Client limits in force, by component.
    pub client_limits: Option<&'a BTreeMap<String, Option<ClientLimit>>>,
}

impl<'a> Source<'a> {
    /// A run read back.
    #[must_use]
    pub fn of(summary: &'a RunSummary, run: &'a Run) -> Self {
        Self {
            summary,
            records: &run.records,
            plan: Some(&run.info.plan),
            calls: run.calls.as_ref(),
            client_limits: Some(&run.info.client_limits),
        }
    }

    /// A run of which no more than this is known.
    #[must_use]
    pub fn without_plan(summary: &'a RunSummary, records: &'a [Record]) -> Self {
        Self {
            summary,
            records,
            plan: None,
            calls: None,
            client_limits: None,
        }
    }
}

/// How a metric's value is taken, by what it is of.
enum Extract {
    Run(fn(&Source<'_>) -> Option<Amount>),
    Team(fn(&Team<'_>) -> Option<Amount>),
    /// Of a team, and of a class of its requests.
    TeamAndClass(
        fn(&Team<'_>) -> Option<Amount>,
        fn(&Team<'_>, &str) -> Option<Amount>,
    ),
    /// From the latencies of a class.
    Latency,
    Component(fn(&Source<'_>, &str) -> Option<Amount>),
}

/// Every value of a run that may be used in this way, and in more.
#[must_use]
pub fn values(source: &Source<'_>, used: Use) -> Values {
    let teams: Vec<Team<'_>> = Team::all(source);
    let components = component::names(source);
    let mut all = Values::new();
    for row in CATALOGUE.iter().filter(|row| row.used >= used) {
        let mut put = |of: Of, amount: Option<Amount>| {
            all.extend(amount.map(|amount| (MetricKey::new(of, row.metric), amount)));
        };
        // Of a team that submitted nothing there is only what others did with its quota.
        let teams = || teams.iter().filter(|t| t.asked() || row.used == Use::Show);
        let named = |team: &Team<'_>| Of::Team(team.name().to_owned());
        match extract(row) {
            Extract::Run(of) => put(Of::Run, of(source)),
            Extract::Team(of) => teams().for_each(|team| put(named(team), of(team))),
            Extract::TeamAndClass(of, of_class) => teams().for_each(|team| {
                put(named(team), of(team));
                for class in team.classes() {
                    put(team.class(class), of_class(team, class));
                }
            }),
            Extract::Latency => teams().for_each(|team| {
                for class in team.classes() {
                    let stat = row
                        .latency
                        .and_then(|(p, stat)| team.latency(class, p, stat));
                    put(team.class(class), stat);
                }
            }),
            Extract::Component(of) => {
                for name in &components {
                    put(Of::Component(name.clone()), of(source, name));
                }
            }
        }
    }
    all
}

/// A metric's extractor.
fn extract(row: &Row) -> Extract {
    use Extract::{Component, Run, Team, TeamAndClass};
    match row.metric {
        Metric::Restarts => Run(run::restarts),
        Metric::RestartsPerHour => Run(run::restarts_per_hour),
        Metric::LeasesLost => Run(run::leases_lost),
        Metric::LargestFreeBlockCards => Run(machines::largest_free_block),
        Metric::IdleCardsOnUsedMachines => Run(machines::idle_on_used),
        Metric::BusiestLimitShare => Run(component::busiest),
        Metric::IdleCards => Run(run::idle_cards),
        Metric::BringUpSecs => Run(|s| Some(Amount::Is(s.summary.bring_up_secs))),
        Metric::BoundPerSec => Run(|s| s.summary.bind_rate.measured_per_sec.map(Amount::Is)),
        Metric::WallSecs => Run(|s| Some(Amount::Is(s.summary.wall_secs))),
        Metric::ObservedSecs => Run(|s| Some(Amount::Is(s.summary.observed_secs))),
        Metric::BoundInStallsP50Secs => Run(|s| Amount::of(stall::inside(s)?.p50)),
        Metric::BoundInStallsP95Secs => Run(|s| Amount::of(stall::inside(s)?.p95)),
        Metric::BoundOutsideStallsP50Secs => Run(|s| Amount::of(stall::outside(s)?.p50)),
        Metric::BoundOutsideStallsP95Secs => Run(|s| Amount::of(stall::outside(s)?.p95)),
        Metric::EtcdFsyncs => Run(|s| value::count64(s.summary.storage?.fsyncs)),
        Metric::EtcdFsyncP50Secs => Run(|s| Amount::of(s.summary.storage?.fsync_p50)),
        Metric::EtcdFsyncP99Secs => Run(|s| Amount::of(s.summary.storage?.fsync_p99)),
        Metric::EtcdCommits => Run(|s| value::count64(s.summary.storage?.commits)),
        Metric::EtcdCommitP50Secs => Run(|s| Amount::of(s.summary.storage?.commit_p50)),
        Metric::EtcdCommitP99Secs => Run(|s| Amount::of(s.summary.storage?.commit_p99)),
        Metric::WatchLagP50Ms => Run(|s| Some(Amount::Is(s.summary.accuracy.watch_lag_ms?.p50))),
        Metric::WatchLagP99Ms => Run(|s| Some(Amount::Is(s.summary.accuracy.watch_lag_ms?.p99))),
        Metric::WatchLagMaxMs => Run(|s| Some(Amount::Is(s.summary.accuracy.watch_lag_ms?.max))),
        Metric::WatchRelists => Run(|s| value::count(s.summary.accuracy.relists)),
        Metric::WatchInterruptions => Run(|s| value::count(s.summary.accuracy.interruptions)),
        Metric::MissingStamps => Run(|s| value::count(s.summary.accuracy.missing_stamps)),
        Metric::UnmatchedBindings => Run(|s| value::count(s.summary.accuracy.unmatched_bindings?)),
        Metric::HarnessCpuSecs => Run(|s| Some(Amount::Is(s.summary.harness.cpu_secs))),
        Metric::HarnessPeakRssMib => Run(|s| Some(Amount::Is(s.summary.harness.peak_rss_mib))),
        Metric::LateSubmits => Run(|s| value::count(s.summary.harness.late_submits)),
        Metric::SubmitLatenessMaxMs => {
            Run(|s| Some(Amount::Is(s.summary.harness.max_submit_lateness_ms)))
        }
        Metric::LateTicks => Run(|s| value::count(s.summary.harness.late_ticks)),

        Metric::MakespanSecs => Team(team::makespan),
        Metric::CardSecondsReserved => Team(|t| t.summary.card_seconds.reserved.map(Amount::Is)),
        Metric::CardSecondsAdmitted => Team(|t| Some(Amount::Is(t.summary.card_seconds.admitted))),
        Metric::CardSecondsBound => Team(|t| Some(Amount::Is(t.summary.card_seconds.bound))),
        Metric::CardSecondsIdeal => Team(|t| Some(Amount::Is(t.summary.card_seconds.ideal))),
        Metric::AdmittedNotBoundCardSeconds => Team(quota::admitted_not_bound),
        Metric::AdmittedAtOnce => Team(|t| value::count(quota::at_once(t).0)),
        Metric::AdmittedCardsAtOnce => Team(|t| value::count(quota::at_once(t).1)),
        Metric::AdmissionsPerSec => Team(quota::admissions_per_sec),
        Metric::WaitedWithFreeQuotaSecs => Team(quota::waited_with_free_quota),
        Metric::WaitedForQuotaSecs => Team(|t| team::waited(t, Cause::Quota)),
        Metric::WaitedForKueueSecs => Team(|t| team::waited(t, Cause::Kueue)),
        Metric::WaitedForPodSecs => Team(|t| team::waited(t, Cause::Controllers)),
        Metric::WaitedForSchedulerSecs => Team(|t| team::waited(t, Cause::Scheduler)),
        Metric::WaitedForHamiSecs => Team(|t| team::waited(t, Cause::Hami)),
        Metric::WaitedForMachineSecs => Team(|t| team::waited(t, Cause::Machine)),
        Metric::WaitedForStartSecs => Team(|t| team::waited(t, Cause::Start)),
        Metric::Evictions => Team(|t| value::count(t.summary.evictions)),
        Metric::MostEvictionsOfOneTask => Team(team::most_evictions),
        Metric::CardSecondsLost => Team(|t| Some(Amount::Is(t.bill()?.lost_card_seconds))),
        Metric::CardSecondsWaited => Team(|t| Some(Amount::Is(t.bill()?.waited_card_seconds))),
        Metric::PlacedRight => Team(|t| value::count(t.placements()?.right)),
        Metric::PlacedFree => Team(|t| value::count(t.placements()?.free)),
        Metric::PlacedWrong => Team(|t| value::count(t.placements()?.wrong)),
        Metric::PlacedNever => Team(|t| value::count(t.placements()?.never)),
        Metric::NotPlacedRight => Team(|t| value::count(t.placements()?.not_right())),
        Metric::PlacedRightShare => Team(|t| t.placements()?.right_share().map(Amount::Is)),
        Metric::PlacedElsewhereShare => Team(|t| t.placements()?.elsewhere_share().map(Amount::Is)),
        Metric::ClearingP50Secs => Team(|t| t.placements()?.clearing_p50_secs.map(Amount::Is)),
        Metric::IdealSecs => Team(|t| t.summary.ideal_secs.map(Amount::Is)),
        Metric::CardSecondsRunning => Team(|t| Some(Amount::Is(t.summary.card_seconds.running))),
        Metric::CardSecondsUseful => Team(|t| t.summary.card_seconds.useful.map(Amount::Is)),
        Metric::CardSecondsBorrowed => Team(|t| Some(Amount::Is(t.summary.card_seconds.borrowed))),
        Metric::CardSecondsLent => Team(|t| Some(Amount::Is(t.summary.card_seconds.lent))),
        Metric::FailedCount => Team(|t| value::count(t.summary.failed)),
        Metric::UnfinishedCount => Team(|t| value::count(t.summary.unfinished)),
        Metric::EvictionsByKueue => Team(|t| value::count(t.bill()?.by_kueue)),
        Metric::EvictionsByClearer => Team(|t| value::count(t.bill()?.by_clearer)),
        Metric::EvictionsByOther => Team(|t| value::count(t.bill()?.by_other)),
        Metric::LostForGoodCount => Team(|t| value::count(t.bill()?.lost_for_good)),
        Metric::ReboundP50Secs => Team(|t| Amount::of(t.bill()?.rebound.as_ref()?.p50)),
        Metric::ReboundMaxSecs => Team(|t| Amount::of(t.bill()?.rebound.as_ref()?.max)),
        Metric::UsefulAgainP50Secs => Team(|t| Amount::of(t.bill()?.useful_again.as_ref()?.p50)),
        Metric::UsefulAgainMaxSecs => Team(|t| Amount::of(t.bill()?.useful_again.as_ref()?.max)),
        Metric::DoneAgainP50Secs => Team(|t| Amount::of(t.bill()?.done_again.as_ref()?.p50)),
        Metric::DoneAgainMaxSecs => Team(|t| Amount::of(t.bill()?.done_again.as_ref()?.max)),

        Metric::SubmittedCount => TeamAndClass(
            |t| value::count(t.summary.submitted),
            team::submitted_of_class,
        ),
        Metric::BoundCount => TeamAndClass(team::bound, team::bound_of_class),

        Metric::CallsPerPod => Component(component::calls_per_pod),
        Metric::ClientLimitShare => Component(component::limit_share),
        Metric::BindCeilingPerSec => Component(component::ceiling),
        Metric::ComponentRestarts => Component(component::restarts),

        // The rows of phases.
        _ => Extract::Latency,
    }
}
