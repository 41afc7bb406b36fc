//! Bad input: one clear line and exit code 2, before anything is started.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use crate::{HEADROOM, headroom, messages};

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
    refused(dir, &["bench", "--arm", "fxied"], &["fxied", "fixed"]);
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
fn durations_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for bad in ["16", "0h", "-2h", "soon", "h", "1y", "NaNh", ""] {
        let option = format!("--soak={bad}");
        refused(dir, &["bench", "quota-unit", &option], &["16h"]);
    }
    refused(dir, &["bench", "--soak=8d"], &["--soak", "604800"]);
    let short = ["bench", "regimes", "--soak=5m"];
    refused(
        dir,
        &short,
        &["--soak", "too short", "5 min", "takes about"],
    );
    let both = ["bench", "--soak=16h", "--repeat=2"];
    refused(dir, &both, &["--soak", "--repeat"]);
    refused(dir, &["bench", "--soak=16h", "--keep"], &["--keep"]);
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/manifests/experiments/quota-unit.yaml"
    ));
    let text = text
        .expect("the file")
        .replace("observe_secs: 120", "observe_secs: 120\nsoak_secs: 10");
    std::fs::write(dir.join("mine.yaml"), text).expect("a file");
    let parts = ["mine.yaml", "soak_secs", "too short"];
    refused(dir, &["bench", "mine.yaml"], &parts);
}

#[test]
fn all_refuses_what_is_about_one_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for option in [["--arm", "spread"], ["--compress", "600"], ["--soak", "1h"]] {
        let args = [&["bench", "all"][..], &option].concat();
        refused(dir, &args, &[option[0], "does not go with all"]);
    }
    refused(dir, &["bench", "all", "--nodes", "0"], &["--nodes"]);
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
        &[":6", "minutes", "finite number"],
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
fn a_job_larger_than_its_teams_quota_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = "name: small\ntitle: t\ncluster: { nodes: 2 }\ntenants:\n  team:\n    quota: { cards: 4 }\n    workload:\n      - burst: { requests: [{ count: 1, request: whole-machine }] }\nobserve_secs: 10\n";
    std::fs::write(folder.path().join("small.yaml"), file).unwrap();
    refused(
        folder.path(),
        &["bench", "./small.yaml"],
        &["small.yaml:", "8 cards never fits", "4 at most"],
    );
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
fn an_experiment_files_host_settings_are_used_and_refused_like_options() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let write = |host: &str| {
        let file = format!(
            "name: own\ntitle: t\nhost: {host}\nobserve_secs: 1\ntenants:\n  a: {{ workload: [burst: {{ requests: [{{ count: 1, request: tenth }}] }}] }}\n"
        );
        std::fs::write(dir.join("own.yaml"), file).unwrap();
    };
    let refuse = |host: &str, parts: &[&str]| {
        write(host);
        refused(dir, &["bench", "./own.yaml", "--trust-host"], parts);
    };
    refuse("{ hami: ./nothing }", &["nothing", "no such file"]);
    refuse("{ components: nothing }", &["nothing"]);
    refuse("{ hami: 'image:' }", &["own.yaml:3", "host.hami"]);
    refuse("{ registry: 'a b' }", &["own.yaml:3", "host.registry"]);
    refuse("{ hamy: auto }", &["own.yaml:3", "host.hamy", "hami"]);
    // The file may be someone else's: without that option it decides neither what runs nor where it is written.
    for (host, named) in [
        ("{ hami: ./evil }", "./evil"),
        ("{ hami: 'image:v1' }", "image:v1"),
        ("{ registry: evil.example }", "evil.example"),
        ("{ components: evil }", "evil"),
        ("{ cache: /tmp/evil }", "/tmp/evil"),
        ("{ out: evil }", "evil"),
    ] {
        write(host);
        for command in ["bench", "up"] {
            refused(
                dir,
                &[command, "./own.yaml"],
                &["own.yaml:3", named, "--trust-host"],
            );
        }
    }
    assert!(!dir.join("evil").exists());
}

