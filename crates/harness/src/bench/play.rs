//! Plays a run, from the first submission to the end of the work.

use std::time::Duration;

use futures::future::join_all;

use crate::driver::Driver;
use crate::observer::{Clock, Observer};
use plan::{Plan, TenantPlan};

/// Submits the background teams' Jobs, starts the clock and plays the other teams' timelines. Ends once the awaited teams'
/// Jobs are done and the plan's lingering is over, or when the observation's time is up. Returns whether all were done.
/// `beside` runs meanwhile, from the clock's zero.
pub async fn play(
    plan: &Plan,
    clock: &Clock,
    driver: &Driver,
    observer: &Observer,
    beside: impl Future<Output = ()>,
) -> bool {
    let teams = |of: fn(&TenantPlan) -> bool| plan.tenants.iter().filter(move |t| of(t));
    let prepared = prepare(driver, observer, clock, teams(|t| t.background));
    // Background Jobs that find no place must not keep the run waiting for ever.
    let _ = tokio::time::timeout(Duration::from_secs_f64(plan.give_up_secs), prepared).await;
    observer.start_clock();
    let awaited: Vec<&TenantPlan> = teams(|t| t.awaited).collect();
    let all = async {
        join_all(awaited.iter().map(|team| driver.play(team, 0.0))).await;
        let names: Vec<&str> = awaited.iter().map(|t| t.name.as_str()).collect();
        observer.all_done(&names).await;
        tokio::time::sleep(Duration::from_secs_f64(plan.linger_secs)).await;
    };
    // Teams that nobody waits for go on as long as the others do.
    let company = async {
        let company = teams(|t| !t.awaited && !t.background);
        let company = join_all(company.map(|team| driver.play(team, 0.0)));
        tokio::join!(company, beside);
        std::future::pending::<()>().await;
    };
    let limit_secs = plan
        .observe_secs
        .unwrap_or(f64::INFINITY)
        .min(plan.give_up_secs)
        .min(f64::from(u32::MAX));
    tokio::select! {
        () = all => true,
        () = company => false,
        () = tokio::time::sleep_until(clock.instant_at(limit_secs).into()) => false,
    }
}

/// Submits the background teams' Jobs, one team after the other, so that an earlier team gets the cards that a later one
/// wants too.
async fn prepare(
    driver: &Driver,
    observer: &Observer,
    clock: &Clock,
    teams: impl Iterator<Item = &TenantPlan>,
) {
    for team in teams.filter(|team| !team.stages.is_empty()) {
        driver.play(team, clock.now_secs()).await;
        observer.all_placed(&[&team.name]).await;
    }
}
