//! A session: the runs of one experiment, with its arms interleaved, and their summary. A failed run does not end the session.

use host::errln;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::exits::secs_of;
use super::run::{self, Bench, Done, Job};
use super::soak;
use super::turns::{Turn, Turns};
use host::machine;
use host::terminal::in_one;
use plan::{Order, Plan};
use results::judge::{self, Judged};
use results::metrics::Values;
use results::run_folder::summary::SCHEMA;
use results::run_folder::{
    Ended, FailedRun, RunSummary, SessionWriter, Summary, WriteError, place,
};

/// What happened in a session.
#[derive(Debug)]
pub enum News<'a> {
    /// A run came to its end, or was cut short by the user.
    Run {
        /// Its part of the summary.
        run: &'a RunSummary,
        /// Its metrics.
        metrics: &'a Values,
        /// Its plan.
        plan: &'a Plan,
        /// The session's summary, this run included.
        session: &'a Summary,
    },
    /// A run failed.
    Failed(&'a FailedRun),
    /// The session ended.
    Ended(&'a Summary),
}

/// Does the runs one after the other, and reports each. A run that fails is reported and recorded, and the next one begins.
///
/// # Errors
/// The session's or a run's folder cannot be written, since then the others' could not either. The runs done before stay
/// readable.
pub async fn session(
    bench: &Bench,
    order: &Order,
    tell: &mut (dyn FnMut(News<'_>) + Send),
    cancel: &CancellationToken,
) -> anyhow::Result<Ended> {
    let mut going = Going::start(bench, order)?;
    let dir = going.writer.dir().to_owned();
    errln!("session folder: {}", dir.display());
    let disk = dir.clone();
    let machine = tokio::task::spawn_blocking(move || machine::fingerprint(&disk))
        .await
        .context("looking at the machine")?;

    let started = Instant::now();
    let mut turns = Turns::new(&order.plans);
    let last = turns.count();
    for number in 1.. {
        let Some(turn) = turns.next(started.elapsed().as_secs_f64()) else {
            break;
        };
        let Turn { plan, repeat, .. } = turn;
        let job = Job {
            plan,
            host: &order.host,
            repeat,
            folder: format!("{}-{repeat}", plan.arm),
            keep: order.host.keep && Some(number) == last,
        };
        let (place, hami) = (place(&going, last), bench.hami.label());
        errln!(
            "run {number} {place}: arm {}, repeat {repeat}; {hami}",
            plan.arm
        );
        let began = Instant::now();
        let done = run::run(bench, &job, &going.writer, &machine, cancel).await;
        going.interrupted = cancel.is_cancelled();
        match done {
            Ok(mut done) => {
                let metrics = std::mem::take(&mut done.metrics);
                turns.ended(turn, began.elapsed().as_secs_f64());
                going.take(done)?;
                if let Some(run) = going.summary.runs.last() {
                    tell(News::Run {
                        run,
                        metrics: &metrics,
                        plan,
                        session: &going.summary,
                    });
                }
            }
            // It failed because it was cancelled.
            Err(_) if going.interrupted => {}
            Err(error) if is_of_files(&error) => return Err(error),
            Err(error) => {
                tell(News::Failed(going.failed(&job, &error)?));
                if turns.failed(turn) {
                    errln!("no more runs of arm {}: it failed again", plan.arm);
                }
            }
        }
        if going.interrupted {
            break;
        }
    }
    let ended = going.end()?;
    tell(News::Ended(&ended.summary));
    Ok(ended)
}

/// Whether a file could not be written.
fn is_of_files(error: &anyhow::Error) -> bool {
    let mut causes = error.chain();
    causes.any(|cause| cause.downcast_ref::<WriteError>().is_some())
}

/// Which of how many runs it is, for its first line.
fn place(going: &Going<'_>, last: Option<u32>) -> String {
    match (last, &going.soak) {
        (Some(last), _) => format!("of {last}"),
        (None, Some(soak)) => format!(
            "({} of {})",
            plan::minutes(going.started.elapsed().as_secs_f64()),
            plan::minutes(soak.asked_secs())
        ),
        (None, None) => String::new(),
    }
}

/// A session in progress.
struct Going<'a> {
    order: &'a Order,
    writer: SessionWriter,
    started: Instant,
    summary: Summary,
    judged: Vec<Judged>,
    soak: Option<soak::Log>,
    interrupted: bool,
}

impl<'a> Going<'a> {
    /// Makes the session's folder.
    fn start(bench: &Bench, order: &'a Order) -> anyhow::Result<Self> {
        let started = jiff::Timestamp::now();
        let first = order.plans.first();
        let summary = Summary {
            schema: SCHEMA,
            headroom: env!("CARGO_PKG_VERSION").into(),
            experiment: order.experiment.clone(),
            started: started.to_string(),
            command: order.command.clone(),
            hami: bench.hami.clone(),
            compress: first.map_or(1.0, |plan| plan.compress),
            quick: order.plans.iter().any(|plan| plan.quick),
            complete: false,
            runs: Vec::new(),
            failed: Vec::new(),
            soak: None,
            arms: Vec::new(),
            meaning: String::new(),
        };
        let writer = match &order.host.out {
            Some(dir) => SessionWriter::create(dir, &summary)?,
            None => under_runs(started, &summary)?,
        };
        Ok(Self {
            order,
            writer,
            started: Instant::now(),
            summary,
            judged: Vec::new(),
            soak: first.and_then(|plan| plan.soak_secs).map(soak::Log::new),
            interrupted: false,
        })
    }

    /// Adds a run that ended, or that the user interrupted.
    fn take(&mut self, done: Done) -> Result<(), WriteError> {
        if done.summary.came_to_its_end() {
            self.judged.push(done.judged);
        }
        if let Some(soak) = &mut self.soak {
            let zero_secs = done.zero.saturating_duration_since(self.started);
            let exits = done.exits.into_iter();
            let exits: Vec<_> = exits.map(|e| (secs_of(&e, done.zero), e)).collect();
            soak.add(&done.summary, zero_secs.as_secs_f64(), &exits);
            self.writer.restarts(soak.rows())?;
            self.summary.soak = Some(soak.sum(self.started.elapsed().as_secs_f64()));
        }
        self.summary.runs.push(done.summary);
        self.summary.arms = judge::arms(&self.order.expect, &self.judged);
        self.summary.meaning = judge::meaning(&self.order.expect, &self.summary.arms);
        self.writer.summary(&self.summary)
    }

    fn failed(&mut self, job: &Job<'_>, error: &anyhow::Error) -> Result<&FailedRun, WriteError> {
        let failed = FailedRun {
            arm: job.plan.arm.clone(),
            repeat: job.repeat,
            folder: job.folder.clone(),
            error: in_one(error),
        };
        self.summary.failed.push(failed);
        self.writer.summary(&self.summary)?;
        // It was pushed just above.
        Ok(&self.summary.failed[self.summary.failed.len() - 1])
    }

    /// Summarises all runs.
    fn end(mut self) -> anyhow::Result<Ended> {
        self.summary.complete = !self.interrupted && self.summary.failed.is_empty();
        self.writer.summary(&self.summary)?;
        Ok(Ended {
            summary: self.summary,
            dir: self.writer.dir().to_owned(),
            interrupted: self.interrupted,
        })
    }
}

/// A new folder under `runs/`, named by time and experiment.
fn under_runs(started: jiff::Timestamp, summary: &Summary) -> anyhow::Result<SessionWriter> {
    let dir = place::make(Path::new(place::RUNS), started, &summary.experiment);
    let dir = dir.map_err(|(path, error)| {
        let problem = format!(
            "can't make {}; choose another folder with --out DIR",
            path.display()
        );
        anyhow::Error::new(error).context(problem)
    })?;
    Ok(SessionWriter::create(&dir, summary)?)
}
