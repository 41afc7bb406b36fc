//! The ideal list schedule: how long a team's work would take if the control plane took no time.
//!
//! At every instant the waiting Jobs are tried in submission order, and each that fits is started. So a small one may pass a
//! large one, as with a scheduler. A Job needs all its cards on one machine, and goes to the machine with the fewest idle
//! cards that has enough. The schedule is work-conserving and deterministic, and has no preemption.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use super::CARDS_PER_NODE;
use super::workload::{Round, RoundStart, Stage};

/// Cards that a team may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Machines of [`CARDS_PER_NODE`] cards.
    pub nodes: u32,
    /// Cards that may be in use at the same time (its quota).
    pub cards: u32,
}

/// A Job in the ideal schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// When it was submitted, seconds.
    pub submitted_secs: f64,
    /// When it starts, seconds.
    pub start_secs: f64,
    /// When it ends, seconds.
    pub end_secs: f64,
    /// Cards it holds.
    pub cards: u32,
    /// Machine it holds them on, from 0.
    pub node: u32,
}

/// The ideal schedule of some stages, each run lengthened by `turnaround_secs` (0 for the ideal itself), in order of
/// submission.
///
/// Slices of cards count as whole cards. `None` if a Job has no end or cannot fit at all.
#[must_use]
pub fn list_schedule(
    stages: &[Stage],
    capacity: Capacity,
    turnaround_secs: f64,
) -> Option<Vec<Placed>> {
    let rounds: Vec<&Round> = stages.iter().flat_map(|s| &s.rounds).collect();
    let mut machines = Machines::new(capacity);
    let mut placed: Vec<Placed> = Vec::new();
    let mut waiting = Waiting::default();
    // Ends as bits: those of numbers from 0 on are ordered as the numbers are.
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut next = 0;
    // When everything submitted so far was done: what a closed loop waits for.
    let mut done = 0.0;
    let mut clock = 0.0_f64;
    loop {
        let due = |next: usize, done: f64, busy: bool| match rounds.get(next)?.start {
            RoundStart::AtSecs(at) => Some(at),
            RoundStart::ThinkSecs(think) => (!busy).then_some(done + think),
        };
        let end = ends.peek().map(|Reverse((end, _))| f64::from_bits(*end));
        let events = [end, due(next, done, end.is_some())];
        let Some(event) = events.into_iter().flatten().min_by(f64::total_cmp) else {
            return Some(placed);
        };
        clock = clock.max(event);
        while let Some(&Reverse((end, index))) = ends.peek()
            && f64::from_bits(end) <= clock
        {
            ends.pop();
            machines.release(placed[index].node, placed[index].cards);
            done = clock;
        }
        while due(next, done, !(ends.is_empty() && waiting.is_empty())).is_some_and(|t| t <= clock)
        {
            for group in &rounds[next].groups {
                let run_secs = group.run_secs? + turnaround_secs;
                let cards = group.request.cards;
                if !(1..=CARDS_PER_NODE).contains(&cards)
                    || cards > capacity.cards
                    || capacity.nodes == 0
                {
                    return None;
                }
                for _ in 0..group.count {
                    waiting.push(cards, placed.len());
                    placed.push(Placed {
                        submitted_secs: clock,
                        start_secs: f64::INFINITY,
                        end_secs: run_secs,
                        cards,
                        node: 0,
                    });
                }
            }
            next += 1;
        }
        waiting.start(|index| {
            let job = &mut placed[index];
            let Some(node) = machines.take(job.cards) else {
                return false;
            };
            job.node = node;
            job.start_secs = clock;
            job.end_secs += clock;
            ends.push(Reverse((job.end_secs.to_bits(), index)));
            true
        });
    }
}

/// Idle cards by machine.
struct Machines {
    /// Machines by their number of idle cards.
    by_idle: [BTreeSet<u32>; CARDS_PER_NODE as usize + 1],
    idle_of: Vec<u32>,
    /// Cards that the quota has left.
    quota: u32,
}

impl Machines {
    fn new(capacity: Capacity) -> Self {
        let mut by_idle: [BTreeSet<u32>; CARDS_PER_NODE as usize + 1] = Default::default();
        by_idle[CARDS_PER_NODE as usize] = (0..capacity.nodes).collect();
        Self {
            by_idle,
            idle_of: vec![CARDS_PER_NODE; capacity.nodes as usize],
            quota: capacity.cards,
        }
    }

    /// Takes cards on the machine where they fit best.
    fn take(&mut self, cards: u32) -> Option<u32> {
        if self.quota < cards {
            return None;
        }
        let node = self.by_idle[cards as usize..]
            .iter()
            .find_map(BTreeSet::first)
            .copied()?;
        self.quota -= cards;
        self.set(node, self.idle_of[node as usize] - cards);
        Some(node)
    }

    fn release(&mut self, node: u32, cards: u32) {
        self.quota += cards;
        self.set(node, self.idle_of[node as usize] + cards);
    }

    fn set(&mut self, node: u32, idle: u32) {
        let old = std::mem::replace(&mut self.idle_of[node as usize], idle);
        self.by_idle[old as usize].remove(&node);
        self.by_idle[idle as usize].insert(node);
    }
}

/// Waiting Jobs, by number of cards, each queue in order of submission.
#[derive(Default)]
struct Waiting {
    queues: [VecDeque<usize>; CARDS_PER_NODE as usize + 1],
}

impl Waiting {
    fn push(&mut self, cards: u32, index: usize) {
        self.queues[cards as usize].push_back(index);
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Tries all in order of submission. `place` says whether a Job was started.
    fn start(&mut self, mut place: impl FnMut(usize) -> bool) {
        // What has not fitted once does not fit at this instant: nothing is freed within it.
        let mut blocked = [false; CARDS_PER_NODE as usize + 1];
        while let Some((index, cards)) = (0..self.queues.len())
            .filter(|&cards| !blocked[cards])
            .filter_map(|cards| Some((*self.queues[cards].front()?, cards)))
            .min()
        {
            if place(index) {
                self.queues[cards].pop_front();
            } else {
                blocked[cards] = true;
            }
        }
    }
}

/// Makespan of [`list_schedule`]: from the clock's start to the last end, seconds.
#[must_use]
pub(crate) fn makespan_secs(
    stages: &[Stage],
    capacity: Capacity,
    turnaround_secs: f64,
) -> Option<f64> {
    let placed = list_schedule(stages, capacity, turnaround_secs)?;
    Some(placed.iter().map(|p| p.end_secs).fold(0.0, f64::max))
}
