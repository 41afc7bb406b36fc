//! Options of `conformance`.

use std::path::PathBuf;

use clap::Args;

use components::HamiChoice;
use components::image::Registry;

/// Options of `conformance`.
#[derive(Debug, Clone, Args)]
pub struct ConformanceArgs {
    /// A HAMi scheduler: builtin, auto, image[:TAG] or a program's path. Give two; the second is compared with the first
    #[arg(long, value_name = "HAMI")]
    pub hami: Vec<HamiChoice>,

    /// Registry to pull HAMi's image from [default: where it is published]
    #[arg(long, value_name = "HOST")]
    pub registry: Option<Registry>,

    /// Play every scenario this many times with each, in turn; the speed of bursts is judged from 5 on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,

    /// Play only this scenario; can be given more than once
    #[arg(long = "scenario", value_name = "NAME")]
    pub scenarios: Vec<String>,

    /// Compare the only --hami with outcomes that --record wrote
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,

    /// Write the outcomes of the (first) --hami, without times, for --against
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// List the scenarios, and play nothing
    #[arg(long)]
    pub list: bool,

    /// Folder for the record and the logs [default: runs/<UTC time>-conformance]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
