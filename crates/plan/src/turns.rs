//! Decides which runs come next. The arms take turns, each as often as planned, or in a soak session until the time is up. Runs
//! that leave cores idle start together.
//!
//! It is told how runs ended and what the time is. It starts nothing and reads no clock.

use std::collections::BTreeSet;

use super::{Plan, Takes, run_secs};

/// After how many failures in a row an arm gets no more runs. One may be chance, and a bring-up that fails takes minutes.
const PATIENCE: u32 = 2;

/// Share of the machine's cores that runs side by side may keep busy on average. The rest is for their peaks: a measured average
/// of 0.2 cores has seconds with 2.
const BUSY_SHARE: f64 = 0.6;

/// What sums of such shares may be off by.
const ROUNDING: f64 = 1e-9;

/// A run that is due.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// Its arm.
    pub plan: &'a Plan,
    /// Repeat of the arm, from 1.
    pub repeat: u32,
    /// Place of the arm among the plans.
    arm: usize,
}

/// All runs, each with its repeat. The arms take turns (A B A B), so that a slow drift of the host affects all alike.
#[derive(Debug, Clone)]
pub struct Turns<'a> {
    plans: &'a [Plan],
    soak_secs: Option<f64>,
    repeat: u32,
    arm: usize,
    /// How many runs of each arm have failed in a row.
    failed: Vec<u32>,
    /// Runs that were done before, by arm and repeat.
    done: BTreeSet<(usize, u32)>,
    /// How long a run of each arm takes: as planned at first, then as long as the last one.
    takes_secs: Vec<f64>,
}

impl<'a> Turns<'a> {
    /// The runs of these arms: each as often as its plan says, or over and over if the first plan has a time to soak.
    pub fn new(plans: &'a [Plan]) -> Self {
        Self {
            plans,
            soak_secs: plans.first().and_then(|plan| plan.soak_secs),
            repeat: 1,
            arm: 0,
            failed: vec![0; plans.len()],
            done: BTreeSet::new(),
            takes_secs: plans.iter().map(run_secs).collect(),
        }
    }

