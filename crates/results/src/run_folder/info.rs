//! `run.json`: everything needed to say what a run was, written before it starts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use plan::HamiSource;
use plan::{ClientLimit, Host, Plan};

/// One run: its settings and what it ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// [`super::summary::SCHEMA`].
    pub schema: u32,
    /// Version of headroom that wrote it.
    pub headroom: String,
    /// Repeat, from 1.
    pub repeat: u32,
    /// UTC time at which bring-up started, RFC 3339.
    pub started: String,
    /// UTC time of the run's clock's zero, RFC 3339; null until it has started.
    pub clock_started: Option<String>,
    /// The merged settings.
    pub plan: Plan,
    /// The command's own settings; those that it and the experiment file left open are absent.
    #[serde(default)]
    pub host: Host,
    /// Which HAMi ran.
    pub hami: HamiSource,
    /// Every program that ran, by component.
    pub components: BTreeMap<String, Program>,
    /// Every component's own client limit in force, by component; null: none.
    pub client_limits: BTreeMap<String, Option<ClientLimit>>,
    /// Sources of evidence that the run is to have.
    pub evidence: Evidence,
    /// The machine: CPU, cores, memory, kernel, disk, load.
    pub machine: serde_json::Value,
}

/// A program that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Version as it reports itself, or as it was built from.
    pub version: String,
    /// SHA-256 of the program, hex.
    pub sha256: String,
}
