//! The result as Markdown, for a bug report.

use std::fmt::Write as _;

use super::compare::{Summary, Verdict};
use super::counted::COUNTS;
use super::latency::{Latency, Shown};
use super::record::Session;

/// How many differences of a scenario are shown. The record has them all.
const SHOWN: usize = 8;

/// The whole report.
#[must_use]
pub fn markdown(session: &Session) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(text, "# Conformance\n");
    for (letter, side) in ["A", "B"].iter().zip(&session.sides) {
        let _ = writeln!(text, "- {letter}: {}", side.label());
    }
    if let Some(against) = &session.against {
        let _ = writeln!(
            text,
            "- A is what was recorded in {against}; it was not played here"
        );
    }
    let _ = writeln!(
        text,
        "- headroom {}, {}\n",
        session.headroom, session.started
    );
    if session.verdicts.is_empty() {
        let _ = writeln!(text, "Nothing was compared.");
        return text;
    }
    text.push_str(&scenarios(&session.verdicts));
    text.push_str(&differences(&session.verdicts));
    text.push_str(&latency(&session.latency));
    text.push_str(&conclusion(session));
    text
}

fn scenarios(verdicts: &[Verdict]) -> String {
    let mut text = String::from(
        "| scenario | judged | plays A / B | pods bound A / B | attempts A / B | API calls A / B | |\n|---|---|---|---|---|---|---|\n",
    );
    for verdict in verdicts {
        let [a, b] = &verdict.first;
        let pair = |take: fn(&Summary) -> String| {
            let of = |s: &Option<Summary>| s.as_ref().map_or_else(|| "-".to_owned(), take);
            let (a, b) = (of(a), of(b));
            if a == b { a } else { format!("{a} / {b}") }
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} / {} | {} | {} | {} | {} |",
            verdict.scenario,
            if verdict.loosely.is_some() {
                "counts"
            } else {
                "exactly"
            },
            verdict.plays[0],
            verdict.plays[1],
            pair(|s| format!("{} of {}", s.bound, s.pods)),
            pair(|s| s.attempts.to_string()),
            pair(|s| s.calls.to_string()),
            if verdict.equivalent {
                "same"
            } else {
                "**differs**"
            },
        );
    }
    text.push('\n');
    let loose: Vec<String> = verdicts
        .iter()
        .filter_map(|v| Some(format!("- {}: {}", v.scenario, v.loosely.as_ref()?)))
        .collect();
    if !loose.is_empty() {
        let margins: Vec<String> = COUNTS
            .iter()
            .map(|(name, margin, _)| {
                let (part, least) = (margin.part * 100.0, margin.at_least);
                match (part > 0.0, least > 0.0) {
                    (false, false) => format!("{name} equal"),
                    (false, true) => format!("{name} ± {least}"),
                    (true, _) => format!("{name} ± {part:.0} % or {least}"),
                }
            })
            .collect();
        let _ = writeln!(
            text,
            "Judged by counts, because a real HAMi differs from itself there; means over the plays: {}.\n\n{}\n",
            margins.join(", "),
            loose.join("\n")
        );
    }
    let varies: Vec<String> = verdicts
        .iter()
        .filter(|v| !v.varies.is_empty())
        .map(|v| format!("- {}: {}", v.scenario, v.varies.join(", ")))
        .collect();
    if !varies.is_empty() {
        let _ = writeln!(
            text,
            "Where A differed between its own plays, B had to do one of the things that A did:\n\n{}\n",
            varies.join("\n")
        );
    }
    text
}

fn differences(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|v| !v.differences.is_empty()) {
        let _ = writeln!(
            text,
            "## {}\n\n| | A | B |\n|---|---|---|",
            verdict.scenario
        );
        for difference in verdict.differences.iter().take(SHOWN) {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                difference.what,
                cell(&difference.first),
                cell(&difference.second)
            );
        }
        let more = verdict.differences.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "\n… and {more} more, in the record.");
        }
        text.push('\n');
    }
    text
}

fn cell(values: &[String]) -> String {
    values.join(" or ").replace('|', "\\|").replace('\n', " ")
}

