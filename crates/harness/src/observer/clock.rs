//! The run's clock: one monotonic time line. The wall clock serves only to read other programs' time stamps.
//!
//! The zero is set when the run's clock starts; times before it are negative. The wall clock is sampled beside the monotonic
//! one. So a wall-clock time (as in the audit log) can be converted even if the wall clock was slewed or stepped during
//! the run, and a step is noticed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Between two samples, a change of the wall clock against the monotonic one that is larger than this is a step. NTP slews
/// by at most 0.5 ms per second (`adjtime(3)`), far less than this over a few seconds.
const STEP_SECS: f64 = 0.05;

/// A smaller drift is ignored. This is a tenth of the resolution of printed values.
const DRIFT_SECS: f64 = 0.000_1;

/// A step of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockJump {
    /// When it was noticed, seconds since the clock's zero.
    pub at_secs: f64,
    /// By how much the wall clock moved against the monotonic one, seconds; negative if backwards.
    pub by_secs: f64,
}

/// The run's clock. Clones share one time line.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    base: Instant,
    line: Mutex<Line>,
}

/// All times in seconds since `base`, so that setting the zero moves nothing.
#[derive(Debug)]
struct Line {
    zero: f64,
    /// `(monotonic, wall seconds since 1970 − monotonic)`, in order of time; never empty.
    offsets: Vec<(f64, f64)>,
    /// `(monotonic, step)`.
    jumps: Vec<(f64, f64)>,
}

impl Clock {
    /// A clock whose zero is now, until [`Clock::start`] moves it.
    pub fn new() -> Self {
        let base = Instant::now();
        let (mono, wall) = read_both(base);
        Self(Arc::new(Shared {
            base,
            line: Mutex::new(Line {
                zero: 0.0,
                offsets: vec![(mono, wall - mono)],
                jumps: Vec::new(),
            }),
        }))
    }

    /// Moves the zero to now. Returns by how many seconds; earlier time stamps must be lowered by that.
    #[must_use = "earlier time stamps must be lowered by this"]
    pub fn start(&self) -> f64 {
        let now = self.0.base.elapsed().as_secs_f64();
        let mut line = self.line();
        let by = now - line.zero;
        line.zero = now;
        by
    }

    /// Seconds since the zero, on the monotonic clock, to the microsecond.
    pub fn now_secs(&self) -> f64 {
        let now = self.0.base.elapsed().as_secs_f64();
        whole_micros(now - self.line().zero)
    }

    /// The instant `secs` after the zero, for deadlines. For a time before the clock was made, the instant of its making.
    pub fn instant_at(&self, secs: f64) -> Instant {
        let since_base = Duration::try_from_secs_f64(self.line().zero + secs).unwrap_or_default();
        self.0.base + since_base
    }

    /// Converts a wall-clock time of this host to seconds since the zero, by the offset at that time.
    pub fn secs_at(&self, wall: Timestamp) -> f64 {
        let wall = unix_secs(wall);
        let line = self.line();
        let later = line
            .offsets
            .partition_point(|(mono, offset)| mono + offset <= wall);
        let (_, offset) = line.offsets[later.saturating_sub(1)];
        whole_micros(wall - offset - line.zero)
    }

    /// Wall-clock time of the zero.
    pub fn zero_wall(&self) -> Timestamp {
        let line = self.line();
        let later = line.offsets.partition_point(|(mono, _)| *mono <= line.zero);
        let (_, offset) = line.offsets[later.saturating_sub(1)];
        let wall = SystemTime::UNIX_EPOCH
            + Duration::try_from_secs_f64(line.zero + offset).unwrap_or_default();
        Timestamp::try_from(wall).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Compares the wall clock with the monotonic one. Call it about once a second.
    pub fn sample(&self) {
        let (mono, wall) = read_both(self.0.base);
        self.line().note(mono, wall - mono);
    }

    /// Steps of the wall clock noticed so far.
    pub fn jumps(&self) -> Vec<ClockJump> {
        let line = self.line();
        let jump = |&(mono, by_secs): &(f64, f64)| ClockJump {
            at_secs: mono - line.zero,
            by_secs,
        };
        line.jumps.iter().map(jump).collect()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing panics while it is held, and each of its states is valid.
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Line {
    fn note(&mut self, mono: f64, offset: f64) {
        let (_, before) = self.offsets[self.offsets.len() - 1];
        let moved = offset - before;
        if moved.abs() > STEP_SECS {
            self.jumps.push((mono, moved));
        }
        if moved.abs() > DRIFT_SECS {
            self.offsets.push((mono, offset));
        }
    }
}

/// Rounds to a microsecond, the resolution of the audit log. More digits would only be noise in the files.
pub(crate) fn whole_micros(secs: f64) -> f64 {
    (secs * 1e6).round() / 1e6
}

/// Monotonic seconds since `base` and wall seconds since 1970 at the same moment: the closest pair of a few readings.
fn read_both(base: Instant) -> (f64, f64) {
    let mut best = (f64::MAX, 0.0, 0.0);
    for _ in 0..4 {
        let before = base.elapsed().as_secs_f64();
        let wall = SystemTime::now();
        let after = base.elapsed().as_secs_f64();
        let wall = wall
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0.0, |since| since.as_secs_f64());
        if after - before < best.0 {
            best = (after - before, f64::midpoint(before, after), wall);
        }
    }
    (best.1, best.2)
}

/// Seconds since 1970. An `f64` resolves a quarter of a microsecond there, finer than the audit log does.
#[allow(clippy::cast_precision_loss)] // as said
fn unix_secs(wall: Timestamp) -> f64 {
    wall.as_second() as f64 + f64::from(wall.subsec_nanosecond()) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_stamp_uses_the_offset_that_held_when_it_was_taken() {
        let clock = Clock::new();
        let wall_zero = {
            let mut line = clock.line();
            line.offsets = vec![(0.0, 1_000_000.0)];
            // Ten seconds in, the wall clock is set forward by an hour.
            line.note(10.0, 1_003_600.0);
            1_000_000
        };
        let at = |secs: i64| clock.secs_at(Timestamp::from_second(wall_zero + secs).unwrap());
        assert!((at(5) - 5.0).abs() < 1e-6, "before the step");
        assert!((at(3615) - 15.0).abs() < 1e-6, "after the step");
        let jumps = clock.jumps();
        assert_eq!(jumps.len(), 1);
        assert!((jumps[0].by_secs - 3600.0).abs() < 1e-6);
    }

    #[test]
    fn slewing_is_followed_without_being_called_a_step() {
        let clock = Clock::new();
        {
            let mut line = clock.line();
            line.offsets = vec![(0.0, 1_000.0)];
            for second in 1..=1000_u32 {
                let second = f64::from(second);
                line.note(second, 1_000.0 + second * 0.000_5);
            }
        }
        assert!(clock.jumps().is_empty());
        let late = clock.secs_at(Timestamp::from_millisecond(2_000_500).unwrap());
        assert!((late - 1000.0).abs() < 0.001, "{late}");
    }

    #[test]
    fn starting_makes_earlier_stamps_negative() {
        let clock = Clock::new();
        let before = clock.now_secs();
        std::thread::sleep(Duration::from_millis(2));
        let moved = clock.start();
        assert!(before - moved < 0.0);
        assert!(clock.instant_at(0.0) <= Instant::now());
    }
}
