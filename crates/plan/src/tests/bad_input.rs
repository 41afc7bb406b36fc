//! Bad input gets one line that says where, what is wrong, and what would be right.

use std::fmt::Write;
use std::path::PathBuf;

use crate::{Overrides, load, plans, timeline};

const EXPERIMENT: &str = "\
name: small
title: A small experiment
observe_secs: 90
cluster: { groups: { a: { nodes: 2 }, b: { nodes: 1 } } }
hami: { limits: raised }
tenants:
  bare:
    group: a
    workload:
      - burst: { requests: [{ count: 3, request: tenth }] }
      - stream: { from_secs: 1, every_secs: 0.5, count: 4, request: whole-card, run_secs: 5 }
  queued:
    group: b
    quota: { cards: 4, cohort: all }
    workload:
      - burst: { requests: [{ count: 2, request: { cards: 4 }, run_secs: { from: 1, to: 2 } }] }
arms:
  plain: {}
  changed:
    changes:
      hami: { node_policy: binpack }
expect:
  claims:
    - claim: all are bound
      arms: [plain]
      holds: { all-bound: { tenant: bare, class: tenth } }
";

const TIMELINE: &str = "\
name: short
time_compression: 60
stages:
  - name: one
    rounds:
      - { at_minutes: 1, count: 2, cards: 1, minutes: 3 }
  - name: two
    rounds:
      - { at_minutes: 2, count: 1, cards: 8, minutes: 3 }
";

/// A folder of its own with a file in it; removed when dropped.
fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// What loading a file of these bytes says, with the folder's name taken out.
fn loading(bytes: &[u8]) -> String {
    let (folder, path) = file("x.yaml", bytes);
    match load(path.to_str().unwrap()) {
        Ok(_) => "no error".to_owned(),
        Err(err) => err
            .to_string()
            .replace(folder.path().to_str().unwrap(), "DIR"),
    }
}

fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from:?} is not in the example");
    text.replacen(from, to, 1)
}

/// One case a line, after checking that its message is one line.
fn table(cases: impl IntoIterator<Item = (String, String)>) -> String {
    let mut table = String::new();
    for (case, message) in cases {
        assert!(
            !message.contains('\n'),
            "{case}: more than one line: {message}"
        );
        assert!(message.len() < 600, "{case}: too long: {message}");
        assert_ne!(message, "no error", "{case}");
        writeln!(table, "{case}\n    {message}").unwrap();
    }
    table
}

#[test]
fn the_examples_themselves_are_right() {
    assert_eq!(loading(EXPERIMENT.as_bytes()), "no error");
    timeline::from_text("short.yaml", TIMELINE).unwrap();
}

