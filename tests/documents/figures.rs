//! The figures of a document: its numbers with their units, and those that one language has and the other does not.

use std::collections::BTreeSet;

use super::markdown::{Fence, blocks, shown, spans};

/// A number with its unit, in one spelling for both languages: `1177 card-s`, `52 %`, `v2.10.0`.
type Figure = String;

/// Units by their spellings.
const UNITS: [(&str, &[&str]); 9] = [
    ("card-s", &["card-seconds", "卡·秒"]),
    ("ms", &["ms", "毫秒"]),
    ("min", &["minutes", "minute", "min", "分钟"]),
    ("h", &["hours", "hour", "h", "小时"]),
    ("s", &["seconds", "second", "s", "秒"]),
    ("%", &["%", "%"]),
    ("×", &["×", "times", "倍"]),
    ("MiB", &["MiB"]),
    ("GB", &["GB"]),
];

/// The figures of a block.
fn figures(line: &str) -> Vec<Figure> {
    let line = shown(&spans(line).0);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = line[at..].find(|c: char| c.is_ascii_digit()) {
        let start = at + next;
        let (number, rest) = number(&line[start..]);
        let before = line[..start].trim_end_matches(|c: char| c.is_ascii_alphabetic());
        at = line.len() - rest.len();
        match &line[before.len()..start] {
            "" => {
                let figure = format!("{} {}", number.replace(',', ""), unit(rest));
                found.push(figure.trim_end().to_owned());
            }
            "v" => found.push(format!("v{number}")),
            // p95, x86: a name.
            _ => (),
        }
    }
    found
}

/// The number at the start of `text`, with thousands separators and inner dots, and what follows.
fn number(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    // 1,177 but not "53, 53" or "5,10".
    while bytes.get(end) == Some(&b',') && digits(end + 1) == 3 {
        end += 4;
    }
    while bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    text.split_at(end)
}

/// The unit at the start of `text`; empty if there is none.
fn unit(text: &str) -> &'static str {
    let word = text.trim_start_matches([' ', '\u{a0}']);
    let is_there = |spelling: &str| {
        word.strip_prefix(spelling).is_some_and(|after| {
            let ends_in_letter = spelling.ends_with(|c: char| c.is_ascii_alphabetic());
            let goes_on = after.starts_with(|c: char| c.is_ascii_alphanumeric());
            !(ends_in_letter && goes_on)
        })
    };
    let found = UNITS
        .iter()
        .find(|(_, spellings)| spellings.iter().any(|s| is_there(s)));
    found.map_or("", |(unit, _)| unit)
}

/// A part of a document, from a heading of the second level to the next.
#[derive(Debug, Default)]
struct Part {
    title: String,
    /// Row by row: rows keep their order in every language, their words need not.
    rows: Vec<(String, Vec<Figure>)>,
    /// Of the prose: one language may say a figure twice.
    prose: BTreeSet<Figure>,
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    for (fence, block) in blocks(text) {
        if fence == Fence::None && block.starts_with("## ") {
            parts.push(Part {
                title: block.clone(),
                ..Part::default()
            });
        }
        let part = parts.last_mut().expect("the first part at least");
        if fence == Fence::None && block.starts_with('|') {
            let mut found = figures(&block);
            found.sort();
            part.rows.push((block, found));
        } else if fence != Fence::Code {
            part.prose.extend(figures(&block));
        }
    }
    parts
}

/// What one language says and the other does not.
pub fn differences(one: &str, other: &str) -> Vec<String> {
    let (one, other) = (parts(one), parts(other));
    let mut found = Vec::new();
    if one.len() != other.len() {
        found.push(format!("{} and {} sections", one.len(), other.len()));
    }
    for (a, b) in one.iter().zip(&other) {
        let at = format!("{:?} / {:?}", a.title, b.title);
        for (missing, of, side) in [
            (&a.prose, &b.prose, "second"),
            (&b.prose, &a.prose, "first"),
        ] {
            for figure in missing.difference(of) {
                found.push(format!("{at}: {figure:?} is not in the {side}"));
            }
        }
        if a.rows.len() != b.rows.len() {
            found.push(format!("{at}: {} and {} rows", a.rows.len(), b.rows.len()));
        }
        for ((row, figures), (other_row, others)) in a.rows.iter().zip(&b.rows) {
            if figures != others {
                found.push(format!(
                    "{at}: {figures:?} and {others:?} in\n  {row}\n  {other_row}"
                ));
            }
        }
    }
    found
}

