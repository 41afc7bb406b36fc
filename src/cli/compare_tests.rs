//! What `compare` refuses, and its exit codes.

use std::fs;

use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Command, is_usage};
use synthetic::Script;

fn parsed(args: &[&str]) -> Result<CompareArgs, String> {
    match Cli::try_parse_from([&["headroom", "compare"], args].concat()).map(|cli| cli.command) {
        Ok(Command::Compare(args)) => Ok(args),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

fn compare(args: &[&str]) -> anyhow::Result<Exit> {
    super::compare(&parsed(args).unwrap())
}

/// The line with which this is refused as a usage error.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let error = compare(args).unwrap_err();
    assert!(is_usage(&error), "{error:#}");
    in_one(&error)
}

/// A baseline and a new session of six runs below `root`; the new one has longer makespans if `worse`.
fn sessions(root: &Path, worse: bool) -> [String; 2] {
    ["base", "new"].map(|folder| {
        let script = Script {
            folder,
            repeats: 6,
            ..Script::default()
        };
        let path = script.write(root);
        if worse && folder == "new" {
            let file = path.join("summary.json");
            let mut summary: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            for run in summary["runs"].as_array_mut().unwrap() {
                for team in run["tenants"].as_array_mut().unwrap() {
                    if let Some(secs) = team["makespan_secs"].as_f64() {
                        team["makespan_secs"] = (secs * 2.0).into();
                    }
                }
            }
            fs::write(file, summary.to_string()).unwrap();
        }
        path.display().to_string()
    })
}

#[test]
fn a_regression_is_told_although_a_file_can_not_be_written() {
    let root = tempfile::tempdir().unwrap();
    let kept = root.path().join("c.md");
    let full = ["--json", "/dev/full", "--markdown", kept.to_str().unwrap()];
    let [base, new] = sessions(root.path(), true);
    let exit = compare(&[&[&*base, &*new], &full[..]].concat());
    assert_eq!(exit.unwrap(), Exit::Regression);
    assert!(fs::read_to_string(kept).unwrap().contains("Regression"));
    // Where there is no such news, the file is.
    let same = tempfile::tempdir().unwrap();
    let [base, new] = sessions(same.path(), false);
    assert_eq!(compare(&[&base, &new]).unwrap(), Exit::Done);
    let error = compare(&[&base, &new, "--json", "/dev/full"]).unwrap_err();
    assert!(!is_usage(&error) && error.to_string().contains("/dev/full"));
}

#[test]
fn a_session_that_is_compared_is_not_written_to() {
    let root = tempfile::tempdir().unwrap();
    let [base, new] = sessions(root.path(), false);
    let summary = format!("{base}/summary.json");
    let before = fs::read(&summary).unwrap();
    let aside = root.path().join("c.json");
    let aside = aside.to_str().unwrap();
    for option in ["--json", "--markdown"] {
        let line = refused(&[&base, &new, option, &summary]);
        assert!(
            line.starts_with(option) && line.contains("session"),
            "{line}"
        );
        let line = refused(&[&base, &new, option, &format!("{new}/fixed-1/run.json")]);
        assert!(line.contains("session"), "{line}");
    }
    refused(&[&base, &new, "--json", aside, "--markdown", &summary]);
    refused(&[&base, &new, "--json", aside, "--markdown", aside]);
    assert!(!Path::new(aside).exists(), "something was written first");
    assert_eq!(fs::read(&summary).unwrap(), before);
    let metrics = root.path().join("metrics.yaml");
    fs::write(&metrics, "alpha: 0.05\nexperiments: {}\n").unwrap();
    let metrics = metrics.to_str().unwrap();
    refused(&[&base, &new, "--metrics", metrics, "--json", metrics]);
}

#[test]
fn which_side_is_missing_is_said() {
    let line = refused(&["--", "a", "b"]);
    assert!(
        line.ends_with("before --: headroom compare BASE… -- a b"),
        "{line}"
    );
    assert!(refused(&["a", "b", "c"]).starts_with("which of a, b, c are the baseline?"));
}

#[test]
fn what_a_session_says_reaches_no_terminal_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let bad = Script {
        folder: "bad",
        disturbed: vec![results::run_folder::Disturbance {
            kind: "\u{1b}[31mred\nheadroom: all is well".into(),
            detail: "d".into(),
            remedy: "r".into(),
        }],
        ..Script::default()
    };
    let good = Script {
        folder: "good",
        ..Script::default()
    };
    let [bad, good] = [bad, good].map(|s| s.write(root.path()).display().to_string());
    let error = compare(&[&bad, &good]).unwrap_err();
    let line = crate::cli::told(&error);
    assert!(line.contains("red headroom: all is well"), "{line:?}");
    assert!(!line.chars().any(char::is_control), "{line:?}");
}
