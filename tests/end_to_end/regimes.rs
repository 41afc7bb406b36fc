//! The main job end to end, on a real control plane at high compression.

use crate::support::{Bed, messages, say, turn};
use plan::HamiKind;
use plan::metric::Phase;
use results::run_folder::{Outcome, Percentile, Session};

#[allow(clippy::too_many_lines)] // one story, told in order
/// Runs the three regimes at compression 2400 and checks everything that must hold at any speed.
fn regimes(hami: &str) -> HamiKind {
    let _turn = turn();
    let bed = Bed::new();
    let output = bed.run(&[
        "bench",
        "regimes",
        "--arm",
        "fixed",
        "--compress",
        "2400",
        "--hami",
        hami,
        "--out",
        "session",
    ]);
    // 3: done, but disturbed; the machine that runs tests may be a busy one.
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{}",
        messages(&output)
    );
    bed.assert_nothing_left();

    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "makespan ",
        "compression 2400 (not the experiment's own",
        "| reserved ",
        "restarts:",
        "HAMi: ",
    ] {
        assert!(
            table.contains(part),
            "{part:?} is not in the table: {table}"
        );
    }
    // Published metrics are for another compression.
    assert!(!table.contains("458.8"), "{table}");
    let session = Session::load(&bed.path().join("session")).expect("a readable session");
    let summary = &session.summary;
    assert!(summary.complete);
    say(&format!(
        "end-to-end test of the regimes used: {}",
        summary.hami.label()
    ));
    let run = &summary.runs[0];
    for team in run.tenants.iter().filter(|t| t.submitted > 0) {
        assert_eq!(
            (team.submitted, team.failed, team.unfinished),
            (113, 0, 0),
            "{}",
            team.name
        );
        let makespan = team.makespan_secs.expect("all is done");
        let ideal = team.ideal_secs.expect("a timeline has an ideal");
        assert!(
            makespan >= ideal,
            "{}: {makespan} s is faster than possible, {ideal} s",
            team.name
        );
        let cards = &team.card_seconds;
        assert!(
            cards.admitted >= cards.bound && cards.bound >= cards.running,
            "{}: {cards:?}",
            team.name
        );
        // Pods run to an absolute time on the fake machines; the watch sees both ends a little late or early.
        assert!(
            cards.running >= cards.ideal * 0.9,
            "{}: {cards:?}",
            team.name
        );
        let bound = &team.latency["whole-card"][&Phase::BindLatency];
        assert_eq!(
            (bound.count, bound.censored),
            (92, 0),
            "single cards of the timeline"
        );
        assert_eq!(
            team.latency["whole-machine"][&Phase::BindLatency].count,
            21,
            "whole machines of the timeline"
        );
        assert!(matches!(bound.p95, Percentile::Secs(s) if s > 0.0));
    }
    let lag = run
        .accuracy
        .watch_lag_ms
        .expect("the audit log has every binding");
    assert!(lag.p50 > 0.0);
    assert_eq!(run.accuracy.unmatched_bindings, Some(0));

    // The records say the same as the summary, and no pod was bound to a machine of another team.
    let data = session.run(&run.folder).expect("a readable run");
    assert_eq!(data.records.len(), 3 * 113);
    for record in &data.records {
        assert_eq!(record.outcome, Outcome::Succeeded, "{record:?}");
        let attempt = record.attempts.last().expect("it ran");
        assert!(attempt.bound_audit_secs.is_some(), "{record:?}");
        let node: u32 = attempt
            .node
            .as_deref()
            .and_then(|n| n.strip_prefix("gpu-"))
            .expect("a node")
            .parse()
            .unwrap();
        let own = match record.tenant.as_str() {
            "dedicated" => 0..5,
            "workstation" => 5..6,
            _ => 6..50,
        };
        assert!(own.contains(&node), "{record:?}");
    }
    let hami_calls = &run.calls_per_pod["hami"];
    assert!(hami_calls["create pods/binding"] >= 1.0, "{hami_calls:?}");
    summary.hami.source
}

#[test]
fn the_three_regimes_on_the_built_in_extender() {
    assert_eq!(regimes("builtin"), HamiKind::Builtin);
}

#[test]
#[ignore = "skipped: needs a real HAMi scheduler, whose path HEADROOM_TEST_HAMI names"]
fn the_three_regimes_on_a_real_hami() {
    let path = std::env::var("HEADROOM_TEST_HAMI").expect("HEADROOM_TEST_HAMI");
    assert_eq!(regimes(&path), HamiKind::Binary);
}
