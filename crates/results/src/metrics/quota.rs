//! Metrics of quota over time.

use plan::{QuotaUnit, Via};

use super::Amount;
use super::team::Team;
use super::value::sweep;
use crate::run_folder::{Attempt, Outcome, Record};

/// Most requests, and most cards, that held quota at the same time.
pub(super) fn at_once(team: &Team<'_>) -> (u32, u32) {
    let mut steps: Vec<(f64, bool, u32)> = Vec::new();
    for record in &team.records {
        for (from, to) in record.attempts.iter().filter_map(held) {
            steps.push((from, true, record.request.cards));
            steps.push((to, false, record.request.cards));
        }
    }
    // What is given back at an instant is free at that instant.
    steps.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most) = ((0_u32, 0_u32), (0, 0));
    for (_, taken, cards) in steps {
        if taken {
            now = (now.0 + 1, now.1.saturating_add(cards));
            most = (most.0.max(now.0), most.1.max(now.1));
        } else {
            // A damaged record may give back before it takes.
            now = (now.0.saturating_sub(1), now.1.saturating_sub(cards));
        }
    }
    most
}

/// From when to when an attempt held quota.
fn held(attempt: &Attempt) -> Option<(f64, f64)> {
    let from = attempt.admitted_secs?;
    Some((from, attempt.released_secs.unwrap_or(f64::INFINITY)))
}

pub(super) fn admissions_per_sec(team: &Team<'_>) -> Option<Amount> {
    let attempts = team.records.iter().flat_map(|r| &r.attempts);
    let observed = 0.0..=team.end_secs();
    let stamps = attempts.filter_map(|a| a.admitted_secs);
    let mut stamps: Vec<f64> = stamps.filter(|at| observed.contains(at)).collect();
    stamps.sort_by(f64::total_cmp);
    let span = stamps.last()? - stamps.first()?;
    // Counts here are far below 2⁵².
    #[allow(clippy::cast_precision_loss)]
    let more = (stamps.len() - 1) as f64;
    (span > 0.0).then(|| Amount::Is(more / span))
}

#[allow(clippy::unnecessary_wraps)] // as every extractor
pub(super) fn admitted_not_bound(team: &Team<'_>) -> Option<Amount> {
    let end = team.end_secs();
    let of = |record: &&Record| {
        let attempts = &record.attempts;
        let each = attempts.iter().enumerate().filter_map(|(i, attempt)| {
            let (from, released) = held(attempt)?;
            // A pod that replaces an evicted one under the same admission is an attempt without an admission's stamps.
            let later = attempts[i + 1..].iter();
            let same = later.take_while(|a| a.admitted_secs.is_none());
            let bound = std::iter::once(attempt)
                .chain(same)
                .find_map(Attempt::bind_secs);
            let to = bound.unwrap_or(f64::INFINITY).min(released).min(end);
            Some((to - from.max(0.0)).max(0.0))
        });
        f64::from(record.request.cards) * each.fold(0.0, |sum, secs| sum + secs)
    };
    let all = team.records.iter().map(of);
    Some(Amount::Is(all.fold(0.0, |sum, card_secs| sum + card_secs)))
}

/// What a span of time is of: cards of quota that are held, or that a Job waits for.
#[derive(Clone, Copy)]
enum Of {
    Held(u32),
    Waiting(u32),
}

pub(super) fn waited_with_free_quota(team: &Team<'_>) -> Option<Amount> {
    let plan = team.source.plan?;
    // Where quota counts memory, cards do not say whether any was free.
    if plan.kueue.quota_unit != QuotaUnit::Cards {
        return None;
    }
    let nominal = team.plan?.quota.as_ref()?.nominal_cards;
    let end = team.end_secs();
    let mut spans: Vec<(f64, f64, Of)> = Vec::new();
    for record in team.records.iter().filter(|r| r.via == Via::Job) {
        let cards = record.request.cards;
        let held = record.attempts.iter().filter_map(held);
        spans.extend(held.map(|(from, to)| (from, to, Of::Held(cards))));
        let waits = waits(record, end).into_iter();
        spans.extend(waits.map(|(from, to)| (from, to, Of::Waiting(cards))));
    }
    let (mut taken, mut secs) = (0_u32, 0.0);
    // How many wait for so many cards.
    let mut waiting = std::collections::BTreeMap::<u32, u32>::new();
    sweep(spans, end, |passed, begins, of| {
        let smallest = waiting.iter().find(|(_, n)| **n > 0);
        if smallest.is_some_and(|(cards, _)| taken.saturating_add(*cards) <= nominal) {
            secs += passed;
        }
        let change = |n: u32, by: u32| {
            if begins {
                n.saturating_add(by)
            } else {
                n.saturating_sub(by)
            }
        };
        match of {
            Of::Held(cards) => taken = change(taken, cards),
            Of::Waiting(cards) => {
                let n = waiting.entry(cards).or_default();
                *n = change(*n, 1);
            }
        }
    });
    Some(Amount::Is(secs))
}

/// From when to when a Job waited for its first admission, and for each one after it had lost its quota.
fn waits(record: &Record, end_secs: f64) -> Vec<(f64, f64)> {
    let over = record.finished_secs.unwrap_or(end_secs);
    let mut admitted = record
        .attempts
        .iter()
        .filter(|a| a.admitted_secs.is_some())
        .peekable();
    let mut all = Vec::new();
    if let Some(from) = record.created_secs {
        let first = admitted.peek().and_then(|a| a.admitted_secs);
        all.push((from, first.unwrap_or(over)));
    }
    while let Some(attempt) = admitted.next() {
        let again = admitted.peek().and_then(|a| a.admitted_secs);
        let Some(from) = attempt.released_secs else {
            continue;
        };
        match again {
            Some(to) => all.push((from, to)),
            // Its quota was taken back, and it never got it again.
            None if record.outcome == Outcome::Unfinished => all.push((from, over)),
            None => {}
        }
    }
    all
}
