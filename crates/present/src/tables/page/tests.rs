//! Pages over hand-made ends of embedded experiments.

use super::*;
use plan::metric::Metric;
use plan::{self, Overrides};
use results::fixtures::full;
use results::judge::{self, Judged};
use results::metrics::Amount;
use results::run_folder::run_summary::cut::COMPONENT_LOST;
use results::run_folder::{Disturbance, RunSummary};

fn order(experiment: &Experiment, overrides: &Overrides) -> Order {
    let plans = plan::plans(experiment, overrides).unwrap();
    Order {
        experiment: experiment.name.clone(),
        expect: experiment.expected(&plans, overrides),
        plans,
        host: plan::Host::default(),
        command: vec!["headroom".into(), "bench".into(), "all".into()],
        resume: false,
    }
}

/// A run of `quota-unit` in which so many Jobs of 8 cards held quota at once.
fn judged(arm: &str, at_once: f64) -> Judged {
    let metric = |metric, value| {
        let key = MetricKey::team("research", metric);
        (key, Amount::Is(value))
    };
    Judged {
        disturbed: false,
        arm: arm.into(),
        metrics: [
            metric(Metric::AdmittedAtOnce, at_once),
            metric(Metric::AdmittedCardsAtOnce, 8.0 * at_once),
        ]
        .into(),
        placements: Vec::new(),
    }
}

fn run(arm: &str) -> RunSummary {
    let mut run = full().runs.remove(0);
    run.arm = arm.into();
    run.folder = format!("{arm}-1");
    run.disturbed.clear();
    run
}

/// An end with a run of each arm, and the runs that failed.
fn ended(order: &Order, runs: &[(&str, f64)], failed: &[&str]) -> Ended {
    let judged: Vec<Judged> = runs.iter().map(|(arm, n)| judged(arm, *n)).collect();
    let arms = judge::arms(&order.expect, &judged);
    let mut summary = full();
    summary.experiment.clone_from(&order.experiment);
    summary.command.clone_from(&order.command);
    summary.resumed.clear();
    summary.runs = runs.iter().map(|(arm, _)| run(arm)).collect();
    summary.meaning = judge::meaning(&order.expect, &arms);
    summary.arms = arms;
    summary.failed = failed
        .iter()
        .map(|arm| FailedRun {
            arm: (*arm).to_owned(),
            repeat: 1,
            folder: format!("{arm}-1"),
            error: "etcd did not come up; the last lines of its log:\npanic: no disk".into(),
        })
        .collect();
    Ended {
        summary,
        dir: "runs/x-all/quota-unit".into(),
        interrupted: false,
    }
}

const ALL_ARMS: [(&str, f64); 4] = [
    ("memory", 3.0),
    ("cards", 1.0),
    ("both", 1.0),
    ("memory-raw", 3.0),
];

/// The page over `quota-unit` alone.
fn page(overrides: &Overrides, end: impl Fn(&Order) -> Option<Outcome>) -> Page {
    let experiment = plan::load("quota-unit").unwrap();
    let order = order(&experiment, overrides);
    let outcome = end(&order);
    Page::new(&[Input {
        experiment: &experiment,
        order: Ok(&order),
        outcome: outcome.as_ref(),
    }])
}

fn ended_with(runs: &[(&str, f64)], failed: &[&str], order: &Order) -> Outcome {
    Outcome::Ended(Box::new(ended(order, runs, failed)))
}

