//! The documents: links that lead somewhere, figures that are the same in both languages, and no word too many.
//!
//! In: every Markdown file of the repository. It reads files and nothing else, and runs without a cluster or a network.

mod figures;
mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use figures::differences;
use markdown::{anchors, links, spans, unfenced};

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
}
