//! `headroom nightly`: the experiments, compared with earlier nights, and a report.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::args::{BenchArgs, NightlyArgs};
use super::setting::Setting;
use super::{Exit, Interrupted, Place, bench, compare, signals};
use crate::bench::{Order, session};
use crate::compare::baseline::{NIGHTLY, Nights, nights};
use crate::compare::metrics::Declared;
use crate::compare::{Comparison, Options, Outcome};
use crate::out::in_one;
use crate::report;
use crate::report::compared::{self, Style};
use crate::run_folder::place::{RUNS, stamp};

/// Held for as long as a night goes on, in the cache, since a second night would disturb the first wherever it runs.
const LOCK: &str = "nightly.lock";

/// Nothing says what to run.
#[derive(Debug, thiserror::Error)]
#[error(
    "no experiment to run; name some with --experiments, or under nightly in the file of metrics"
)]
pub struct NothingToRun;

/// What came of a night so far.
#[derive(Debug, Default)]
struct Night {
    sessions: Vec<PathBuf>,
    earlier: Vec<PathBuf>,
    comparisons: Vec<Comparison>,
    failed: bool,
    disturbed: bool,
    interrupted: bool,
}

/// Runs a night. A second one at the same time says so and ends well: a timer may fire twice.
///
/// # Errors
/// Usage errors before anything is started; a file that can't be written.
pub async fn nightly(place: &Place, args: NightlyArgs) -> anyhow::Result<Exit> {
    let declared = compare::declared(args.metrics.as_deref())?;
    let orders = orders(place, &args, &declared)?;
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
    let out = Path::new(RUNS).join(NIGHTLY).join(began);
    let mut night = Night::default();
    for (order, bench) in &ready {
        let ended = match session(bench, order, signals::stop()).await {
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
        night.take(ended.dir, &declared, &args, &out)?;
    }
    if !night.sessions.is_empty() {
        let file = out.join("report.html");
        report::nightly(&night.sessions, &night.earlier, &night.comparisons, &file)?;
        outln!("report: {}", file.display());
    }
    Ok(night.exit())
}

impl Night {
    /// Compares a session that ended with the nights before it.
    fn take(
        &mut self,
        dir: PathBuf,
        declared: &Declared,
        args: &NightlyArgs,
        out: &Path,
    ) -> anyhow::Result<()> {
        let new = [dir.clone()];
        self.sessions.push(dir);
        fs::create_dir_all(out).with_context(|| format!("can't make {}", out.display()))?;
        let options = Options {
            across: args.across.clone(),
            disturbed: false,
        };
        let (runs, most) = (Path::new(RUNS), Nights(args.nights));
        let found = nights(runs, most, &new, &options.across).and_then(|base| {
            let found = crate::compare::compare(&base, &new, declared, &options)?;
            Ok((base, found))
        });
        match found {
            Ok((base, found)) => {
                out!("{}", compared::text(&found, Style::Terminal { all: false }));
                let file = |end: &str| out.join(format!("compare-{}.{end}", found.experiment));
                compare::write(&found, Some(&file("json")), Some(&file("md")))?;
                self.earlier.extend(base);
                self.comparisons.push(found);
            }
            // The first night, or all its runs disturbed: there is a report all the same.
            Err(why) => outln!("not compared: {why}"),
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self
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
        return Err(NothingToRun.into());
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
    let orders = bench_args.experiments.iter().map(|name| {
        let (mut order, setting) = bench::order(name, place, &bench_args)?;
        order.command = command();
        // Nights are looked for where sessions are by default, and the next run needs the machine.
        order.host.out = None;
        order.host.keep = false;
        Ok((order, setting))
    });
    orders.collect()
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
mod tests {
    use super::*;

    #[test]
    fn a_second_night_is_kept_out_until_the_first_ends() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap();
        assert!(first.is_some());
        assert!(lock(folder.path()).unwrap().is_none());
        drop(first);
        assert!(lock(folder.path()).unwrap().is_some());
    }

    #[test]
    fn a_regression_is_told_before_anything_else() {
        let mut night = Night {
            failed: true,
            disturbed: true,
            ..Night::default()
        };
        assert_eq!(night.exit(), Exit::Failed);
        night.failed = false;
        assert_eq!(night.exit(), Exit::Disturbed);
        night.disturbed = false;
        assert_eq!(night.exit(), Exit::Done);
    }
}
