//! Stalls etcd as planned, and records when it really did.

use std::time::Duration;

use crate::cluster::Cluster;
use crate::observer::Clock;
use plan::{Component, Stall};

/// Pauses and continues etcd at the planned moments. `done` gets each stall once it is over. Dropping the future ends a stall
/// at once, and `done` gets that one with its actual length.
pub async fn inject(stalls: &[Stall], cluster: &Cluster, clock: &Clock, done: &mut Vec<Stall>) {
    for stall in stalls {
        tokio::time::sleep_until(clock.instant_at(stall.at_secs).into()).await;
        let at_secs = clock.now_secs();
        let Some(paused) = cluster.pause(Component::Etcd) else {
            // etcd is dead, which its exit reports.
            return;
        };
        let under_way = UnderWay {
            at_secs,
            now_secs: || clock.now_secs(),
            done: &mut *done,
            _paused: paused,
        };
        tokio::time::sleep(Duration::from_secs_f64(stall.secs)).await;
        drop(under_way);
    }
}

/// A stall that is recorded when it ends, however it ends.
struct UnderWay<'a, P, N: Fn() -> f64> {
    at_secs: f64,
    now_secs: N,
    done: &'a mut Vec<Stall>,
    /// Dropped after the stall has been recorded.
    _paused: P,
}

impl<P, N: Fn() -> f64> Drop for UnderWay<'_, P, N> {
    fn drop(&mut self) {
        self.done.push(Stall {
            at_secs: self.at_secs,
            secs: (self.now_secs)() - self.at_secs,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_stall_that_the_end_of_the_run_cuts_short_is_written_down_as_long_as_it_was() {
        let mut done = Vec::new();
        let stall = async {
            let _under_way = UnderWay {
                at_secs: 5.0,
                now_secs: || 10.5,
                done: &mut done,
                _paused: (),
            };
            pending::<()>().await;
        };
        tokio::select! {
            () = stall => {}
            () = tokio::task::yield_now() => {}
        }
        let [cut] = done.as_slice() else {
            panic!("{done:?}")
        };
        assert!((cut.at_secs - 5.0).abs() < 1e-9 && (cut.secs - 5.5).abs() < 1e-9);
    }
}
