//! One run: brings up a fresh cluster, plays the teams' timelines, collects the evidence, and computes the metrics.
//!
//! In: a [`Job`] (plan, programs, folder). Out: the run's folder and its part of the summary. However it ends, it leaves no
//! process behind, unless it was asked to keep the cluster.

use host::errln;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::clearer;
use super::exits::{causes, component_exit, lost_substrate, restarts};
use super::foreign::Mark;
use super::frozen;
use super::play::play;
use super::progress::Progress;
use super::stalls::inject;
use super::start_line::StartLine;
use crate::cluster::{self, Cluster, Exit};
use crate::data_plane;
use crate::driver::Driver;
use crate::observer::audit::{AuditError, AuditFacts};
use crate::observer::storage::{self, Sampled};
use crate::observer::{Clock, Observation, Observer, Pids, audit, metrics};
use crate::tenants;
use host::machine::Fingerprint;
use plan::metric::Use;
use plan::{self, HamiSource, Host, Plan, Programs, Stall};
use results::judge::{self, Judged};
use results::metrics::{Source, Values, values};
use results::run_folder::info::Program;
use results::run_folder::run_summary::cut;
use results::run_folder::summary::SCHEMA;
use results::run_folder::{
    ComponentExit, Disturbance, Evidence, EvidenceSource, RunInfo, RunSummary, RunWriter, Storage,
};

/// The harness's name in the audit log.
pub const USER_AGENT: &str = concat!("headroom/", env!("CARGO_PKG_VERSION"));

/// How long Kueue may take to release the last Jobs' quota. Then the observation ends all the same.
const SETTLE: Duration = Duration::from_secs(5);

/// How often the progress is updated.
const GLANCE: Duration = Duration::from_millis(500);

/// What is the same for every run of a session.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Programs of the control plane.
    pub programs: Programs,
    /// Which HAMi runs.
    pub hami: HamiSource,
    /// Folder in which each live cluster has its own.
    pub state_root: PathBuf,
}

/// One run to do.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its settings.
    pub plan: Plan,
    /// The command's own settings, which are recorded.
    pub host: Host,
    /// Repeat, from 1.
    pub repeat: u32,
    /// The session's folder.
    pub session: PathBuf,
    /// Name of its folder in the session's.
    pub folder: String,
    /// Names of the runs that start with it.
    pub beside: Vec<String>,
    /// Whether to leave the cluster up afterwards.
    pub keep: bool,
}

impl Job {
    /// What its lines begin with where other runs print theirs between them.
    fn voice(&self) -> String {
        if self.beside.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.folder)
        }
    }
}

/// A run that came to its end.
#[derive(Debug)]
pub struct Done {
    /// Its part of the summary.
    pub summary: RunSummary,
    /// Its metrics, all of them.
    pub metrics: Values,
    /// Those that may be judged.
    pub judged: Judged,
    /// How its components ended.
    pub exits: Vec<Exit>,
    /// When its clock started.
    pub zero: Instant,
}

