//! Comparisons of made-up sessions.

use serde_json::{Value, json};

use headroom_compare::alike::Topic;
use headroom_compare::baseline::{Nights, nights};
use headroom_compare::metrics::Declared;
use std::path::{Path, PathBuf};

use headroom_compare::*;
use present::report::compared::{Style, text};
use results::run_folder::{Disturbance, Percentile, Session};
use synthetic::Script;

/// A session of the regimes, `repeats` runs, below `root`.
fn session(root: &Path, folder: &'static str, repeats: u32) -> PathBuf {
    Script {
        folder,
        repeats,
        ..Script::default()
    }
    .write(root)
}

/// Changes the summary of a session.
fn edit(session: &Path, change: impl Fn(&mut Value)) {
    let file = session.join("summary.json");
    let mut summary: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut summary);
    std::fs::write(file, summary.to_string()).unwrap();
}

/// Changes each run's part on a team, with the run's number.
fn edit_team(session: &Path, team: &str, change: impl Fn(&mut Value, usize)) {
    edit(session, |summary| {
        for (i, run) in summary["runs"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .enumerate()
        {
            let teams = run["tenants"].as_array_mut().unwrap();
            change(teams.iter_mut().find(|t| t["name"] == team).unwrap(), i);
        }
    });
}

/// Sets a team's makespan to about `secs`, a little different in each run.
fn makespan(session: &Path, secs: f64) {
    edit_team(session, "shared", |team, i| {
        let i = u32::try_from(i).unwrap();
        team["makespan_secs"] = json!(secs + f64::from(i * 7 % 5) * 0.3);
    });
}

fn compared(base: &Path, new: &Path, options: &Options) -> Result<Comparison, CompareError> {
    let declared = Declared::own().unwrap();
    compare(&[base.to_owned()], &[new.to_owned()], &declared, options)
}

fn found<'a>(comparison: &'a Comparison, metric: &str) -> &'a Row {
    let mut rows = comparison.arms[0].declared.iter();
    rows.find(|r| r.metric.to_string() == metric).unwrap()
}

#[test]
fn a_slower_makespan_is_a_regression_and_a_faster_one_is_better() {
    let root = tempfile::tempdir().unwrap();
    let [base, new] = ["base", "new"].map(|folder| session(root.path(), folder, 6));
    makespan(&base, 450.0);
    for (secs, verdict, outcome) in [
        (450.2, Verdict::Within, Outcome::NoRegression),
        // Certain, but not beyond the limit of 2 %.
        (456.0, Verdict::Within, Outcome::NoRegression),
        (470.0, Verdict::Regression, Outcome::Regression),
        (430.0, Verdict::Better, Outcome::NoRegression),
    ] {
        makespan(&new, secs);
        let all = compared(&base, &new, &Options::default()).unwrap();
        let row = found(&all, "shared.makespan_secs");
        assert_eq!(
            (row.verdict, all.outcome),
            (Some(verdict), outcome),
            "{secs}: {row:?}"
        );
        let said = text(&all, Style::Terminal { all: false });
        assert_eq!(
            said.contains("Regression: shared makespan +4.4 %"),
            secs > 460.0,
            "{said}"
        );
        if outcome == Outcome::Regression {
            // 6 and 6 runs at 5 % over five metrics bound the change, and clear of the limit.
            assert!(row.interval.low.is_some_and(|low| low > 0.02), "{row:?}");
        }
    }
}

#[test]
fn too_few_runs_are_said_to_be_too_few_and_how_many_it_takes() {
    let root = tempfile::tempdir().unwrap();
    let [base, new] = ["base", "new"].map(|folder| session(root.path(), folder, 2));
    makespan(&base, 450.0);
    makespan(&new, 900.0);
    let all = compared(&base, &new, &Options::default()).unwrap();
    assert_eq!(all.outcome, Outcome::NoVerdict);
    assert_eq!(
        found(&all, "shared.makespan_secs").verdict,
        Some(Verdict::TooFewRuns)
    );
    let said = text(&all, Style::Terminal { all: false });
    assert!(
        said.contains("with 2 + 2 runs p is at least 0.167"),
        "{said}"
    );
    assert!(
        said.contains("5 + 5 runs are enough") && said.contains("+100.0 %"),
        "{said}"
    );
}

