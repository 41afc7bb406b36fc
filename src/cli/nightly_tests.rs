use clap::Parser as _;

use std::path::PathBuf;

use super::*;
use crate::cli::{Cli, Command, is_usage};
use ::compare::Outcome;
use ::compare::side::Which;
use ::compare::{CompareError, Comparison};

/// The recorded comparison of like runs, as one that came out so.
fn comparison(outcome: Outcome) -> Comparison {
    let mut found: Comparison =
        serde_json::from_str(include_str!("../../docs/data/aa.json")).unwrap();
    found.outcome = outcome;
    found
}

#[test]
fn a_second_night_is_kept_out_until_the_first_ends() {
    let folder = tempfile::tempdir().unwrap();
    let first = lock(folder.path()).unwrap();
    assert!(first.is_some());
    assert!(lock(folder.path()).unwrap().is_none());
    drop(first);
    assert!(lock(folder.path()).unwrap().is_some());
}

#[test]
fn a_regression_is_told_before_anything_else() {
    let mut night = Course {
        failed: true,
        disturbed: true,
        ..Course::default()
    };
    assert_eq!(night.exit(), Exit::Failed);
    night.failed = false;
    assert_eq!(night.exit(), Exit::Disturbed);
    night.disturbed = false;
    assert_eq!(night.exit(), Exit::Done);
}

#[test]
fn a_file_that_can_not_be_written_ends_no_night_and_hides_no_regression() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("a-file");
    std::fs::write(&out, "").unwrap();
    let mut night = Course::default();
    let found = Ok((
        vec![PathBuf::from("before")],
        comparison(Outcome::NoRegression),
    ));
    night.night.take("quota-unit", "a".into(), found);
    night.judge(&out);
    assert_eq!(night.exit(), Exit::Failed);
    night.night.earlier.comparisons[0].outcome = Outcome::Regression;
    assert_eq!(night.exit(), Exit::Regression);
    let mut night = Course::default();
    night.night.sessions.push(root.path().join("nowhere"));
    night.report(&out.join("report.html"));
    assert_eq!(night.exit(), Exit::Failed);
}

#[test]
fn a_night_that_could_not_be_compared_says_why_in_its_report() {
    let root = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs/examples/quota-unit");
    let mut night = Course::default();
    let why = CompareError::NoRuns {
        which: Which::Baseline,
        why: "all of them were disturbed".into(),
    };
    night.night.take("quota-unit", example, Err(why));
    let file = root.path().join("report.html");
    night.report(&file);
    let html = std::fs::read_to_string(file).unwrap();
    let [title, said] = [
        "Not compared with earlier nights",
        "all of them were disturbed",
    ]
    .map(|words| html.find(words).unwrap());
    assert!(title < said && said < html.find("<article>").unwrap());
    assert_eq!(night.exit(), Exit::Done);
}

#[test]
fn an_experiment_runs_once_a_night_whatever_its_file_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("../../manifests/experiments/quota-unit.yaml");
    let files = ["a.yaml", "b.yaml"].map(|name| folder.path().join(name).display().to_string());
    for file in &files {
        std::fs::write(file, text).unwrap();
    }
    let [a, b] = &files;
    let place = Place {
        cache: None,
        components: None,
    };
    let ordered = |experiments: &str| {
        let line = ["headroom", "nightly", "--experiments", experiments];
        let args = match Cli::try_parse_from(line).unwrap().command {
            Command::Nightly(args) => args,
            other => panic!("{other:?}"),
        };
        orders(&place, &args, &Declared::own().unwrap())
    };
    for twice in [
        format!("{a},{a}"),
        format!("{a},{b}"),
        format!("quota-unit,regimes,{b}"),
    ] {
        let error = ordered(&twice).unwrap_err();
        assert!(is_usage(&error), "{error:#}");
        assert!(
            error.to_string().contains("quota-unit is named twice"),
            "{error:#}"
        );
    }
    assert_eq!(ordered(&format!("{a},regimes")).unwrap().len(), 2);
}

#[test]
fn a_dry_run_says_what_would_run_and_which_nights_it_would_be_compared_with() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path().join("runs");
    let place = Place {
        cache: None,
        components: None,
    };
    let line = "headroom nightly --dry-run --repeat 3 --experiments quota-unit,regimes";
    let args = match Cli::try_parse_from(line.split_whitespace())
        .unwrap()
        .command
    {
        Command::Nightly(args) => args,
        other => panic!("{other:?}"),
    };
    assert!(args.dry_run);
    let orders = orders(&place, &args, &Declared::own().unwrap()).unwrap();
    let text = dry_run(&orders, &runs, Nights(args.nights));
    for words in [
        "quota-unit: 12 runs, about ",
        "arms: memory, cards",
        "in all: ",
    ] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
    assert_eq!(text.matches("not compared: there is no earlier").count(), 2);
    assert!(!runs.exists(), "it writes nothing");

    let script = synthetic::Script {
        folder: "20260101-010000-regimes",
        ..synthetic::Script::default()
    };
    let summary = script.write(&runs).join("summary.json");
    let written = std::fs::read_to_string(&summary).unwrap();
    let nightly = written.replacen("\"bench\"", "\"nightly\"", 1);
    assert_ne!(nightly, written);
    std::fs::write(&summary, nightly).unwrap();
    let text = dry_run(&orders, &runs, Nights(args.nights));
    let session = "    ".to_owned() + &runs.join(script.folder).display().to_string();
    assert!(text.lines().any(|line| line == session), "{text}");
    assert_eq!(text.matches("not compared: ").count(), 1, "{text}");
}

#[test]
fn runs_that_can_not_be_written_to_are_told_before_anything_else() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path().join("runs");
    writable(&runs).unwrap();
    assert!(!runs.exists(), "it was only asked");
    let refused = || {
        let line = writable(&runs).unwrap_err().to_string();
        assert!(line.contains("runs: ") && !line.contains("--out"), "{line}");
    };
    std::fs::write(&runs, "").unwrap();
    refused();
    std::fs::remove_file(&runs).unwrap();
    std::fs::create_dir(&runs).unwrap();
    writable(&runs).unwrap();
    std::fs::write(runs.join(NIGHTLY), "").unwrap();
    refused();
}
