//! Standard output and standard error, which may be closed: `headroom list | head -1` is no reason to panic, and a run
//! whose terminal is gone still has a summary to write. In a crate's own tests what is printed is the test's: it is shown
//! if the test fails.

use std::fmt::Arguments;
use std::io::{self, Write as _};

/// Prints a line to standard output; nobody listening any more is no error.
#[macro_export]
macro_rules! outln {
    ($($arg:tt)*) => {
        $crate::terminal::to_stdout(cfg!(test), format_args!("{}\n", format_args!($($arg)*)))
    };
}

/// Prints to standard output; nobody listening any more is no error.
#[macro_export]
macro_rules! out {
    ($($arg:tt)*) => {
        $crate::terminal::to_stdout(cfg!(test), format_args!($($arg)*))
    };
}

/// Prints a line to standard error; nobody listening any more is no error.
#[macro_export]
macro_rules! errln {
    ($($arg:tt)*) => {
        $crate::terminal::to_stderr(cfg!(test), format_args!("{}\n", format_args!($($arg)*)))
    };
}

/// What [`outln!`] and [`out!`] do. `of_a_test`: the calling crate is built for its tests, which catch what `print!` prints
/// and nothing else. Outside of a test `print!` would panic when nobody listens.
#[allow(clippy::print_stdout)]
pub fn to_stdout(of_a_test: bool, text: Arguments<'_>) {
    if of_a_test {
        print!("{text}");
    } else {
        let _ = io::stdout().write_fmt(text);
    }
}

/// What [`errln!`] does; as [`to_stdout`].
#[allow(clippy::print_stderr)]
pub fn to_stderr(of_a_test: bool, text: Arguments<'_>) {
    if of_a_test {
        eprint!("{text}");
    } else {
        let _ = io::stderr().write_fmt(text);
    }
}

/// Text without control characters, which neither SVG nor a terminal should see.
#[must_use]
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// An error with its causes; those that it already quotes are not said again. Its lines (some end with those of a log) stay
/// lines; other control characters, which may come from any file, are left out.
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
