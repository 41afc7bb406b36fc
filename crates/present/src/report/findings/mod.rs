//! What a session found, in plain sentences computed from its metrics.
//!
//! - [`arm`]: what one of its arms found

mod arm;

use self::arm::Arm;
use super::article::was_published;
use crate::charts::Material;
use crate::text::{count, in_one_line};
use plan::HamiKind;
use results::run_folder::{ArmSummary, Claim, FailedRun};

/// The findings, the most important first.
pub fn findings(material: &Material) -> Vec<String> {
    let arms = material.arms();
    let mut all = Vec::new();
    if !material.session.summary.meaning.is_empty() {
        let meaning = material.session.summary.meaning.trim_end_matches('.');
        all.push(format!("In short: {meaning}."));
    }
    for failed in &material.session.summary.failed {
        all.push(failed_run(failed));
    }
    let published = was_published(material);
    for arm in &material.session.summary.arms {
        let verdict = verdict(arm, published);
        all.extend(verdict.map(|sentence| of_arm(&arm.name, sentence, arms.len())));
        all.extend(arm.claims.iter().filter_map(|claim| doubted(arm, claim)));
    }
    for arm in &arms {
        for sentence in Arm::of(material, arm).sentences() {
            all.push(of_arm(arm, sentence, arms.len()));
        }
    }
    all.extend(trust(material));
    all
}

/// How many claims about an arm hold; none where none was judged.
fn verdict(arm: &ArmSummary, published: bool) -> Option<String> {
    let verdict = match (published, arm.claims_hold?) {
        (true, true) => "The published claims hold again",
        (true, false) => "The published claims do not all hold again",
        (false, _) => "Claims of the file",
    };
    let count = |holds| arm.claims.iter().filter(|c| c.holds == holds).count();
    let (held, judged) = (count(Some(true)), arm.claims.len() - count(None));
    let open = match count(None) {
        0 => String::new(),
        n => format!(", {n} not judged"),
    };
    Some(format!("{verdict}: {held} of {judged} hold{open}."))
}

/// A claim that does not hold or was not judged, and why.
fn doubted(arm: &ArmSummary, claim: &Claim) -> Option<String> {
    let verdict = match claim.holds {
        Some(true) => return None,
        Some(false) => "Does not hold",
        None => "Not judged",
    };
    let claimed = claim.claim.trim_end_matches('.');
    Some(format!(
        "{verdict} in arm {}: {claimed} ({}).",
        arm.name, claim.reason
    ))
}

/// A run that failed.
fn failed_run(run: &FailedRun) -> String {
    format!(
        "Arm {}, repeat {}, failed: {}.",
        run.arm,
        run.repeat,
        in_one_line(&run.error).trim_end_matches('.')
    )
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
        all.push("headroom's built-in extender bound the pods, not HAMi itself.".to_owned());
    }
    if summary.quick {
        all.push("A quick first look: at this compression the control plane's share dominates every time.".to_owned());
    }
    let disturbed = summary
        .runs
        .iter()
        .filter(|r| !r.disturbed.is_empty())
        .count();
    let runs = summary.runs.len();
    all.push(match (disturbed, runs) {
        (_, 0) => "No run of the session was completed.".to_owned(),
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
