//! What must hold for any schedule, and any file.

use std::fmt::Write;

use proptest::prelude::*;

use crate::experiment::Experiment;
use crate::schedule::{Capacity, Placed, list_schedule};
use crate::workload::Group;
use crate::{CARDS_PER_NODE, Request, Round, RoundStart, Stage, Via, source, timeline};

/// Groups of equal Jobs: how many, cards, run time.
type Jobs = Vec<(u32, u32, u32)>;

fn stages(rounds: &[(u32, Jobs)], closed_loop: bool) -> Vec<Stage> {
    let mut at = 0.0;
    let rounds = rounds.iter().map(|(gap, jobs)| {
        at += f64::from(*gap);
        Round {
            start: if closed_loop {
                RoundStart::ThinkSecs(f64::from(*gap))
            } else {
                RoundStart::AtSecs(at)
            },
            groups: jobs
                .iter()
                .map(|&(count, cards, run)| Group {
                    count,
                    request: Request {
                        cards,
                        gpumem_mib: None,
                        gpucores: None,
                    },
                    run_secs: Some(f64::from(run)),
                    via: Via::Job,
                })
                .collect(),
            interleave: false,
        }
    });
    vec![Stage {
        name: "all".to_owned(),
        rounds: rounds.collect(),
    }]
}

/// Cards in use just after an instant, on one machine or on all.
fn used(placed: &[Placed], at: f64, node: Option<u32>) -> u32 {
    placed
        .iter()
        .filter(|p| p.start_secs <= at && at < p.end_secs)
        .filter(|p| node.is_none_or(|n| n == p.node))
        .map(|p| p.cards)
        .sum()
}

fn check_schedule(
    rounds: &[(u32, Jobs)],
    closed_loop: bool,
    capacity: Capacity,
) -> Result<(), TestCaseError> {
    let stages = stages(rounds, closed_loop);
    let placed = list_schedule(&stages, capacity, 0.0).unwrap();
    let expected: Vec<(u32, f64)> = stages[0]
        .rounds
        .iter()
        .flat_map(|r| &r.groups)
        .flat_map(|g| (0..g.count).map(|_| (g.request.cards, g.run_secs.unwrap())))
        .collect();
    prop_assert_eq!(placed.len(), expected.len(), "each Job is placed once");
    for (p, (cards, run)) in placed.iter().zip(&expected) {
        prop_assert_eq!(p.cards, *cards);
        prop_assert!(p.node < capacity.nodes);
        prop_assert!(p.start_secs >= p.submitted_secs);
        prop_assert!((p.end_secs - p.start_secs - run).abs() < 1e-9);
    }
    let mut instants: Vec<f64> = placed
        .iter()
        .flat_map(|p| [p.submitted_secs, p.start_secs, p.end_secs])
        .collect();
    instants.sort_by(f64::total_cmp);
    instants.dedup();
    for &at in &instants {
        let free = capacity.cards.checked_sub(used(&placed, at, None));
        prop_assert!(free.is_some(), "more cards than the quota at {}", at);
        let free_on: Vec<Option<u32>> = (0..capacity.nodes)
            .map(|n| CARDS_PER_NODE.checked_sub(used(&placed, at, Some(n))))
            .collect();
        prop_assert!(
            free_on.iter().all(Option::is_some),
            "a card is used twice at {}",
            at
        );
        let fits = free_on.into_iter().flatten().max().min(free).unwrap_or(0);
        let idle_for = placed
            .iter()
            .find(|p| p.submitted_secs <= at && at < p.start_secs && p.cards <= fits);
        prop_assert!(
            idle_for.is_none(),
            "cards idle at {} while {:?} waits",
            at,
            idle_for
        );
    }
    let makespan = placed.iter().map(|p| p.end_secs).fold(0.0, f64::max);
    let work: f64 = expected
        .iter()
        .map(|(cards, run)| f64::from(*cards) * run)
        .sum();
    let cards = capacity.cards.min(capacity.nodes * CARDS_PER_NODE);
    prop_assert!(
        makespan + 1e-9 >= work / f64::from(cards),
        "less time than the work needs"
    );
    let mut done = 0.0_f64;
    let mut index = 0;
    for (round, (gap, _)) in stages[0].rounds.iter().zip(rounds) {
        let size: u32 = round.groups.iter().map(|g| g.count).sum();
        let own = &placed[index..index + size as usize];
        index += size as usize;
        let due = match round.start {
            RoundStart::AtSecs(at) => at,
            RoundStart::ThinkSecs(_) => done + f64::from(*gap),
        };
        prop_assert!(own.iter().all(|p| (p.submitted_secs - due).abs() < 1e-9));
        done = own.iter().map(|p| p.end_secs).fold(due, f64::max);
    }
    Ok(())
}

