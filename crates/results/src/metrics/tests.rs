//! Values of hand-made records, worked out beside them.

use std::collections::BTreeMap;

use super::*;
use crate::fixtures::{done, full, plan, team, waiting};
use crate::run_folder::{AttemptEnd, Outcome, TenantSummary};
use plan::QuotaUnit;
use plan::metric::Scope;

/// A summary of these teams, observed for 100 s.
fn summary(teams: &[&str]) -> RunSummary {
    let mut summary = full().runs.remove(0);
    let one = summary.tenants.remove(0);
    let named = |name: &&str| TenantSummary {
        name: (*name).to_owned(),
        ..one.clone()
    };
    summary.tenants = teams.iter().map(named).collect();
    summary.observed_secs = 100.0;
    summary
}

/// A value of a run of team `a`, which owns 10 cards of five machines of 8, and `b`.
fn value_of(key: &str, records: &[Record]) -> Option<f64> {
    let summary = summary(&["a", "b"]);
    let plan = plan(vec![team("a", 10, true), team("b", 10, true)]);
    let source = Source {
        plan: Some(&plan),
        ..Source::without_plan(&summary, records)
    };
    one(&source, key)
}

fn one(source: &Source<'_>, key: &str) -> Option<f64> {
    let key: MetricKey = key.parse().unwrap();
    match values(source, Use::Show).get(&key) {
        Some(Amount::Is(value)) => Some(*value),
        Some(over) => panic!("{over:?}"),
        None => None,
    }
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a value");
    assert!(
        (found - expected).abs() < 1e-9,
        "{found}, expected {expected}"
    );
}

/// A Job of `n` cards that was submitted at 0, admitted at `admitted`, bound at `bound` to these cards of a machine, and
/// done at `ended`.
fn on(name: &str, node: &str, cards: &[u32], admitted: f64, bound: f64, ended: f64) -> Record {
    let n = u32::try_from(cards.len()).unwrap();
    let mut record = done("a", name, n, admitted, ended);
    let attempt = &mut record.attempts[0];
    attempt.bound_secs = Some(bound);
    attempt.node = Some(node.to_owned());
    attempt.cards = cards.iter().map(|i| format!("GPU-{node}-{i}")).collect();
    record
}

#[test]
fn every_row_of_the_catalogue_has_an_extractor() {
    for row in CATALOGUE {
        let latency = matches!(extract(row), Extract::Latency);
        assert_eq!(latency, row.latency.is_some(), "{}", row.id);
        let of = match extract(row) {
            Extract::Run(_) => Scope::Run,
            Extract::Team(_) => Scope::Team,
            Extract::TeamAndClass(..) => Scope::TeamAndClass,
            Extract::Latency => Scope::Class,
            Extract::Component(_) => Scope::Component,
        };
        assert_eq!(of, row.scope, "{}", row.id);
    }
}

#[test]
fn admissions_a_second_are_those_after_the_first_by_the_time_they_took() {
    let records = [
        done("a", "1", 1, 10.0, 60.0),
        done("a", "2", 1, 12.0, 60.0),
        done("a", "3", 1, 30.0, 60.0),
        // Before the clock's start, of another team, and after the end: not counted.
        done("a", "early", 1, -5.0, 60.0),
        done("b", "other", 1, 11.0, 60.0),
        done("a", "late", 1, 101.0, 160.0),
    ];
    // Two more in 20 s.
    close(value_of("a.admissions_per_sec", &records), 0.1);
    assert_eq!(
        value_of("b.admissions_per_sec", &records),
        None,
        "one alone has no rate"
    );
}

#[test]
fn waiting_counts_while_the_smallest_that_waits_fits_the_nominal_quota() {
    // 8 of 10 cards are held from 10 s to 40 s.
    let holds = done("a", "holds", 8, 10.0, 40.0);
    // 4 cards, from 0 to 45 s: quota is free from 0 to 10 s and from 40 s to 45 s.
    let large = done("a", "large", 4, 45.0, 50.0);
    // 2 cards, from 30 s, not admitted until 35 s: fits beside the 8.
    let mut small = done("a", "small", 2, 35.0, 38.0);
    small.created_secs = Some(30.0);
    // `holds` itself waits from 0 to 10 s, together with `large`: that time counts once.
    let records = [holds, large, small];
    close(
        value_of("a.waited_with_free_quota_secs", &records),
        10.0 + 5.0 + 5.0,
    );
    close(value_of("b.waited_with_free_quota_secs", &records), 0.0);
}

