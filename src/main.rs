//! The `headroom` command: arguments in, exit code out.

mod cli;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use cli::{Cli, Command};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The extender's -v says how much it logs, as HAMi's does.
    if !matches!(cli.command, Command::Extender(_)) {
        let filter = EnvFilter::try_from_env("HEADROOM_LOG");
        tracing_subscriber::fmt()
            .with_env_filter(filter.unwrap_or_else(|_| "headroom=warn".into()))
            .with_writer(io::stderr)
            // It would say so on standard error, and panic, when standard error cannot be written.
            .log_internal_errors(false)
            .with_ansi(io::stderr().is_terminal())
            .init();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Two: one for the watches' stamps, one for everything else. More would cost memory for nothing.
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(cli::run(cli)).into(),
        Err(error) => {
            tracing::error!("can't start: {error}");
            ExitCode::FAILURE
        }
    }
}
