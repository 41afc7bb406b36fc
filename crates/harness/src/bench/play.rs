//! What happens in a run from the first submission to its end.

use std::time::Duration;

use futures::future::join_all;

use crate::driver::Driver;
use crate::observer::{Clock, Observer};
use plan::{Plan, TenantPlan};

/// Submits the background teams' work, starts the clock, plays the others' until the awaited teams' work is done and the
/// plan's lingering is over, or the observation's time is. Whether it was all done. `beside` goes on meanwhile, from the
/// clock's zero.
pub async fn play(
    plan: &Plan,
    clock: &Clock,
    driver: &Driver,
    observer: &Observer,
    beside: impl Future<Output = ()>,
) -> bool {
    let teams = |of: fn(&TenantPlan) -> bool| plan.tenants.iter().filter(move |t| of(t));
    let prepared = prepare(driver, observer, clock, teams(|t| t.background));
    // Background work that finds no place must not keep the run waiting for ever: what is there is there.
    let _ = tokio::time::timeout(Duration::from_secs_f64(plan.give_up_secs), prepared).await;
    observer.start_clock();
    let awaited: Vec<&TenantPlan> = teams(|t| t.awaited).collect();
    let all = async {
        join_all(awaited.iter().map(|team| driver.play(team, 0.0))).await;
        let names: Vec<&str> = awaited.iter().map(|t| t.name.as_str()).collect();
        observer.all_done(&names).await;
        tokio::time::sleep(Duration::from_secs_f64(plan.linger_secs)).await;
    };
    // Those that nobody waits for go on for as long as the others do.
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

/// Submits the background teams' work, one team after the other: a later one may want what an earlier one has taken.
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
