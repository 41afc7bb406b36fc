//! What restarted over the hours of a session that goes on for a set time.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::{Columns, CsvRow};

/// A session that repeats its runs until a set time is up. Each run has a cluster of its own, so what builds up in one over
/// hours (a growing store, leaking memory) begins anew with each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    /// Seconds asked for.
    pub asked_secs: f64,
    /// From the session's start to the end of its last run, seconds.
    pub took_secs: f64,
    /// Of these, seconds under observation: from each run's clock starting to its observation's end.
    pub observed_secs: f64,
    /// Restarts of supervised components while observed, by component.
    pub restarts: BTreeMap<String, u32>,
    /// All of these ÷ hours under observation; null where no run has come to its end.
    pub restarts_per_hour: Option<f64>,
    /// The same, hour by hour from the session's start.
    pub hours: Vec<SoakHour>,
}

/// An hour of such a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakHour {
    /// Seconds of it under observation.
    pub observed_secs: f64,
    /// Restarts in these.
    pub restarts: u32,
}

/// A restart: a row of the session's `restarts.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct RestartRow {
    /// Seconds since the session started.
    pub secs: f64,
    /// Folder of the run.
    pub run: String,
    /// Seconds since the run's clock started; negative: before it, and not counted as observed.
    pub run_secs: f64,
    /// Component.
    pub component: String,
    /// Why, e.g. `lease-lost`.
    pub cause: String,
    /// How its process ended, e.g. `exited with code 1`.
    pub exit: String,
    /// How long the process had run, seconds.
    pub uptime_secs: f64,
}

impl CsvRow for RestartRow {
    const HEADER: &'static str = "secs,run,run_secs,component,cause,exit,uptime_secs";

    fn to_csv(&self) -> String {
        format!(
            "{:.3},{},{:.3},{},{},{},{:.3}",
            self.secs,
            self.run,
            self.run_secs,
            self.component,
            self.cause,
            self.exit,
            self.uptime_secs
        )
    }

    fn read(columns: &mut Columns<'_>) -> Result<Self, String> {
        Ok(Self {
            secs: columns.next()?,
            run: columns.next()?,
            run_secs: columns.next()?,
            component: columns.next()?,
            cause: columns.next()?,
            exit: columns.next()?,
            uptime_secs: columns.next()?,
        })
    }
}
