//! Lines of text: cut to a length, cleaned of what a terminal would obey, made one of many.

pub use host::terminal::clean;

/// An RFC 3339 time without what follows its seconds but the zone; what is no such time as it is.
pub fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, rest)) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{seconds}{zone}")
        }
        None => time.to_owned(),
    }
}

/// The most characters of an error in one line.
const ERROR: usize = 240;

/// An error in one line: its sentence, and of the lines of a log that may follow the last one, which says most.
pub fn in_one_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim).filter(|l| !l.is_empty());
    let first = lines.next().unwrap_or_default();
    let line = match (first.strip_suffix(':'), lines.next_back()) {
        (Some(said), Some(last)) => {
            let said = said.split_once("; the last lines of").map_or(said, |s| s.0);
            format!("{said}: {last}")
        }
        (None, Some(last)) => format!("{first} … {last}"),
        (_, None) => first.to_owned(),
    };
    short(&clean(&line), ERROR)
}

/// At most `longest` characters of `text`, the cut marked.
pub fn short(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(longest.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The command line as a shell takes it.
pub fn shell(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let quoted = command.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_the_end_of_the_log_that_follows_it() {
        assert_eq!(in_one_line("no disk"), "no disk");
        assert_eq!(
            in_one_line(
                "etcd exited; the last lines of /tmp/etcd.log:\nstarting\npanic: no disk\n\n"
            ),
            "etcd exited: panic: no disk"
        );
        assert_eq!(in_one_line(&"x".repeat(900)).chars().count(), ERROR);
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
    fn commands_are_quoted_for_a_shell() {
        let words = ["headroom", "bench", "it's", "", "a b", "--x=1"].map(String::from);
        assert_eq!(shell(&words), r"headroom bench 'it'\''s' '' 'a b' --x=1");
    }
}
