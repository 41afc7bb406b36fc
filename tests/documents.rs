//! The documents: links that lead somewhere, figures that are the same in both languages, and no word too many.
//!
//! In: every Markdown file of the repository. It reads files and nothing else, and runs without a cluster or a network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// A document that is written in both languages.
const PAIRS: [(&str, &str); 2] = [
    ("README.md", "README.zh-CN.md"),
    ("docs/findings.md", "docs/findings.zh-CN.md"),
];

/// The most words in README.md, counted as `wc -w` does.
const README_WORDS: usize = 1500;

/// What no document says: it would be of one machine, or of a day to come.
const UNWANTED: [&str; 4] = ["TODO", "/work/", "/root/", "/home/"];

/// Folders of the repository. A code span that begins with one names a file or a folder that must be there.
const FOLDERS: [&str; 8] = [
    "components/",
    "crates/",
    "docs/",
    "kwok/",
    "manifests/",
    "schemas/",
    "src/",
    "tests/",
];

/// Languages of fenced blocks that hold commands or files.
const COMMANDS: [&str; 4] = ["sh", "yaml", "json", "rust"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown files, relative to the root. What git ignores is nobody's document: builds, own runs and own charts.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = folder.join(entry.file_name());
            let name = entry.file_name().to_string_lossy().into_owned();
            let ignored = name.starts_with('.')
                || path == Path::new("target")
                || folder == Path::new("runs") && name != "examples"
                || folder == Path::new("plots") && name != "README.md";
            if ignored {
                continue;
            }
            if entry.file_type().expect("a type").is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A document block by block: a row of a table, a heading, a line of a fenced block, else a paragraph in one line.
fn blocks(text: &str) -> Vec<(Fence, String)> {
    let mut fence = Fence::None;
    let mut all: Vec<(Fence, String)> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let opens = line.trim_start().strip_prefix("```");
        let here = match (fence, opens) {
            (Fence::None, Some(language)) => {
                fence = if COMMANDS.contains(&language.trim()) {
                    Fence::Code
                } else {
                    Fence::Text
                };
                Fence::Code
            }
            (_, Some(_)) => {
                fence = Fence::None;
                Fence::Code
            }
            _ => fence,
        };
        let alone = here != Fence::None || line.starts_with(['|', '#']);
        if line.trim().is_empty() {
            goes_on = false;
        } else if let Some((_, paragraph)) = all.last_mut().filter(|_| goes_on && !alone) {
            paragraph.push(' ');
            paragraph.push_str(line.trim());
        } else {
            all.push((here, line.to_owned()));
            goes_on = !alone;
        }
    }
    all
}

/// The blocks that are in no fence.
fn unfenced(text: &str) -> Vec<String> {
    let own = blocks(text).into_iter();
    own.filter(|(fence, _)| *fence == Fence::None)
        .map(|(_, block)| block)
        .collect()
}

/// Where a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    /// In no block.
    None,
    /// In a block of commands or of a file, or a fence itself.
    Code,
    /// In a block of what a program printed.
    Text,
}

/// A block in parts: code spans without their backticks, and the rest.
fn spans(line: &str) -> (String, Vec<&str>) {
    let mut prose = String::new();
    let mut code = Vec::new();
    for (i, part) in line.split('`').enumerate() {
        if i % 2 == 0 {
            prose.push_str(part);
        } else {
            prose.push(' ');
            code.push(part);
        }
    }
    (prose, code)
}

/// The targets of `[text](target)` and `![text](target)` in a block without code spans.
fn links(prose: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = prose;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let end = rest.find(')').unwrap_or(rest.len());
        let target = rest[..end].split_whitespace().next().unwrap_or_default();
        found.push(target.trim_start_matches('<').trim_end_matches('>'));
        rest = &rest[end..];
    }
    found
}

