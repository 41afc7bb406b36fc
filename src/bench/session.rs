//! A session: one command's runs, arms interleaved, and its summary.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::run::{self, Bench, Job};
use super::table;
use super::verdicts::verdicts;
use crate::judge::{self, Judged};
use crate::machine;
use crate::plan::expect::Expect;
use crate::plan::{Host, Plan};
use crate::run_folder::summary::SCHEMA;
use crate::run_folder::{SessionWriter, Summary};

/// What a session is to do.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name of the experiment.
    pub experiment: String,
    /// What the experiment expects.
    pub expect: Expect,
    /// One plan an arm.
    pub plans: Vec<Plan>,
    /// Where it is written, what it leaves behind; to be recorded whole.
    pub host: Host,
    /// The command line, to be recorded.
    pub command: Vec<String>,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// Its summary, as written.
    pub summary: Summary,
    /// Its folder.
    pub dir: PathBuf,
    /// Whether it was cut short.
    pub interrupted: bool,
}

impl Ended {
    /// Whether any run was disturbed.
    #[must_use]
    pub fn disturbed(&self) -> bool {
        self.summary
            .runs
            .iter()
            .any(|run| !run.disturbed.is_empty())
    }
}

/// Does the runs one after the other and prints each run's table.
///
/// # Errors
/// If a run cannot be brought up or its folder cannot be written. What was done before stays readable.
pub async fn session(
    bench: &Bench,
    order: &Order,
    cancel: &CancellationToken,
) -> anyhow::Result<Ended> {
    let started = jiff::Timestamp::now();
    let mut summary = Summary {
        schema: SCHEMA,
        headroom: env!("CARGO_PKG_VERSION").into(),
        experiment: order.experiment.clone(),
        started: started.to_string(),
        command: order.command.clone(),
        hami: bench.hami.clone(),
        compress: order.plans.first().map_or(1.0, |plan| plan.compress),
        quick: order.plans.iter().any(|plan| plan.quick),
        complete: false,
        runs: Vec::new(),
        arms: Vec::new(),
        meaning: String::new(),
    };
    let writer = match &order.host.out {
        Some(dir) => SessionWriter::create(dir, &summary)?,
        None => under_runs(started, &summary)?,
    };
    let dir = writer.dir().to_owned();
    errln!("session folder: {}", dir.display());
    let disk = dir.clone();
    let machine = tokio::task::spawn_blocking(move || machine::fingerprint(&disk))
        .await
        .context("looking at the machine")?;

    let runs = interleaved(&order.plans);
    let last = runs.len();
    let mut interrupted = false;
    let mut judged = Vec::new();
    for (number, (plan, repeat)) in (1..).zip(runs) {
        let job = Job {
            plan,
            host: &order.host,
            repeat,
            folder: format!("{}-{repeat}", plan.arm),
            keep: order.host.keep && number == last,
        };
        errln!(
            "run {number} of {last}: arm {}, repeat {repeat}; {}",
            plan.arm,
            bench.hami.label()
        );
        let (done, records) = run::run(bench, &job, &writer, &machine, cancel).await?;
        let shown = table::run_table(&done, plan, &summary);
        interrupted = cancel.is_cancelled();
        if !interrupted {
            judged.push(Judged::new(&done, &records));
        }
        summary.runs.push(done);
        summary.arms = judge::arms(&order.expect, &judged);
        summary.meaning = judge::meaning(&order.expect, &summary.arms);
        summary.complete = number == last && !interrupted;
        writer.summary(&summary)?;
        outln!("{shown}");
        if interrupted {
            break;
        }
    }
    outln!("{}", verdicts(&summary));
    Ok(Ended {
        summary,
        dir,
        interrupted,
    })
}

/// Every run with its repeat, arms taking turns (A B A B) so that a slow drift of the machine touches all alike.
fn interleaved(plans: &[Plan]) -> Vec<(&Plan, u32)> {
    let most = plans.iter().map(|plan| plan.repeats).max().unwrap_or(0);
    (1..=most)
        .flat_map(|repeat| {
            plans
                .iter()
                .filter(move |p| repeat <= p.repeats)
                .map(move |p| (p, repeat))
        })
        .collect()
}

/// A new folder under `runs/`, named by time and experiment; a number is added where two sessions start in one second.
fn under_runs(started: jiff::Timestamp, summary: &Summary) -> anyhow::Result<SessionWriter> {
    let name = format!(
        "{}-{}",
        started.strftime("%Y%m%d-%H%M%S"),
        summary.experiment
    );
    let runs = Path::new("runs");
    std::fs::create_dir_all(runs).with_context(|| {
        format!(
            "can't make {}; choose another folder with --out DIR",
            runs.display()
        )
    })?;
    for number in 1.. {
        let name = if number == 1 {
            name.clone()
        } else {
            format!("{name}-{number}")
        };
        let dir = runs.join(name);
        match std::fs::create_dir(&dir) {
            Ok(()) => return Ok(SessionWriter::create(&dir, summary)?),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let problem = format!(
                    "can't make {}; choose another folder with --out DIR",
                    dir.display()
                );
                return Err(anyhow::Error::new(error).context(problem));
            }
        }
    }
    unreachable!("there are more numbers than folders")
}
