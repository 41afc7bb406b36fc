//! What restarts, stalls and the disk did in a run, and the waits of those who submitted meanwhile.

use plotters::prelude::*;

use super::super::latency::tails;
use super::super::material::{Material, RunMaterial};
use crate::text::{count, grouped, percentile, secs, short, unless_none};
use results::run_folder::{
    ComponentExit, Percentile, RunSummary, StallLatency, StallSummary, StorageRow,
};

/// The most components whose exits one picture shows.
const LANES: usize = 8;

/// Team, colour, and of each request when it was due and how long it took to be bound.
pub(super) type Waits = (String, RGBColor, Vec<(f64, f64)>);

/// One run.
#[derive(Debug)]
pub(super) struct Data {
    pub observed_secs: f64,
    pub restarts: u32,
    pub exits: Vec<ComponentExit>,
    /// Stalls of etcd that the experiment asked for.
    pub stalls: Vec<StallSummary>,
    pub in_stalls: Option<StallLatency>,
    /// etcd's disk.
    pub disk: Vec<StorageRow>,
    pub teams: Vec<Waits>,
    /// Of each request never bound when it was due and for how long it waited.
    pub never: Vec<(RGBColor, f64, f64)>,
    pub tails: Option<String>,
}

impl Data {
    pub fn of(material: &Material, run: &RunMaterial) -> Self {
        let end = run.summary.observed_secs;
        let mut teams = Vec::new();
        let mut never = Vec::new();
        for team in run.working() {
            let colour = material.teams.colour(&team.name);
            let mut waits = Vec::new();
            for record in run.run.records.iter().filter(|r| r.tenant == team.name) {
                let due = record.intended_secs;
                match record.first_bind_secs().filter(|at| *at <= end) {
                    Some(at) => waits.push((due, at - due)),
                    None => never.push((colour, due, end - due)),
                }
            }
            if !waits.is_empty() {
                teams.push((team.name.clone(), colour, waits));
            }
        }
        // What the harness ends with the run is no finding.
        let exits = run.run.exits.iter().filter(|e| e.secs <= end);
        Self {
            observed_secs: end,
            restarts: restarts(&run.summary),
            exits: exits.cloned().collect(),
            stalls: run.summary.stalls.clone(),
            in_stalls: run.summary.bound_in_stalls.clone(),
            disk: run.run.storage.clone(),
            teams,
            never,
            tails: tails(run, 1),
        }
    }

    /// Whether anything went wrong that a picture is worth.
    pub fn is_eventful(&self) -> bool {
        !self.exits.is_empty() || !self.stalls.is_empty()
    }

    /// Components that exited, the most frequent first.
    pub fn lanes(&self) -> Vec<(&str, usize)> {
        let mut lanes = tally(self.exits.iter().map(|exit| exit.component.as_str()));
        lanes.truncate(LANES);
        lanes
    }

    /// etcd's 99th percentiles of writing its log, with when they were measured: seconds of the run, seconds.
    pub fn fsyncs(&self) -> Vec<(f64, f64)> {
        let p99 = |row: &StorageRow| Some((row.secs, row.fsync_p99_ms? / 1000.0));
        self.disk.iter().filter_map(p99).collect()
    }

    pub fn finding(&self) -> String {
        let span = secs(self.observed_secs);
        let restarts = match self.restarts {
            0 => format!("No component restarted in {span}"),
            n => format!(
                "{} in {span}{}",
                count(u64::from(n), "restart"),
                causes(&self.exits)
            ),
        };
        let what = match &self.stalls[..] {
            [] => restarts,
            stalls => {
                let mut rest = restarts.chars();
                let first = rest.next().map(|c| c.to_lowercase().to_string());
                let stalled = lengths(stalls);
                format!("{stalled}: {}{}", first.unwrap_or_default(), rest.as_str())
            }
        };
        match (&self.in_stalls, &self.tails) {
            (Some(waits), _) => format!("{what}. {}", inside_and_outside(waits)),
            (None, Some(tails)) => format!("{what}. Bind latency, {tails}"),
            (None, None) => what,
        }
    }
}