#[test]
fn a_job_that_lost_its_quota_waits_again_until_the_end() {
    let mut record = done("a", "x", 4, 0.0, 20.0);
    record.attempts[0].end = AttemptEnd::Preempted;
    record.finished_secs = None;
    record.outcome = Outcome::Unfinished;
    // Admitted at once; from 20 s to the end it waits for quota that nobody holds.
    close(
        value_of(
            "a.waited_with_free_quota_secs",
            std::slice::from_ref(&record),
        ),
        80.0,
    );
    // Where quota counts memory, cards do not say whether any was free.
    let summary = summary(&["a"]);
    let mut plan = plan(vec![team("a", 10, true)]);
    plan.kueue.quota_unit = QuotaUnit::Memory;
    let records = [record];
    let source = Source {
        plan: Some(&plan),
        ..Source::without_plan(&summary, &records)
    };
    assert_eq!(one(&source, "a.waited_with_free_quota_secs"), None);
}

#[test]
fn most_evictions_are_those_of_one_task() {
    let evicted = |name: &str, times: usize| {
        let mut record = done("a", name, 1, 10.0, 20.0);
        let mut attempt = record.attempts[0].clone();
        attempt.end = AttemptEnd::Preempted;
        record.attempts = vec![attempt; times];
        record
    };
    let records = [evicted("1", 2), evicted("2", 3), evicted("3", 1)];
    close(value_of("a.most_evictions_of_one_task", &records), 3.0);
    close(value_of("b.most_evictions_of_one_task", &records), 0.0);
}

#[test]
fn quota_held_for_cards_that_are_not_free_ends_with_the_bind() {
    // 4 cards × 5 s until it is bound.
    let bound = on("bound", "gpu-00", &[0, 1, 2, 3], 10.0, 15.0, 40.0);
    // 2 cards × 20 s: admitted at 30 s, given back at 50 s, never bound.
    let mut given_back = done("a", "back", 2, 30.0, 50.0);
    given_back.attempts[0].bound_secs = None;
    // 1 card × 10 s: admitted at 90 s, not bound when the observation ends.
    let mut pending = done("a", "pending", 1, 90.0, 200.0);
    pending.attempts[0].bound_secs = None;
    // 1 card × 3 s: its first pod was gone before it was bound, the second is bound at 63 s under the same admission.
    let mut replaced = done("a", "replaced", 1, 60.0, 70.0);
    let mut second = replaced.attempts[0].clone();
    replaced.attempts[0].bound_secs = None;
    second.admitted_secs = None;
    second.bound_secs = Some(63.0);
    replaced.attempts.push(second);
    let records = [bound, given_back, pending, replaced];
    let expected = 20.0 + 40.0 + 10.0 + 3.0;
    close(
        value_of("a.card_seconds_admitted_not_bound", &records),
        expected,
    );
}

#[test]
fn fragmentation_is_taken_while_something_waits() {
    // One machine's cards; the plan has five, of which four are filled whole for all of the time.
    let mut records: Vec<Record> = (1..5)
        .map(|i| {
            on(
                &format!("full-{i}"),
                &format!("gpu-0{i}"),
                &[0, 1, 2, 3, 4, 5, 6, 7],
                0.0,
                0.0,
                100.0,
            )
        })
        .collect();
    // Two slices on one card of the fifth machine, 20 s to 60 s: 7 cards stay free.
    records.push(on("slice-1", "gpu-00", &[3], 20.0, 20.0, 60.0));
    records.push(on("slice-2", "gpu-00", &[3], 20.0, 20.0, 60.0));
    // Three more cards, 40 s to 60 s: 4 stay free.
    records.push(on("three", "gpu-00", &[0, 1, 2], 40.0, 40.0, 60.0));
    for record in &mut records {
        record.created_secs = record.attempts[0].bound_secs;
    }
    // Nothing waits so far.
    assert_eq!(value_of("largest_free_block_cards", &records), None);
    // A whole machine waits from 10 s to 70 s. Free on the fifth machine: 8 for 10 s, 7 for 20 s, 4 for 20 s, 8 for 10 s.
    let mut whole = on(
        "whole",
        "gpu-00",
        &[0, 1, 2, 3, 4, 5, 6, 7],
        70.0,
        70.0,
        100.0,
    );
    whole.created_secs = Some(10.0);
    records.push(whole);
    let block = (8.0 * 10.0 + 7.0 * 20.0 + 4.0 * 20.0 + 8.0 * 10.0) / 60.0;
    close(value_of("largest_free_block_cards", &records), block);
    // In use are the four full ones and, from 20 s to 60 s, the fifth: 7 and then 4 cards idle on it.
    let idle = (7.0 * 20.0 + 4.0 * 20.0) / 60.0;
    close(value_of("idle_cards_on_used_machines", &records), idle);
    // A headroom that did not record cards does not tell.
    records[0].attempts[0].cards.clear();
    assert_eq!(value_of("largest_free_block_cards", &records), None);
}