    /// The same without runs that were done before, by arm and repeat.
    #[must_use]
    pub fn without<'d>(mut self, done: impl IntoIterator<Item = (&'d str, u32)>) -> Self {
        let place = |arm: &str| self.plans.iter().position(|plan| plan.arm == arm);
        let done = done.into_iter();
        self.done = done
            .filter_map(|(arm, repeat)| Some((place(arm)?, repeat)))
            .collect();
        self
    }

    /// How many runs there are if none fails; `None` in a soak session.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        let all = || {
            let each = (0..).zip(self.plans);
            let left = each.map(|(arm, plan)| {
                let repeats = 1..=plan.repeats;
                let left = repeats.filter(|repeat| !self.done.contains(&(arm, *repeat)));
                u32::try_from(left.count()).unwrap_or(u32::MAX)
            });
            left.sum()
        };
        self.soak_secs.is_none().then(all)
    }

    /// The next run; `None` when all are done, or when the next one would not end in time. `at_secs`: seconds since the first
    /// began.
    pub fn next(&mut self, at_secs: f64) -> Option<Turn<'a>> {
        let most = self.plans.iter().map(|plan| self.repeats(plan)).max()?;
        if self.failed.iter().all(|n| *n >= PATIENCE) {
            return None;
        }
        while self.repeat <= most {
            if self.arm == self.plans.len() {
                (self.arm, self.repeat) = (0, self.repeat.saturating_add(1));
                continue;
            }
            let (arm, repeat) = (self.arm, self.repeat);
            self.arm += 1;
            let plan = &self.plans[arm];
            let done = self.done.contains(&(arm, repeat));
            if done || repeat > self.repeats(plan) || self.failed[arm] >= PATIENCE {
                continue;
            }
            let ends_secs = at_secs + self.takes_secs[arm];
            return match self.soak_secs {
                Some(soak_secs) if ends_secs > soak_secs => None,
                _ => Some(Turn { plan, repeat, arm }),
            };
        }
        None
    }

    /// The runs that start together next, on a machine of so many cores: the next one, and those after it while the cores that
    /// all keep busy are no more than six tenths of the machine's. Empty when all are done. A soak counts restarts over time, so its
    /// runs do not share the machine.
    pub fn together(&mut self, at_secs: f64, cores: u32) -> Vec<Turn<'a>> {
        let Some(first) = self.next(at_secs) else {
            return Vec::new();
        };
        let mut busy = first.plan.busy_cores;
        let mut together = vec![first];
        while self.soak_secs.is_none() {
            let mut ahead = self.clone();
            let Some(turn) = ahead.next(at_secs) else {
                break;
            };
            let sum = busy.zip(turn.plan.busy_cores).map(|(a, b)| a + b);
            if sum.is_none_or(|sum| sum > BUSY_SHARE * f64::from(cores) + ROUNDING) {
                break;
            }
            (busy, *self) = (sum, ahead);
            together.push(turn);
        }
        together
    }

    /// How long all of them take on a machine of so many cores.
    #[must_use]
    pub fn takes(mut self, cores: u32) -> Takes {
        if let Some(soak_secs) = self.soak_secs {
            return Takes {
                soak_secs,
                ..Takes::default()
            };
        }
        let mut takes = Takes::default();
        loop {
            let together = self.together(0.0, cores);
            let Some(secs) = together.iter().map(|t| run_secs(t.plan)).reduce(f64::max) else {
                return takes;
            };
            takes.runs += u32::try_from(together.len()).unwrap_or(u32::MAX);
            takes.run_secs += secs;
        }
    }

    /// Says that a run ended, `took_secs` after it began.
    pub fn ended(&mut self, turn: Turn<'_>, took_secs: f64) {
        self.failed[turn.arm] = 0;
        self.takes_secs[turn.arm] = took_secs;
    }

    /// Says that a run failed. Returns whether its arm gets no more runs.
    pub fn failed(&mut self, turn: Turn<'_>) -> bool {
        self.failed[turn.arm] += 1;
        self.failed[turn.arm] >= PATIENCE && turn.repeat < self.repeats(turn.plan)
    }

    fn repeats(&self, plan: &Plan) -> u32 {
        match self.soak_secs {
            Some(_) => u32::MAX,
            None => plan.repeats,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrides;

    /// Plans of two arms of an embedded experiment, with so many repeats.
    fn plans(repeats: [u32; 2]) -> Vec<Plan> {
        let overrides = Overrides {
            arms: vec!["memory".into(), "cards".into()],
            ..Overrides::default()
        };
        let experiment = crate::load("quota-unit").unwrap();
        let mut plans = crate::plans(&experiment, &overrides).unwrap();
        for (plan, repeats) in plans.iter_mut().zip(repeats) {
            plan.repeats = repeats;
        }
        plans
    }

    /// The runs in order, each taking so long, those of `failing` failing, as e.g. `memory-1`.
    fn order(plans: &[Plan], took_secs: f64, failing: &[&str]) -> Vec<String> {
        let mut turns = Turns::new(plans);
        let mut order = Vec::new();
        let mut at_secs = 0.0;
        while let Some(turn) = turns.next(at_secs) {
            let name = format!("{}-{}", turn.plan.arm, turn.repeat);
            if failing.contains(&name.as_str()) {
                turns.failed(turn);
            } else {
                turns.ended(turn, took_secs);
            }
            at_secs += took_secs;
            order.push(name);
        }
        order
    }

    #[test]
    fn arms_take_turns_also_where_one_runs_more_often() {
        let expected = ["memory-1", "cards-1", "cards-2", "cards-3"];
        assert_eq!(order(&plans([1, 3]), 60.0, &[]), expected);
        let expected = ["memory-1", "cards-1", "memory-2", "cards-2"];
        assert_eq!(order(&plans([2, 2]), 60.0, &[]), expected);
        assert!(order(&[], 60.0, &[]).is_empty());
    }

    #[test]
    fn a_failed_run_ends_neither_its_own_arm_nor_the_others() {
        let plans = plans([3, 3]);
        let all = order(&plans, 60.0, &[]);
        let failing = ["memory-1", "memory-3", "cards-2"];
        assert_eq!(order(&plans, 60.0, &failing), all);
    }

    #[test]
    fn an_arm_that_only_fails_is_given_up_and_the_other_goes_on() {
        let plans = plans([4, 4]);
        let order = order(&plans, 60.0, &["memory-1", "memory-2"]);
        let expected = [
            "memory-1", "cards-1", "memory-2", "cards-2", "cards-3", "cards-4",
        ];
        assert_eq!(order, expected);
        let mut turns = Turns::new(&plans);
        let first = turns.next(0.0).unwrap();
        assert!(!turns.failed(first), "once may be chance");
        turns.next(0.0);
        let again = turns.next(0.0).unwrap();
        assert!(turns.failed(again));
    }

    #[test]
    fn runs_that_were_done_before_are_left_out_and_the_others_keep_their_order() {
        let plans = plans([2, 3]);
        let mut turns = Turns::new(&plans).without([("cards", 1), ("memory", 2), ("gone", 1)]);
        assert_eq!(turns.count(), Some(3));
        let mut left = Vec::new();
        while let Some(turn) = turns.next(0.0) {
            left.push((turn.plan.arm.as_str(), turn.repeat));
        }
        assert_eq!(left, [("memory", 1), ("cards", 2), ("cards", 3)]);
        let all = [
            ("memory", 1),
            ("cards", 1),
            ("memory", 2),
            ("cards", 2),
            ("cards", 3),
        ];
        let mut none = Turns::new(&plans).without(all);
        assert_eq!(none.count(), Some(0));
        assert!(none.next(0.0).is_none());
    }

    /// How many runs start together, on a machine of so many cores.
    fn sizes(plans: &[Plan], cores: u32) -> Vec<usize> {
        let mut turns = Turns::new(plans);
        let together = std::iter::from_fn(|| Some(turns.together(0.0, cores).len()));
        together.take_while(|n| *n > 0).collect()
    }

    #[test]
    fn runs_start_together_while_the_machine_keeps_cores_for_their_peaks() {
        let mut plans = plans([2, 2]);
        for plan in &mut plans {
            plan.busy_cores = Some(0.4);
        }
        assert_eq!(sizes(&plans, 1), [1, 1, 1, 1]);
        assert_eq!(sizes(&plans, 2), [3, 1]);
        assert_eq!(sizes(&plans, 8), [4]);
        let secs = Turns::new(&plans).takes(8).run_secs;
        let longest = run_secs(&plans[0]).max(run_secs(&plans[1]));
        assert!((secs - longest).abs() < 1e-9, "{secs}");
        plans[1].busy_cores = None;
        assert_eq!(sizes(&plans, 8), [1, 1, 1, 1], "it runs alone");
    }

    #[test]
    fn runs_of_a_soak_do_not_share_the_machine() {
        let mut plans = soaked(1e9);
        plans[0].busy_cores = Some(0.1);
        assert_eq!(Turns::new(&plans).together(0.0, 64).len(), 1);
    }

    /// The same plans, to be soaked for so long.
    fn soaked(soak_secs: f64) -> Vec<Plan> {
        let mut plans = plans([1, 1]);
        for plan in &mut plans {
            plan.soak_secs = Some(soak_secs);
        }
        plans
    }

    #[test]
    fn a_soak_goes_round_the_arms_and_begins_nothing_that_would_not_end_in_time() {
        let takes = run_secs(&plans([1, 1])[0]);
        // Of a run that begins as the time is up by a second, nothing is begun.
        let order = |secs| order(&soaked(secs), takes, &[]);
        let expected = ["memory-1", "cards-1", "memory-2"];
        assert_eq!(order(3.0 * takes + 1.0), expected);
        assert_eq!(order(4.0 * takes - 1.0), expected);
        assert!(order(takes - 1.0).is_empty());
    }

    #[test]
    fn a_soak_goes_by_how_long_runs_take_and_not_by_what_was_planned() {
        let planned = run_secs(&plans([1, 1])[0]);
        let plans = soaked(2.0 * planned);
        assert_eq!(order(&plans, planned / 4.0, &[]).len(), 8);
        // The second is begun, since nothing of its arm has been measured; then it is known.
        assert_eq!(order(&plans, planned * 0.9, &[]).len(), 2);
    }

    #[test]
    fn a_soak_of_which_every_arm_fails_ends() {
        let failing = ["memory-1", "memory-2", "cards-1", "cards-2"];
        assert_eq!(order(&soaked(1e9), 60.0, &failing).len(), 4);
    }
}
