//! Made-up sessions for tests, the same at every call: real plans, invented times, written by the real writer.
//!
//! Never a stand-in for a result: it exists only in tests, and says `synthetic` in every version it writes.

// For tests alone: a panic is a failed test.
#![allow(clippy::missing_panics_doc, clippy::must_use_candidate)]

mod damage;
pub mod play;
mod series;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

pub use damage::damage;
use series::{calls, usage};

use harness::observer::audit::AuditFacts;
use harness::observer::metrics::{RunFacts, summarise};
use harness::observer::{HarnessUse, Observation};
use plan::{self, Host, Overrides, Plan};
use plan::{HamiKind, HamiSource};
use results::hlog::interval_log;
use results::judge::{self, Judged};
use results::metrics::Source;
use results::run_folder::summary::SCHEMA;
use results::run_folder::{
    ComponentExit, ComponentRow, Disturbance, Evidence, EvidenceSource, Lag, Program, Record,
    RunInfo, RunSummary, RunWriter, SessionWriter, Summary,
};
use results::usage::note_borrowing;

/// What a made-up session is to be.
pub struct Script {
    /// Folder's name.
    pub folder: &'static str,
    /// Experiment to plan.
    pub experiment: &'static str,
    /// Runs of each arm.
    pub repeats: u32,
    /// Whether the built-in extender ran.
    pub builtin: bool,
    /// Exits of components in each run.
    pub exits: Vec<ComponentExit>,
    /// Disturbances of the first run.
    pub disturbed: Vec<Disturbance>,
    /// Start, RFC 3339.
    pub started: &'static str,
    /// Changes each plan before it is played.
    pub edit: fn(&mut Plan),
    /// What comes of a plan, by its repeat.
    pub play: fn(&Plan, u64) -> play::Played,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            folder: "20260101T000000Z-regimes",
            experiment: "regimes",
            repeats: 1,
            builtin: false,
            exits: Vec::new(),
            disturbed: Vec::new(),
            started: "2026-01-01T00:00:00Z",
            edit: |_| {},
            play: play::play,
        }
    }
}

/// An exit of kube-scheduler `secs` into a run.
#[must_use]
pub fn exit(secs: f64, cause: &str) -> ComponentExit {
    ComponentExit {
        secs,
        component: "kube-scheduler".into(),
        pid: 4711,
        cause: cause.into(),
        uptime_secs: secs + 10.0,
        cpu_secs: 3.0,
        peak_rss_mib: 70.0,
        restarted: true,
    }
}

/// `start`, and a nanosecond that no other run has: no two begin at the same moment.
fn moment(start: &str) -> String {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    format!("{}.{run:09}Z", start.trim_end_matches('Z'))
}

impl Script {
    /// Writes the session below `root` and returns its folder.
    pub fn write(&self, root: &Path) -> PathBuf {
        let dir = root.join(self.folder);
        let experiment = plan::load(self.experiment).unwrap();
        let overrides = Overrides {
            // Of three arms one: the others would take as long again each.
            arms: match self.experiment {
                "regimes" => vec!["fixed".into()],
                _ => Vec::new(),
            },
            ..Overrides::default()
        };
        let mut plans = plan::plans(&experiment, &overrides).unwrap();
        plans.iter_mut().for_each(self.edit);
        let mut judged = Vec::new();
        let hami = HamiSource {
            source: if self.builtin {
                HamiKind::Builtin
            } else {
                HamiKind::Binary
            },
            version: "v2.10.0-synthetic".into(),
            sha256: "5e1f".repeat(16),
        };
        let mut summary = Summary {
            schema: SCHEMA,
            headroom: "0.0.0-synthetic".into(),
            experiment: self.experiment.into(),
            started: self.started.into(),
            command: [
                "headroom",
                "bench",
                self.experiment,
                "--hami",
                "/opt/my hami/scheduler",
            ]
            .map(String::from)
            .into(),
            resumed: Vec::new(),
            hami: hami.clone(),
            compress: plans[0].compress,
            quick: false,
            complete: false,
            runs: Vec::new(),
            failed: Vec::new(),
            soak: None,
            arms: Vec::new(),
            meaning: String::new(),
        };
        let writer = SessionWriter::create(&dir, &summary).unwrap();
        for repeat in 1..=self.repeats {
            for plan in &plans {
                let folder = format!("{}-{repeat}", plan.arm);
                let run = writer
                    .run(&folder, &self.info(plan, &hami, repeat))
                    .unwrap();
                let (run, records) = self.run(plan, repeat, folder, &run);
                judged.push(Judged::new(&Source {
                    plan: Some(plan),
                    ..Source::without_plan(&run, &records)
                }));
                summary.runs.push(run);
                summary.arms = judge::arms(&experiment.expect, &judged);
                writer.summary(&summary).unwrap();
            }
        }
        summary.complete = true;
        writer.summary(&summary).unwrap();
        dir
    }

