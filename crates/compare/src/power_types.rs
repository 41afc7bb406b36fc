//! What simulated comparisons showed.

use plan::metric::MetricKey;
use serde::{Deserialize, Serialize};

use super::SideFacts;

/// Simulated comparisons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// Name of the experiment of the A/A runs.
    pub experiment: String,
    /// Number of A/A runs.
    pub runs: usize,
    /// Of these, disturbed.
    pub disturbed: usize,
    /// What ran.
    pub ran: SideFacts,
    /// The metrics and their noise.
    pub metrics: Vec<Noise>,
    /// Simulated comparisons of each kind.
    pub draws: u32,
    /// Seed of the simulation.
    pub seed: u64,
    /// Share of false alarms that is allowed.
    pub alpha: f64,
    /// What came out, by numbers of runs.
    pub shapes: Vec<Shape>,
}

/// How a metric varies between A/A runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Arm, where there are several.
    pub arm: String,
    /// Which metric.
    pub metric: MetricKey,
    /// Allowed change, per cent.
    pub threshold_percent: Option<f64>,
    /// Allowed change in the metric's unit.
    pub threshold: Option<f64>,
    /// Median over the runs.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// Simulated comparisons of so many runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Nights of the baseline.
    pub nights: usize,
    /// Runs of the baseline.
    pub base_runs: usize,
    /// New runs.
    pub new_runs: usize,
    /// Share of comparisons of like runs that call any metric a regression.
    pub false_alarms: f64,
    /// Share of them in which the rare events alarm.
    pub false_alarms_of_rare: f64,
    /// Share of new runs with a rare event, where no earlier run had one; then the share of comparisons that find it.
    pub rare_found: Vec<(f64, f64)>,
    /// The same as `false_alarms` if every metric has become worse by exactly what is allowed, the worst case.
    pub false_alarms_at_threshold: f64,
    /// How often a change of one metric alone is found.
    pub detection: Vec<Detection>,
}

/// How often a change of a metric is called a regression of that metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Arm.
    pub arm: String,
    /// Which metric.
    pub metric: MetricKey,
    /// Change for the worse, per cent; then the share of comparisons that find it.
    pub found: Vec<(f64, f64)>,
}
