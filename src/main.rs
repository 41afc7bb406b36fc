//! The `headroom` command.

use std::process::ExitCode;

use clap::Parser;
use headroom::cli::{self, Cli};

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HEADROOM_LOG")
                .unwrap_or_else(|_| "headroom=warn".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Two: one for the watches' stamps, one for everything else. More would cost memory for nothing.
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(cli::run(cli)).into(),
        Err(error) => {
            eprintln!("headroom: can't start: {error}");
            ExitCode::FAILURE
        }
    }
}