/// What is replaced in [`EXPERIMENT`], and by what.
const BAD_EXPERIMENTS: &[(&str, &str)] = &[
    ("title: A small experiment\n", ""),
    ("title:", "titel:"),
    ("title: A small experiment", "title: [1, 2]"),
    (
        "title: A small experiment",
        "title: A small experiment\ntitle: again",
    ),
    ("name: small", "name: Small One"),
    ("name: small", "name: 5"),
    ("observe_secs: 90", "observe_secs: 0"),
    ("observe_secs: 90", "observe_secs: -1"),
    ("observe_secs: 90", "observe_secs: .nan"),
    ("observe_secs: 90", "observe_secs: .inf"),
    ("every_secs: 0.5", "every_secs: .nan"),
    ("{ from: 1, to: 2 }", "{ from: 1, to: -.inf }"),
    ("observe_secs: 90", "observe_secs: 1e300"),
    ("observe_secs: 90", "observe_secs: soon"),
    ("observe_secs: 90", "observe_secs: \"a\\nb\\u001b[31m\""),
    ("observe_secs: 90\n", ""),
    ("nodes: 2", "nodes: 0"),
    ("nodes: 2", "nodes: -2"),
    ("nodes: 2", "nodes: 2.5"),
    ("nodes: 2", "nodes: 99999999999999999999999999"),
    ("nodes: 2", "nodes: 5001"),
    ("groups: {", "nodes: 3, groups: {"),
    (
        "cluster: { groups: { a: { nodes: 2 }, b: { nodes: 1 } } }",
        "cluster: { groups: {} }",
    ),
    ("node_policy: binpack", "node_polici: null"),
    ("hami: { node_policy: binpack }", "kueu: null"),
    (
        "hami: { node_policy: binpack }",
        "tenants: { quoued: null }",
    ),
    (
        "hami: { node_policy: binpack }",
        "tenants: { queued: { qota: null } }",
    ),
    ("limits: raised", "limits: rased"),
    ("limits: raised", "limits: 7"),
    ("limits: raised", "limits: { qps: 0, burst: 1 }"),
    ("limits: raised", "limits: { qps: 5 }"),
    ("limits: raised", "limits: [5, 10]"),
    ("limits: raised", "limits: { qps: 5, brust: 1 }"),
    ("limits: raised", "node_policy: sprad"),
    (
        "hami: {",
        "data_plane: { default: { image_gb: 20 } }\nhami: {",
    ),
    (
        "hami: {",
        "data_plane: { classes: { tenth: { image_gb: 20 } } }\nhami: {",
    ),
    (
        "hami: {",
        "data_plane: { default: { cuda_init_secs: -1 } }\nhami: {",
    ),
    (
        "hami: {",
        "data_plane: { default: { pull_gbit_per_sec: 0 } }\nhami: {",
    ),
    (
        "hami: {",
        "data_plane: { classes: { tenth: { release_secs: .nan } } }\nhami: {",
    ),
    (
        "hami: {",
        "data_plane: { default: { image_gib: 20 } }\nhami: {",
    ),
    (
        "hami: {",
        "data_plane: { classes: { whole-machine: { shutdown_secs: 1 } } }\nhami: {",
    ),
    ("hami: {", "data_plane: 20\nhami: {"),
    ("group: a", "group: c"),
    ("group: a", "grup: a"),
    ("group: a", "background: yes"),
    ("  bare:", "  Bare_1:"),
    ("count: 3", "count: 0"),
    ("count: 3", "count: 10001"),
    ("count: 3", "count: nominal"),
    ("count: 3", "count: { share_of_cards: 1.5 }"),
    ("request: tenth", "request: tenths"),
    ("request: tenth", "request: { cards: 9 }"),
    ("request: tenth", "request: { cards: 1, gpumem_mib: 30000 }"),
    ("request: tenth", "request: { cards: 1, gpucores: 101 }"),
    ("burst: {", "brust: {"),
    (
        "- burst: { requests: [{ count: 3, request: tenth }] }",
        "- burst",
    ),
    (
        "- burst: { requests: [{ count: 3, request: tenth }] }",
        "- 3",
    ),
    ("from_secs: 1", "from_secs: -1"),
    ("every_secs: 0.5", "every_secs: 0"),
    (
        "{ requests: [{ count: 3",
        "{ at_secs: 2, requests: [{ count: 3",
    ),
    (
        "- burst: { requests: [{ count: 3",
        "- burst: { name: stream, requests: [{ count: 3",
    ),
    ("run_secs: 5", "run_secs: 5, run_minutes: 1"),
    ("run_secs: 5", "run_minutes: 1"),
    ("from: 1, to: 2", "from: 3, to: 2"),
    ("cards: 4, cohort: all", "cards: 3, cohort: all"),
    ("cards: 4, cohort: all", "cards: 9"),
    ("cards: 4, cohort: all", "cards: most"),
    ("cards: 4, cohort: all", "cards: 4000000000"),
    ("group: b\n", "group: b\n    reserved_cards: 9\n"),
    (
        "cards: 4, cohort: all",
        "cards: 4, borrowing_limit_cards: 1",
    ),
    (
        "cards: 4, cohort: all",
        "cards: 4, within_cluster_queue: Any",
    ),
    (
        "cards: 4, cohort: all",
        "cards: 4, within_cluster_queue: lower",
    ),
    ("group: b\n", "group: b\n    background: true\n"),
    ("node_policy: binpack", "node_policy: full"),
    ("      hami: { node_policy: binpack }", "      name: other"),
    (
        "      hami: { node_policy: binpack }",
        "      tenants: { bare: null, queued: null }",
    ),
    (
        "      hami: { node_policy: binpack }",
        "      tenants: { bare: { quota: { cards: 0 } } }",
    ),
    ("  plain: {}", "  plain: { on_request: true }\n  x: 1"),
    ("arms: [plain]", "arms: [plane]"),
    ("tenant: bare", "tenant: bear"),
    ("class: tenth", "class: tent"),
    (
        "all-bound: { tenant: bare, class: tenth }",
        "within: { of: { tenant: bare, metric: makespan_secs } }",
    ),
    (
        "all-bound: { tenant: bare, class: tenth }",
        "within: { of: { tenant: bare, metric: makespan }, at_most: 1 }",
    ),
    (
        "all-bound: { tenant: bare, class: tenth }",
        "all: { tenant: bare }",
    ),
    ("tenants:", "tenants: ["),
    ("tenants:", "tenants:\n\tx: 1"),
    ("title: A small experiment", "title: *nothing"),
    ("hami: {", "<<: {"),
    ("hami:", "clearer: {}\nhami:"),
    ("hami:", "clearer: { evicts: [] }\nhami:"),
    ("hami:", "clearer: { evicts: [bear] }\nhami:"),
    ("hami:", "clearer: { evicts: [bare], scope: c }\nhami:"),
    (
        "hami:",
        "clearer: { evicts: [bare], strategy: reserv }\nhami:",
    ),
    (
        "hami:",
        "clearer: { evicts: [bare], trigger: pending }\nhami:",
    ),
    (
        "hami:",
        "clearer: { evicts: [bare], deadline_secs: 0 }\nhami:",
    ),
    ("hami:", "linger_secs: -1\nhami:"),
];