#[test]
fn what_is_never_bound_waits_until_the_end() {
    let mut held = on("held", "gpu-00", &[0], 0.0, 0.0, 50.0);
    held.created_secs = Some(0.0);
    let records = [held, waiting("a", "never", 8, 40.0)];
    // From 40 s on 8 cards are free on another machine; on the one in use 7 are idle until 50 s, of 60 s in all.
    close(value_of("largest_free_block_cards", &records), 8.0);
    close(
        value_of("idle_cards_on_used_machines", &records),
        7.0 * 10.0 / 60.0,
    );
}

#[test]
fn the_busiest_component_is_the_one_nearest_to_its_own_limit() {
    let summary = summary(&["a"]);
    let counts =
        |n: u64| BTreeMap::from([("get nodes".to_owned(), n), ("patch pods".to_owned(), n)]);
    let calls = Calls {
        to_secs: 50.0,
        total: BTreeMap::from([
            ("hami".to_owned(), counts(100)),
            ("kueue".to_owned(), counts(1000)),
            ("kwok".to_owned(), counts(9000)),
        ]),
        ..Calls::default()
    };
    let limit = |qps| Some(ClientLimit { qps, burst: 10 });
    let limits = BTreeMap::from([
        ("hami".to_owned(), limit(5.0)),
        ("kueue".to_owned(), limit(100.0)),
        // No limit of its own: never the bottleneck by it.
        ("kwok".to_owned(), None),
        ("kube-scheduler".to_owned(), limit(50.0)),
    ]);
    let source = Source {
        calls: Some(&calls),
        client_limits: Some(&limits),
        ..Source::without_plan(&summary, &[])
    };
    // 200 calls in 50 s of 5 a second; 2,000 in 50 s of 100 a second.
    close(one(&source, "client_limit_share.hami"), 0.8);
    close(one(&source, "client_limit_share.kueue"), 0.4);
    close(one(&source, "client_limit_share.kube-scheduler"), 0.0);
    assert_eq!(one(&source, "client_limit_share.kwok"), None);
    close(one(&source, "busiest_limit_share"), 0.8);
    let without = Source {
        calls: None,
        ..source
    };
    assert_eq!(one(&without, "busiest_limit_share"), None);
}

#[test]
fn repeats_become_one_value_as_each_row_says() {
    let run = |evictions: f64, most: f64, right: f64, wrong: f64| -> Values {
        [
            ("a.evictions", evictions),
            ("a.most_evictions_of_one_task", most),
            ("a.placed_right", right),
            ("a.placed_free", 0.0),
            ("a.placed_wrong", wrong),
            ("a.placed_never", 0.0),
            ("a.not_placed_right", wrong),
            ("a.placed_right_share", right / (right + wrong)),
        ]
        .into_iter()
        .map(|(key, value)| (key.parse().unwrap(), Amount::Is(value)))
        .collect()
    };
    let runs = [
        run(1.0, 1.0, 4.0, 1.0),
        run(9.0, 4.0, 5.0, 0.0),
        run(2.0, 2.0, 5.0, 0.0),
    ];
    let all = medians(&runs.iter().collect::<Vec<_>>());
    let of = |key: &str| all[&key.parse().unwrap()];
    assert_eq!(of("a.evictions"), Amount::Is(2.0));
    assert_eq!(of("a.most_evictions_of_one_task"), Amount::Is(4.0));
    assert_eq!(of("a.placed_right"), Amount::Is(14.0));
    assert_eq!(of("a.not_placed_right"), Amount::Is(1.0));
    assert_eq!(of("a.placed_right_share"), Amount::Is(14.0 / 15.0));
}
