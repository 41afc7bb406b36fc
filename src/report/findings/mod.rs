//! What a session found, in plain sentences computed from its figures.
//!
//! - [`arm`]: what one of its arms found

mod arm;

use self::arm::Arm;
use crate::charts::Material;
use crate::charts::text::count;
use crate::run_folder::HamiKind;

/// The findings, the most important first.
#[must_use]
pub fn findings(material: &Material) -> Vec<String> {
    let arms = material.arms();
    let mut all = Vec::new();
    if !material.session.summary.meaning.is_empty() {
        let meaning = material.session.summary.meaning.trim_end_matches('.');
        all.push(format!("In short: {meaning}."));
    }
    for arm in &material.session.summary.arms {
        let verdict = match arm.shape_holds {
            Some(true) => "The published shape was seen again",
            Some(false) => "The published shape was not seen again",
            None => continue,
        };
        let count = |holds| arm.claims.iter().filter(|c| c.holds == holds).count();
        let (held, judged) = (count(Some(true)), arm.claims.len() - count(None));
        let open = match count(None) {
            0 => String::new(),
            n => format!(", {n} cannot be judged"),
        };
        let sentence = format!("{verdict}: {held} of {judged} claims hold{open}.");
        all.push(of_arm(&arm.name, sentence, arms.len()));
    }
    for arm in &arms {
        for sentence in Arm::of(material, arm).sentences() {
            all.push(of_arm(arm, sentence, arms.len()));
        }
    }
    all.extend(trust(material));
    all
}

/// A sentence with its arm before it, where there are several. Teams' names are lower case anyway.
fn of_arm(arm: &str, sentence: String, arms: usize) -> String {
    if arms < 2 {
        return sentence;
    }
    let mut rest = sentence.chars();
    let first = rest.next().map(|c| c.to_lowercase().to_string());
    format!("{arm}: {}{}", first.unwrap_or_default(), rest.as_str())
}

/// What a reader must know before believing the rest.
fn trust(material: &Material) -> Vec<String> {
    let summary = &material.session.summary;
    let mut all = Vec::new();
    if summary.hami.source == HamiKind::Builtin {
        all.push("Not HAMi itself but headroom's built-in stand-in placed the pods.".to_owned());
    }
    if summary.quick {
        all.push("A quick first look: times are compressed so much that the control plane's share dominates.".to_owned());
    }
    let disturbed = summary
        .runs
        .iter()
        .filter(|r| !r.disturbed.is_empty())
        .count();
    let runs = summary.runs.len();
    all.push(match (disturbed, runs) {
        (_, 0) => "No run of the session came to its end.".to_owned(),
        (0, n) => format!(
            "Undisturbed: host and harness were in order in {}.",
            count(n as u64, "run")
        ),
        (d, n) => format!(
            "Disturbed: host or harness failed in {d} of {}; see the warnings.",
            count(n as u64, "run")
        ),
    });
    all
}
