//! docs/metrics.md, written from the catalogue.

use super::key::form;
use super::{Better, CATALOGUE, Phase, Repeats, Row, Scope, Use};

/// The document's text.
#[must_use]
pub fn document() -> String {
    let mut text = String::from(OPENING);
    for (title, about, scopes) in GROUPS {
        text += &format!("\n## {title}\n\n{about}\n\n");
        text += "| id | name | unit | better | repeats | use | what it is |\n|---|---|---|---|---|---|---|\n";
        let own = |row: &&Row| scopes.contains(&row.scope) && row.latency.is_none();
        text += &CATALOGUE.iter().filter(own).map(line).collect::<String>();
    }
    text += LATENCIES;
    for phase in Phase::ALL {
        let judged = CATALOGUE.iter().filter(|row| {
            row.used == Use::Judge && row.latency.is_some_and(|(own, _)| own == *phase)
        });
        let judged: Vec<String> = judged.map(|row| format!("`{}`", row.id)).collect();
        let judged = match judged.as_slice() {
            [] => "none".to_owned(),
            some => some.join(", "),
        };
        let (name, words, span) = (phase.name(), phase.words(), phase.span());
        text += &format!("| `{name}` | {words} | {span} | {judged} |\n");
    }
    text += OLD;
    for row in CATALOGUE {
        for old in row.aliases {
            text += &format!("| `{old}` | `{}` |\n", row.id);
        }
    }
    text
}

const OPENING: &str = "\
# Metrics

This page lists every metric that headroom knows. Look up here what a number means, in which unit it is, and by which name
an experiment file or a file of declared metrics asks for it. The page is written from the program's own catalogue
(`crates/plan/src/metric/catalogue.rs`); a test fails when the two differ, and `UPDATE_DOCS=1 cargo test -p headroom-plan
document` writes the page anew.

- *id*: the name in files, with what it is of: `shared.makespan_secs` is the makespan of team `shared`,
  `shared.whole-card.bound_count` counts the bound whole cards of that team.
- *better*: which way the metric should go. A dash: neither.
- *repeats*: how the runs of one arm become one value. The median of an even number of runs is the lower of the two in the
  middle. Pooled: all runs are counted together, because of a rare event the median of runs says nothing.
- *use*: *judge*: `expect` in an experiment file may name it, and it is compared. *compare*: a file of declared metrics
  may name it, and `headroom compare` shows it. *show*: it stands in tables and reports only.

A value that a run does not have is left out: too few samples, no audit log, or a run of an older headroom. A censored
value is printed as `> 90 s`: the wait had not ended when the observation did. One card held for one second is one
card-second.
";

const GROUPS: [(&str, &str, &[Scope]); 3] = [
    ("Of a run", "One value for each run.", &[Scope::Run]),
    (
        "Of a team",
        "One value for each team; where the id has a class, also one for each class of the team's requests.",
        &[Scope::Team, Scope::TeamAndClass],
    ),
    (
        "Of a component",
        "One value for each component, such as `hami` or `kueue`.",
        &[Scope::Component],
    ),
];

const LATENCIES: &str = "
## Of a class of requests: latencies

Each span gives four metrics for each class of each team's requests: `<team>.<class>.<span>_p50_secs`, `_p95_secs` (none
below 20 samples), `_p99_secs` (none below 100 samples) and `_max_secs`. All are seconds, and lower is better. Those that
begin at the intended submit time hide neither a late harness nor a stalled API server.

| span | name | from what to what | judged |
|---|---|---|---|
";

const OLD: &str = "
## Old ids

Files that use these are read as if they used today's, with a hint.

| old | today |
|---|---|
";

fn line(row: &Row) -> String {
    let better = match row.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Same => "same",
        Better::Neither => "–",
    };
    let repeats = match row.repeats {
        Repeats::Median => "median",
        Repeats::Pooled => "pooled",
        Repeats::Worst => "worst",
    };
    let used = match row.used {
        Use::Show => "show",
        Use::Compare => "compare",
        Use::Judge => "judge",
    };
    format!(
        "| `{}` | {} | {} | {better} | {repeats} | {used} | {} |\n",
        form(row).replace(" or ", "`, `"),
        row.name,
        row.unit.words(),
        row.definition
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_that_of_the_catalogue() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let text = document();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == text,
            "docs/metrics.md is out of date; run UPDATE_DOCS=1 cargo test -p headroom-plan document"
        );
        for row in CATALOGUE.iter().filter(|row| row.latency.is_none()) {
            assert!(
                text.contains(row.id) && text.contains(row.definition),
                "{}",
                row.id
            );
        }
    }
}
