//! A session in progress: its folder, and its summary, which is written again after each run.

use std::path::Path;
use std::time::Instant;

use super::exits::secs_of;
use super::resume::{self, Earlier, NoResume};
use super::run::{Bench, Done, Job};
use super::soak;
use host::terminal::in_one;
use plan::Order;
use results::judge::{self, Judged};
use results::metrics::Source;
use results::run_folder::summary::SCHEMA;
use results::run_folder::{
    Ended, FailedRun, Resumed, RunSummary, Session, SessionWriter, Summary, WriteError, place,
    sessions,
};

/// A session in progress.
pub(super) struct Going<'a> {
    order: &'a Order,
    pub(super) writer: SessionWriter,
    pub(super) started: Instant,
    pub(super) summary: Summary,
    /// The runs that came to their end, in the order of their turns.
    judged: Vec<Judged>,
    /// The turn of each of them.
    turns: Vec<(u32, usize)>,
    /// What earlier sessions saw of the claims' controls.
    seen: judge::Earlier,
    pub(super) soak: Option<soak::Log>,
    pub(super) interrupted: bool,
}

impl<'a> Going<'a> {
    /// Makes the session's folder.
    pub(super) fn start(bench: &Bench, order: &'a Order) -> anyhow::Result<Self> {
        let started = jiff::Timestamp::now();
        let first = order.plans.first();
        let summary = Summary {
            schema: SCHEMA,
            headroom: env!("CARGO_PKG_VERSION").into(),
            experiment: order.experiment.clone(),
            started: started.to_string(),
            command: order.command.clone(),
            resumed: Vec::new(),
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
        let mut writer = match &order.host.out {
            Some(dir) => SessionWriter::create(dir, &summary)?,
            None => under_runs(started, &summary)?,
        };
        writer.order(&resume::ordered(order, bench))?;
        Ok(Self {
            order,
            writer,
            started: Instant::now(),
            summary,
            judged: Vec::new(),
            turns: Vec::new(),
            seen: seen(order),
            soak: first.and_then(|plan| plan.soak_secs).map(soak::Log::new),
            interrupted: false,
        })
    }

    /// Opens the session's folder again. Its complete runs stay as they are.
    pub(super) fn resume(bench: &Bench, order: &'a Order) -> anyhow::Result<Self> {
        let dir = resume::folder(order)?;
        // The lock comes before everything else: what is read then stays as it is.
        let writer = SessionWriter::reopen(dir).map_err(NoResume::from)?;
        let earlier = Earlier::read(order)?;
        earlier.fits(order, Some(bench))?;
        let Session { summary, dir } = earlier.session;
        let session = Session {
            dir,
            summary: Summary {
                complete: false,
                ..summary
            },
        };
        let mut going = Self {
            order,
            writer,
            started: Instant::now(),
            summary: session.summary.clone(),
            judged: Vec::new(),
            turns: Vec::new(),
            seen: seen(order),
            soak: None,
            interrupted: false,
        };
        for run in session.summary.runs.iter().filter(|r| r.came_to_its_end()) {
            let read = session.run(&run.folder)?;
            going.judge(run, Judged::new(&Source::of(run, &read)));
        }
        going.summary.resumed.push(Resumed {
            started: jiff::Timestamp::now().to_string(),
            command: order.command.clone(),
        });
        going.sum_up()?;
        Ok(going)
    }

    /// Makes room for a run, which may have been tried before.
    pub(super) fn begin(&mut self, job: &Job) -> Result<(), WriteError> {
        if self.order.resume {
            self.writer.set_aside(&job.folder)?;
            self.summary.runs.retain(|run| run.folder != job.folder);
            self.summary.failed.retain(|run| run.folder != job.folder);
            self.writer.summary(&self.summary)?;
        }
        Ok(())
    }

    /// The turn of a run: arms take turns.
    fn turn(&self, arm: &str, repeat: u32) -> (u32, usize) {
        let mut plans = self.order.plans.iter();
        let arm = plans.position(|plan| plan.arm == arm);
        (repeat, arm.unwrap_or(usize::MAX))
    }

    fn judge(&mut self, run: &RunSummary, judged: Judged) {
        let turn = self.turn(&run.arm, run.repeat);
        let at = self.turns.partition_point(|other| *other < turn);
        self.turns.insert(at, turn);
        self.judged.insert(at, judged);
    }

    /// Summarises the runs so far.
    fn sum_up(&mut self) -> Result<(), WriteError> {
        self.summary.arms = judge::arms(&self.order.expect, &self.judged);
        self.seen.recall(&mut self.summary.arms);
        self.summary.meaning = judge::meaning(&self.order.expect, &self.summary.arms);
        self.writer.summary(&self.summary)
    }

    /// Adds a run that ended, or that the user interrupted. Returns its place in the summary.
    pub(super) fn take(&mut self, done: Done) -> Result<usize, WriteError> {
        if done.summary.came_to_its_end() {
            self.judge(&done.summary, done.judged);
        }
        if let Some(soak) = &mut self.soak {
            let zero_secs = done.zero.saturating_duration_since(self.started);
            let exits = done.exits.into_iter();
            let exits: Vec<_> = exits.map(|e| (secs_of(&e, done.zero), e)).collect();
            soak.add(&done.summary, zero_secs.as_secs_f64(), &exits);
            self.writer.restarts(soak.rows())?;
            self.summary.soak = Some(soak.sum(self.started.elapsed().as_secs_f64()));
        }
        let turn = self.turn(&done.summary.arm, done.summary.repeat);
        let runs = &self.summary.runs;
        let at = runs.partition_point(|other| self.turn(&other.arm, other.repeat) < turn);
        self.summary.runs.insert(at, done.summary);
        self.sum_up()?;
        Ok(at)
    }

    pub(super) fn failed(
        &mut self,
        job: &Job,
        error: &anyhow::Error,
    ) -> Result<&FailedRun, WriteError> {
        let failed = FailedRun {
            arm: job.plan.arm.clone(),
            repeat: job.repeat,
            folder: job.folder.clone(),
            error: in_one(error),
        };
        let turn = self.turn(&failed.arm, failed.repeat);
        let all = &self.summary.failed;
        let at = all.partition_point(|other| self.turn(&other.arm, other.repeat) < turn);
        self.summary.failed.insert(at, failed);
        self.writer.summary(&self.summary)?;
        // It was put there just above.
        Ok(&self.summary.failed[at])
    }

    /// Summarises all runs.
    pub(super) fn end(mut self) -> anyhow::Result<Ended> {
        self.summary.complete = !self.interrupted && self.summary.failed.is_empty();
        self.writer.summary(&self.summary)?;
        Ok(Ended {
            summary: self.summary,
            dir: self.writer.dir().to_owned(),
            interrupted: self.interrupted,
        })
    }
}

/// What the sessions saw that lie where this one will.
fn seen(order: &Order) -> judge::Earlier {
    let around = order.host.out.as_deref().and_then(Path::parent);
    let around = around.unwrap_or(Path::new(place::RUNS));
    // Without a folder there are no sessions in it.
    let found = sessions::below(around).map(|all| all.found);
    judge::Earlier::of(&order.experiment, &found.unwrap_or_default())
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
