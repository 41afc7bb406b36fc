//! Standard output and standard error, which may be closed: `headroom list | head -1` is no reason to panic, and a run
//! whose terminal is gone still has a summary to write.

/// Prints a line to standard output; nobody listening any more is no error.
#[macro_export]
macro_rules! outln {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($arg)*);
    }};
}

/// Prints to standard output; nobody listening any more is no error.
#[macro_export]
macro_rules! out {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stdout(), $($arg)*);
    }};
}

/// Prints a line to standard error; nobody listening any more is no error.
#[macro_export]
macro_rules! errln {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
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