/// `etcd stalled for 15 s, 3 times`.
fn lengths(stalls: &[StallSummary]) -> String {
    let each = || stalls.iter().map(|s| s.secs);
    let ends = [
        each().fold(f64::MAX, f64::min),
        each().fold(f64::MIN, f64::max),
    ];
    // They are measured: the planned ones are whole seconds.
    let [low, high] = ends.map(|v| format!("{v:.0}"));
    let lengths = if low == high {
        low
    } else {
        format!("{low} to {high}")
    };
    let times = match stalls.len() {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    format!("etcd stalled for {lengths} s, {times}")
}

/// `Bind latency, p95: 14.2 s in a stall, 1.1 s else`.
fn inside_and_outside(waits: &StallLatency) -> String {
    let both = [&waits.inside, &waits.outside];
    let p95 = both.iter().all(|l| l.p95 != Percentile::TooFew);
    let value = |l: &results::run_folder::Latency| {
        let value = if p95 { l.p95 } else { l.p50 };
        percentile(value).unwrap_or_else(|| "none".into())
    };
    format!(
        "Bind latency, {}: {} of what overlaps a stall, {} of the rest",
        if p95 { "p95" } else { "median" },
        value(&waits.inside),
        value(&waits.outside)
    )
}

/// Why components were restarted, the most frequent cause first: ` (2 × leader election lost, 1 × crash)`.
fn causes(exits: &[ComponentExit]) -> String {
    let restarted = exits.iter().filter(|e| e.restarted);
    let causes = tally(restarted.map(|exit| exit.cause.as_str())).into_iter();
    let words = causes
        .take(3)
        .map(|(cause, n)| format!("{n} × {}", short(cause, 40)));
    let words: Vec<String> = words.collect();
    unless_none(words.len(), |_| format!(" ({})", words.join(", ")))
}

/// How often each occurs, the most frequent first.
fn tally<'a>(all: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let groups = grouped(all.map(|one| (one, ()))).into_iter();
    let mut counts: Vec<(&str, usize)> = groups.map(|(one, all)| (one, all.len())).collect();
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    counts
}

/// Restarts of all components of a run.
pub(super) fn restarts(run: &RunSummary) -> u32 {
    run.restarts.values().fold(0, |a, b| a.saturating_add(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::latency::{Sample, distribution};

    fn data(restarts: u32, exits: Vec<ComponentExit>) -> Data {
        Data {
            observed_secs: 451.5,
            restarts,
            exits,
            stalls: Vec::new(),
            in_stalls: None,
            disk: Vec::new(),
            teams: Vec::new(),
            never: Vec::new(),
            tails: None,
        }
    }

    fn exit(cause: &str) -> ComponentExit {
        synthetic::exit(1.0, cause)
    }

    #[test]
    fn the_title_counts_restarts_and_names_the_main_cause() {
        let mut data = data(
            3,
            vec![exit("Lease lost"), exit("crash"), exit("Lease lost")],
        );
        data.tails = Some("whole-card p95: shared 7.00 s".into());
        assert_eq!(
            data.finding(),
            "3 restarts in 451.5 s (2 × Lease lost, 1 × crash). Bind latency, whole-card p95: shared 7.00 s"
        );
        let data = self::data(0, Vec::new());
        assert_eq!(data.finding(), "No component restarted in 451.5 s");
    }

    #[test]
    fn stalls_come_first_and_tell_waits_inside_from_those_outside() {
        let waits = |secs: f64| {
            let sample = Sample {
                secs,
                censored: false,
                at_secs: secs,
            };
            distribution(&[sample; 20])
        };
        let mut data = data(1, vec![exit("Lease lost")]);
        let stall = |secs| StallSummary {
            at_secs: 30.0,
            secs,
            exits: Vec::new(),
        };
        data.stalls = vec![stall(15.002), stall(14.999)];
        data.in_stalls = Some(StallLatency {
            inside: waits(14.0),
            outside: waits(1.5),
        });
        assert_eq!(
            data.finding(),
            "etcd stalled for 15 s, 2 times: 1 restart in 451.5 s (1 × Lease lost). Bind latency, p95: 14 s of what \
             overlaps a stall, 1.5 s of the rest"
        );
    }
}
