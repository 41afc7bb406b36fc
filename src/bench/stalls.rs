//! Stalls etcd as the plan says, and writes down when it really did.

use std::time::Duration;

use crate::cluster::{Cluster, ETCD};
use crate::observer::Clock;
use crate::plan::Stall;

/// Stops and continues etcd at the plan's moments. `done` gets each stall as it was, once it is over; dropping the future
/// ends a stall at once.
pub async fn inject(stalls: &[Stall], cluster: &Cluster, clock: &Clock, done: &mut Vec<Stall>) {
    for stall in stalls {
        tokio::time::sleep_until(clock.instant_at(stall.at_secs).into()).await;
        let at_secs = clock.now_secs();
        let Some(paused) = cluster.pause(ETCD) else {
            // It is dead: the run says so by itself.
            return;
        };
        tokio::time::sleep(Duration::from_secs_f64(stall.secs)).await;
        drop(paused);
        done.push(Stall {
            at_secs,
            secs: clock.now_secs() - at_secs,
        });
    }
}