#[test]
fn bad_experiment_files() {
    let table = table(BAD_EXPERIMENTS.iter().map(|(from, to)| {
        let message = loading(edited(EXPERIMENT, from, to).as_bytes());
        (format!("{from:?} -> {to:?}"), message)
    }));
    insta::assert_snapshot!(table);
}

#[test]
fn bad_timelines() {
    let cases = [
        ("time_compression: 60", "time_compression: 0"),
        ("time_compression: 60", "time_compression: 1e6"),
        ("time_compression: 60\n", ""),
        (
            "time_compression: 60",
            "think_minutes: 1\ntime_compression: 60",
        ),
        ("at_minutes: 1, ", ""),
        ("at_minutes: 1,", "at_minutes: 5,"),
        ("at_minutes: 1,", "at_minutes: -5,"),
        ("at_minutes: 1,", "think_minutes: 5,"),
        ("count: 2", "count: 0"),
        ("count: 2", "count: two"),
        ("count: 2", "count: 20000"),
        ("cards: 1", "cards: 9"),
        ("cards: 1", "cards: 0"),
        ("minutes: 3", "minutes: 0"),
        ("minutes: 3", "minutes: -.inf"),
        ("name: two", "name: one"),
        ("stages:\n", "stages: []\nother:\n"),
    ];
    let table = table(cases.into_iter().map(|(from, to)| {
        let message = match timeline::from_text("short.yaml", &edited(TIMELINE, from, to)) {
            Ok(_) => "no error".to_owned(),
            Err(err) => err.to_string(),
        };
        (format!("{from:?} -> {to:?}"), message)
    }));
    insta::assert_snapshot!(table);
}

