//! What restarted over the hours of a session that goes on for a set time, in words.

use std::fmt::Write as _;

use crate::text::table;
use results::judge;
use results::run_folder::{RunSummary, Soak};

/// Seconds of an hour.
const HOUR_SECS: f64 = 3600.0;

/// Says it, beside the restarts an hour that were published, if any were: the sentences, and a table of the hours.
#[must_use]
pub fn text(soak: &Soak, runs: &[RunSummary], published: Option<f64>) -> String {
    let mut text = String::new();
    for sentence in sentences(soak, runs, published) {
        let _ = writeln!(text, "{sentence}");
    }
    if soak.restarts_per_hour.is_some() && soak.hours.len() > 1 {
        let _ = writeln!(text, "{}", table(&HOURS, 0..3, hours(soak)));
    }
    text
}

/// What it came to, in sentences.
#[must_use]
pub fn sentences(soak: &Soak, runs: &[RunSummary], published: Option<f64>) -> Vec<String> {
    let mut all = vec![format!(
        "soak: {} of {}, {} runs, each on a cluster of its own; under observation {}",
        plan::minutes(soak.took_secs),
        plan::minutes(soak.asked_secs),
        runs.len(),
        plan::minutes(soak.observed_secs),
    )];
    let stalls: usize = runs.iter().map(|run| run.stalls.len()).sum();
    if stalls > 0 {
        all.push(format!("etcd was stalled {stalls} times on purpose"));
    }
    let Some(rate) = soak.restarts_per_hour else {
        return all;
    };
    let each = soak.restarts.values();
    let count = each.fold(0, |sum: u32, n| sum.saturating_add(*n));
    let hours = soak.observed_secs / HOUR_SECS;
    let (low, high) = judge::count_interval(count);
    let each = soak.restarts.iter();
    let each: Vec<String> = each.map(|(name, n)| format!("{name} {n}")).collect();
    let mut text = format!("restarts while observed: {count}");
    if !each.is_empty() {
        let _ = write!(text, " ({})", each.join(", "));
    }
    let _ = write!(
        text,
        ", {rate:.1} an hour (exact 95 % interval {:.1} to {:.1}",
        low / hours,
        high / hours
    );
    if let Some(published) = published {
        let _ = write!(
            text,
            "; published: {published:.1} an hour, of one cluster that was left running"
        );
    }
    text.push(')');
    all.push(text);
    all
}

/// Names of the columns of [`hours`].
pub const HOURS: [&str; 3] = ["hour", "observed, s", "restarts"];

/// A row for each hour of it.
#[must_use]
pub fn hours(soak: &Soak) -> Vec<[String; 3]> {
    let hours = (1..).zip(&soak.hours);
    hours
        .map(|(i, hour)| {
            [
                format!("{i}"),
                format!("{:.0}", hour.observed_secs),
                hour.restarts.to_string(),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use results::fixtures::full;
    use results::run_folder::SoakHour;

    use super::*;

    fn run(folder: &str) -> RunSummary {
        let mut run = full().runs.remove(0);
        run.folder = folder.into();
        run
    }

    fn soak(restarts: u32, observed_secs: f64) -> Soak {
        Soak {
            asked_secs: 7200.0,
            took_secs: 4300.0,
            observed_secs,
            restarts: [("kube-scheduler".to_owned(), restarts)].into(),
            restarts_per_hour: (observed_secs > 0.0)
                .then(|| f64::from(restarts) / observed_secs * HOUR_SECS),
            hours: vec![SoakHour::default(); 2],
        }
    }

    #[test]
    fn the_end_says_the_rate_beside_the_published_one() {
        let text = text(
            &soak(3, 3600.0),
            &[run("quiet-1"), run("quiet-2")],
            Some(4.125),
        );
        for part in [
            "2 runs, each on a cluster of its own",
            "restarts while observed: 3 (kube-scheduler 3), 3.0 an hour (exact 95 % interval 0.6 to 8.8; published: 4.1 an hour",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn without_a_run_there_is_no_rate() {
        assert!(!text(&soak(0, 0.0), &[], None).contains("an hour"));
    }
}
