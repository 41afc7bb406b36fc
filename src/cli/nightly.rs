//! `headroom nightly`: runs the experiments, compares them with earlier nights, and writes a report.

use host::{errln, out, outln};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use anyhow::Context as _;

use super::args::{BenchArgs, NightlyArgs};
use super::hints::say;
use super::order::order;
use super::setting::Setting;
use super::{Exit, Interrupted, Place, bench, signals};
use ::compare::baseline::{NIGHTLY, Nights, nights_so_far, with_nights};
use ::compare::metrics::Declared;
use ::results::run_folder::place::{self, RUNS, stamp};
use harness::bench::session;
use host::terminal::{clean, in_one};
use host::usage::{OrUsage as _, Usage};
use plan::{Order, Takes};
use present::report::ReportError;
use present::report::night::Night;

/// A lock in the cache, held during a night: a second night would disturb the first, wherever it runs.
const LOCK: &str = "nightly.lock";

/// How a night went so far.
#[derive(Debug, Default)]
struct Course {
    night: Night,
    failed: bool,
    disturbed: bool,
    interrupted: bool,
}

/// Runs a night. A second night at the same time only says so and succeeds, since a timer may fire twice.
///
/// # Errors
/// Usage errors before anything is started, or components that cannot be built.
pub async fn nightly(place: &Place, args: NightlyArgs) -> anyhow::Result<Exit> {
    let declared = Declared::of_file(args.metrics.as_deref()).or_usage()?;
    say(&declared.hints);
    let orders = orders(place, &args, &declared)?;
    let runs = Path::new(RUNS);
    if args.dry_run {
        out!("{}", dry_run(&orders, runs, Nights(args.nights)));
        return Ok(Exit::Done);
    }
    writable(runs)?;
    let cache = place.open()?;
    let Some(_lock) = lock(cache.folder())? else {
        outln!("a night is already running; nothing to do");
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
    // Made now: later nights find this night's sessions by the time of its beginning.
    fs::create_dir_all(&out).with_context(|| format!("can't make {}", out.display()))?;
    let mut course = Course::default();
    for (order, bench) in &ready {
        let ended = match session(bench, order, &mut bench::tell, signals::stop()).await {
            Ok(ended) => ended,
            // The others are still worth the night.
            Err(error) => {
                errln!("headroom: {}: {}", order.experiment, in_one(&error));
                course.failed = true;
                continue;
            }
        };
        if ended.interrupted {
            course.interrupted = true;
            break;
        }
        course.disturbed |= ended.disturbed();
        course.failed |= ended.failed();
        if ended.summary.runs.is_empty() {
            continue;
        }
        let nights = Nights(args.nights);
        let found = with_nights(runs, &ended.dir, nights, &declared, &args.across);
        course.night.take(&order.experiment, ended.dir, found);
    }
    course.judge(&out);
    if course.night.sessions.is_empty() {
        // Nothing came of it; a folder that holds something stays.
        let _ = fs::remove_dir(&out);
    } else {
        course.report(&out.join("report.html"));
    }
    Ok(course.exit())
}

impl Course {
    /// Judges all comparisons of the night together, prints and writes them. A file that cannot be written does not end it.
    fn judge(&mut self, out: &Path) {
        for (text, written) in self.night.judge(out) {
            out!("{text}");
            self.note(written);
        }
    }

    /// Writes the report on the night.
    fn report(&mut self, file: &Path) {
        let written = self.night.report(file);
        if written.is_ok() {
            outln!("report: {}", file.display());
        }
        self.note(written);
    }

    /// Tells what went wrong, and that the night did not end in order.
    fn note(&mut self, result: Result<(), ReportError>) {
        if let Err(error) = result {
            errln!("headroom: {}", in_one(&error.into()));
            self.failed = true;
        }
    }

    fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.night.regression() {
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

/// What would run, how long, and which nights it would be compared with.
fn dry_run(orders: &[(Order, Setting)], runs: &Path, nights: Nights) -> String {
    let mut text = String::new();
    for (order, _) in orders {
        let arms: Vec<&str> = order.plans.iter().map(|plan| plan.arm.as_str()).collect();
        let (name, takes) = (&order.experiment, order.takes());
        text += &format!("{name}: {takes}; arms: {}\n", arms.join(", "));
        match nights_so_far(runs, nights, name) {
            Ok(sessions) => {
                text += "  compared with, if machine, programs and plans are still the same:\n";
                for session in sessions {
                    text += &format!("    {}\n", session.display());
                }
            }
            Err(why) => text += &format!("  not compared: {}\n", clean(&why.to_string())),
        }
    }
    let takes: Takes = orders.iter().map(|(order, _)| order.takes()).sum();
    text += &format!("in all: {takes}, without set-up\n");
    text
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
        shape: args.shape.clone(),
        repeat: Some(args.repeat),
        ..BenchArgs::default()
    };
    let mut orders: Vec<(Order, Setting)> = Vec::new();
    for name in &bench_args.experiments {
        let (mut order, setting) = order(name, place, &bench_args)?;
        order.command = command();
        // Nights are looked for in the default folder of sessions, and the next run needs the machine.
        order.host.out = None;
        order.host.keep = false;
        let name = &order.experiment;
        if orders.iter().any(|(other, _)| other.experiment == *name) {
            let problem = format!(
                "experiment {name} is named twice: a night is compared with earlier nights, not with itself; use --repeat for more runs"
            );
            return Err(Usage::new(problem).into());
        }
        orders.push((order, setting));
    }
    Ok(orders)
}

/// Checks, before anything is built, that sessions and reports can be written. It makes no folder.
fn writable(runs: &Path) -> Result<(), Usage> {
    let tried = place::writable(runs).and_then(|()| place::writable(&runs.join(NIGHTLY)));
    tried.map_err(|error| {
        let runs = std::path::absolute(runs).unwrap_or_else(|_| runs.to_owned());
        Usage::new(format!(
            "cannot write to {}: {error}; a night's results go there, where later nights find them: make that folder writable, or start nightly in another folder",
            runs.display()
        ))
    })
}

/// The command line with `nightly` as its first word. Later nights find this one by it.
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
