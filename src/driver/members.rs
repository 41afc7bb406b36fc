//! The experiments of a round in the order in which they are submitted. Pure.

use crate::plan::workload::Group;
use crate::plan::{Round, Stage};

/// One experiment of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Member<'a> {
    /// Name of its Job or pod, unique within its team: `<stage>-<round>-<index>`, counted from 0.
    pub name: String,
    /// What it asks for.
    pub group: &'a Group,
}

/// The experiments of round `number` of `stage`, in submission order.
#[must_use]
pub fn members<'a>(stage: &Stage, number: usize, round: &'a Round) -> Vec<Member<'a>> {
    let mut order: Vec<&Group> = Vec::new();
    if round.interleave {
        let longest = round.groups.iter().map(|g| g.count).max().unwrap_or(0);
        for turn in 0..longest {
            order.extend(round.groups.iter().filter(|g| turn < g.count));
        }
    } else {
        for group in &round.groups {
            order.extend(std::iter::repeat_n(group, group.count as usize));
        }
    }
    order
        .into_iter()
        .enumerate()
        .map(|(index, group)| Member {
            name: format!("{}-{number}-{index:03}", stage.name),
            group,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Request, RoundStart, Via};

    fn group(count: u32, cards: u32) -> Group {
        Group {
            count,
            request: Request { cards, gpumem_mib: None, gpucores: None },
            run_secs: Some(1.0),
            via: Via::Job,
        }
    }

    fn cards(interleave: bool) -> Vec<u32> {
        let round = Round {
            start: RoundStart::AtSecs(0.0),
            groups: vec![group(1, 8), group(3, 1)],
            interleave,
        };
        let stage = Stage { name: "burst".into(), rounds: vec![round.clone()] };
        let members = members(&stage, 0, &round);
        assert_eq!(members[3].name, "burst-0-003");
        members.iter().map(|m| m.group.request.cards).collect()
    }

    #[test]
    fn groups_follow_each_other_or_take_turns() {
        assert_eq!(cards(false), [8, 1, 1, 1]);
        let round = Round {
            start: RoundStart::AtSecs(0.0),
            groups: vec![group(1, 8), group(2, 1), group(2, 2)],
            interleave: true,
        };
        let stage = Stage { name: "burst".into(), rounds: vec![round.clone()] };
        let order: Vec<u32> =
            members(&stage, 0, &round).iter().map(|m| m.group.request.cards).collect();
        assert_eq!(order, [8, 1, 2, 1, 2]);
    }
}
