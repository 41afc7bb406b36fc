//! Commands on recorded sessions: they need no cluster, and their exit codes are what a script goes by.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{headroom, messages};
use serde_json::{Value, json};

const ARM: &str = "raised-spread";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("runs/examples")
}

/// A session of six runs like a recorded one, in which whole cards waited `p95` seconds, more or less.
fn session(folder: &Path, name: &str, p95: f64) -> String {
    let from = examples().join("rate-limit");
    let to = folder.join(name);
    let text = fs::read_to_string(from.join("summary.json")).unwrap();
    let mut summary: Value = serde_json::from_str(&text).unwrap();
    let runs = summary["runs"].as_array().unwrap();
    let recorded = runs.iter().find(|r| r["arm"] == ARM).unwrap().clone();
    let run = |i: u32| {
        let (mut run, name) = (recorded.clone(), format!("{ARM}-{i}"));
        fs::create_dir_all(to.join(&name)).unwrap();
        for file in fs::read_dir(from.join(format!("{ARM}-1"))).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(&name).join(file.file_name())).unwrap();
        }
        run["repeat"] = json!(i);
        run["folder"] = json!(name);
        run["disturbed"] = json!([]);
        run["tenants"][0]["latency"]["whole-card"]["bind_latency"]["p95"] =
            json!(p95 + f64::from(i) * 0.01);
        run
    };
    summary["runs"] = (1..=6).map(run).collect();
    fs::write(to.join("summary.json"), summary.to_string()).unwrap();
    name.to_owned()
}

#[test]
fn comparisons_end_with_the_code_that_a_script_goes_by() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let base = session(dir, "base", 10.0);
    let same = session(dir, "same", 10.005);
    let slow = session(dir, "slow", 20.0);
    let code = |args: &[&str]| {
        let output = headroom(dir, &[&["compare"], args].concat());
        (
            output.status.code(),
            messages(&output) + &String::from_utf8_lossy(&output.stdout),
        )
    };
    let (good, text) = code(&[&base, &same]);
    assert_eq!(good, Some(0), "{text}");
    assert!(text.contains("No regression"), "{text}");
    let (bad, text) = code(&[&base, &slow, "--json", "c.json", "--markdown", "c.md"]);
    assert_eq!(bad, Some(4), "{text}");
    assert!(
        text.contains("Regression: requests whole-card: bind latency, p95 +99"),
        "{text}"
    );
    let written: Value =
        serde_json::from_str(&fs::read_to_string(dir.join("c.json")).unwrap()).unwrap();
    assert_eq!(written["outcome"], "regression");
    assert!(
        fs::read_to_string(dir.join("c.md"))
            .unwrap()
            .contains("**Regression")
    );
    // The same runs under another name are no further evidence.
    let copy = session(dir, "copy", 10.0);
    let (copied, text) = code(&[&base, &copy]);
    assert_eq!(copied, Some(2), "{text}");
    let words = "base/raised-spread-1 and copy/raised-spread-1 are copies of one run";
    assert!(text.contains(words), "{text}");
    let (several, text) = code(&[&base, &same, "--", &slow]);
    assert_eq!(several, Some(4), "{text}");
    assert!(text.contains("12 + 6 runs"), "{text}");
    for (args, part) in [
        (&[&base[..], &same, &slow][..], "--"),
        (&[&base], "--baseline nightly"),
        (&[], "BASE NEW"),
        (&[&base, &base], "twice"),
        (&[&base, "nowhere"], "nowhere: there is no such folder"),
        (&["--baseline", "weekly", &base], "nightly=N"),
        (
            &["--baseline", "nightly", &base],
            "no earlier nightly session",
        ),
        (&["--across", "hammy", &base, &same], "hami"),
    ] {
        let (usage, text) = code(args);
        assert_eq!(usage, Some(2), "{args:?}: {text}");
        assert!(text.contains(part), "{args:?}: {text}");
    }
}

#[test]
fn what_is_no_session_is_left_out_if_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| examples().join(name).display().to_string();
    let (readme, session) = (path("README.md"), path("rate-limit"));
    let output = headroom(folder.path(), &["plot", &readme, &session]);
    assert!(output.status.success(), "{}", messages(&output));
    assert!(messages(&output).contains("README.md is not a session"));
    let output = headroom(folder.path(), &["plot", &readme]);
    assert_eq!(output.status.code(), Some(2));
}

/// A copy of a recorded session, to be harmed.
fn copy(folder: &Path, example: &str) -> PathBuf {
    let to = folder.join(example);
    let all = format!(
        "cp -r '{}' '{}'",
        examples().join(example).display(),
        to.display()
    );
    let copied = Command::new("sh").args(["-c", &all]).status().unwrap();
    assert!(copied.success());
    to
}

#[test]
fn of_an_arm_whose_records_are_gone_or_cut_nothing_is_claimed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let show = |name: &str| {
        let output = headroom(dir, &["show", name]);
        assert!(output.status.success(), "{}", messages(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let gone = copy(dir, "rate-limit");
    fs::remove_dir_all(gone.join("raised-spread-1")).unwrap();
    let text = show("rate-limit");
    assert!(text.contains("Not judged in arm raised-spread:"), "{text}");
    assert!(
        text.contains("raised-binpack: the published claims hold again"),
        "{text}"
    );
    let cut = copy(dir, "quota-unit").join("cards-1");
    fs::remove_file(cut.join("jobs.jsonl.gz")).unwrap();
    fs::write(cut.join("jobs.jsonl"), "").unwrap();
    let text = show("quota-unit");
    assert!(text.contains("Not judged in arm cards:"), "{text}");
    assert!(
        text.contains("it has 0 records, and 3 were summarised"),
        "{text}"
    );
    let output = headroom(dir, &["runs", "."]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("unreadable: ./quota-unit/cards-1/jobs.jsonl"),
        "{text}"
    );
    assert!(!text.contains("cards 3 of 3"), "{text}");
    // In a comparison the run counts for nothing.
    let whole = examples().join("quota-unit").display().to_string();
    let output = headroom(dir, &["compare", &whole, "quota-unit"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &messages(&output);
    assert!(said.contains("copies of one run"), "{said}");
}