#[test]
fn files_that_are_none() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..9 {
        let last = format!("*a{}", i - 1);
        writeln!(bomb, "a{i}: &a{i} [{}]", vec![last; 10].join(", ")).unwrap();
    }
    let deep = "[".repeat(5_000);
    let cases: [(&str, &[u8]); 9] = [
        ("empty", b""),
        ("blank", b" \n\n"),
        ("only a comment", b"# nothing\n"),
        ("not UTF-8", b"name: \xff\xfe\n"),
        ("a NUL byte", b"name: a\0b\n"),
        ("a list", b"- a\n- b\n"),
        ("two documents", b"name: a\n---\nname: b\n"),
        ("a bomb of aliases", bomb.as_bytes()),
        ("deep nesting", deep.as_bytes()),
    ];
    let huge = vec![b'#'; (1 << 20) + 1];
    let cases = cases.into_iter().chain([("huge", huge.as_slice())]);
    let mut table = table(cases.map(|(case, bytes)| (case.to_owned(), loading(bytes))));
    for path in ["./no-such-folder/x.yaml", "no-such.yaml", "/dev/zero", "/"] {
        writeln!(table, "{path}\n    {}", load(path).unwrap_err()).unwrap();
    }
    insta::assert_snapshot!(table);
}

type Set<'a> = &'a dyn Fn(&mut Overrides);

#[test]
fn bad_names_and_options() {
    let (folder, path) = file(
        "bad.yaml",
        edited(TIMELINE, "cards: 1", "cards: 9").as_bytes(),
    );
    let folder = folder.path().to_str().unwrap();
    let bad_timeline = path.to_str().unwrap();
    let cases: [(&str, &str, Set); 18] = [
        ("regimes", "--compress 0", &|o| o.compress = Some(0.0)),
        ("regimes", "--compress -3", &|o| o.compress = Some(-3.0)),
        ("regimes", "--compress NaN", &|o| {
            o.compress = Some(f64::NAN);
        }),
        ("regimes", "--compress inf", &|o| {
            o.compress = Some(f64::INFINITY);
        }),
        ("regimes", "--compress 1e6", &|o| o.compress = Some(1e6)),
        ("regimes", "--compress 60 --quick", &|o| {
            (o.compress, o.quick) = (Some(60.0), true);
        }),
        ("regimes", "--nodes 0", &|o| o.nodes = Some(0)),
        ("regimes", "--nodes 6", &|o| o.nodes = Some(6)),
        ("regimes", "--nodes 8", &|o| o.nodes = Some(8)),
        ("placement", "--nodes 1000000", &|o| {
            o.nodes = Some(1_000_000);
        }),
        ("regimes", "--repeat 0", &|o| o.repeat = Some(0)),
        ("regimes", "--arm lend", &|o| o.arms = vec!["lend".into()]),
        ("regimes", "regime share", &|o| {
            o.regime = Some("share".into());
        }),
        ("regimes", "--timeline autosearch", &|o| {
            o.timeline = Some("autosearch".into());
        }),
        ("regimes", "--timeline ./none.yaml", &|o| {
            o.timeline = Some("./none.yaml".into());
        }),
        ("regimes", "--timeline DIR/bad.yaml", &|o| {
            o.timeline = Some(bad_timeline.into());
        }),
        ("rate-limit", "--timeline autoresearch", &|o| {
            o.timeline = Some("autoresearch".into());
        }),
        ("rate-limit", "--compress 60", &|o| o.compress = Some(60.0)),
    ];
    let mut table = table(cases.into_iter().map(|(name, option, set)| {
        let mut overrides = Overrides::default();
        set(&mut overrides);
        let message = match plans(&load(name).unwrap(), &overrides) {
            Ok(_) => "no error".to_owned(),
            Err(err) => err.to_string().replace(folder, "DIR"),
        };
        (format!("{name} {option}"), message)
    }));
    for name in ["regime", "placment", "dedicatd", "", "\u{1b}[31m\n"] {
        writeln!(table, "{name:?}\n    {}", load(name).unwrap_err()).unwrap();
    }
    insta::assert_snapshot!(table);
}