#[test]
fn a_makespan_that_was_never_reached_is_longer_than_any_that_was() {
    let root = tempfile::tempdir().unwrap();
    let [base, new] = ["base", "new"].map(|folder| session(root.path(), folder, 6));
    edit_team(&new, "shared", |team, _| {
        team["makespan_secs"] = Value::Null;
        team["unfinished"] = json!(3);
    });
    let all = compared(&base, &new, &Options::default()).unwrap();
    let row = found(&all, "shared.makespan_secs");
    assert!(matches!(row.new_median, Percentile::Over { .. }), "{row:?}");
    assert_eq!(row.verdict, Some(Verdict::Regression), "{row:?}");
    assert!(
        row.interval.low.is_some_and(|low| low > 1.0) && row.interval.high.is_none(),
        "{row:?}"
    );
    let said = text(&all, Style::Markdown);
    assert!(
        said.contains("at least +") && said.contains("> 11"),
        "{said}"
    );
}

#[test]
fn what_differs_must_be_declared_and_then_is_the_headline() {
    let root = tempfile::tempdir().unwrap();
    let base = session(root.path(), "base", 1);
    let new = Script {
        folder: "new",
        builtin: true,
        edit: |plan| plan.hami.limit.qps = 5.0,
        ..Script::default()
    }
    .write(root.path());
    let refused = |across: &[Topic]| {
        let options = Options {
            across: across.to_vec(),
            disturbed: false,
        };
        compared(&base, &new, &options).map_err(|e| e.to_string())
    };
    let line = refused(&[]).unwrap_err();
    assert!(line.contains("--across hami --across plan"), "{line}");
    assert!(
        line.contains("hami.limit.qps is 100.0 in one, 5.0 in the other"),
        "{line}"
    );
    let line = refused(&[Topic::Hami]).unwrap_err();
    assert!(
        line.contains("add --across plan") && !line.contains("built-in"),
        "{line}"
    );
    let all = refused(&[Topic::Hami, Topic::Plan]).unwrap();
    let said = text(&all, Style::Terminal { all: false });
    let headline = said.lines().next().unwrap();
    assert!(
        headline.contains("HAMi real HAMi") && headline.contains("→ built-in extender"),
        "{said}"
    );
}

#[test]
fn machines_differ_by_what_they_are_and_not_by_how_busy_they_were() {
    let root = tempfile::tempdir().unwrap();
    let [base, new] = ["base", "new"].map(|folder| session(root.path(), folder, 1));
    let machine = |change: fn(&mut Value)| {
        let file = new.join("fixed-1/run.json");
        let mut info: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        change(&mut info["machine"]);
        std::fs::write(&file, info.to_string()).unwrap();
        compared(&base, &new, &Options::default()).map_err(|e| e.to_string())
    };
    assert!(machine(|m| m["load"] = json!([9.0, 9.0, 9.0])).is_ok());
    let line = machine(|m| m["cores"] = json!(96)).unwrap_err();
    assert!(
        line.contains("cores") && line.contains("--across machine"),
        "{line}"
    );
}

#[test]
fn disturbed_runs_are_no_baseline_and_count_for_nothing() {
    let root = tempfile::tempdir().unwrap();
    let disturbed = |folder, repeats| {
        Script {
            folder,
            repeats,
            disturbed: vec![Disturbance {
                kind: "busy-machine".into(),
                detail: "others".into(),
                remedy: "close them".into(),
            }],
            ..Script::default()
        }
        .write(root.path())
    };
    let (base, one, new) = (
        disturbed("base", 3),
        disturbed("one", 1),
        session(root.path(), "new", 2),
    );
    let all = compared(&base, &new, &Options::default()).unwrap();
    assert_eq!((all.base.runs, all.new.runs), (2, 2));
    assert!(
        all.notes
            .iter()
            .any(|n| n.contains("base/fixed-1 is left out as disturbed (busy-machine"))
    );
    let line = compared(&one, &new, &Options::default())
        .unwrap_err()
        .to_string();
    assert!(
        line.contains("baseline has no run") && line.contains("busy-machine"),
        "{line}"
    );
    let taken = Options {
        disturbed: true,
        ..Options::default()
    };
    let all = compared(&base, &new, &taken).unwrap();
    assert_eq!(
        (all.base.runs, all.base.disturbed, all.outcome),
        (3, 1, Outcome::NoVerdict)
    );
    assert!(line.contains("--disturbed"), "{line}");
    edit(&base, |summary| {
        summary["runs"][0]["disturbed"][0]["kind"] = json!("interrupted");
    });
    let all = compared(&base, &new, &taken).unwrap();
    assert_eq!((all.base.runs, all.base.disturbed), (2, 0));
    let note = "base/fixed-1 is left out: it was cut short";
    assert!(all.notes.iter().any(|n| n == note), "{:?}", all.notes);
}

