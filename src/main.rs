//! The `headroom` command.

use clap::{Parser, Subcommand};
use headroom::extender;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the built-in HAMi-compatible scheduler extender.
    Extender(extender::Args),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Extender(args) => extender::run(args).await,
    }
}
