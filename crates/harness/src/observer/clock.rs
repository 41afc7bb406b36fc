//! The run's clock: one monotonic time line, tied to the wall clock only to read other programs' stamps.
//!
//! The zero is set when the run's clock starts; stamps before it are negative. The wall clock is sampled beside the
//! monotonic one, so that a wall stamp (the audit log's) can be brought to the time line even where the wall clock
//! was slewed or stepped during the run, and so that a step is noticed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A change of the wall clock against the monotonic one, between two samples, larger than this is a step: NTP slews
/// by at most 0.5 ms a second (`adjtime(3)`), so samples a few seconds apart stay far below it.
const STEP_SECS: f64 = 0.05;

/// Drift below this is not worth remembering: a tenth of the resolution that metrics are printed with.
const DRIFT_SECS: f64 = 0.000_1;

/// A step of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockJump {
    /// When it was noticed, seconds since the clock's zero.
    pub at_secs: f64,
    /// By how much the wall clock moved against the monotonic one, seconds; negative: backwards.
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
    #[must_use]
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

    /// Moves the zero to now and returns by how many seconds it moved: what stamps taken before must be lowered by.
    #[must_use = "stamps taken before must be lowered by this"]
    pub fn start(&self) -> f64 {
        let now = self.0.base.elapsed().as_secs_f64();
        let mut line = self.line();
        let by = now - line.zero;
        line.zero = now;
        by
    }

    /// Seconds since the zero, on the monotonic clock, to the microsecond.
    #[must_use]
    pub fn now_secs(&self) -> f64 {
        let now = self.0.base.elapsed().as_secs_f64();
        whole_micros(now - self.line().zero)
    }

    /// The instant `secs` after the zero, for deadlines; instants before the clock was made are given as its making.
    #[must_use]
    pub fn instant_at(&self, secs: f64) -> Instant {
        let since_base = Duration::try_from_secs_f64(self.line().zero + secs).unwrap_or_default();
        self.0.base + since_base
    }

    /// Seconds since the zero of a wall-clock stamp of this machine, by the offset that held at that time.
    #[must_use]
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
    #[must_use]
    pub fn zero_wall(&self) -> Timestamp {
        let line = self.line();
        let later = line.offsets.partition_point(|(mono, _)| *mono <= line.zero);
        let (_, offset) = line.offsets[later.saturating_sub(1)];
        let wall = SystemTime::UNIX_EPOCH
            + Duration::try_from_secs_f64(line.zero + offset).unwrap_or_default();
        Timestamp::try_from(wall).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Compares wall and monotonic clock; call it about once a second.
    pub fn sample(&self) {
        let (mono, wall) = read_both(self.0.base);
        self.line().note(mono, wall - mono);
    }

    /// Steps of the wall clock noticed so far.
    #[must_use]
    pub fn jumps(&self) -> Vec<ClockJump> {
        let line = self.line();
        line.jumps
            .iter()
            .map(|&(mono, by_secs)| ClockJump {
                at_secs: mono - line.zero,
                by_secs,
            })
            .collect()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing panics while holding it, and every state of it is valid.
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

/// Rounded to a microsecond, the resolution of the audit log: what is beyond would only be noise in the files.
#[must_use]
pub(crate) fn whole_micros(secs: f64) -> f64 {
    (secs * 1e6).round() / 1e6
}

/// Monotonic seconds since `base` and wall seconds since 1970 of the same moment: the tightest of a few readings.
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

/// Seconds since 1970. An `f64` resolves a quarter of a microsecond there, finer than the audit log's stamps.
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
