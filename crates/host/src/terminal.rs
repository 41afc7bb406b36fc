//! Prints to standard output and standard error without panicking if they are closed, as by `headroom list | head -1`. A run
//! whose terminal is gone must still write its summary.

/// Prints a line to standard output. If nobody reads it, that is no error.
#[macro_export]
macro_rules! outln {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($arg)*);
    }};
}

/// Prints to standard output. If nobody reads it, that is no error.
#[macro_export]
macro_rules! out {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stdout(), $($arg)*);
    }};
}

/// Prints a line to standard error. If nobody reads it, that is no error.
#[macro_export]
macro_rules! errln {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
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
