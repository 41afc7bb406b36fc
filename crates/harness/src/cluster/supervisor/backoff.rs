//! Decides when a component that exited is started again. It does so as a kubelet does.

use std::time::{Duration, Instant};

/// Delay before the second restart. Each further restart doubles it. This is kubelet's crash-loop back-off.
const FIRST_DELAY: Duration = Duration::from_secs(10);

/// Longest delay. Kubelet's `MaxContainerBackOff`.
const LONGEST_DELAY: Duration = Duration::from_mins(5);

/// After this long without a restart the next one is immediate again. It is twice the longest delay, as in client-go's
/// back-off.
const QUIET: Duration = Duration::from_mins(10);

/// State of one component's restarts. Time is passed in.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    last_restart: Option<Instant>,
    next_delay: Duration,
}

impl Backoff {
    /// How long to wait before a component that exited at `now` is started again.
    pub fn after_exit(&mut self, now: Instant) -> Duration {
        let delay = match self.last_restart {
            Some(last) if now.saturating_duration_since(last) <= QUIET => self.next_delay,
            _ => Duration::ZERO,
        };
        self.next_delay = (delay * 2).clamp(FIRST_DELAY, LONGEST_DELAY);
        self.last_restart = Some(now + delay);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(delays: &[Duration]) -> Vec<u64> {
        delays.iter().map(Duration::as_secs).collect()
    }

    #[test]
    fn a_crash_loop_waits_longer_and_longer_up_to_five_minutes() {
        let mut backoff = Backoff::default();
        let mut now = Instant::now();
        let mut delays = vec![];
        for _ in 0..9 {
            now += Duration::from_secs(1);
            let delay = backoff.after_exit(now);
            now += delay;
            delays.push(delay);
        }
        assert_eq!(secs(&delays), [0, 10, 20, 40, 80, 160, 300, 300, 300]);
    }

    #[test]
    fn ten_quiet_minutes_make_the_next_restart_immediate_again() {
        let mut backoff = Backoff::default();
        let start = Instant::now();
        let first = backoff.after_exit(start);
        let second = backoff.after_exit(start + Duration::from_mins(10));
        // The second restart was 10 s after that exit; ten minutes later the slate is not yet clean, a moment later it is.
        let third = backoff.after_exit(start + Duration::from_secs(1_210));
        assert_eq!(secs(&[first, second, third]), [0, 10, 20]);
        let fourth = backoff.after_exit(start + Duration::from_secs(1_831));
        assert_eq!(secs(&[fourth]), [0]);
    }
}