/// Does one run. Its clock starts once every run that starts with it is ready: no bring-up disturbs a measurement.
///
/// When `cancel` is cancelled, the run ends early with what it has, and its summary says so.
///
/// # Errors
/// The cluster cannot be brought up, or the run's folder cannot be written at all.
pub async fn run(
    bench: &Bench,
    job: &Job,
    line: StartLine,
    machine: &Fingerprint,
    cancel: &CancellationToken,
) -> anyhow::Result<Done> {
    let started = Instant::now();
    let mut info = run_info(bench, job, machine)?;
    let writer = Arc::new(RunWriter::create(&job.session.join(&job.folder), &info)?);
    let voice = job.voice();
    let cluster = bring_up(bench, &job.plan, &writer.logs(), &voice, cancel).await?;
    info.client_limits.clone_from(cluster.client_limits());
    writer.info(&info)?;
    let client = cluster.client(USER_AGENT).await?;
    tenants::apply(&client, &tenants::objects(&job.plan)).await?;
    tenants::admissible(&client, &job.plan).await?;
    if let Some(plan) = &job.plan.clearer {
        clearer::start(&cluster, plan, &writer).await?;
    }
    let bring_up_secs = started.elapsed().as_secs_f64();
    errln!("{voice}cluster ready in {bring_up_secs:.1} s");
    line.cross().await;

    let clock = Clock::new();
    let seen = observe(job, &cluster, &client, &clock, &writer, cancel).await?;
    info.clock_started = Some(clock.zero_wall().to_string());
    writer.info(&info)?;

    let audit_log = cluster.audit_log();
    let exits = leave(cluster, job.keep).await?;
    let Seen {
        mut observation,
        mut disturbed,
        stalls,
        storage,
    } = seen;
    let lines: Vec<ComponentExit> = exits.iter().map(|e| component_exit(e, &clock)).collect();
    for line in &lines {
        writer.exit(line);
    }
    disturbed.extend(lost_substrate(&exits));
    let mut evidence = info.evidence;
    let audit = if evidence.has(EvidenceSource::AuditLog) {
        let agents = bench.programs.agents();
        let joined = join(audit_log, &clock, agents, &mut observation).await?;
        kept(joined, &mut evidence, &mut disturbed)
    } else {
        None
    };
    if storage.is_none() && evidence.has(EvidenceSource::EtcdMetrics) {
        let why = "etcd did not answer at two moments";
        evidence.lack(EvidenceSource::EtcdMetrics, why);
    }

    let facts = metrics::RunFacts {
        repeat: job.repeat,
        folder: job.folder.clone(),
        beside: job.beside.clone(),
        started: Some(info.started),
        bring_up_secs,
        wall_secs: started.elapsed().as_secs_f64(),
        evidence,
        restarts: restarts(&exits),
        restart_causes: causes(&exits),
        storage,
        client_limits: info.client_limits.clone(),
        disturbed,
    };
    let (seen, heard) = (&mut observation, audit.as_ref());
    let mut summary = metrics::conclude(&job.plan, &clock, seen, heard, &writer, facts);
    let records = &observation.records;
    judge::stalls(&mut summary, &stalls, &lines, records);
    clearer::judge(&job.plan, records, &writer, &clock, &mut summary);
    let source = Source {
        summary: &summary,
        records: &observation.records,
        plan: Some(&job.plan),
        calls: audit.as_ref().map(|audit| &audit.calls),
        client_limits: Some(&info.client_limits),
    };
    let metrics = values(&source, Use::Show);
    let judged = Judged::new(&source);
    Ok(Done {
        summary,
        metrics,
        judged,
        exits,
        zero: clock.instant_at(0.0),
    })
}

/// Joins the audit log with an observation's records, beside whatever else goes on: it may be long.
async fn join(
    audit_log: PathBuf,
    clock: &Clock,
    agents: BTreeMap<String, String>,
    observation: &mut Observation,
) -> anyhow::Result<Result<AuditFacts, AuditError>> {
    let (clock, end_secs) = (clock.clone(), observation.end_secs);
    let mut records = std::mem::take(&mut observation.records);
    let (joined, records) = tokio::task::spawn_blocking(move || {
        let joined = audit::join(&audit_log, &clock, end_secs, &agents, &mut records);
        (joined, records)
    })
    .await
    .context("joining the audit log")?;
    observation.records = records;
    Ok(joined)
}

/// What an audit log said; one that was lost is absent from now on, and disturbs.
fn kept(
    joined: Result<AuditFacts, AuditError>,
    evidence: &mut Evidence,
    disturbed: &mut Vec<Disturbance>,
) -> Option<AuditFacts> {
    joined
        .map_err(|error| {
            evidence.lack(EvidenceSource::AuditLog, error.to_string());
            disturbed.push(Disturbance {
                kind: "lost-evidence".into(),
                detail: error.to_string(),
                remedy: "the bind times come from the watch; run again".into(),
            });
        })
        .ok()
}

/// Leaves the cluster running, or takes it down; how its components ended.
async fn leave(cluster: Cluster, keep: bool) -> anyhow::Result<Vec<Exit>> {
    if keep {
        let exits = cluster.exits();
        let (id, kubeconfig) = (cluster.id().to_owned(), cluster.kubeconfig());
        cluster.keep()?;
        let path = kubeconfig.display();
        errln!("cluster {id} is left up: export KUBECONFIG={path}");
        Ok(exits)
    } else {
        Ok(cluster.tear_down().await)
    }
}

/// Brings up a cluster for `plan`, and prints a line at each step, which begins with `voice`.
///
/// # Errors
/// As [`cluster::bring_up`].
pub async fn bring_up(
    bench: &Bench,
    plan: &Plan,
    logs: &Path,
    voice: &str,
    cancel: &CancellationToken,
) -> Result<Cluster, cluster::ClusterError> {
    let spec = cluster::Spec {
        plan,
        parts: cluster::Parts::Whole,
        programs: bench.programs.clone(),
        state_root: bench.state_root.clone(),
        logs: logs.to_owned(),
    };
    cluster::bring_up(spec, &|note| errln!("  {voice}{note}"), cancel.clone()).await
}

