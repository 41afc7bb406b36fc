//! What ends a session: what its runs say together. Pure: from a [`Summary`] to text.

use std::fmt::Write as _;

use crate::text::{number, spread_of};
use plan::metric::MetricKey;
use results::run_folder::{FailedRun, Summary};

/// Renders what the session's runs say together: for each arm its metrics over the repeats beside those published, and
/// whether the published claims hold.
#[must_use]
pub fn verdicts(session: &Summary) -> String {
    let mut text = String::new();
    for arm in &session.arms {
        let _ = writeln!(
            text,
            "arm {} ({} run{})",
            arm.name,
            arm.runs,
            if arm.runs == 1 { "" } else { "s" }
        );
        for (name, published) in &arm.published {
            let Ok(key) = name.parse::<MetricKey>() else {
                continue;
            };
            let unit = key.row().unit;
            let measured = arm.metrics.get(name).and_then(|of| spread_of(unit, of));
            let measured = measured.unwrap_or_else(|| "nothing".into());
            let published = number(unit, *published);
            let _ = writeln!(
                text,
                "  {}: measured {measured}, published {published}",
                key.words()
            );
        }
        if let Some(placements) = &arm.placements {
            let _ = writeln!(text, "  {}", placements.sentence());
        }
        for claim in &arm.claims {
            let mark = match claim.holds {
                Some(true) => "yes",
                Some(false) => "NO ",
                None => "?  ",
            };
            let _ = writeln!(text, "  {mark} {} ({})", claim.claim, claim.reason);
            let _ = writeln!(text, "      {}", claim.can_fail());
        }
    }
    if !session.meaning.is_empty() {
        let _ = writeln!(text, "in short: {}", session.meaning);
    }
    for run in &session.failed {
        let _ = writeln!(text, "FAILED {}", of_failed(run));
    }
    text
}

/// A run that failed, in a sentence; last lines of a component's log may follow.
#[must_use]
pub fn of_failed(run: &FailedRun) -> String {
    let FailedRun {
        arm,
        repeat,
        folder,
        error,
    } = run;
    format!("arm {arm}, repeat {repeat} (what it recorded is in {folder}): {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::fixtures::full;
    use results::run_folder::{ArmSummary, Claim, Percentile, Spread};

    #[test]
    fn repeats_are_a_median_with_their_range_beside_what_was_published() {
        let [min, median, max] = [1.5, 2.0, 3.0].map(Percentile::Secs);
        let arm = ArmSummary {
            name: "spread".into(),
            runs: 3,
            metrics: [(
                "small.tenth.bind_latency_p95_secs".into(),
                Spread { median, min, max },
            )]
            .into(),
            placements: None,
            published: [("small.tenth.bind_latency_p95_secs".into(), 4.97)].into(),
            claims_hold: Some(false),
            reason: String::new(),
            claims: vec![Claim {
                claim: "small tasks wait".into(),
                holds: Some(false),
                reason: "2 is less than 4".into(),
                runs: Some(1),
                disturbed_runs: 0,
                control: None,
            }],
        };
        let session = Summary {
            arms: vec![arm.clone()],
            meaning: "pack them".into(),
            ..full()
        };
        let text = verdicts(&session);
        for part in [
            "arm spread (3 runs)",
            "small tenth: bind latency, p95: measured 2 s (1.5 s – 3 s), published 4.97 s",
            "NO  small tasks wait (2 is less than 4)",
            "in short: pack them",
            "FAILED arm default, repeat 2 (what it recorded is in default-2): etcd does not answer",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let spread = Spread {
            median,
            min: median,
            max: median,
        };
        let metrics = [("small.tenth.bind_latency_p95_secs".into(), spread)].into();
        let one = Summary {
            arms: vec![ArmSummary {
                runs: 1,
                metrics,
                ..arm
            }],
            ..session
        };
        assert!(verdicts(&one).contains("measured 2 s, published"));
    }
}