#[test]
fn a_figure_is_the_same_in_both_languages() {
    for (english, chinese) in [
        ("1,177 card-seconds more", "多出 1,177 卡·秒"),
        ("1177 card-seconds", "1,177卡·秒"),
        ("52 % of it", "其中的 52%"),
        ("after 2.9 s (3.2 s)", "2.9 秒后(3.2 秒)"),
        ("9 min 24 s, 1 h", "9 分钟 24 秒,1 小时"),
        ("3.2 times as long; 0.79 × as long", "3.2 倍;0.79倍"),
        ("4.8/23.4 ms", "4.8/23.4 毫秒"),
        ("HAMi v2.10.0 at 100/200", "100/200 下的 HAMi v2.10.0"),
        ("5 shares of 0 to 17 %", "0–17% 的 5 份"),
    ] {
        let sorted = |text| {
            let mut found = figures(text);
            found.sort();
            found
        };
        assert_eq!(sorted(english), sorted(chinese), "{english}");
        assert!(!figures(english).is_empty(), "{english}");
    }
}

#[test]
fn a_figure_is_a_number_with_its_unit() {
    assert_eq!(figures("p95 of `stall-15`: [1](a-2.md)"), ["1"]);
    assert_eq!(figures("53, 53 and 5,10"), ["53", "53", "5", "10"]);
    assert_eq!(
        figures("took 1.000. Then 8 × 8192 MiB"),
        ["1.000", "8 ×", "8192 MiB"]
    );
    assert_eq!(
        figures("451.8–453.7 s, 16 hosts, 3 s"),
        ["451.8", "453.7 s", "16", "3 s"]
    );
    assert_ne!(figures("52 %"), figures("52"));
    assert_ne!(figures("1.0 s"), figures("1.0 ms"));
    assert_ne!(figures("1,177"), figures("1,178"));
}

#[test]
fn a_figure_in_one_language_only_is_named() {
    let english = "# A\n\nIt took 12\ns.\n\n## B\n\n| a | 1 s |\n| b | 2 s |\n\nAnd 3 %.\n\n```\nratio 1.5\n```\n\n```sh\nrun 9\n```\n";
    let chinese = "# 甲\n\n用了 12 秒。\n\n## 乙\n\n| 甲 | 1 秒 |\n| 乙 | 2 秒 |\n\n另有 3%。\n\n```\nratio 1.5\n```\n";
    assert_eq!(differences(english, chinese), Vec::<String>::new());
    for (from, to, named) in [
        ("12 秒", "13 秒", "\"12 s\" is not in the second"),
        ("12 秒", "13 秒", "\"13 s\" is not in the first"),
        ("另有 3%", "另有", "\"3 %\" is not in the second"),
        ("ratio 1.5", "ratio 1.6", "\"1.5\" is not in the second"),
        ("| 乙 | 2 秒 |", "| 乙 | 1 秒 |", "[\"2 s\"] and [\"1 s\"]"),
        ("| 乙 | 2 秒 |\n", "", "2 and 1 rows"),
        ("## 乙", "### 乙", "2 and 1 sections"),
    ] {
        let changed = chinese.replacen(from, to, 1);
        let found = differences(english, &changed);
        assert!(
            found.iter().any(|d| d.contains(named)),
            "{named}: {found:?}"
        );
    }
    // A figure of another section does not stand in for one.
    let moved = chinese
        .replace("用了 12 秒", "用了")
        .replace("另有", "12 秒,另有");
    assert!(!differences(english, &moved).is_empty());
}
