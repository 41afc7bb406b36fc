//! What a trend shows: the declared metrics in each session, and how each compares with the sessions before.

use super::super::material::{Material, RunMaterial};
use super::super::measured::Measured;
use compare::baseline::NIGHTS;
use compare::metrics::Declared;
use compare::rank;
use compare::thresholds;
use plan::metric::{Metric, MetricKey};
use results::metrics::Amount;

/// One-sided level of each end of an interval: 95 % in all, for that metric alone.
const LEVEL: f64 = 0.025;

/// A session.
#[derive(Debug)]
pub(super) struct Point {
    /// Its number, from 0.
    pub session: usize,
    /// Its runs.
    pub measured: Measured,
    /// The interval of its change, on the metric's own scale.
    pub interval: Option<(f64, f64)>,
    /// Its change against the sessions before and that change's interval, as shares.
    pub change: Option<(f64, Option<(f64, f64)>)>,
}

/// Arms and metrics to show: the declared metrics; where none is, each team's makespan or a 95th percentile of its.
pub(super) fn chosen(last: &Material, experiment: &str) -> Vec<(String, MetricKey)> {
    let declared = Declared::own().ok();
    let metrics = declared.as_ref().map_or(&[][..], |d| d.of(experiment));
    let mut all = Vec::new();
    for metric in metrics {
        let arms = last.arms().into_iter().filter(|arm| metric.counts_in(arm));
        all.extend(arms.map(|arm| (arm.to_owned(), metric.metric.clone())));
    }
    if !all.is_empty() {
        return all;
    }
    let first = last.arms().first().map(|a| (*a).to_owned());
    let run = first.as_ref().and_then(|arm| last.all_of(arm).next());
    for team in run.into_iter().flat_map(RunMaterial::working) {
        let class = team.latency.keys().next();
        let key = match team.makespan_secs {
            Some(_) => Some(MetricKey::team(&team.name, Metric::MakespanSecs)),
            None => class.map(|c| MetricKey::class(&team.name, c, Metric::BindLatencyP95Secs)),
        };
        all.extend(first.clone().zip(key));
    }
    all
}

/// A metric in each session that has it.
pub(super) fn points(sessions: &[&Material], arm: &str, key: &MetricKey) -> Vec<Point> {
    let mut before: Vec<Vec<Amount>> = Vec::new();
    let mut points = Vec::new();
    for (session, material) in sessions.iter().enumerate() {
        let Some(measured) = Measured::of(material, arm, key) else {
            continue;
        };
        let (values, of_arm) = (measured.values.clone(), measured.of_arm);
        let recent = before.iter().rev().take(NIGHTS).flatten();
        let base: Vec<Amount> = recent.copied().collect();
        let against = against(&base, &values, of_arm);
        points.push(Point {
            session,
            measured,
            interval: against.and_then(|(base, _, ends)| {
                ends.map(|(low, high)| (base * (1.0 + low), base * (1.0 + high)))
            }),
            change: against.map(|(_, change, ends)| (change, ends)),
        });
        before.push(values);
    }
    points
}

/// The baseline's median, the change from it, and the ends of that change.
type Against = (f64, f64, Option<(f64, f64)>);

/// How `own` runs compare with those before; `None` where a share of them means nothing.
fn against(base: &[Amount], own: &[Amount], median: Amount) -> Option<Against> {
    let middle = thresholds::median(base)?.at_least();
    if base.iter().chain(own).any(|v| v.at_least() <= 0.0) {
        return None;
    }
    let (low, high) = rank::interval(base, own, true, LEVEL);
    let ends = low.zip(high).map(|(low, high)| (low - 1.0, high - 1.0));
    Some((middle, median.at_least() / middle - 1.0, ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(values: &[f64]) -> Vec<Amount> {
        values.iter().map(|v| Amount::Is(*v)).collect()
    }

    #[test]
    fn a_session_is_measured_by_those_before_and_too_few_runs_give_no_interval() {
        let before = is(&[99.0, 100.0, 101.0, 102.0, 98.0, 100.5]);
        let (base, change, ends) =
            against(&before, &is(&[109.0, 110.0, 111.0]), Amount::Is(110.0)).unwrap();
        assert!((base - 100.0).abs() < 1e-9 && (change - 0.1).abs() < 1e-9);
        let (low, high) = ends.expect("6 and 3 runs exclude something at 5 %");
        assert!(low > 0.0 && low < 0.1 && high > 0.1, "{low} {high}");
        let (_, _, ends) = against(&before, &is(&[110.0]), Amount::Is(110.0)).unwrap();
        assert_eq!(ends, None);
        assert!(against(&[], &before, Amount::Is(100.0)).is_none());
    }
}
