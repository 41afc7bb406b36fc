//! Measures the CPU time that other programs used during a run. Too much of it is a disturbance.

use std::time::Instant;

use host::machine;
use host::process;
use results::disturbance::OTHERS_SHARE;
use results::run_folder::Disturbance;

/// CPU time up to a moment.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: Instant,
    /// Used on the whole host, seconds.
    machine_secs: f64,
    /// Used by the harness and its components, those of other runs and those that have ended included, seconds.
    own_secs: f64,
}

impl Mark {
    /// CPU time up to now; `None` if the kernel does not tell.
    pub fn now() -> Option<Self> {
        Some(Self {
            at: Instant::now(),
            machine_secs: machine::busy_cpu_secs()?,
            own_secs: process::family_cpu_secs()?,
        })
    }

    /// The disturbance, if other programs have used too much since then.
    pub fn disturbance(self, now: Self) -> Option<Disturbance> {
        let wall = now.at.duration_since(self.at).as_secs_f64();
        let machine = now.machine_secs - self.machine_secs;
        let own = (now.own_secs - self.own_secs).max(0.0);
        let others = (machine - own).max(0.0) / wall;
        let cores = f64::from(machine::all_cores());
        (wall > 0.0 && others > OTHERS_SHARE * cores).then(|| Disturbance {
            kind: "busy-machine".into(),
            detail: format!(
                "other programs used {others:.2} of {cores:.0} cores during the run ({:.2} are tolerated)",
                OTHERS_SHARE * cores
            ),
            remedy: "close them and run again; latencies are those of a busy machine".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_the_cluster_itself_uses_disturbs_nothing() {
        let at = Instant::now();
        let mark = |secs: u64, machine_secs, own_secs| Mark {
            at: at + Duration::from_secs(secs),
            machine_secs,
            own_secs,
        };
        let start = mark(0, 100.0, 10.0);
        let cores = f64::from(machine::all_cores());
        assert!(
            start
                .disturbance(mark(10, 100.0 + 10.0 * cores, 10.0 + 10.0 * cores))
                .is_none()
        );
        let noisy = start.disturbance(mark(10, 100.0 + 9.0 * cores, 10.0));
        assert_eq!(noisy.expect("nine tenths are others'").kind, "busy-machine");
    }
}