#[test]
fn of_a_session_that_was_killed_what_ended_is_taken_or_said_not_to_be_there() {
    let root = tempfile::tempdir().unwrap();
    let [base, new] = ["base", "new"].map(|folder| session(root.path(), folder, 2));
    edit(&base, |summary| summary["complete"] = json!(false));
    let all = compared(&base, &new, &Options::default()).unwrap();
    let note = "base did not end in order: those of its runs that ended are taken";
    assert!(all.notes.iter().any(|n| n == note), "{:?}", all.notes);
    edit(&base, |summary| summary["runs"] = json!([]));
    let line = compared(&base, &new, &Options::default()).unwrap_err();
    assert_eq!(
        line.to_string(),
        "the baseline has no run that can be compared: base did not end in order: no run of it ended"
    );
}

#[test]
fn nothing_is_compared_with_itself_or_with_another_experiment() {
    let root = tempfile::tempdir().unwrap();
    let base = session(root.path(), "base", 1);
    let other = Script {
        folder: "other",
        experiment: "quota-unit",
        ..Script::default()
    }
    .write(root.path());
    let line = compared(
        &base,
        &root.path().join("./base/summary.json"),
        &Options::default(),
    );
    assert!(line.unwrap_err().to_string().contains("twice"));
    let line = compared(&base, &other, &Options::default())
        .unwrap_err()
        .to_string();
    assert!(line.contains("quota-unit, regimes"), "{line}");
    // A side that is itself a mixture is none.
    let builtin = Script {
        folder: "builtin",
        builtin: true,
        ..Script::default()
    }
    .write(root.path());
    let new = session(root.path(), "new", 1);
    let mixed = compare(
        &[base, builtin],
        &[new],
        &Declared::own().unwrap(),
        &Options::default(),
    );
    assert!(mixed.unwrap_err().to_string().contains("baseline is mixed"));
}

#[test]
fn nights_are_the_last_like_ones_that_ended_undisturbed() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path();
    let started = |session: &Path, at: &str| {
        edit(session, |summary| {
            summary["started"] = json!(at);
            summary["command"] = json!(["headroom", "nightly"]);
        });
    };
    let make = |folder, at: &str, script: Script| {
        let path = Script { folder, ..script }.write(runs);
        started(&path, at);
        path
    };
    let disturbance = || {
        vec![Disturbance {
            kind: "k".into(),
            detail: "d".into(),
            remedy: "r".into(),
        }]
    };
    let mut expected = Vec::new();
    for (folder, at) in [
        ("n1", "2026-02-01T00:00:00Z"),
        ("n2", "2026-02-02T00:00:00Z"),
        ("n3", "2026-02-03T00:00:00Z"),
    ] {
        expected.push(make(folder, at, Script::default()));
    }
    make(
        "busy",
        "2026-02-04T00:00:00Z",
        Script {
            disturbed: disturbance(),
            ..Script::default()
        },
    );
    make(
        "other-hami",
        "2026-02-05T00:00:00Z",
        Script {
            builtin: true,
            ..Script::default()
        },
    );
    make(
        "other",
        "2026-02-06T00:00:00Z",
        Script {
            experiment: "quota-unit",
            ..Script::default()
        },
    );
    let cut = make("cut", "2026-02-07T00:00:00Z", Script::default());
    edit(&cut, |summary| summary["complete"] = json!(false));
    let by_hand = make("by-hand", "2026-02-08T00:00:00Z", Script::default());
    edit(&by_hand, |summary| {
        summary["command"] = json!(["headroom", "bench", "nightly"]);
    });
    let new = [make("new", "2026-02-09T00:00:00Z", Script::default())];
    make("later", "2026-02-10T00:00:00Z", Script::default());

    assert_eq!(nights(runs, Nights(7), &new, &[]).unwrap(), expected);
    assert_eq!(nights(runs, Nights(2), &new, &[]).unwrap(), expected[1..]);
    // Across an update: the nights since the last one that differs, and never a mixture.
    let across = nights(runs, Nights(7), &new, &[Topic::Hami, Topic::Headroom]);
    assert_eq!(across.unwrap(), [runs.join("other-hami")]);
    let first = [expected[0].clone()];
    let line = nights(runs, Nights(7), &first, &[])
        .unwrap_err()
        .to_string();
    assert!(
        line.contains("no earlier nightly session of regimes"),
        "{line}"
    );
    for path in &expected {
        edit(path, |summary| summary["complete"] = json!(false));
    }
    let line = nights(runs, Nights(7), &new, &[]).unwrap_err().to_string();
    assert!(
        line.contains("none of 6") && line.contains("--across hami"),
        "{line}"
    );
    assert_eq!("nightly".parse(), Ok(Nights(7)));
    assert_eq!("nightly=3".parse(), Ok(Nights(3)));
    assert!("nightly=0".parse::<Nights>().is_err() && "weekly".parse::<Nights>().is_err());
}

