//! Numbers and lines of text as pictures and reports print them.

use super::theme::width;
use results::run_folder::Percentile;

/// A whole number with its thousands apart: `18,352`.
#[must_use]
pub fn whole(value: f64) -> String {
    if !value.is_finite() || value.abs() >= 1e15 {
        return format!("{value:.1e}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" {
        format!("-{text}")
    } else {
        text
    }
}

/// A span of time with its unit and three or four digits: `350 ms`, `1.52 s`, `458.8 s`.
#[must_use]
pub fn secs(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "?".into(),
        0.0 => "0 s".into(),
        v if v < 1.0 => format!("{:.0} ms", value * 1000.0),
        v if v < 100.0 => format!("{} s", trimmed(&format!("{value:.2}"))),
        v if v < 10_000.0 => format!("{} s", trimmed(&format!("{value:.1}"))),
        _ => format!("{} s", whole(value)),
    }
}

/// Decimals without zeros at their end.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches('0').trim_end_matches('.')
}

/// A ratio: `2.43 ×`.
#[must_use]
pub fn times(value: f64) -> String {
    format!("{value:.2} ×")
}

/// A share of 1 in per cent: `47 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `1 restart`, `2 restarts`.
#[must_use]
pub fn count(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// A count with its thousands apart.
#[must_use]
#[allow(clippy::cast_precision_loss)] // counts far below 2^52
pub fn thousands(n: u64) -> String {
    whole(n as f64)
}

/// A percentile; `None` with too few samples.
#[must_use]
pub fn percentile(value: Percentile) -> Option<String> {
    match value {
        Percentile::Secs(v) => Some(secs(v)),
        Percentile::Over { over } => Some(format!("> {}", secs(over))),
        Percentile::TooFew => None,
    }
}

/// An RFC 3339 time without what follows its seconds but the zone; what is no such time as it is.
#[must_use]
pub fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, rest)) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{seconds}{zone}")
        }
        None => time.to_owned(),
    }
}

pub use host::terminal::clean;

/// The first line of a text that says something, and the last if it is another.
#[must_use]
pub fn first_and_last(text: &str) -> (&str, Option<&str>) {
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    (lines.next().unwrap_or_default(), lines.next_back())
}

/// An error in one line: its sentence, and of the lines of a log that may follow the last one, which says most.
#[must_use]
pub fn in_one_line(error: &str) -> String {
    let (first, last) = first_and_last(error);
    let first = clean(first);
    match last {
        None => first,
        Some(last) => {
            let last = clean(&short(last, 240));
            match first.strip_suffix(':') {
                Some(first) => format!("{first} end in: {last}"),
                None => format!("{first} … {last}"),
            }
        }
    }
}

/// At most `longest` characters of `text`, the cut marked.
#[must_use]
pub fn short(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(longest.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The words of `text`, a unit and the number before it as one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let unit = word.trim_end_matches([',', ';', '.', ')', ':']);
        match words.last_mut() {
            Some(number) if ["s", "ms", "%", "×", "card·s"].contains(&unit) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks `text` between words into lines no wider than `room`, at most `most` of them; what is left over is cut off
/// and the cut marked.
#[must_use]
pub fn wrap(text: &str, size: f64, bold: bool, room: i32, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // A word that no line could hold, such as a hostile name, is cut.
    for word in words(&clean(text)).into_iter().map(|w| short(&w, 60)) {
        let full = lines.len() == most;
        match lines.last_mut() {
            Some(last) if width(&format!("{last} {word}"), size, bold) <= room => {
                last.push(' ');
                last.push_str(&word);
            }
            Some(last) if full => {
                last.push('…');
                break;
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let all = [0.0, 999.4, 18352.0, -1234.0, -0.2, 1e18].map(whole);
        assert_eq!(all, ["0", "999", "18,352", "-1,234", "0", "1.0e18"]);
        let all = [0.0, 0.35, 1.52, 90.0, 458.8, 20_000.0, f64::NAN].map(secs);
        assert_eq!(
            all,
            [
                "0 s", "350 ms", "1.52 s", "90 s", "458.8 s", "20,000 s", "?"
            ]
        );
        assert_eq!(count(1, "restart"), "1 restart");
        assert_eq!(count(1200, "restart"), "1,200 restarts");
        assert_eq!(
            percentile(Percentile::Over { over: 90.0 }).as_deref(),
            Some("> 90 s")
        );
    }

    #[test]
    fn an_error_with_a_log_is_its_sentence_and_the_last_line() {
        assert_eq!(in_one_line("no disk"), "no disk");
        assert_eq!(
            in_one_line(
                "etcd exited; the last lines of /tmp/etcd.log:\nstarting\npanic: no disk\n\n"
            ),
            "etcd exited; the last lines of /tmp/etcd.log end in: panic: no disk"
        );
    }

    #[test]
    fn times_are_shown_to_the_second() {
        let cut = [
            "2026-11-29T17:23:13.565564373Z",
            "2026-01-01T00:00:00Z",
            "x",
        ]
        .map(to_the_second);
        assert_eq!(cut, ["2026-11-29T17:23:13Z", "2026-01-01T00:00:00Z", "x"]);
    }

    #[test]
    fn long_titles_wrap_and_hostile_ones_are_cut() {
        let lines = wrap("one two three four five six", 40.0, true, 250, 9);
        assert!(lines.len() > 1, "{lines:?}");
        assert_eq!(lines.join(" "), "one two three four five six");
        let lines = wrap(&"word ".repeat(500), 40.0, true, 1100, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].ends_with('…'), "{lines:?}");
        assert_eq!(
            words("in 90 s (2.43 × or 47 %)."),
            ["in", "90 s", "(2.43 ×", "or", "47 %)."]
        );
        assert_eq!(wrap("a\u{1b}[31mb", 40.0, true, 1100, 3), ["a [31mb"]);
    }
}
