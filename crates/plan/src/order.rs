//! The order for a session: what it runs, where it writes, and how long it takes.

use std::fmt;
use std::iter::Sum;

use super::expect::Expect;
use super::{Host, Plan, Turns, minutes};
use host::machine;

/// The order for a session.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name of the experiment.
    pub experiment: String,
    /// What the experiment expects.
    pub expect: Expect,
    /// One plan per arm.
    pub plans: Vec<Plan>,
    /// Where it is written and what it leaves behind. It is recorded as a whole.
    pub host: Host,
    /// The command line, which is recorded.
    pub command: Vec<String>,
    /// Continue the session in `host.out`: only the runs that it lacks are run.
    pub resume: bool,
}

impl Order {
    /// How long all of its runs take.
    #[must_use]
    pub fn takes(&self) -> Takes {
        Turns::new(&self.plans).takes(machine::cores())
    }
}

/// How many runs there are and how long they take, bring-up and tear-down included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Takes {
    /// Runs, without those of a soak.
    pub runs: u32,
    /// Seconds that they take.
    pub run_secs: f64,
    /// Seconds of soaks.
    pub soak_secs: f64,
}

impl Sum for Takes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            runs: sum.runs.saturating_add(one.runs),
            run_secs: sum.run_secs + one.run_secs,
            soak_secs: sum.soak_secs + one.soak_secs,
        })
    }
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = minutes(self.run_secs + self.soak_secs);
        match self.runs {
            0 if self.soak_secs > 0.0 => write!(f, "as many runs as end within {all}"),
            0 => f.write_str("no run"),
            n if self.soak_secs > 0.0 => write!(f, "{n} runs and a soak, about {all}"),
            1 => write!(f, "1 run, about {all}"),
            n => write!(f, "{n} runs, about {all}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(runs: u32, soak_secs: f64) -> Takes {
        Takes {
            runs,
            run_secs: f64::from(runs) * 60.0,
            soak_secs,
        }
    }

    #[test]
    fn runs_and_soaks_are_told_together() {
        let text = |all: &[Takes]| all.iter().copied().sum::<Takes>().to_string();
        assert_eq!(text(&[]), "no run");
        assert_eq!(text(&[takes(1, 0.0)]), "1 run, about 1 min 00 s");
        let two = [takes(1, 0.0), takes(2, 0.0)];
        assert_eq!(text(&two), "3 runs, about 3 min 00 s");
        let soak = takes(0, 3600.0);
        assert_eq!(text(&[soak]), "as many runs as end within 60 min 00 s");
        let both = text(&[soak, takes(2, 0.0)]);
        assert_eq!(both, "2 runs and a soak, about 62 min 00 s");
    }
}
