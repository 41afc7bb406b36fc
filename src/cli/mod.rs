//! The command line: arguments in, exit code out.
//!
//! Exit codes: 0 done, 1 failed, 2 usage, 3 done but disturbed, 4 a regression,
//! 130 interrupted.

mod all;
mod args;
mod bench;
mod cluster;
mod compare;
mod conformance;
mod experiments;
mod named;
mod nightly;
mod outputs;
mod setting;
mod signals;

use host::{errln, out, outln};
use std::path::PathBuf;
use std::process::ExitCode;

use components::{Cache, Verdict};
use harness::cluster::{ClusterError, clear_leftovers};
use host::terminal;
use host::usage::{OrUsage as _, is_usage};
use present::{charts, report};

pub use args::{Cli, Command};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Failed, and said why.
    Failed,
    /// The user's input or machine is at fault; nothing was started.
    Usage,
    /// Done, but something of the host or the harness disturbed it.
    Disturbed,
    /// Done, and something became worse than it was.
    Regression,
    /// Stopped by a signal; partial results are kept.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Disturbed => 3,
            Exit::Regression => 4,
            Exit::Interrupted => 130,
        })
    }
}

/// Runs a command and prints its error, if any, as one line.
pub async fn run(cli: Cli) -> Exit {
    match Box::pin(dispatch(cli)).await {
        Ok(exit) => exit,
        Err(error) => {
            if error.is::<Interrupted>()
                || matches!(error.downcast_ref(), Some(ClusterError::Cancelled))
            {
                return Exit::Interrupted;
            }
            errln!("headroom: {}", told(&error));
            if is_usage(&error) {
                Exit::Usage
            } else {
                Exit::Failed
            }
        }
    }
}

/// An error as it is told. One about the user's input is one line: it may quote a file, and a line of a file must not look
/// like one of headroom's.
fn told(error: &anyhow::Error) -> String {
    let text = terminal::in_one(error);
    if is_usage(error) {
        terminal::clean(&text)
    } else {
        text
    }
}

async fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let place = Place {
        cache: cli.cache,
        components: cli.components,
    };
    // A command that only reads may still be the next one after one that was killed.
    if !matches!(cli.command, Command::Extender(_) | Command::Clearer(_)) {
        place.clear_leftovers();
    }
    match cli.command {
        // Programs under a cluster of their own: they must not touch other clusters' leftovers.
        Command::Extender(args) => {
            extender::run(args).await?;
            Ok(Exit::Done)
        }
        Command::Clearer(args) => Ok(match clearer::run(args).await? {
            clearer::Ended::Done => Exit::Done,
            clearer::Ended::Interrupted => Exit::Interrupted,
        }),
        Command::Doctor => Ok(doctor(&place).await),
        Command::List => {
            experiments::list()?;
            Ok(Exit::Done)
        }
        Command::Explain { experiment } => {
            experiments::explain(&experiment)?;
            Ok(Exit::Done)
        }
        Command::Plot { sessions, out } => {
            for path in charts::plot(&named::only_sessions(&sessions)?, &out).or_usage()? {
                outln!("{}", path.display());
            }
            Ok(Exit::Done)
        }
        Command::Report { sessions, out } => {
            let sessions = named::only_sessions(&sessions)?;
            // A report may well lie in a session's folder, but not in place of a file of it.
            if out.extension().is_none_or(|end| end != "html") {
                outputs::apart(&[("--out", Some(&out))], &sessions)?;
            }
            report::write(&sessions, &out).or_usage()?;
            outln!("{}", out.display());
            Ok(Exit::Done)
        }
        Command::Compare(args) => compare::compare(&args),
        Command::Nightly(args) => nightly::nightly(&place, args).await,
        Command::Show { session } => {
            out!("{}", report::show(&named::session(&session)?).or_usage()?);
            Ok(Exit::Done)
        }
        Command::Runs { dir } => {
            out!("{}", report::runs(&named::folder(dir)?).or_usage()?);
            Ok(Exit::Done)
        }
        Command::Bench(args) => bench::bench(&place, args).await,
        Command::Conformance(args) => conformance::conformance(&place, args).await,
        Command::Setup => {
            let cache = place.open()?;
            let number = place.programs(&cache).await?.of.len();
            outln!(
                "{number} programs are ready; cache {}",
                cache.folder().display()
            );
            Ok(Exit::Done)
        }
        Command::Up(args) => cluster::up(&place, args).await,
        Command::Status => cluster::status(&place),
        Command::Down { id } => cluster::down(&place, id.as_deref()),
    }
}

/// Folder of live clusters' state in the cache.
const SESSIONS: &str = "sessions";

/// Where components and clusters are kept, as the user says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    cache: Option<PathBuf>,
    components: Option<PathBuf>,
}

impl Place {
    /// Opens the cache, after clearing what killed commands left in it.
    fn open(&self) -> anyhow::Result<Cache> {
        let cache = Cache::open(self.cache.as_deref()).or_usage()?;
        for id in clear_leftovers(&Self::state_root(&cache))? {
            errln!("cleared what a killed command left: {id}");
        }
        Ok(cache)
    }

    /// Clears what killed commands left in the cache, if there is one.
    fn clear_leftovers(&self) {
        let Some(folder) = Cache::existing(self.cache.as_deref()) else {
            return;
        };
        match clear_leftovers(&folder.join(SESSIONS)) {
            Ok(ids) => {
                for id in ids {
                    errln!("cleared what a killed command left: {id}");
                }
            }
            Err(error) => errln!("headroom: what a killed command left cannot be cleared: {error}"),
        }
    }

    /// Folder of live clusters' state.
    fn state_root(cache: &Cache) -> PathBuf {
        cache.folder().join(SESSIONS)
    }

    /// The components, built first where they are missing; Ctrl-C stops the build.
    async fn programs(&self, cache: &Cache) -> anyhow::Result<plan::Programs> {
        let mut report = bench::setup_report();
        let made = components::setup(cache, self.components.as_deref(), &mut report);
        tokio::select! {
            made = made => made.or_usage(),
            () = signals::stop().cancelled() => Err(Interrupted.into()),
        }
    }
}

/// A signal stopped the command before it had anything to show.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interrupted;

async fn doctor(place: &Place) -> Exit {
    if let Err(error) = place.open() {
        errln!("headroom: {}", terminal::in_one(&error));
    }
    let checks = components::doctor(place.cache.as_deref(), place.components.as_deref()).await;
    for check in &checks {
        let mark = match check.verdict {
            Verdict::Ok => "ok  ",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        outln!("{mark} {}: {}", check.name, check.detail);
        if let Some(remedy) = &check.remedy {
            outln!("     → {remedy}");
        }
    }
    if checks.iter().any(|c| c.verdict == Verdict::Fail) {
        Exit::Failed
    } else {
        Exit::Done
    }
}