fn latency(latency: &[Latency]) -> String {
    if latency.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "| scheduling latency | n A / B | median A / B, s | B − A, 90 % interval, s | margin, s | |\n|---|---|---|---|---|---|\n",
    );
    for l in latency {
        let _ = writeln!(
            text,
            "| {} | {} / {} | {:.3} / {:.3} | {:+.3} to {:+.3} | ± {:.2} | {} |",
            l.class,
            l.n[0],
            l.n[1],
            l.median_secs[0],
            l.median_secs[1],
            l.difference_secs[0],
            l.difference_secs[1],
            l.margin_secs,
            match l.shown {
                Shown::Equivalent => "equivalent".to_owned(),
                Shown::Different => "**differs**".to_owned(),
                Shown::Undecided => "**undecided**: more plays would decide".to_owned(),
                Shown::NotJudged => format!("not judged below n = {}", l.at_least),
            }
        );
    }
    text.push('\n');
    text
}

/// Whether nothing differs and only latencies are open.
fn is_undecided(session: &Session) -> bool {
    let mut latencies = session.latency.iter();
    session.verdicts.iter().all(|v| v.equivalent) && latencies.all(|l| l.shown != Shown::Different)
}

fn conclusion(session: &Session) -> String {
    let same = session.verdicts.iter().filter(|v| v.equivalent).count();
    let all = session.verdicts.len();
    let verdict = match session.equivalent {
        Some(true) => "Equivalent",
        Some(false) if is_undecided(session) => "**Not shown to be equivalent**",
        Some(false) => "**Not equivalent**",
        None => "Interrupted, so there is no verdict",
    };
    let judged = |l: &&Latency| l.shown != Shown::NotJudged;
    let (judged, within) = (
        session.latency.iter().filter(judged).count(),
        session
            .latency
            .iter()
            .filter(|l| l.shown == Shown::Equivalent)
            .count(),
    );
    format!(
        "{verdict}: {same} of {all} scenarios came out the same; of {judged} latencies judged, {within} are within their margin.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::compare::{Difference, Summary};
    use super::super::record::SCHEMA;
    use super::*;
    use plan::{HamiKind, HamiSource};

    #[test]
    fn a_difference_is_spelled_out_where_a_maintainer_looks_for_it() {
        let side = |version: &str| HamiSource {
            source: HamiKind::Binary,
            version: version.into(),
            sha256: "0123456789abcdef".into(),
        };
        let play = Summary {
            bound: 1,
            pods: 2,
            attempts: 2,
            calls: 9,
        };
        let verdict = Verdict {
            scenario: "lock-own".into(),
            loosely: None,
            plays: [2, 2],
            equivalent: false,
            differences: vec![Difference {
                what: "calls/get nodes".into(),
                first: vec!["3".into()],
                second: vec!["4".into(), "a|b".into()],
            }],
            varies: vec![],
            first: [Some(play.clone()), Some(Summary { calls: 10, ..play })],
        };
        let session = Session {
            schema: SCHEMA,
            headroom: "1.0.0".into(),
            started: "2026-01-02T03:04:05Z".into(),
            sides: vec![side("v1"), side("v2")],
            against: None,
            plays: vec![],
            verdicts: vec![verdict],
            latency: super::super::latency::compare("single pods", 20, &[0.1; 20], &[0.1; 20])
                .into_iter()
                .collect(),
            equivalent: Some(false),
        };
        let text = markdown(&session);
        for line in [
            "| lock-own | exactly | 2 / 2 | 1 of 2 | 2 | 9 / 10 | **differs** |",
            "| calls/get nodes | 3 | 4 or a\\|b |",
            "| single pods | 20 / 20 | 0.100 / 0.100 | +0.000 to +0.000 | ± 0.50 | equivalent |",
            "**Not equivalent**: 0 of 1 scenarios came out the same; of 1 latencies judged, 1 are within their margin.",
        ] {
            assert!(text.contains(line), "{line} is not in:\n{text}");
        }
    }
}
