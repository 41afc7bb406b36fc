//! Checks single values. An error names the place where the value was written. The bounds are generous: they catch typing
//! errors and what would exhaust the host, not unusual experiments.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::CARDS_PER_NODE;
use super::error::{PlanError, number, shorten, suggestion};
use super::tree::Node;

/// Timeline compression: below 0.01 a run takes years, above 1e5 an experiment is shorter than an API call.
pub(super) const COMPRESS: RangeInclusive<f64> = 0.01..=1e5;
/// How many objects of one kind there may be, and how many objects of a team.
pub(super) const COUNT: RangeInclusive<u32> = 1..=10_000;
/// Machines. kwok can play some thousands on one host.
pub(super) const NODES: RangeInclusive<u32> = 1..=5_000;
/// Cards of a quota: as many as [`NODES`] machines hold.
pub(super) const QUOTA_CARDS: RangeInclusive<u32> = 0..=5_000 * CARDS_PER_NODE;
/// Repeats of an arm.
pub(super) const REPEATS: RangeInclusive<u32> = 1..=1_000;
/// A duration that must not be zero: 1 ms to a week.
pub(super) const SECS: RangeInclusive<f64> = 0.001..=604_800.0;
/// A duration or an instant that may be zero.
pub(super) const SECS_OR_ZERO: RangeInclusive<f64> = 0.0..=604_800.0;
/// Run time of a Job in timeline minutes: up to a year.
pub(super) const MINUTES: RangeInclusive<f64> = 0.001..=525_600.0;
/// Submit time in timeline minutes.
pub(super) const AT_MINUTES: RangeInclusive<f64> = 0.0..=525_600.0;
/// Think time in timeline minutes.
pub(super) const THINK_MINUTES: RangeInclusive<f64> = 0.0..=525_600.0;
/// Calls per second of a client limit.
pub(super) const QPS: RangeInclusive<f64> = 0.01..=1e5;
/// Burst of a client limit.
pub(super) const BURST: RangeInclusive<u32> = 1..=100_000;
/// A share of the cards.
pub(super) const SHARE: RangeInclusive<f64> = 0.001..=1.0;

/// A merged document whose values are checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<'a> {
    pub tree: &'a Node,
}

impl Check<'_> {
    /// The error that a field's value is wrong.
    pub(super) fn wrong(self, field: &str, problem: String) -> PlanError {
        PlanError::Field {
            at: self.tree.locate(field),
            field: field.to_owned(),
            problem,
        }
    }

    /// Something that must be so; else `problem` says what is wrong with the field.
    pub(super) fn require(
        self,
        holds: bool,
        field: &str,
        problem: impl FnOnce() -> String,
    ) -> Result<(), PlanError> {
        if holds {
            return Ok(());
        }
        Err(self.wrong(field, problem()))
    }

    /// A finite number within a range, if there is one.
    pub(super) fn number(
        self,
        field: &str,
        value: impl Into<Option<f64>>,
        range: RangeInclusive<f64>,
    ) -> Result<(), PlanError> {
        let Some(value) = value.into() else {
            return Ok(());
        };
        self.within(field, &value, range, &number(value))
    }

    /// Two fields below `path` of which the first must not be more than the second.
    pub(super) fn ordered(
        self,
        path: &str,
        [from, to]: [&str; 2],
        low: f64,
        high: f64,
    ) -> Result<(), PlanError> {
        self.require(low <= high, &format!("{path}.{from}"), || {
            format!("{low} is more than {to}, {high}")
        })
    }

    /// A whole number within a range.
    pub(super) fn whole(
        self,
        field: &str,
        value: u32,
        range: RangeInclusive<u32>,
    ) -> Result<(), PlanError> {
        self.within(field, &value, range, &value.to_string())
    }

    fn within<T: PartialOrd + Display>(
        self,
        field: &str,
        value: &T,
        range: RangeInclusive<T>,
        shown: &str,
    ) -> Result<(), PlanError> {
        let (from, to) = (range.start(), range.end());
        self.require(range.contains(value), field, || {
            format!("{shown} is not allowed; must be from {from} to {to}")
        })
    }

    /// Cards of one request: what one machine has.
    pub(super) fn cards(self, field: &str, cards: u32) -> Result<(), PlanError> {
        self.require((1..=CARDS_PER_NODE).contains(&cards), field, || {
            format!("{cards} is not allowed; a machine has {CARDS_PER_NODE} cards, so must be from 1 to {CARDS_PER_NODE}")
        })
    }

    /// A name that Kubernetes takes for namespaces and labels.
    pub(super) fn name(self, field: &str, name: &str) -> Result<(), PlanError> {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let fits = (1..=40).contains(&name.len()) && name.chars().all(inner);
        let fits = fits && !name.starts_with('-') && !name.ends_with('-');
        self.require(fits, field, || {
            let name = shorten(name);
            format!("{name:?} is not a name; must be 1 to 40 of a-z, 0-9 and '-', not starting or ending with '-'")
        })
    }

    /// A name out of a set.
    pub(super) fn one_of<S: AsRef<str>>(
        self,
        field: &str,
        kind: &str,
        name: &str,
        accepted: &[S],
    ) -> Result<(), PlanError> {
        let known = accepted.iter().any(|a| a.as_ref() == name);
        self.require(known, field, || {
            let (name, suggestion) = (shorten(name), suggestion(name, accepted));
            format!("there is no {kind} {name:?}{suggestion}")
        })
    }

    /// A list that must have something in it.
    pub(super) fn not_empty(self, field: &str, len: usize) -> Result<(), PlanError> {
        let problem = || "is empty; at least one is needed".to_owned();
        self.require(len > 0, field, problem)
    }
}
