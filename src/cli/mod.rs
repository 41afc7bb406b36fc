//! The commands: arguments in, exit code out.
//!
//! - [`args`]: what a user may type
//! - [`exit`]: exit codes
//! - [`hints`]: old words of a file
//! - [`order`], [`setting`], [`place`]: what the arguments ask for
//! - every other module: one command, or a few that go together

mod all;
mod args;
mod bench;
mod cluster;
mod compare;
mod conformance;
mod exit;
mod hints;
mod nightly;
mod order;
mod place;
mod read;
mod resume;
mod setting;
mod setup;
mod shell;
mod signals;

use host::{errln, out};

use harness::cluster::ClusterError;
use host::terminal;
use host::usage::{OrUsage as _, is_usage};

pub use args::{Cli, Command};
use exit::{Exit, Interrupted};
use place::Place;

/// Runs a command, and prints its error, if there is one.
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

/// The text of an error. An error about the user's input is one line: it may quote a file, and a line of a file must not look
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
    // A command that only reads may be the next one after one that was killed. But programs under a cluster of their own must
    // not touch other clusters, and a shell that starts must not wait for this.
    if !cli.command.is_apart() {
        place.clear_leftovers();
    }
    match cli.command {
        Command::Bench(args) => bench::bench(&place, args).await,
        Command::Setup => setup::setup(&place).await,
        Command::Doctor => Ok(setup::doctor(&place).await),
        Command::Up(args) => cluster::up(&place, args).await,
        Command::Status => cluster::status(&place),
        Command::Down { id } => cluster::down(&place, id.as_deref()),
        Command::List => Ok(printed(&plan::list().or_usage()?)),
        Command::Explain { experiment } => {
            Ok(printed(&hints::loaded(&experiment)?.explain().or_usage()?))
        }
        Command::Plot { sessions, out } => read::plot(&sessions, &out),
        Command::Report { sessions, out } => read::report(&sessions, &out),
        Command::Compare(args) => compare::compare(&args),
        Command::Nightly(args) => nightly::nightly(&place, args).await,
        Command::Show { session } => read::show(&session),
        Command::Runs { dir } => read::runs(dir),
        Command::Conformance(args) => conformance::conformance(&place, args).await,
        Command::Extender(args) => Ok(extender::run(args).await.map(|()| Exit::Done)?),
        Command::Clearer(args) => Ok(clearer::run(args).await?.into()),
        Command::Completions { shell } => Ok(shell::completions(shell)),
        Command::Man { dir } => shell::man(dir.as_deref()),
    }
}

fn printed(text: &str) -> Exit {
    out!("{text}");
    Exit::Done
}
