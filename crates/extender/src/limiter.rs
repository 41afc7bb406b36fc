//! The client limit: a token bucket with client-go's semantics (golang.org/x/time/rate).
//!
//! In: a rate and a burst. Out: a wait before each call. One bucket serves all callers of the process. They are served in the
//! order in which they asked, because each reserves a token of the future and sleeps until it exists.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::api::lock;

/// Tokens at an instant. Below zero, callers are already waiting for tokens.
#[derive(Debug)]
pub struct Bucket {
    per_sec: f64,
    burst: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket.
    pub fn new(per_sec: f64, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst);
        Self {
            per_sec,
            burst,
            tokens: burst,
            at: now,
        }
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_sec).min(self.burst);
        self.at = now.max(self.at);
    }

    /// Reserves a token and says how long it takes until that exists.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        self.refill(now);
        self.tokens -= 1.0;
        if self.tokens >= 0.0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(-self.tokens / self.per_sec)
        }
    }

    /// Takes a token if there is one.
    pub fn try_take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let there = self.tokens >= 1.0;
        if there {
            self.tokens -= 1.0;
        }
        there
    }
}

/// The limit that all calls of the process share.
#[derive(Debug)]
pub struct Limiter(Option<Mutex<Bucket>>);

impl Limiter {
    /// `qps` 0 means client-go's default (5 per second, 10 at once); below 0 means no limit.
    ///
    /// # Errors
    /// A rate without a burst would never let a call pass.
    pub fn new(qps: f32, burst: i64) -> anyhow::Result<Self> {
        let (qps, burst) = if qps == 0.0 {
            (5.0, if burst == 0 { 10 } else { burst })
        } else {
            (qps, burst)
        };
        anyhow::ensure!(!qps.is_nan(), "--kube-qps is no number");
        if qps < 0.0 {
            return Ok(Self(None));
        }
        let burst = u32::try_from(burst).unwrap_or(0);
        anyhow::ensure!(
            burst > 0,
            "--kube-burst must be at least 1 when --kube-qps is set"
        );
        Ok(Self(Some(Mutex::new(Bucket::new(
            f64::from(qps),
            burst,
            Instant::now(),
        )))))
    }

    /// Waits for this caller's turn.
    pub async fn wait(&self) {
        let Some(bucket) = &self.0 else { return };
        let delay = lock(bucket).reserve(Instant::now());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_then_callers_queue_at_the_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(5.0, 2, start);
        let waits: Vec<u128> = (0..5).map(|_| bucket.reserve(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 200, 400, 600]);
        // A second later five tokens came, three of which were already promised.
        let later = start + Duration::from_secs(1);
        assert_eq!(bucket.reserve(later).as_millis(), 0);
        assert_eq!(bucket.reserve(later).as_millis(), 0);
        assert_eq!(bucket.reserve(later).as_millis(), 200);
    }

    #[test]
    fn idle_time_never_saves_up_more_than_the_burst() {
        let start = Instant::now();
        let mut bucket = Bucket::new(100.0, 3, start);
        let later = start + Duration::from_mins(1);
        assert!((0..3).all(|_| bucket.try_take(later)));
        assert!(!bucket.try_take(later));
    }

    #[test]
    fn zero_means_client_gos_default_and_a_rate_needs_a_burst() {
        let limiter = Limiter::new(0.0, 0).unwrap();
        let bucket = limiter.0.unwrap().into_inner().unwrap();
        assert_eq!((bucket.per_sec, bucket.burst), (5.0, 10.0));
        assert!(Limiter::new(-1.0, 0).unwrap().0.is_none());
        assert!(Limiter::new(5.0, 0).is_err());
        assert!(Limiter::new(f32::NAN, 1).is_err());
    }
}
