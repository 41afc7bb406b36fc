//! A session: the runs of one experiment, with its arms interleaved, and their summary. A failed run does not end the session.

use host::errln;
use std::time::Instant;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::going::Going;
use super::resume;
use super::run::{self, Bench, Job};
use super::turns::{Turn, Turns};
use host::machine;
use plan::{Order, Plan};
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

/// Does the runs one after the other, and reports each. A run that fails is reported and recorded, and the next one begins.
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
        going.begin(&job)?;
        let began = Instant::now();
        let done = run::run(bench, &job, &going.writer, &machine, cancel).await;
        going.interrupted = cancel.is_cancelled();
        match done {
            Ok(mut done) => {
                let metrics = std::mem::take(&mut done.metrics);
                turns.ended(turn, began.elapsed().as_secs_f64());
                let at = going.take(done)?;
                tell(News::Run {
                    run: &going.summary.runs[at],
                    metrics: &metrics,
                    plan,
                    session: &going.summary,
                });
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
