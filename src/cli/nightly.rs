//! `headroom nightly`: the experiments, compared with earlier nights, and a report.

use host::{errln, out, outln};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::args::{BenchArgs, NightlyArgs};
use super::setting::Setting;
use super::{Exit, Interrupted, Place, bench, compare, signals};
use ::compare::baseline::{NIGHTLY, Nights, nights};
use ::compare::metrics::Declared;
use ::compare::{CompareError, Comparison, Options, Outcome};
use ::results::run_folder::place::{RUNS, stamp};
use harness::bench::session;
use host::terminal::{clean, in_one};
use host::usage::Usage;
use plan::Order;
use present::report::compared::{self, Style};
use present::report::{self, WithEarlier};

/// Held for as long as a night goes on, in the cache, since a second night would disturb the first wherever it runs.
const LOCK: &str = "nightly.lock";

/// What came of a night so far.
#[derive(Debug, Default)]
struct Night {
    sessions: Vec<PathBuf>,
    earlier: WithEarlier,
    failed: bool,
    disturbed: bool,
    interrupted: bool,
}

/// Runs a night. A second one at the same time says so and ends well: a timer may fire twice.
///
/// # Errors
/// Usage errors before anything is started; components that can't be had.
pub async fn nightly(place: &Place, args: NightlyArgs) -> anyhow::Result<Exit> {
    let declared = compare::declared(args.metrics.as_deref())?;
    let orders = orders(place, &args, &declared)?;
    let runs = Path::new(RUNS);
    writable(runs)?;
    let cache = place.open()?;
    let Some(_lock) = lock(cache.folder())? else {
        outln!("a night is going on already; nothing to do");
        return Ok(Exit::Done);
    };
    // All of them first: a wrong path must not show in the middle of the night.
    let mut ready = Vec::new();
    for (order, setting) in &orders {
        let cache = setting.place.open()?;
        let hami = setting.find_hami(&cache).await?;
        match bench::prepare(&setting.place, &cache, &hami).await {
            Err(error) if error.is::<Interrupted>() => return Ok(Exit::Interrupted),
            bench => ready.push((order, bench?)),
        }
    }
    let began = stamp(jiff::Timestamp::now());
    let out = runs.join(NIGHTLY).join(began);
    // Made now: by when it began, later nights tell which sessions are of this one.
    fs::create_dir_all(&out).with_context(|| format!("can't make {}", out.display()))?;
    let mut night = Night::default();
    for (order, bench) in &ready {
        let ended = match session(bench, order, &mut bench::tell, signals::stop()).await {
            Ok(ended) => ended,
            // The others are still worth the night.
            Err(error) => {
                errln!("headroom: {}: {}", order.experiment, in_one(&error));
                night.failed = true;
                continue;
            }
        };
        if ended.interrupted {
            night.interrupted = true;
            break;
        }
        night.disturbed |= ended.disturbed();
        night.failed |= ended.failed();
        if ended.summary.runs.is_empty() {
            continue;
        }
        let found = with_earlier(runs, &ended.dir, &declared, &args);
        night.take(&order.experiment, ended.dir, found, &out);
    }
    if night.sessions.is_empty() {
        // Nothing came of it; a folder that holds something stays.
        let _ = fs::remove_dir(&out);
    } else {
        night.report(&out.join("report.html"));
    }
    Ok(night.exit())
}

/// Compares a session that ended with the nights before it; with the sessions of those.
fn with_earlier(
    runs: &Path,
    session: &Path,
    declared: &Declared,
    args: &NightlyArgs,
) -> Result<(Vec<PathBuf>, Comparison), CompareError> {
    let options = Options {
        across: args.across.clone(),
        disturbed: false,
    };
    let new = [session.to_owned()];
    let base = nights(runs, Nights(args.nights), &new, &options.across)?;
    let found = ::compare::compare(&base, &new, declared, &options)?;
    Ok((base, found))
}