#[test]
fn each_published_metric_and_each_claim_has_a_row_with_what_was_measured() {
    let page = page(&Overrides::default(), |o| {
        Some(ended_with(&ALL_ARMS, &[], o))
    });
    let part = &page.experiments[0];
    assert_eq!(part.state, State::Done);
    assert_eq!((part.metrics.len(), page.verdicts(false)), (3, [4, 0, 0]));
    let cards = &part.metrics[1];
    assert_eq!(cards.metric.to_string(), "research.admitted_cards_at_once");
    assert_eq!(cards.measured, Some(Percentile::Secs(24.0)));
    let text = page.markdown();
    assert!(!text.contains("QUICK") && !text.contains("Not complete"));
    for words in [
        "fake machines of 8 cards: 50",
        "From undisturbed runs 4 claims hold and 0 do not. 0 were not judged.",
        "- **yes**, memory-raw: a quota in memory admits all three at once",
        "In short: a quota counted in memory does not limit cards",
        "- session: runs/x-all/quota-unit",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn an_arm_that_failed_takes_only_its_own_rows_and_says_why() {
    let page = page(&Overrides::default(), |o| {
        Some(ended_with(&ALL_ARMS[1..], &["memory"], o))
    });
    let part = &page.experiments[0];
    assert_eq!(part.state, State::Failed);
    assert_eq!(page.verdicts(false), [3, 0, 1]);
    assert_eq!(part.metrics[0].note, part.claims[0].reason);
    assert!(
        part.claims[0]
            .reason
            .starts_with("failed: etcd did not come up: panic: no disk")
    );
    let text = page.markdown();
    assert!(text.contains("1 run FAILED"), "{text}");
}

#[test]
fn what_does_not_hold_is_said_and_what_disturbed_it_too() {
    let wrong = [("memory", 3.0), ("cards", 2.0)];
    let page = page(&Overrides::default(), |order| {
        let mut ended = ended(order, &wrong, &[]);
        ended.summary.runs[1].disturbed.push(Disturbance {
            kind: "busy-machine".into(),
            detail: "other programs used 1.2 of 2 cores".into(),
            remedy: "close them".into(),
        });
        Some(Outcome::Ended(Box::new(ended)))
    });
    assert_eq!(page.experiments[0].state, State::Disturbed);
    assert_eq!(page.verdicts(false), [1, 1, 2]);
    let text = page.markdown();
    for words in [
        "- **NO**, cards: a quota that counts cards admits one at a time",
        "disturbed: busy-machine",
        "- disturbed: cards-1: busy-machine: other programs used 1.2 of 2 cores",
        "- not judged, both: a quota that counts cards admits one at a time (did not run)",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn what_has_not_begun_or_could_not_be_written_stands_there_with_the_reason() {
    let none = page(&Overrides::default(), |_| None);
    assert_eq!(none.experiments[0].state, State::NotBegun);
    let text = none.markdown();
    assert!(text.contains("Started not at all; "), "{text}");
    assert!(text.contains("Not complete: quota-unit.\n"), "{text}");
    let one_line = text.contains("\n- not begun\n") && !text.contains("holding quota");
    assert!(one_line, "{text}");
    assert!(
        none.experiments[0]
            .claims
            .iter()
            .all(|c| c.reason == "has not begun")
    );
    let failed = page(&Overrides::default(), |_| {
        Some(Outcome::Failed("can't write x".into()))
    });
    assert_eq!(failed.experiments[0].state, State::Failed);
    assert!(failed.markdown().contains("failed: can't write x"));
    let experiment = plan::load("quota-unit").unwrap();
    let left_out = Page::new(&[Input {
        experiment: &experiment,
        order: Err("does not fit 1 machine"),
        outcome: None,
    }]);
    assert_eq!(left_out.experiments[0].state, State::LeftOut);
    let text = left_out.markdown();
    assert!(
        text.contains("- left out: does not fit 1 machine"),
        "{text}"
    );
}

#[test]
fn at_another_size_metrics_are_shown_but_not_held_against_what_was_published() {
    let experiment = plan::load("rate-limit").unwrap();
    let small = |nodes| Overrides {
        nodes: Some(nodes),
        arms: vec!["raised-spread".into()],
        ..Overrides::default()
    };
    let note = |overrides: &Overrides| {
        let order = order(&experiment, overrides);
        let mut ended = ended(&order, &[("raised-spread", 1.0)], &[]);
        let name = "requests.whole-card.bind_latency_p95_secs".to_owned();
        let known = *ended.summary.arms[0].metrics.values().next().unwrap();
        ended.summary.arms[0].metrics.insert(name.clone(), known);
        let outcome = Outcome::Ended(Box::new(ended));
        let page = Page::new(&[Input {
            experiment: &experiment,
            order: Ok(&order),
            outcome: Some(&outcome),
        }]);
        let mut rows = page.experiments[0].metrics.iter();
        let of = rows.find(|r| r.arm == "raised-spread" && r.metric.to_string() == name);
        of.unwrap().note.clone()
    };
    assert_eq!(note(&small(10)), "nothing was published for 10 machines");
    assert_eq!(note(&small(50)), "", "that is its own size");
}

#[test]
fn a_size_that_changes_nothing_of_a_team_leaves_its_metrics_comparable() {
    let overrides = Overrides {
        nodes: Some(10),
        ..Overrides::default()
    };
    let page = page(&overrides, |o| Some(ended_with(&ALL_ARMS, &[], o)));
    let row = &page.experiments[0].metrics[0];
    assert_eq!(row.measured, Some(Percentile::Secs(3.0)));
    assert_eq!(row.note, "", "the team does not scale");
    assert_eq!(page.verdicts(false), [4, 0, 0], "claims are about any size");
}

#[test]
fn a_run_that_lost_a_component_is_no_ground_for_a_verdict_and_the_page_says_why() {
    let page = page(&Overrides::default(), |order| {
        let mut ended = ended(order, &ALL_ARMS[1..], &[]);
        let mut cut = run("memory");
        cut.disturbed.push(Disturbance {
            kind: COMPONENT_LOST.into(),
            detail: "etcd was ended by SIGKILL and was not started again".into(),
            remedy: "run again".into(),
        });
        assert!(!cut.came_to_its_end());
        ended.summary.runs.push(cut);
        Some(Outcome::Ended(Box::new(ended)))
    });
    let part = &page.experiments[0];
    assert_eq!(page.verdicts(false), [3, 0, 1]);
    assert_eq!(part.runs, 3);
    assert_eq!(
        part.claims[0].reason,
        "cut short: etcd was ended by SIGKILL and was not started again"
    );
}

#[test]
fn at_another_compression_nothing_is_judged() {
    let experiment = plan::load("regimes").unwrap();
    let overrides = Overrides {
        quick: true,
        ..Overrides::default()
    };
    let order = order(&experiment, &overrides);
    let outcome = Outcome::Ended(Box::new(ended(&order, &[("fixed", 1.0)], &[])));
    let page = Page::new(&[Input {
        experiment: &experiment,
        order: Ok(&order),
        outcome: Some(&outcome),
    }]);
    assert!(
        page.markdown()
            .contains("QUICK: timelines at another compression")
    );
    let [yes, no, open] = page.verdicts(false);
    assert_eq!((yes, no), (0, 0));
    assert!(open > 0);
    let reasons: Vec<&str> = page.experiments[0]
        .claims
        .iter()
        .map(|c| c.reason.as_str())
        .collect();
    assert!(
        reasons.contains(&"nothing was published at compression 1200"),
        "{reasons:?}"
    );
    assert!(
        reasons.contains(&"runs only with --arm lent"),
        "{reasons:?}"
    );
}

#[test]
fn a_page_is_read_back_as_it_was_written_and_says_what_continued_it() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("all");
    assert!(!Page::is_in(&folder));
    let resume = ["headroom", "bench", "all", "--resume", "x"].map(String::from);
    let page = page(&Overrides::default(), |order| {
        let mut ended = ended(order, &ALL_ARMS, &["cards"]);
        ended.summary.resumed.push(results::run_folder::Resumed {
            started: "2026-01-01T01:00:00Z".into(),
            command: resume.to_vec(),
        });
        Some(Outcome::Ended(Box::new(ended)))
    });
    assert_eq!(page.command, ["headroom", "bench", "all"]);
    assert_eq!(page.resumed, [resume.to_vec()]);
    page.write(&folder).unwrap();
    assert_eq!(Page::read(&folder).unwrap(), page);
    let text = std::fs::read_to_string(folder.join("page.md")).unwrap();
    assert_eq!(text, page.markdown());
    assert!(text.contains("Continued by `headroom bench all --resume x`."));
    // As `headroom show` prints it.
    assert_eq!(crate::report::show(&folder).unwrap(), text);

    std::fs::write(folder.join("page.json"), "{\"schema\": 99}").unwrap();
    let error = crate::report::show(&folder).unwrap_err().to_string();
    assert!(error.contains("99"), "{error}");
}