/// A block without the targets of its links.
fn shown(prose: &str) -> String {
    let mut text = String::new();
    let mut rest = prose;
    while let Some(at) = rest.find("](") {
        text.push_str(&rest[..=at]);
        let end = rest[at..].find(')').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    text + rest
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for line in unfenced(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let slug: String = shown(title.trim()).chars().filter(kept).collect();
        let slug = slug.to_lowercase().replace(' ', "-");
        let times = seen.entry(slug.clone()).or_default();
        all.insert(match *times {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *times += 1;
    }
    all
}

/// `path` from `folder`, with `.` and `..` resolved; `None` if it leaves the repository.
fn resolved(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir if !whole.pop() => return None,
            Component::ParentDir | Component::CurDir => (),
            Component::Normal(name) => whole.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(whole)
}

/// What is wrong with a link of the document at `path`.
fn broken(path: &Path, own_text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = path.parent().unwrap_or(Path::new(""));
    let to = match file {
        "" => path.to_owned(),
        file => match resolved(folder, file) {
            Some(to) if root().join(&to).exists() => to,
            Some(to) => return Some(format!("{target}: there is no {}", to.display())),
            None => return Some(format!("{target} leads out of the repository")),
        },
    };
    if anchor.is_empty() {
        return None;
    }
    let text = if to == path {
        own_text.to_owned()
    } else if to.extension().is_some_and(|end| end == "md") {
        read(&to)
    } else {
        return Some(format!("{target}: {} has no anchors", to.display()));
    };
    (!anchors(&text).contains(anchor)).then(|| format!("{target}: no heading makes #{anchor}"))
}

#[test]
fn the_readme_is_short() {
    let words = read(Path::new("README.md")).split_whitespace().count();
    assert!(
        words <= README_WORDS,
        "README.md has {words} words, {README_WORDS} at most"
    );
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for path in documents() {
        let text = read(&path);
        for line in unfenced(&text) {
            for target in links(&spans(&line).0) {
                if let Some(what) = broken(&path, &text, target) {
                    wrong.push(format!("{}: {what}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_that_is_named_is_there() {
    let mut wrong = Vec::new();
    for path in documents() {
        let text = read(&path);
        for line in unfenced(&text) {
            for span in spans(&line).1 {
                let named = FOLDERS.iter().any(|folder| span.starts_with(folder));
                // `<name>` and `…` stand for many.
                let one = !span.contains(['<', '…', ' ', '*', '{', ':']);
                if named && one && !root().join(span).exists() {
                    wrong.push(format!("{}: there is no {span}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_document_speaks_of_one_machine_or_of_another_day() {
    let mut wrong = Vec::new();
    for path in documents() {
        let text = read(&path);
        for (number, line) in (1..).zip(text.lines()) {
            for word in UNWANTED.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("{}:{number}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Crates of the workspace that the manifest at `path` depends on, tests aside.
fn imports(path: &Path, crates: &BTreeSet<String>) -> BTreeSet<String> {
    let text = read(path);
    let after = text.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let own = after.split("\n[").next().unwrap_or_default();
    let names = own.lines().filter_map(|line| line.split(['.', ' ']).next());
    names
        .filter(|name| crates.contains(*name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_architecture_says_who_imports_whom() {
    let crates: BTreeSet<String> = std::fs::read_dir(root().join("crates"))
        .expect("the crates")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let text = read(Path::new("docs/architecture.md"));
    // | `crate` | duty | imports |
    let rows: BTreeMap<&str, BTreeSet<String>> = text
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            let name = cells.first()?.trim().trim_matches('`');
            let imports = spans(cells.get(2)?).1.into_iter().map(str::to_owned);
            crates.contains(name).then(|| (name, imports.collect()))
        })
        .collect();
    for name in &crates {
        let manifest = Path::new("crates").join(name).join("Cargo.toml");
        assert_eq!(
            rows.get(name.as_str()),
            Some(&imports(&manifest, &crates)),
            "the row of {name} in docs/architecture.md, and {}",
            manifest.display()
        );
    }
}

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
fn differences(one: &str, other: &str) -> Vec<String> {
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
fn both_languages_have_the_same_figures() {
    let mut wrong = Vec::new();
    for (one, other) in PAIRS {
        for what in differences(&read(Path::new(one)), &read(Path::new(other))) {
            wrong.push(format!("{one}, {other}: {what}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn both_languages_lead_to_each_other_at_once() {
    for (one, other) in PAIRS {
        for (from, to) in [(one, other), (other, one)] {
            let text = read(Path::new(from));
            let name = Path::new(to)
                .file_name()
                .and_then(|n| n.to_str())
                .expect("a name");
            let mut first = text.lines().take(5).flat_map(links);
            assert!(
                first.any(|l| l == name),
                "{from} does not begin with a link to {to}"
            );
        }
    }
}

#[test]
fn the_files_that_are_to_be_found_are_found() {
    let found = documents();
    for name in [
        "README.md",
        "docs/findings.md",
        "runs/examples/page.md",
        "plots/README.md",
    ] {
        assert!(found.contains(&PathBuf::from(name)), "{name}: {found:?}");
    }
    assert!(!found.iter().any(|path| path.starts_with("target")));
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

#[test]
fn a_broken_link_is_seen() {
    let text = "# One two\n\n## `three`: it's 4\n\n## One two\n";
    let here = Path::new("docs/x.md");
    let check = |target| broken(here, text, target);
    for good in [
        "../README.md",
        "findings.md#how-to-check-a-number",
        "#one-two",
        "#one-two-1",
        "#three-its-4",
        "https://example.org/nowhere",
    ] {
        assert_eq!(check(good), None, "{good}");
    }
    for bad in [
        "README.md",
        "findings.md#nothing",
        "#one-two-2",
        "../../README.md",
        "../Cargo.toml#x",
    ] {
        assert!(check(bad).is_some(), "{bad}");
    }
    assert_eq!(
        links("![a](b.png) and [c d](e.md#f), [g](<h.md>)"),
        ["b.png", "e.md#f", "h.md"]
    );
}
