//! As much of Markdown as the documents use: blocks, code spans, links, headings.

use std::collections::{BTreeMap, BTreeSet};

/// Languages of fenced blocks that hold commands or files.
const COMMANDS: [&str; 4] = ["sh", "yaml", "json", "rust"];

/// A document block by block: a row of a table, a heading, a line of a fenced block, else a paragraph in one line.
pub fn blocks(text: &str) -> Vec<(Fence, String)> {
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
pub fn unfenced(text: &str) -> Vec<String> {
    let own = blocks(text).into_iter();
    own.filter(|(fence, _)| *fence == Fence::None)
        .map(|(_, block)| block)
        .collect()
}

/// Where a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// In no block.
    None,
    /// In a block of commands or of a file, or a fence itself.
    Code,
    /// In a block of what a program printed.
    Text,
}

/// A block in parts: code spans without their backticks, and the rest.
pub fn spans(line: &str) -> (String, Vec<&str>) {
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
pub fn links(prose: &str) -> Vec<&str> {
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
pub fn shown(prose: &str) -> String {
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
pub fn anchors(text: &str) -> BTreeSet<String> {
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

#[test]
fn a_link_is_found_in_text_and_not_in_code() {
    let found = |text: &str| links(&spans(text).0).join(" ");
    assert_eq!(
        found("![a](b.png) and [c d](e.md#f), [g](<h.md>)"),
        "b.png e.md#f h.md"
    );
    assert_eq!(found("`[a](b.md)` and [`c`](d.md)"), "d.md");
}

#[test]
fn a_paragraph_is_one_block_and_a_fence_none() {
    let text = "a\nb\n\n| c |\n| d |\n# e\n\n```sh\nf\n```\ng\n";
    assert_eq!(unfenced(text), ["a b", "| c |", "| d |", "# e", "g"]);
}
