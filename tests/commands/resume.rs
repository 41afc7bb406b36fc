//! What of an interrupted session can be continued, and what is refused.

use std::fs;
use std::path::Path;

use plan::{Order, Overrides};
use results::run_folder::{Ordered, SessionWriter};

use crate::{headroom, messages};

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
