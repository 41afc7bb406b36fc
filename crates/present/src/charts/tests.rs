//! Whole pictures from made-up sessions.

use super::*;
use synthetic::{Script, exit};

/// Where pictures are kept for a look at them; else in a folder that goes away.
const KEEP: &str = "HEADROOM_TEST_PICTURES";

fn out(root: &Path, folder: &str) -> PathBuf {
    let kept = std::env::var_os(KEEP).map(PathBuf::from);
    kept.unwrap_or_else(|| root.join("plots")).join(folder)
}

fn drawn(script: &Script) -> Vec<(String, String)> {
    let root = tempfile::tempdir().unwrap();
    let session = script.write(root.path());
    let out = out(root.path(), script.folder);
    let files = plot(&[session], &out).unwrap();
    files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "svg"))
        .map(|f| {
            let name = f.file_stem().unwrap().to_string_lossy().into_owned();
            let png = fs::read(f.with_extension("png")).unwrap();
            assert_eq!(&png[1..4], b"PNG");
            (name, fs::read_to_string(f).unwrap())
        })
        .collect()
}

#[test]
fn regimes_give_the_articles_pictures() {
    let all = drawn(&Script {
        exits: vec![exit(300.0, "leader election lost")],
        ..Script::default()
    });
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "cards-in-use",
        "makespan-and-cost",
        "bound-latency",
        "restarts-and-latency",
    ];
    assert_eq!(names, expected.map(|n| format!("regimes-{n}")));
    for (name, svg) in &all {
        assert!(
            svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
            "{name}"
        );
        assert!(svg.contains("real HAMi"), "{name} says which HAMi ran");
    }
}

#[test]
fn experiments_on_the_clusters_limits_give_their_pictures() {
    for (folder, experiment, expected) in [
        ("rate", "rate-limit", &["bound-over-time"][..]),
        ("place", "placement", &["placement"]),
        ("quota", "quota-unit", &["quota"]),
    ] {
        let all = drawn(&Script {
            folder,
            experiment,
            ..Script::default()
        });
        for chart in expected {
            let name = format!("{experiment}-{chart}");
            assert!(
                all.iter().any(|(n, _)| *n == name),
                "{name} is missing: {:?}",
                all.iter().map(|(n, _)| n)
            );
        }
    }
}

/// Plans of five whole machines against a full cluster.
fn preemption() -> Script {
    Script {
        folder: "preemption",
        experiment: "quota-unit",
        edit: |plan| {
            plan.kueue.quota_unit = plan::QuotaUnit::Cards;
            let mut others = plan.tenants[0].clone();
            others.name = "others".into();
            plan.tenants.push(others);
        },
        play: synthetic::play::preemption,
        ..Script::default()
    }
}

#[test]
fn clearing_machines_shows_where_and_who_pays() {
    let all = drawn(&preemption());
    let titled = |end: &str| {
        let found = all.iter().find(|(name, _)| name.ends_with(end));
        found.map(|(_, svg)| words(svg)).unwrap_or_default()
    };
    let machines = titled("machines-memory");
    assert!(
        machines.contains("5 of 5 whole machines placed, 1 where nothing had been evicted"),
        "{machines}"
    );
    assert!(titled("who-pays").contains("card·s: memory 2,9"));
    assert!(
        machines.contains("placed where nothing had been evicted"),
        "{machines}"
    );
    // The same evictions on both pictures.
    let evictions = machines
        .split(" eviction")
        .next()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap();
    let paid = titled("who-pays");
    assert!(
        paid.contains(&format!("waited ({evictions} eviction")),
        "{machines}: {paid}"
    );
}

/// The words of a picture, its lines joined.
fn words(svg: &str) -> String {
    let texts = svg
        .split("<text")
        .skip(1)
        .filter_map(|t| t.split_once('>')?.1.split('<').next());
    texts.map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn several_sessions_give_a_trend_and_names_of_their_own() {
    let root = tempfile::tempdir().unwrap();
    let first = Script {
        repeats: 3,
        ..Script::default()
    }
    .write(root.path());
    let second = Script {
        folder: "second",
        started: "2026-01-02T00:00:00Z",
        ..Script::default()
    }
    .write(root.path());
    let out = out(root.path(), "several");
    let files = plot(&[first, second.clone(), second], &out).unwrap();
    let names: Vec<String> = files
        .iter()
        .map(|f| f.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    for name in [
        "regimes-trend.svg",
        "second-bound-latency.svg",
        "second-bound-latency-2.png",
    ] {
        assert!(
            names.iter().any(|n| n == name),
            "{name} is missing: {names:?}"
        );
    }
    let mut unique = names.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
}

#[test]
fn sessions_whose_folders_are_called_the_same_keep_their_pictures_apart() {
    let root = tempfile::tempdir().unwrap();
    let sessions = ["quiet", "busy"].map(|above| {
        Script {
            folder: "session",
            ..Script::default()
        }
        .write(&root.path().join(above))
    });
    let files = plot(&sessions, &root.path().join("plots")).unwrap();
    for name in [
        "quiet-session-cards-in-use.svg",
        "busy-session-cards-in-use.svg",
    ] {
        assert!(files.iter().any(|f| f.ends_with(name)), "{files:?}");
    }
}

/// What comes along as examples: small enough to be cloned with the rest, and whole enough for pictures.
#[test]
fn the_examples_are_small_and_give_pictures() {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("runs/examples");
    for (experiment, _) in plan::names() {
        let session = Material::load(&examples.join(&experiment)).unwrap().session;
        assert_eq!(session.summary.experiment, experiment);
    }
    let mut bytes = 0;
    let mut folders = vec![examples];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += meta.len();
            }
            if entry.file_name() == "summary.json" {
                let material = Material::load(&entry.path()).unwrap();
                assert_eq!(material.runs.len(), material.session.summary.runs.len());
                assert!(!charts(&material).is_empty(), "{}", entry.path().display());
            }
        }
    }
    assert!(bytes > 0 && bytes <= 2_000_000, "{bytes} bytes");
}

#[test]
fn folders_that_are_no_sessions_give_one_line_each() {
    let root = tempfile::tempdir().unwrap();
    let session = Script::default().write(root.path());
    let summary = session.join("summary.json");
    let good = fs::read_to_string(&summary).unwrap();
    let out = root.path().join("plots");
    let refused = |path: &Path| {
        let line = plot(&[path.to_owned()], &out).unwrap_err().to_string();
        assert!(!line.contains('\n'), "{line}");
        line
    };
    assert!(refused(&root.path().join("nowhere")).contains("does not exist"));
    assert!(refused(root.path()).contains("summary.json"));
    fs::write(&summary, &good[..good.len() / 2]).unwrap();
    assert!(refused(&session).contains("damaged"));
    fs::write(
        &summary,
        good.replacen("\"schema\": 2", "\"schema\": 999", 1),
    )
    .unwrap();
    assert!(refused(&session).contains("999"));
    assert!(!out.exists(), "nothing is written for what can't be read");
    fs::write(&summary, &good).unwrap();
    fs::remove_dir_all(session.join("fixed-1")).unwrap();
    assert!(refused(&session).contains("nothing to draw"));
}
