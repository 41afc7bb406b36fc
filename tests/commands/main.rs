//! Commands that need no control plane, run as a user would.

mod clearer;
mod results;
mod resume;
mod usage;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program under test.
const HEADROOM: &str = env!("CARGO_BIN_EXE_headroom");

/// `headroom` in `folder`, with a cache there that does not exist yet.
fn headroom(folder: &Path, args: &[&str]) -> Output {
    Command::new(HEADROOM)
        .args(args)
        .env("HEADROOM_CACHE", folder.join("cache"))
        .env_remove("HEADROOM_COMPONENTS")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("headroom starts")
}

/// Text of a command's standard error.
fn messages(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
