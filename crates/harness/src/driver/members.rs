//! Lists the Jobs of a round in the order in which they are submitted.

use plan::Round;
use plan::workload::Group;

/// One Job of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Member<'a> {
    /// Name of its Job or pod, unique within its team: `<stage>-<round>-<index>`, counted from 0.
    pub name: String,
    /// The cards it asks for.
    pub group: &'a Group,
}

/// The Jobs of round `number` of the stage called `stage`, in submission order.
pub fn members<'a>(stage: &str, number: u32, round: &'a Round) -> Vec<Member<'a>> {
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
            name: format!("{stage}-{number}-{index:03}"),
            group,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Request, RoundStart, Via};

    fn group(count: u32, cards: u32) -> Group {
        Group {
            count,
            request: Request {
                cards,
                gpumem_mib: None,
                gpucores: None,
            },
            run_secs: Some(1.0),
            via: Via::Job,
        }
    }

    fn submitted(groups: Vec<Group>, interleave: bool) -> Vec<(String, u32)> {
        let round = Round {
            start: RoundStart::AtSecs(0.0),
            groups,
            interleave,
        };
        members("burst", 2, &round)
            .into_iter()
            .map(|m| (m.name, m.group.request.cards))
            .collect()
    }

    #[test]
    fn groups_follow_each_other() {
        let order = submitted(vec![group(1, 8), group(2, 1)], false);
        let expected = [("burst-2-000", 8), ("burst-2-001", 1), ("burst-2-002", 1)];
        assert_eq!(
            order,
            expected.map(|(name, cards)| (name.to_owned(), cards))
        );
    }

    #[test]
    fn interleaved_groups_take_turns_until_each_is_used_up() {
        let order = submitted(vec![group(1, 8), group(3, 1), group(2, 2)], true);
        let cards: Vec<u32> = order.into_iter().map(|(_, cards)| cards).collect();
        assert_eq!(cards, [8, 1, 2, 1, 2, 1]);
    }
}
