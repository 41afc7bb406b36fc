//! Prints to standard output and standard error without panicking if they are closed, as by `headroom list | head -1`. A run
//! whose terminal is gone must still write its summary.
//!
//! In a crate's own tests the printed text belongs to the test, which shows it if it fails.

use std::fmt::Arguments;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a line to standard output. If nobody reads it, that is no error.
#[macro_export]
macro_rules! outln {
    ($($arg:tt)*) => {
        $crate::terminal::to_stdout(cfg!(test), format_args!("{}\n", format_args!($($arg)*)))
    };
}

/// Prints to standard output. If nobody reads it, that is no error.
#[macro_export]
macro_rules! out {
    ($($arg:tt)*) => {
        $crate::terminal::to_stdout(cfg!(test), format_args!($($arg)*))
    };
}

/// Prints a line to standard error. If nobody reads it, that is no error.
#[macro_export]
macro_rules! errln {
    ($($arg:tt)*) => {
        $crate::terminal::to_stderr(cfg!(test), format_args!("{}\n", format_args!($($arg)*)))
    };
}

/// Set by [`catch`].
static CAUGHT: AtomicBool = AtomicBool::new(false);

/// From now on every crate prints the way that a test catches. For test programs that call several crates.
pub fn catch() {
    CAUGHT.store(true, Ordering::Relaxed);
}

/// Whether somebody watches standard error, so that a line may be overwritten.
#[must_use]
pub fn watched() -> bool {
    !CAUGHT.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// What [`outln!`] and [`out!`] do. `of_a_test`: the calling crate is built for its tests, which catch what `print!` prints
/// and nothing else. Outside of a test `print!` would panic when nobody listens.
#[allow(clippy::print_stdout)]
pub fn to_stdout(of_a_test: bool, text: Arguments<'_>) {
    if of_a_test || CAUGHT.load(Ordering::Relaxed) {
        print!("{text}");
    } else {
        let _ = io::stdout().write_fmt(text);
    }
}

/// What [`errln!`] does; as [`to_stdout`].
#[allow(clippy::print_stderr)]
pub fn to_stderr(of_a_test: bool, text: Arguments<'_>) {
    if of_a_test || CAUGHT.load(Ordering::Relaxed) {
        eprint!("{text}");
    } else {
        let _ = io::stderr().write_fmt(text);
    }
}

/// The text without control characters, which neither SVG nor a terminal should get.
#[must_use]
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// An error with its causes, without those that it already quotes. Line breaks stay, since some errors end with lines of a log.
/// Other control characters, which may come from any file, are removed.
pub fn in_one(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let lines: Vec<String> = cause.to_string().lines().map(clean).collect();
        let cause = lines.join("\n");
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_lines_and_nothing_that_a_terminal_obeys() {
        let error = anyhow::anyhow!("it died\nlast\u{1b}[31m words\r").context("no\u{7}thing");
        assert_eq!(in_one(&error), "no thing: it died\nlast [31m words ");
    }
}
