//! Nothing is left behind, whatever ends a command; and nobody touches what is not theirs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::support::{Bed, messages, turn};
use harness::bench::{self, News};
use tokio_util::sync::CancellationToken;

/// What `bench` says when the timeline has begun.
const UNDER_WAY: &str = "t = ";

/// A short run of one regime with the built-in extender.
const SHORT: &[&str] = &[
    "bench",
    "workstation",
    "--hami",
    "builtin",
    "--compress",
    "2400",
    "--out",
    "session",
];

/// Starts a run, sends a signal once it has said `when`, and checks that it ends in order with code 130.
fn interrupted(signal: &str, when: &str) -> Bed {
    let bed = Bed::new();
    let mut run = bed.start(SHORT, "run.log");
    run.until(when);
    run.signal(signal);
    assert_eq!(run.code(), Some(130), "{}", run.said());
    bed.assert_nothing_left();
    bed
}

#[test]
fn ctrl_c_during_a_run_keeps_partial_results() {
    let _turn = turn();
    let bed = interrupted("-INT", UNDER_WAY);
    let session = results::run_folder::Session::load(&bed.path().join("session"))
        .expect("a readable session");
    assert!(!session.summary.complete);
    let run = &session.summary.runs[0];
    assert!(
        run.disturbed.iter().any(|d| d.kind == "interrupted"),
        "{:?}",
        run.disturbed
    );
    let workstation = run
        .tenants
        .iter()
        .find(|t| t.name == "workstation")
        .expect("the team");
    assert!(workstation.unfinished > 0 && workstation.makespan_secs.is_none());
}

#[test]
fn sigterm_during_bring_up_leaves_nothing() {
    let _turn = turn();
    interrupted("-TERM", "starting etcd");
}

/// A panic unwinds through the session's own stack, which is what must take everything down; so the session runs in this
/// process, beside something that panics in the same task.
#[test]
fn a_panic_leaves_nothing() {
    let _turn = turn();
    let bed = Bed::new();
    let out = bed.path().join("session");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let session = async {
        let (bench, order) = bed.session("workstation", 2400.0, &out).await;
        let records = out.join("fixed-1/usage.csv");
        let under_way = async || {
            // A header and a row.
            while std::fs::read_to_string(&records).map_or(0, |text| text.lines().count()) < 2 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let (mut tell, cancel) = (|_: News<'_>| {}, CancellationToken::new());
        tokio::select! {
            ended = bench::session(&bench, &order, &mut tell, &cancel) => unreachable!("it ended: {ended:?}"),
            () = under_way() => panic!("as a mistake of ours would"),
        }
    };
    let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(session)));
    let panic = ended.unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"as a mistake of ours would"));
    // As the program's end does, it waits for what still runs.
    drop(runtime);
    bed.assert_nothing_left();
}

#[test]
fn the_next_command_clears_what_a_killed_one_left_and_nothing_else() {
    let _turn = turn();
    let bed = Bed::new();
    let up = bed.run(&["up", "workstation", "--hami", "builtin"]);
    assert!(up.status.success(), "{}", messages(&up));
    let kept = bed.cluster_folders();
    let kept_processes = bed.processes();
    assert_eq!(kept.len(), 1);
    assert!(
        kept_processes.len() >= 7,
        "a control plane has seven components: {kept_processes:?}"
    );
    let kubeconfig = String::from_utf8_lossy(&up.stdout).into_owned();
    assert!(kubeconfig.starts_with("export KUBECONFIG="), "{kubeconfig}");

    let mut run = bed.start(SHORT, "killed.log");
    run.until(UNDER_WAY);
    assert_eq!(bed.cluster_folders().len(), 2);
    run.signal("-KILL");
    run.code();
    assert!(
        bed.processes().len() > kept_processes.len(),
        "a killed command cannot clean up"
    );
    // What it had written so far can be read.
    results::run_folder::Session::load(&bed.path().join("session")).expect("a readable session");

    // Any command clears it, one that only reads included.
    let shown = bed.run(&["show", "session"]);
    let said = messages(&shown);
    assert!(
        said.contains("removed the cluster of a killed command"),
        "{said}"
    );
    let status = bed.run(&["status"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        text.contains(&kept[0]) && text.contains("left running"),
        "{text}"
    );
    assert!(!text.contains("DEAD"), "{text}");
    assert_eq!(bed.cluster_folders(), kept);
    let mut processes = bed.processes();
    processes.sort_unstable();
    let mut expected = kept_processes;
    expected.sort_unstable();
    assert_eq!(processes, expected, "the kept cluster was touched");

    let down = bed.run(&["down"]);
    assert!(down.status.success(), "{}", messages(&down));
    bed.assert_nothing_left();
}

#[test]
fn two_runs_at_once_do_not_touch_each_other() {
    let _turn = turn();
    let bed = Bed::new();
    let mut first = bed.start(SHORT, "first.log");
    let other: Vec<&str> = SHORT
        .iter()
        .map(|a| if *a == "session" { "other" } else { a })
        .collect();
    let mut second = bed.start(&other, "second.log");
    second.until(UNDER_WAY);
    first.until(UNDER_WAY);
    second.signal("-INT");
    assert_eq!(second.code(), Some(130), "{}", second.said());
    // 3: the machine may have been too busy for two, which is said and is not what this is about.
    assert!(matches!(first.code(), Some(0 | 3)), "{}", first.said());
    let session = results::run_folder::Session::load(&bed.path().join("session"))
        .expect("a readable session");
    let team = session.summary.runs[0]
        .tenants
        .iter()
        .find(|t| t.name == "workstation")
        .expect("the team");
    assert_eq!((team.submitted, team.failed, team.unfinished), (113, 0, 0));
    bed.assert_nothing_left();
}

#[test]
fn a_component_that_dies_at_start_shows_its_log_and_the_next_arm_is_tried_all_the_same() {
    let _turn = turn();
    let bed = Bed::new();
    let broken = bed.path().join("scheduler");
    std::fs::write(&broken, "#!/bin/sh\necho no cards found here >&2\nexit 7\n").unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&broken, mode).unwrap();
    let output = bed.run(&[
        "bench",
        "quota-unit",
        "--arm",
        "memory",
        "--arm",
        "cards",
        "--hami",
        "./scheduler",
        "--out",
        "session",
    ]);
    let text = messages(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("hami") && text.contains("no cards found here"),
        "{text}"
    );
    let summary = std::fs::read_to_string(bed.path().join("session/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    // The first one's failure did not end the second.
    assert_eq!(summary["failed"][0]["arm"], "memory", "{summary}");
    assert_eq!(summary["failed"][1]["arm"], "cards", "{summary}");
    assert_eq!(summary["complete"], false, "{summary}");
    bed.assert_nothing_left();
}
