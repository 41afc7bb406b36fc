//! Bad input: one clear line and exit code 2, before anything is started.

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::{HEADROOM, messages};

/// Runs `headroom` in `folder`, with a cache there that does not exist yet.
fn headroom(folder: &Path, args: &[&str]) -> Output {
    Command::new(HEADROOM)
        .args(args)
        .env("HEADROOM_CACHE", folder.join("cache"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("headroom starts")
}

/// Asserts that the arguments are refused as usage errors whose message holds each of `parts`, and that nothing was made.
#[track_caller]
fn refused(folder: &Path, args: &[&str], parts: &[&str]) {
    let output = headroom(folder, args);
    let text = messages(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    for part in parts {
        assert!(text.contains(part), "{args:?}: {part:?} is not in: {text}");
    }
    let lines: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("headroom:") || l.starts_with("error:"))
        .collect();
    assert_eq!(lines.len(), 1, "{args:?}: one clear line, not: {text}");
    assert!(!folder.join("runs").exists(), "{args:?}: a run was begun");
    assert!(
        !folder.join("cache/sessions").exists(),
        "{args:?}: a cluster was begun"
    );
}

/// A timeline with one round, which `change` spoils.
fn timeline(folder: &Path, name: &str, change: impl Fn(String) -> String) -> String {
    let good = "name: mine\ntime_compression: 120\nstages:\n  - name: only\n    rounds:\n      - { at_minutes: 0, count: 2, cards: 1, minutes: 10 }\n";
    let path = folder.join(name);
    std::fs::write(&path, change(good.to_owned())).expect("a file");
    path.display().to_string()
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    refused(dir, &["bench", "regimez"], &["regimez", "regimes"]);
    refused(dir, &["bench", "--arm", "defualt"], &["defualt", "default"]);
    for bad in ["0", "-3", "NaN", "inf", "1e99"] {
        let option = format!("--compress={bad}");
        refused(dir, &["bench", &option], &["compress"]);
    }
    refused(dir, &["bench", "--compress=ten"], &["ten"]);
    refused(dir, &["bench", "--repeat=0"], &["repeat"]);
    refused(dir, &["bench", "--limits=none"], &["hami-default"]);
    refused(dir, &["bench", "--node-policy=best"], &["binpack"]);
    refused(dir, &["bench", "--quick", "--compress=10"], &["--quick"]);
    refused(dir, &["bench", "./missing.yaml"], &["missing.yaml"]);
}

#[test]
fn timelines_that_make_no_sense_are_refused_with_file_line_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let refuse = |name: &str, from: &str, to: &str, parts: &[&str]| {
        let path = timeline(dir, name, |good| {
            assert!(good.contains(from), "{name} spoils nothing");
            good.replace(from, to)
        });
        let mut all = vec![name];
        all.extend(parts);
        refused(dir, &["bench", "--timeline", &path], &all);
    };
    refuse(
        "unknown.yaml",
        "count: 2",
        "cuont: 2",
        &[":6", "cuont", "count"],
    );
    refuse("missing.yaml", "count: 2, ", "", &[":6", "count"]);
    refuse("zero.yaml", "count: 2", "count: 0", &[":6", "count"]);
    refuse(
        "negative.yaml",
        "minutes: 10",
        "minutes: -10",
        &[":6", "minutes"],
    );
    refuse(
        "nan.yaml",
        "minutes: 10",
        "minutes: .nan",
        &[":6", "not a finite number"],
    );
    refuse(
        "absurd.yaml",
        "count: 2",
        "count: 99999999",
        &[":6", "count"],
    );
    refuse("nine.yaml", "cards: 1", "cards: 9", &[":6", "cards", "8"]);
    refuse("type.yaml", "cards: 1", "cards: many", &[":6", "cards"]);
    refuse("twice.yaml", "cards: 1", "cards: 1, cards: 2", &["cards"]);
}

#[test]
fn an_experiment_larger_than_its_regimes_quota_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = "name: small\ntitle: t\ncluster: { nodes: 2 }\ntenants:\n  team:\n    quota: { cards: 4 }\n    workload:\n      - burst: [ { count: 1, cards: 8 } ]\nobserve_secs: 10\n";
    std::fs::write(folder.path().join("small.yaml"), file).unwrap();
    refused(folder.path(), &["bench", "./small.yaml"], &["small.yaml"]);
}

#[test]
fn files_that_are_no_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("binary.yaml"), [0u8, 159, 146, 150, 255]).unwrap();
    std::fs::write(dir.join("empty.yaml"), "").unwrap();
    std::fs::create_dir(dir.join("folder.yaml")).unwrap();
    for name in ["binary.yaml", "empty.yaml", "folder.yaml"] {
        refused(dir, &["bench", &format!("./{name}")], &[name]);
        refused(dir, &["bench", "--timeline", &format!("./{name}")], &[name]);
    }
}

#[test]
fn programs_and_folders_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("notes.txt"), "not a program").unwrap();
    refused(
        dir,
        &["bench", "--hami", "./notes.txt"],
        &["notes.txt", "not a program"],
    );
    refused(dir, &["bench", "--hami", "./nothing"], &["nothing"]);
    refused(dir, &["bench", "--components", "./nothing"], &["nothing"]);
    refused(
        dir,
        &["setup", "--cache", "/proc/headroom"],
        &["/proc/headroom", "--cache"],
    );
    refused(
        dir,
        &["setup", "--cache", "./notes.txt"],
        &["notes.txt", "--cache"],
    );
}

#[test]
fn conformance_says_what_is_missing_or_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    refused(dir, &["conformance"], &["--hami twice"]);
    refused(dir, &["conformance", "--hami", "builtin"], &["--against"]);
    let two = ["conformance", "--hami", "builtin", "--hami", "builtin"];
    let with = |more: &[&'static str]| [&two[..], more].concat();
    refused(dir, &with(&["--hami", "builtin"]), &["more than twice"]);
    refused(dir, &with(&["--repeat", "0"]), &["--repeat"]);
    refused(
        dir,
        &with(&["--scenario", "restrat"]),
        &["restrat", "nearest: restart"],
    );
    std::fs::write(dir.join("torn.json"), "{").unwrap();
    let held = ["conformance", "--hami", "builtin", "--against"];
    refused(
        dir,
        &[&held[..], &["torn.json"]].concat(),
        &["torn.json", "--record"],
    );
    refused(
        dir,
        &[&held[..], &["nowhere.json"]].concat(),
        &["nowhere.json"],
    );
    refused(
        dir,
        &with(&["--scenario", "restart", "--against", "torn.json"]),
        &["torn.json"],
    );
}

#[test]
fn a_dry_run_prints_the_plan_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = headroom(
        folder.path(),
        &["bench", "regimes", "--compress", "240", "--dry-run"],
    );
    assert!(output.status.success(), "{}", messages(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "compress    240",
        "ClusterQueue",
        "nominalQuota",
        "dedicated",
        "expected",
    ] {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "bench",
        "setup",
        "doctor",
        "up",
        "status",
        "down",
        "list",
        "conformance",
        "extender",
    ] {
        let output = headroom(folder.path(), &[command, "--help"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success());
        assert!(text.contains("Example"), "{command}: {text}");
    }
}