fn jobs() -> impl Strategy<Value = Jobs> {
    prop::collection::vec((1..6_u32, 1..=CARDS_PER_NODE, 1..40_u32), 1..4)
}

proptest! {
    #[test]
    fn schedules_are_possible_and_waste_nothing(
        rounds in prop::collection::vec((0..30_u32, jobs()), 1..8),
        closed_loop: bool,
        nodes in 1..6_u32,
        quota in CARDS_PER_NODE..=48,
    ) {
        check_schedule(&rounds, closed_loop, Capacity { nodes, cards: quota })?;
    }

    #[test]
    fn timelines_come_out_in_seconds(
        rounds in prop::collection::vec((0.0..500.0_f64, 1..50_u32, 1..=CARDS_PER_NODE, 0.01..500.0_f64), 1..20),
        think in prop::option::of(0.0..60.0_f64),
        compress in 0.5..5000.0_f64,
    ) {
        let mut rounds = rounds;
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut text = format!("name: t\ntime_compression: {compress}\n");
        if let Some(think) = think {
            writeln!(text, "think_minutes: {think}").unwrap();
        }
        text += "stages:\n  - name: s\n    rounds:\n";
        for (at, count, cards, minutes) in &rounds {
            let at = if think.is_none() { format!("at_minutes: {at}, ") } else { String::new() };
            writeln!(text, "      - {{ {at}count: {count}, cards: {cards}, minutes: {minutes} }}").unwrap();
        }
        let timeline = timeline::from_text("t", &text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let stages = timeline.stages(timeline.time_compression, Via::Job);
        prop_assert_eq!(stages[0].rounds.len(), rounds.len());
        for (round, (at, count, cards, minutes)) in stages[0].rounds.iter().zip(&rounds) {
            let secs = |minutes: f64| minutes * 60.0 / compress;
            let start = think.map_or(RoundStart::AtSecs(secs(*at)), |t| RoundStart::ThinkSecs(secs(t)));
            prop_assert_eq!(round.start, start);
            prop_assert_eq!(round.groups[0].count, *count);
            prop_assert_eq!(round.groups[0].request.cards, *cards);
            prop_assert_eq!(round.groups[0].run_secs, Some(secs(*minutes)));
        }
    }

    /// A file with anything at all in the place of a part of it loads, or is refused in one line.
    #[test]
    fn no_file_panics(
        which in 0..source::EXPERIMENTS.len() + source::TIMELINES.len(),
        from in any::<prop::sample::Index>(),
        len in 0..40_usize,
        with in prop_oneof![
            any::<String>(),
            "[-0-9.e:{}\\[\\], a-z&*!|>#\n]{0,20}",
            prop::sample::select(vec!["-1", "0", "99999999999", ".nan", "null", "[]", "{}", "true", "1e400", "~", "x"])
                .prop_map(str::to_owned),
        ],
    ) {
        let (name, text) = source::EXPERIMENTS.iter().chain(source::TIMELINES).nth(which).unwrap();
        let mut chars: Vec<char> = text.chars().collect();
        let from = from.index(chars.len());
        let to = (from + len).min(chars.len());
        chars.splice(from..to, with.chars());
        let text: String = chars.into_iter().collect();
        let error = if which < source::EXPERIMENTS.len() {
            Experiment::from_text(name, &text).err()
        } else {
            timeline::from_text(name, &text).err()
        };
        if let Some(error) = error {
            let message = error.to_string();
            prop_assert!(!message.chars().any(char::is_control), "{:?}", message);
        }
    }
}