#[test]
fn folders_for_results_and_cache_are_looked_at_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::create_dir(dir.join("mine")).unwrap();
    std::fs::write(dir.join("mine/notes.txt"), "mine").unwrap();
    refused(dir, &["bench", "--out", "mine"], &["mine", "files in it"]);
    refused(
        dir,
        &["bench", "--out", "mine/notes.txt"],
        &["not a folder"],
    );
    std::fs::write(dir.join("mine/summary.json"), "{}").unwrap();
    refused(dir, &["bench", "--out", "mine"], &["a session already"]);
    refused(dir, &["setup", "--cache", "a b"], &["a b", "blank"]);
}

#[test]
fn sessions_and_clusters_that_are_not_there_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for command in ["show", "plot", "report", "runs"] {
        refused(dir, &[command, "nosuch"], &["nosuch"]);
    }
    refused(dir, &["down", "nosuch"], &["nosuch", "headroom status"]);
}

#[test]
fn nobody_listening_is_no_reason_to_panic() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["list"][..], &["bench", "--dry-run"], &["bench", "nosuch"]] {
        let full = || std::fs::File::create("/dev/full").expect("/dev/full");
        let status = Command::new(HEADROOM)
            .args(args)
            .env("HEADROOM_CACHE", folder.path().join("cache"))
            .current_dir(folder.path())
            .stdout(full())
            .stderr(full())
            .status()
            .expect("headroom starts");
        assert_ne!(status.code(), Some(101), "{args:?} panicked");
    }
}

#[test]
fn a_file_name_that_is_no_text_is_a_file_name_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(HEADROOM)
        .args(["bench", "--dry-run", "--out"])
        .arg(OsStr::from_bytes(b"o\xff"))
        .env("HEADROOM_CACHE", folder.path().join("cache"))
        .current_dir(folder.path())
        .output()
        .expect("headroom starts");
    assert_eq!(output.status.code(), Some(0), "{}", messages(&output));
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
fn a_dry_run_of_all_says_how_long_every_experiment_takes_together() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["bench", "all", "--dry-run", "--quick", "--nodes", "50"];
    let output = headroom(folder.path(), &args);
    assert!(output.status.success(), "{}", messages(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let list = headroom(folder.path(), &["list"]);
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let names = list.lines().filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() >= 9, "{list}");
    for name in names {
        assert!(text.contains(&format!("experiment  {name} ")), "{name}");
    }
    let end = text.lines().last().unwrap_or_default();
    assert!(
        end.starts_with("in all: ") && end.contains(" runs, about "),
        "{end}"
    );
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn at_a_size_that_an_experiment_cannot_have_all_leaves_that_one_out_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["bench", "all", "--nodes", "10", "--dry-run"];
    let output = headroom(folder.path(), &args);
    let notes = messages(&output);
    assert!(output.status.success(), "{notes}");
    assert!(notes.contains("note: regimes is left out"), "{notes}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("experiment  quota-unit "), "{text}");
    assert!(!text.contains("experiment  regimes "), "{text}");
}

#[test]
fn a_dry_run_of_a_soak_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["bench", "quota-unit", "--soak", "1h30m", "--dry-run"];
    let output = headroom(folder.path(), &args);
    assert!(output.status.success(), "{}", messages(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "as many runs as end within 90 min 00 s",
        "in all: as many runs",
    ] {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[test]
fn nights_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let night = |option: &str, value: &str, parts: &[&str]| {
        refused(dir, &["nightly", option, value], parts);
    };
    night(
        "--experiments",
        "regimes,placement,regimes",
        &["regimes", "twice"],
    );
    night("--metrics", "/dev/null", &["/dev/null", "regular file"]);
    night("--hami", "/nowhere", &["/nowhere"]);
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
        "compare",
        "nightly",
    ] {
        let output = headroom(folder.path(), &[command, "--help"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success());
        assert!(text.contains("Example"), "{command}: {text}");
    }
}