impl Night {
    /// Takes up a session and what came of comparing it. A file that can't be written does not end the night: what is still to
    /// run is worth more than it.
    fn take(
        &mut self,
        experiment: &str,
        session: PathBuf,
        found: Result<(Vec<PathBuf>, Comparison), CompareError>,
        out: &Path,
    ) {
        self.sessions.push(session);
        match found {
            Ok((base, found)) => {
                out!("{}", compared::text(&found, Style::Terminal { all: false }));
                let file = |end: &str| out.join(format!("compare-{}.{end}", found.experiment));
                let written = compare::write(&found, Some(&file("json")), Some(&file("md")));
                self.earlier.sessions.extend(base);
                self.earlier.comparisons.push(found);
                self.note(written);
            }
            // The first night, or all its runs disturbed: there is a report all the same.
            Err(why) => {
                let why = format!("{experiment}: not compared: {}", clean(&why.to_string()));
                outln!("{why}");
                self.earlier.not_compared.push(why);
            }
        }
    }

    /// Writes the report on the night.
    fn report(&mut self, file: &Path) {
        let written = report::nightly(&self.sessions, &self.earlier, file);
        if written.is_ok() {
            outln!("report: {}", file.display());
        }
        self.note(written.map_err(Into::into));
    }

    /// Tells what went wrong, and that the night did not end in order.
    fn note(&mut self, result: anyhow::Result<()>) {
        if let Err(error) = result {
            errln!("headroom: {}", in_one(&error));
            self.failed = true;
        }
    }

    fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self
            .earlier
            .comparisons
            .iter()
            .any(|c| c.outcome == Outcome::Regression)
        {
            Exit::Regression
        } else if self.failed {
            Exit::Failed
        } else if self.disturbed {
            Exit::Disturbed
        } else {
            Exit::Done
        }
    }
}

/// What a night does: all of it is checked before anything starts.
fn orders(
    place: &Place,
    args: &NightlyArgs,
    declared: &Declared,
) -> anyhow::Result<Vec<(Order, Setting)>> {
    let experiments = if args.experiments.is_empty() {
        declared.nightly.clone()
    } else {
        args.experiments.clone()
    };
    if experiments.is_empty() {
        return Err(Usage::new("no experiment to run; name some with --experiments, or under nightly in the file of metrics").into());
    }
    let bench_args = BenchArgs {
        experiments,
        arms: Vec::new(),
        compress: None,
        quick: false,
        timeline: None,
        shape: args.shape.clone(),
        repeat: Some(args.repeat),
        soak: None,
        out: None,
        keep: false,
        dry_run: false,
    };
    let mut orders: Vec<(Order, Setting)> = Vec::new();
    for name in &bench_args.experiments {
        let (mut order, setting) = bench::order(name, place, &bench_args)?;
        order.command = command();
        // Nights are looked for where sessions are by default, and the next run needs the machine.
        order.host.out = None;
        order.host.keep = false;
        if orders
            .iter()
            .any(|(other, _)| other.experiment == order.experiment)
        {
            let problem = format!(
                "experiment {} is named twice: a night is compared with earlier nights, not with itself; for more runs use --repeat",
                order.experiment
            );
            return Err(Usage::new(problem).into());
        }
        orders.push((order, setting));
    }
    Ok(orders)
}

/// Checks that sessions and reports can be written, before anything is built; it makes no folder.
fn writable(runs: &Path) -> Result<(), Usage> {
    let nearest = |folder: &Path| {
        let mut there = folder.ancestors().filter(|p| p.symlink_metadata().is_ok());
        tempfile::tempfile_in(there.next().unwrap_or(Path::new(".")))
    };
    let tried = nearest(runs).and_then(|_| nearest(&runs.join(NIGHTLY)));
    tried.map(drop).map_err(|error| {
        let runs = std::path::absolute(runs).unwrap_or_else(|_| runs.to_owned());
        Usage::new(format!(
            "can't write to {}: {error}; a night's results go there, where later nights find them: make it a folder that can be written to, or start nightly in another one",
            runs.display()
        ))
    })
}

/// The command line with `nightly` as its first word, by which later nights find this one.
fn command() -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    let at = words.iter().position(|word| word == NIGHTLY);
    let name = at.map_or_else(|| NIGHTLY.to_owned(), |at| words.remove(at));
    words.insert(words.len().min(1), name);
    words
}

/// Takes the lock; `None` if another night holds it.
fn lock(folder: &Path) -> anyhow::Result<Option<File>> {
    let path = folder.join(LOCK);
    let problem = || format!("can't lock {}", path.display());
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(problem)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).with_context(problem),
    }
}

#[cfg(test)]
#[path = "nightly_tests.rs"]
mod tests;
