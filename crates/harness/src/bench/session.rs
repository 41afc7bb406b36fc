//! A session: the runs of one experiment, with its arms interleaved, and their summary. A failed run does not end the session.
//! Runs that leave cores idle start together.

use host::errln;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::going::Going;
use super::resume;
use super::run::{self, Bench, Done, Job};
use super::start_line::StartLine;
use host::machine;
use plan::{Order, Plan, Turn, Turns};
use results::metrics::Values;
use results::run_folder::{Ended, FailedRun, RunSummary, Summary, WriteError};

/// What happened in a session.
#[derive(Debug, Clone, Copy)]
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

/// Does the runs and reports each. A run that fails is reported and recorded, and the next one begins.
///
/// # Errors
/// The session's or a run's folder cannot be written, since then the others' could not either. The runs done before stay
/// readable. Or a session cannot be continued; see [`resume::NoResume`].
pub async fn session(
    bench: &Bench,
    order: &Order,
    tell: &mut (dyn FnMut(News<'_>) + Send),
    cancel: &CancellationToken,
) -> anyhow::Result<Ended> {
    let mut going = if order.resume {
        Going::resume(bench, order)?
    } else {
        Going::start(bench, order)?
    };
    let dir = going.writer.dir().to_owned();
    errln!("session folder: {}", dir.display());
    let disk = dir.clone();
    let machine = tokio::task::spawn_blocking(move || machine::fingerprint(&disk))
        .await
        .context("looking at the machine")?;

    let started = Instant::now();
    let mut turns = Turns::new(&order.plans).without(resume::done(&going.summary));
    let last = turns.count();
    let around = Arc::new((bench.clone(), machine));
    let mut number = 0;
    while !going.interrupted {
        let together = turns.together(started.elapsed().as_secs_f64(), machine::cores());
        if together.is_empty() {
            break;
        }
        let names: Vec<String> = together.iter().map(name).collect();
        let mut jobs = Vec::new();
        for (turn, folder) in together.into_iter().zip(&names) {
            number += 1;
            let beside = names.iter().filter(|other| *other != folder);
            let job = Job {
                plan: turn.plan.clone(),
                host: order.host.clone(),
                repeat: turn.repeat,
                session: dir.clone(),
                folder: folder.clone(),
                beside: beside.cloned().collect(),
                keep: order.host.keep && Some(number) == last,
            };
            going.begin(&job)?;
            let (place, hami) = (place(&going, last), bench.hami.label());
            let (arm, repeat) = (&turn.plan.arm, turn.repeat);
            errln!("run {number} {place}: arm {arm}, repeat {repeat}; {hami}");
            jobs.push((turn, job));
        }
        let lines = StartLine::places(jobs.len());
        // A folder that can't be written ends the other runs, too.
        let cancel = cancel.child_token();
        // And so does whoever drops this session.
        let _guard = cancel.clone().drop_guard();
        let mut running = FuturesUnordered::new();
        for ((turn, job), line) in jobs.into_iter().zip(lines) {
            let (around, cancel, began) = (around.clone(), cancel.clone(), Instant::now());
            // A thread for each: what one computes at its end keeps no other waiting.
            let here = Handle::current();
            let run = tokio::task::spawn_blocking(move || {
                let (bench, machine) = &*around;
                let done = here.block_on(run::run(bench, &job, line, machine, &cancel));
                (job, done)
            });
            running.push(run.map(move |ended| (turn, began, ended)));
        }
        let mut ended = Ok(());
        while let Some((turn, began, run)) = running.next().await {
            // A panic goes on here.
            let (job, done) = run.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic()));
            going.interrupted = cancel.is_cancelled();
            let took_secs = began.elapsed().as_secs_f64();
            let taken = take(&mut going, &mut turns, (turn, took_secs), &job, done, tell);
            if taken.is_err() {
                cancel.cancel();
                ended = ended.and(taken);
            }
        }
        ended?;
    }
    let ended = going.end()?;
    tell(News::Ended(&ended.summary));
    Ok(ended)
}

/// Adds what became of a run to the session, and reports it.
fn take(
    going: &mut Going<'_>,
    turns: &mut Turns<'_>,
    (turn, took_secs): (Turn<'_>, f64),
    job: &Job,
    done: anyhow::Result<Done>,
    tell: &mut (dyn FnMut(News<'_>) + Send),
) -> anyhow::Result<()> {
    match done {
        Ok(mut done) => {
            let metrics = std::mem::take(&mut done.metrics);
            turns.ended(turn, took_secs);
            let at = going.take(done)?;
            tell(News::Run {
                run: &going.summary.runs[at],
                metrics: &metrics,
                plan: turn.plan,
                session: &going.summary,
            });
        }
        // It failed because it was cancelled.
        Err(_) if going.interrupted => {}
        Err(error) if is_of_files(&error) => return Err(error),
        Err(error) => {
            tell(News::Failed(going.failed(job, &error)?));
            if turns.failed(turn) {
                errln!("no more runs of arm {}: it failed again", turn.plan.arm);
            }
        }
    }
    Ok(())
}

/// Name of a run's folder.
fn name(turn: &Turn<'_>) -> String {
    format!("{}-{}", turn.plan.arm, turn.repeat)
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