/// What came of the observation.
struct Seen {
    observation: Observation,
    /// Disturbances that the observation itself cannot see: an early end, other programs.
    disturbed: Vec<Disturbance>,
    /// The stalls as they happened.
    stalls: Vec<Stall>,
    /// etcd's disk.
    storage: Option<Storage>,
}

async fn observe(
    job: &Job,
    cluster: &Cluster,
    client: &Client,
    clock: &Clock,
    writer: &Arc<RunWriter>,
    cancel: &CancellationToken,
) -> anyhow::Result<Seen> {
    let plan = &job.plan;
    let census = cluster.census();
    let pids = Pids::new(move || {
        let running = census().into_iter();
        running
            .map(|(name, pid)| (name, pid.unsigned_abs()))
            .collect()
    });
    let observer = Observer::start(client, clock.clone(), plan, writer.clone(), pids).await?;
    let observer = Arc::new(observer);
    // Before the first submission: bound pods wait for it.
    let _player = match &plan.data_plane {
        Some(_) => {
            let client = cluster.client(data_plane::USER_AGENT).await?;
            Some(data_plane::Player::start(client).await?)
        }
        None => None,
    };
    let data_plane = plan.data_plane.clone();
    let driver = Driver::new(client.clone(), clock.clone(), observer.clone(), data_plane);
    let mut progress = Progress::new(plan, job.voice());
    let before = Mark::now();

    let sampled = Sampled::default();
    let (etcd, taken) = (cluster.etcd()?, sampled.clone());
    let sampling = storage::sample(etcd, clock.clone(), writer.clone(), taken);
    let mut stalls = Vec::new();
    let beside = async {
        tokio::join!(sampling, inject(&plan.stalls, cluster, clock, &mut stalls));
    };
    let work = play(plan, clock, &driver, &observer, beside);
    let glance = async {
        loop {
            tokio::time::sleep(GLANCE).await;
            let exits = cluster.exits();
            progress.show(&observer.live(), restarts(&exits).values().sum());
            if lost_substrate(&exits).is_some() {
                // Nothing more will happen.
                break;
            }
        }
    };
    let (all_done, interrupted) = tokio::select! {
        done = work => (done, None),
        () = glance => (false, None),
        () = cancel.cancelled() => (false, Some(Disturbance {
            kind: cut::INTERRUPTED.into(),
            detail: format!("stopped {:.0} s into the run", clock.now_secs().max(0.0)),
            remedy: "the metrics cover only part of the run; run it again to the end".into(),
        })),
    };
    progress.close();
    drop(driver);
    let settle = if all_done { SETTLE } else { Duration::ZERO };
    let observation = observer.finish(settle).await;
    let busy = before.zip(Mark::now()).and_then(|(a, b)| a.disturbance(b));
    let frozen = frozen::disturbances(&observation.stopped, &plan.stalls);
    Ok(Seen {
        observation,
        disturbed: interrupted.into_iter().chain(busy).chain(frozen).collect(),
        stalls,
        storage: sampled.storage(),
    })
}

fn run_info(bench: &Bench, job: &Job, machine: &Fingerprint) -> anyhow::Result<RunInfo> {
    let clearer = job.plan.clearer.as_ref();
    let clearer = clearer.map(|_| EvidenceSource::ClearerLog);
    Ok(RunInfo {
        schema: SCHEMA,
        headroom: env!("CARGO_PKG_VERSION").into(),
        repeat: job.repeat,
        started: jiff::Timestamp::now().to_string(),
        clock_started: None,
        plan: job.plan.clone(),
        host: job.host.clone(),
        hami: bench.hami.clone(),
        components: recorded(&bench.programs),
        client_limits: BTreeMap::new(),
        evidence: Evidence::of(Cluster::EVIDENCE.into_iter().chain(clearer)),
        machine: serde_json::to_value(machine)?,
    })
}

/// Versions and checksums, as a run's folder has them.
pub(super) fn recorded(programs: &Programs) -> BTreeMap<String, Program> {
    let of = programs.of.iter();
    of.map(|(component, program)| {
        let recorded = Program {
            version: program.version.clone(),
            sha256: program.sha256.clone(),
        };
        (component.program().to_owned(), recorded)
    })
    .collect()
}
