//! A session that was interrupted is continued, and only as it began.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use plan::{Order, Overrides};
use results::run_folder::{Ordered, Session, SessionWriter};
use support::{Bed, HEADROOM, messages, one_at_a_time};

/// `headroom` in `folder`, with a cache there that does not exist yet.
fn headroom(folder: &Path, args: &[&str]) -> Output {
    Command::new(HEADROOM)
        .args(args)
        .env("HEADROOM_CACHE", folder.join("cache"))
        .env_remove("HEADROOM_COMPONENTS")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("headroom starts")
}

#[track_caller]
fn refused(folder: &Path, args: &[&str], part: &str) {
    let output = headroom(folder, args);
    let text = messages(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert!(text.contains(part), "{args:?}: {part:?} is not in: {text}");
    assert!(!folder.join("cache/sessions").exists(), "{args:?}: {text}");
}

/// A session of `name`, begun by this process, without a run.
fn begun(dir: &Path, name: &str) -> SessionWriter {
    let experiment = plan::load(name).unwrap();
    let plans = plan::plans(&experiment, &Overrides::default()).unwrap();
    let order = Order {
        expect: experiment.expected(&plans, &Overrides::default()),
        plans,
        experiment: experiment.name,
        host: plan::Host::default(),
        command: vec!["headroom".into(), "bench".into(), name.into()],
        resume: false,
    };
    let mut summary = results::fixtures::full();
    summary.experiment.clone_from(&order.experiment);
    summary.complete = false;
    summary.runs.clear();
    summary.failed.clear();
    let mut writer = SessionWriter::create(dir, &summary).unwrap();
    writer.order(&Ordered::new(&order)).unwrap();
    writer
}

#[test]
fn what_cannot_be_continued_is_told_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let resume = ["bench", "quota-unit", "--resume", "session"];
    let with = |more: &[&'static str]| [&resume[..], more].concat();
    refused(dir, &resume, "there is no such folder");
    fs::create_dir(dir.join("session")).unwrap();
    refused(dir, &resume, "it holds no session");
    refused(dir, &["bench", "all", "--resume", "session"], "no session");
    fs::write(dir.join("session/page.json"), "{}").unwrap();
    refused(dir, &resume, "a folder of `headroom bench all`");
    fs::remove_file(dir.join("session/page.json")).unwrap();

    let writer = begun(&dir.join("session"), "quota-unit");
    refused(dir, &resume, "still running");
    drop(writer);
    refused(dir, &with(&["--nodes", "5"]), "nodes: 50 → 5");
    refused(dir, &with(&["--repeat", "3"]), "repeats: 1 → 3");
    refused(dir, &with(&["--arm", "cards"]), "arms were ");
    refused(dir, &with(&["--out", "other"]), "--out");
    refused(dir, &with(&["--soak", "1h"]), "--soak");
    refused(
        dir,
        &["bench", "regimes", "--resume", "session"],
        "experiment: quota-unit → regimes",
    );
    fs::remove_file(dir.join("session/order.json")).unwrap();
    refused(dir, &resume, "order.json");
}

#[test]
fn a_dry_run_says_what_is_left_of_one_session_and_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(begun(&dir.join("all/quota-unit"), "quota-unit"));
    let dry = |args: &[&str]| {
        let output = headroom(dir, &[args, &["--dry-run"]].concat());
        assert!(output.status.success(), "{}", messages(&output));
        messages(&output)
    };
    let one = dry(&["bench", "quota-unit", "--resume", "all/quota-unit"]);
    assert!(
        one.contains("continuing quota-unit: 0 runs stay, 4 are left"),
        "{one}"
    );
    let all = dry(&["bench", "all", "--resume", "all"]);
    assert!(all.contains("continuing quota-unit: 0 runs stay"), "{all}");
    assert!(all.contains("continuing: regimes has not begun"), "{all}");
    assert_eq!(fs::read_dir(dir.join("all")).unwrap().count(), 1);
}

/// Interrupted in its second run, a session keeps the first and does the second again; it ends as if nothing had happened.
#[test]
fn an_interrupted_session_goes_on_where_it_was() {
    let _turn = one_at_a_time();
    let bed = Bed::new();
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/manifests/experiments/quota-unit.yaml"
    );
    let text = fs::read_to_string(source).expect("the experiment");
    let long = "observe_secs: 120";
    assert!(text.contains(long), "it is not {long} any more");
    let text = text.replace(long, "observe_secs: 25");
    fs::write(bed.path().join("small.yaml"), text).expect("a file");
    let bench = [
        "bench",
        "small.yaml",
        "--hami",
        "builtin",
        "--nodes",
        "5",
        "--arm",
        "memory",
        "--arm",
        "cards",
    ];
    let mut first = bed.start(&[&bench[..], &["--out", "session"]].concat(), "first.log");
    let second_run = "run 2 of 2";
    first.until(second_run);
    let deadline = Instant::now() + Duration::from_mins(4);
    while !first
        .said()
        .split_once(second_run)
        .is_some_and(|(_, later)| later.contains("t = "))
    {
        assert!(Instant::now() < deadline, "{}", first.said());
        std::thread::sleep(Duration::from_millis(50));
    }
    first.signal("-INT");
    assert_eq!(first.code(), Some(130), "{}", first.said());
    bed.assert_nothing_left();
    let dir = bed.path().join("session");
    let before = Session::load(&dir).expect("a readable session").summary;
    assert!(!before.complete);
    let records = fs::read(dir.join("memory-1/jobs.jsonl")).expect("records");

    let resume = [&bench[..], &["--resume", "session"]].concat();
    let output = bed.run(&resume);
    let said = messages(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{said}");
    assert!(said.contains("1 runs stay, 1 are left"), "{said}");
    bed.assert_nothing_left();
    let after = Session::load(&dir).expect("a readable session").summary;
    assert!(after.complete && after.failed.is_empty());
    let runs: Vec<&str> = after.runs.iter().map(|run| run.folder.as_str()).collect();
    assert_eq!(runs, ["memory-1", "cards-1"]);
    assert!(
        after
            .runs
            .iter()
            .all(results::run_folder::RunSummary::came_to_its_end)
    );
    assert!(after.runs[0].started < after.runs[1].started);
    assert_eq!(after.runs[0].started, before.runs[0].started);
    assert_eq!(fs::read(dir.join("memory-1/jobs.jsonl")).unwrap(), records);
    assert!(dir.join("cards-1.aside-1/run.json").is_file());
    let arms: Vec<(&str, u32)> = after
        .arms
        .iter()
        .map(|a| (a.name.as_str(), a.runs))
        .collect();
    assert_eq!(arms, [("memory", 1), ("cards", 1)]);
    assert_eq!(
        (&after.command, &after.started),
        (&before.command, &before.started)
    );
    assert_eq!(after.resumed.len(), 1);
    let command = &after.resumed[0].command;
    assert!(command.iter().any(|word| word == "--resume"), "{command:?}");

    let again = bed.run(&resume);
    assert_eq!(again.status.code(), Some(2), "{}", messages(&again));
    assert!(messages(&again).contains("it is complete"));
}