    fn info(&self, plan: &Plan, hami: &HamiSource, repeat: u32) -> RunInfo {
        let program = |version: &str| Program {
            version: version.into(),
            sha256: "ab12".repeat(16),
        };
        let components = [
            ("etcd", "3.6.13"),
            ("kube-apiserver", "v1.36.3"),
            ("kube-scheduler", "v1.36.3"),
            ("kueue", "v0.17.0"),
            ("hami", "v2.10.0-synthetic"),
        ];
        RunInfo {
            schema: SCHEMA,
            headroom: "0.0.0-synthetic".into(),
            repeat,
            started: moment(self.started),
            clock_started: Some(self.started.into()),
            plan: plan.clone(),
            host: Host::default(),
            hami: hami.clone(),
            components: components
                .map(|(name, version)| (name.to_owned(), program(version)))
                .into(),
            client_limits: BTreeMap::from([
                ("hami".to_owned(), Some(plan.hami.limit)),
                ("kueue".to_owned(), Some(plan.kueue.limit)),
                ("kube-apiserver".to_owned(), None),
            ]),
            evidence: Evidence::of([
                EvidenceSource::Watch,
                EvidenceSource::AuditLog,
                EvidenceSource::ComponentExits,
            ]),
            machine: json!({
                "cpu": "Synthetic CPU <2 GHz>", "cores": 2, "memory_mib": 24_576, "kernel": "6.1.0",
                "fsync_ms": {"p50": 0.8, "p99": 4.2}, "load": [0.3, 0.2, 0.1],
            }),
        }
    }

    fn run(
        &self,
        plan: &Plan,
        repeat: u32,
        folder: String,
        writer: &RunWriter,
    ) -> (RunSummary, Vec<Record>) {
        let played = (self.play)(plan, u64::from(repeat));
        let mut records = played.records;
        note_borrowing(plan, &mut records);
        for row in usage(plan, &records, played.end_secs) {
            writer.usage(&row);
        }
        for exit in &self.exits {
            writer.exit(exit);
        }
        for secs in 0..10 {
            writer.component(&ComponentRow {
                secs: f64::from(secs),
                component: "etcd".into(),
                pid: 12,
                cpu_secs: f64::from(secs) * 0.05,
                rss_mib: 60.0,
            });
        }
        writer.records(&records).unwrap();
        let zero = std::time::UNIX_EPOCH;
        let log = interval_log(plan, &records, played.end_secs, zero).unwrap();
        std::fs::write(writer.hlog(), log).unwrap();
        let calls = calls(&records, played.end_secs);
        writer.calls(&calls).unwrap();
        writer.flush();
        let audit = AuditFacts {
            calls,
            watch_lag_ms: Some(Lag {
                p50: 3.1,
                p99: 21.0,
                max: 48.0,
            }),
            ..AuditFacts::default()
        };
        let observation = Observation {
            records,
            end_secs: played.end_secs,
            relists: 0,
            interruptions: 0,
            clock_jumps: Vec::new(),
            harness: HarnessUse::default(),
            stopped: Vec::new(),
        };
        let facts = RunFacts {
            beside: vec![],
            evidence: Evidence::of([
                EvidenceSource::Watch,
                EvidenceSource::AuditLog,
                EvidenceSource::ComponentExits,
            ]),
            client_limits: BTreeMap::from([("hami".into(), Some(plan.hami.limit))]),
            repeat,
            folder,
            started: Some(self.started.into()),
            bring_up_secs: 17.3,
            wall_secs: played.end_secs + 24.0,
            restarts: match self.exits.len() {
                0 => BTreeMap::new(),
                n => BTreeMap::from([("kube-scheduler".into(), u32::try_from(n).unwrap())]),
            },
            restart_causes: BTreeMap::new(),
            storage: None,
            disturbed: if repeat == 1 {
                self.disturbed.clone()
            } else {
                Vec::new()
            },
        };
        let summary = summarise(plan, &observation, Some(&audit), writer, facts);
        (summary, observation.records)
    }
}
