//! When the controls of claims last failed them: what earlier sessions of the same experiment saw.

use std::collections::BTreeMap;

use crate::run_folder::{ArmSummary, Session};

/// A claim in words and its control's arm, and when the session began in which it last failed there.
#[derive(Debug, Default)]
pub struct Earlier(BTreeMap<(String, String), String>);

impl Earlier {
    /// Looks into sessions, in the order in which they began.
    #[must_use]
    pub fn of<'a>(experiment: &str, sessions: impl IntoIterator<Item = &'a Session>) -> Self {
        let mut seen = BTreeMap::new();
        for summary in sessions.into_iter().map(|session| &session.summary) {
            if summary.experiment != experiment || summary.quick {
                continue;
            }
            for claim in summary.arms.iter().flat_map(|arm| &arm.claims) {
                let control = claim.control.as_ref();
                if let Some(control) =
                    control.filter(|c| c.holds == Some(false) && c.seen.is_none())
                {
                    let key = (claim.claim.clone(), control.arm.clone());
                    seen.insert(key, summary.started.clone());
                }
            }
        }
        Self(seen)
    }

    /// Says of each claim whose control did not run when it last failed the claim.
    pub fn recall(&self, arms: &mut [ArmSummary]) {
        for claim in arms.iter_mut().flat_map(|arm| &mut arm.claims) {
            if let Some(control) = claim.control.as_mut().filter(|c| c.holds.is_none())
                && let Some(seen) = self.0.get(&(claim.claim.clone(), control.arm.clone()))
            {
                control.holds = Some(false);
                control.reason.clear();
                control.seen = Some(seen.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::full;
    use crate::run_folder::{Claim, Control, Summary};

    fn session(started: &str, holds: Option<bool>) -> Session {
        let mut summary = Summary {
            started: started.into(),
            ..full()
        };
        let mut arm = summary.arms.pop().unwrap_or_else(|| ArmSummary {
            name: "cards".into(),
            runs: 1,
            metrics: BTreeMap::new(),
            placements: None,
            published: BTreeMap::new(),
            claims_hold: None,
            reason: String::new(),
            claims: vec![],
        });
        arm.claims = vec![Claim {
            claim: "one at a time".into(),
            holds: Some(true),
            reason: String::new(),
            runs: Some(1),
            disturbed_runs: 0,
            control: Some(Control {
                arm: "memory".into(),
                holds,
                reason: "3 at once".into(),
                seen: None,
            }),
        }];
        summary.arms = vec![arm];
        Session {
            dir: started.into(),
            summary,
        }
    }

    #[test]
    fn the_last_session_that_saw_a_control_fail_its_claim_is_named() {
        let before = [
            session("2026-11-01T00:00:00Z", Some(false)),
            session("2026-11-02T00:00:00Z", Some(false)),
            session("2026-11-03T00:00:00Z", Some(true)),
        ];
        let experiment = before[0].summary.experiment.clone();
        let mut now = session("2026-12-01T00:00:00Z", None).summary.arms;
        Earlier::of("another", &before).recall(&mut now);
        assert!(now[0].claims[0].can_fail().starts_with("not shown"));
        Earlier::of(&experiment, &before).recall(&mut now);
        let words = now[0].claims[0].can_fail();
        assert_eq!(
            words,
            "its control, arm memory, last failed it on 2026-11-02"
        );
        let mut own = session("2026-12-01T00:00:00Z", Some(true)).summary.arms;
        Earlier::of(&experiment, &before).recall(&mut own);
        assert_eq!(own[0].claims[0].control.as_ref().unwrap().holds, Some(true));
    }
}
