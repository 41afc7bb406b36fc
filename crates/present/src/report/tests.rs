//! Reports on made-up sessions.

use super::*;
use results::run_folder::Disturbance;
use synthetic::Script;

fn report(script: &Script) -> String {
    let root = tempfile::tempdir().unwrap();
    let session = script.write(root.path());
    let out = root.path().join("made/report.html");
    write(&[session], &out).unwrap();
    if let Some(keep) = std::env::var_os("HEADROOM_TEST_PICTURES") {
        fs::copy(&out, Path::new(&keep).join("report.html")).unwrap();
    }
    fs::read_to_string(out).unwrap()
}

#[test]
fn a_report_has_the_published_metrics_and_says_what_ran() {
    let html = report(&Script {
        disturbed: vec![Disturbance {
            kind: "late-submit".into(),
            detail: "3 submissions up to 80 ms <late>".into(),
            remedy: "close other programs".into(),
        }],
        repeats: 2,
        ..Script::default()
    });
    for published in [
        "458.8 s",
        "461.3 s",
        "1116.8 s",
        "18,352 card·s",
        "8,629 card·s",
    ] {
        assert!(html.contains(published), "{published}");
    }
    assert!(html.contains("real HAMi v2.10.0-synthetic") && !html.contains("Not HAMi itself"));
    assert!(html.contains(
        "headroom bench regimes --hami &#x27;&#x2f;opt&#x2f;my hami&#x2f;scheduler&#x27;"
    ));
    assert!(html.contains("80 ms &lt;late&gt;") && html.contains("close other programs"));
    assert!(html.contains("Synthetic CPU &lt;2 GHz&gt;"));
    for outside in ["<script", "src=", "href=", "url(", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

/// A reader of the article finds each of its numbers, whatever ran.
#[test]
fn every_published_metric_is_there_and_says_where_nothing_ran() {
    let html = report(&Script {
        folder: "placement",
        experiment: "placement",
        edit: |plan| plan.tenants.iter_mut().for_each(|t| t.published.clear()),
        ..Script::default()
    });
    // Measured, of an arm that ran, of other experiments; metrics and what only their descriptions say.
    for published in [
        "34.57 s",
        "9.73 s",
        "4.97 s",
        "280 cards",
        "458.8 s",
        "8,629 card·s",
        "9723",
        "453 s",
        "1.52 s",
        "2.01 s",
        "17 of 80",
        "36.6",
        "28 %",
        "7 of 25",
        "66 times in 16 h",
        "4.12",
    ] {
        assert!(html.contains(published), "{published}");
    }
    assert!(html.contains("at another size or compression") && html.contains("not run"));
    assert!(html.contains("What the words mean"));
}

#[test]
fn the_built_in_extender_is_never_passed_off_as_hami() {
    let script = Script {
        builtin: true,
        ..Script::default()
    };
    let html = report(&script);
    assert!(html.contains("Not HAMi itself") && !html.contains("real HAMi"));
    let root = tempfile::tempdir().unwrap();
    let shown = show(&script.write(root.path())).unwrap();
    assert!(shown.contains("not HAMi itself"), "{shown}");
    let listed = runs(root.path()).unwrap();
    assert!(
        listed.contains("builtin") && listed.contains("dedicated 45"),
        "{listed}"
    );
}

/// Damage is refused in one line or reported on; never a panic, and never markup out of a file.
#[test]
fn damaged_sessions_never_break_a_report() {
    let root = tempfile::tempdir().unwrap();
    let (mut refused, mut written) = (0, 0);
    for seed in 0..24 {
        let experiment = ["regimes", "rate-limit", "placement", "quota-unit"][seed % 4];
        let dir = root.path().join(seed.to_string());
        let session = Script {
            experiment,
            ..Script::default()
        }
        .write(&dir);
        synthetic::damage(&session, seed as u64);
        let out = dir.join("report.html");
        match write(std::slice::from_ref(&session), &out) {
            Ok(()) => {
                written += 1;
                let html = fs::read_to_string(&out).unwrap();
                assert!(!html.contains("<script"), "seed {seed}");
                show(&session).unwrap();
            }
            Err(error) => {
                refused += 1;
                let line = error.to_string();
                assert!(!line.contains('\n'), "seed {seed}: {line}");
            }
        }
        assert!(!runs(&dir).unwrap().is_empty());
    }
    assert!(
        written > 0,
        "all {refused} were refused: the damage is too great to test anything"
    );
}
