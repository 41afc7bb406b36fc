//! A session that was interrupted is continued.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Bed, messages, turn};
use results::run_folder::Session;

/// Interrupted in its second run, a session keeps the first and does the second again; it ends as if nothing had happened.
#[test]
fn an_interrupted_session_goes_on_where_it_was() {
    let _turn = turn();
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
