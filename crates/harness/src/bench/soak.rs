//! Counts restarts over the hours of a soak session (`--soak`).
//!
//! In: how each run's components ended. Out: rows of `restarts.csv`, and their summary. It reads no clock and no files.

use super::exits::restarted;
use crate::cluster::Exit;
use results::run_folder::{RestartRow, RunSummary, Soak, SoakHour};

/// Seconds of an hour.
const HOUR_SECS: f64 = 3600.0;

/// What a session has seen so far.
#[derive(Debug, Clone)]
pub struct Log {
    asked_secs: f64,
    rows: Vec<RestartRow>,
    /// From when to when each run was observed, seconds since the session's start.
    observed: Vec<(f64, f64)>,
}

impl Log {
    /// The log of a session that goes on for so long.
    pub fn new(asked_secs: f64) -> Self {
        Self {
            asked_secs,
            rows: Vec::new(),
            observed: Vec::new(),
        }
    }

    /// How long the session goes on, seconds.
    pub fn asked_secs(&self) -> f64 {
        self.asked_secs
    }

    /// Adds a run that has ended. `zero_secs`: when its clock started, seconds since the session's start.
    pub fn add(&mut self, run: &RunSummary, zero_secs: f64, exits: &[(f64, Exit)]) {
        self.observed
            .push((zero_secs, zero_secs + run.observed_secs));
        for (run_secs, exit) in exits.iter().filter(|(_, exit)| restarted(exit)) {
            self.rows.push(RestartRow {
                secs: zero_secs + run_secs,
                run: run.folder.clone(),
                run_secs: *run_secs,
                component: exit.component.clone(),
                cause: exit.cause.name().to_owned(),
                exit: exit.how(),
                uptime_secs: exit.ran_secs,
            });
        }
        self.rows.sort_by(|a, b| a.secs.total_cmp(&b.secs));
    }

    /// Every restart so far.
    pub fn rows(&self) -> &[RestartRow] {
        &self.rows
    }

    /// The summary, `took_secs` after the session's start.
    pub fn sum(&self, took_secs: f64) -> Soak {
        let observed_secs = self.observed.iter().fold(0.0, |sum, (a, b)| sum + (b - a));
        let mut soak = Soak {
            asked_secs: self.asked_secs,
            took_secs,
            observed_secs,
            restarts: [].into(),
            restarts_per_hour: None,
            hours: vec![SoakHour::default(); hour(took_secs) + 1],
        };
        for (i, of) in (0_u32..).zip(&mut soak.hours) {
            let from = f64::from(i) * HOUR_SECS;
            let share = |(a, b): &(f64, f64)| (b.min(from + HOUR_SECS) - a.max(from)).max(0.0);
            of.observed_secs = self.observed.iter().map(share).fold(0.0, |sum, s| sum + s);
        }
        let mut all = 0;
        for row in self.rows.iter().filter(|row| self.is_observed(row)) {
            all += 1;
            *soak.restarts.entry(row.component.clone()).or_default() += 1;
            if let Some(of) = soak.hours.get_mut(hour(row.secs)) {
                of.restarts += 1;
            }
        }
        if observed_secs > 0.0 {
            soak.restarts_per_hour = Some(f64::from(all) / observed_secs * HOUR_SECS);
        }
        soak
    }

    fn is_observed(&self, row: &RestartRow) -> bool {
        let mut runs = self.observed.iter();
        runs.any(|(from, to)| (*from..=*to).contains(&row.secs))
    }
}

/// Which hour of the session a moment is in, from 0.
fn hour(secs: f64) -> usize {
    // A session ends within a week.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let hour = (secs.max(0.0) / HOUR_SECS) as usize;
    hour
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    const KUBE_SCHEDULER: &str = "kube-scheduler";
    const HAMI: &str = "hami";
    use results::fixtures::full;
    use results::run_folder::Cause;

    fn exit(component: &str, cause: Cause) -> Exit {
        Exit {
            component: component.into(),
            pid: 7,
            at: String::new(),
            instant: Instant::now(),
            code: Some(1),
            signal: None,
            cause,
            ran_secs: 30.0,
            cpu_secs: 0.1,
            peak_rss_mib: 1.0,
            restart_delay_secs: Some(0.0),
            last_lines: Vec::new(),
        }
    }

    fn run(folder: &str, observed_secs: f64) -> RunSummary {
        let mut run = full().runs.remove(0);
        run.folder = folder.into();
        run.observed_secs = observed_secs;
        run
    }

    /// Two runs of half an hour: one in the first hour, one across its end.
    fn log() -> Log {
        let mut log = Log::new(7200.0);
        let scheduler = || exit(KUBE_SCHEDULER, Cause::LeaseLost);
        let exits = [
            // While the cluster came up.
            (-5.0, exit(HAMI, Cause::Crash)),
            (100.0, scheduler()),
            (1810.0, exit(KUBE_SCHEDULER, Cause::Stopped)),
        ];
        log.add(&run("quiet-1", 1800.0), 20.0, &exits);
        // Clock at 2400 s: 1200 s before the first hour ends.
        let exits = [(1100.0, scheduler()), (1300.0, scheduler())];
        log.add(&run("quiet-2", 1800.0), 2400.0, &exits);
        log
    }

    #[test]
    fn restarts_are_counted_by_hour_and_against_the_time_observed() {
        let soak = log().sum(4300.0);
        assert!((soak.observed_secs - 3600.0).abs() < 1e-9);
        assert_eq!(soak.restarts, [(KUBE_SCHEDULER.to_owned(), 3)].into());
        assert!((soak.restarts_per_hour.unwrap() - 3.0).abs() < 1e-9);
        let hours: Vec<(f64, u32)> = soak
            .hours
            .iter()
            .map(|h| (h.observed_secs, h.restarts))
            .collect();
        assert_eq!(hours, [(3000.0, 2), (600.0, 1)]);
    }

    #[test]
    fn every_restart_has_a_row_those_of_a_bring_up_too_and_the_harness_s_own_stops_none() {
        use results::run_folder::CsvRow as _;
        let log = log();
        let rows: Vec<String> = log.rows().iter().map(RestartRow::to_csv).collect();
        assert_eq!(rows.len(), 4);
        let first = "15.000,quiet-1,-5.000,hami,crash,exited with code 1,30.000";
        assert_eq!(rows[0], first);
        assert_eq!(RestartRow::from_csv(first).unwrap(), log.rows()[0]);
        assert!(rows[3].starts_with("3700.000,quiet-2,1300.000,kube-scheduler,lease-lost,"));
    }

    #[test]
    fn without_a_run_there_is_no_rate() {
        assert_eq!(Log::new(600.0).sum(30.0).restarts_per_hour, None);
    }
}