#[test]
fn several_sessions_of_one_night_are_one_night_and_no_baseline_of_each_other() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path();
    let make = |folder, at: &str| {
        let path = session(runs, folder, 1);
        edit(&path, |summary| {
            summary["started"] = json!(at);
            summary["command"] = json!(["headroom", "nightly"]);
        });
        path
    };
    for night in ["20260201-010000", "20260202-010000", "20260204-010000"] {
        std::fs::create_dir_all(runs.join("nightly").join(night)).unwrap();
    }
    let a = make("a", "2026-02-01T01:00:00.3Z");
    let (b1, b2) = (
        make("b1", "2026-02-02T01:00:09Z"),
        make("b2", "2026-02-02T05:00:00Z"),
    );
    // Of a night whose folder was deleted.
    let c = make("c", "2026-02-03T01:00:09Z");
    make("d1", "2026-02-04T01:00:09Z");
    let new = [make("d2", "2026-02-04T03:00:00Z")];
    let nights = |n| nights(runs, Nights(n), &new, &[]).unwrap();
    assert_eq!(nights(1), std::slice::from_ref(&c));
    assert_eq!(nights(2), [b1.clone(), b2.clone(), c.clone()]);
    assert_eq!(nights(3), [a, b1, b2, c]);
}

#[test]
fn a_night_runs_experiments_that_exist_and_have_metrics() {
    let declared = Declared::own().unwrap();
    let names: Vec<String> = plan::names().into_iter().map(|(name, _)| name).collect();
    assert!(!declared.nightly.is_empty());
    for name in &declared.nightly {
        assert!(
            names.contains(name) && !declared.of(name).is_empty(),
            "{name}"
        );
    }
    for name in declared.experiments.keys().filter(|name| *name != "aa") {
        assert!(names.contains(name), "{name} is no experiment");
    }
}

/// A metric that no run has would never fail anything.
#[test]
fn every_declared_metric_is_measured_in_the_recorded_sessions() {
    let declared = Declared::own().unwrap();
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("runs/examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap().flatten() {
        let Ok(session) = Session::load(&entry.path()) else {
            continue;
        };
        let side = side::Side::read(side::Which::New, &[entry.path()], true).unwrap();
        for metric in declared.of(&session.summary.experiment) {
            for run in side.runs.iter().filter(|r| metric.counts_in(&r.arm)) {
                seen += 1;
                assert!(
                    run.metrics.contains_key(&metric.metric),
                    "{}: arm {} has no {}",
                    session.summary.experiment,
                    run.arm,
                    metric.metric
                );
            }
        }
    }
    assert!(seen >= 10, "only {seen} were looked at");
}

#[test]
fn a_comparison_reads_back_from_its_json() {
    let root = tempfile::tempdir().unwrap();
    let [base, new] = ["base", "new"].map(|folder| session(root.path(), folder, 3));
    let all = compared(&base, &new, &Options::default()).unwrap();
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), all);
}
