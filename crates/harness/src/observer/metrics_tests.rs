//! Whole runs: records made by hand in, the summary and the files out.

use super::*;
use crate::observer::tick::HarnessUse;
use crate::observer::{ClockJump, audit};
use plan::RoundStart;
use plan::metric::{Metric, MetricKey, Use};
use results::fixtures::{done, info, plan, stage, team, waiting};
use results::metrics;
use results::run_folder::{
    Attempt, AttemptEnd, CallCounts, Calls, Evidence, EvidenceSource, Outcome, Percentile, Phase,
    Record, Run, Storage,
};

struct Folder {
    _dir: tempfile::TempDir,
    writer: RunWriter,
}

fn folder(plan: &Plan) -> Folder {
    let dir = tempfile::tempdir().unwrap();
    let writer = RunWriter::create(&dir.path().join("default-1"), &info(plan)).unwrap();
    Folder { _dir: dir, writer }
}

fn observation(records: Vec<Record>, end_secs: f64) -> Observation {
    Observation {
        records,
        end_secs,
        relists: 0,
        interruptions: 0,
        clock_jumps: Vec::new(),
        harness: HarnessUse::default(),
        stopped: Vec::new(),
    }
}

fn conclude_with(
    plan: &Plan,
    observation: &mut Observation,
    audit: Option<&AuditFacts>,
) -> RunSummary {
    let folder = folder(plan);
    conclude(
        plan,
        &Clock::new(),
        observation,
        audit,
        &folder.writer,
        RunFacts::default(),
    )
}

fn kinds(run: &RunSummary) -> Vec<&str> {
    run.disturbed.iter().map(|d| d.kind.as_str()).collect()
}

#[test]
fn a_team_s_metrics_come_from_its_own_records() {
    let mut dedicated = team("dedicated", 16, false);
    dedicated.reserved_cards = Some(16);
    dedicated.stages = vec![stage(RoundStart::AtSecs(0.0), 2, 8, 5.0)];
    let plan = plan(vec![dedicated, team("other", 40, false)]);
    let mut observed = observation(
        vec![
            done("dedicated", "a", 8, 1.0, 6.0),
            done("dedicated", "b", 8, 2.0, 7.5),
            done("other", "c", 1, 0.0, 20.0),
        ],
        21.0,
    );
    let run = conclude_with(&plan, &mut observed, Some(&AuditFacts::default()));
    assert_eq!(run.disturbed, []);
    let team = &run.tenants[0];
    assert_eq!(team.makespan_secs, Some(7.5));
    assert_eq!((team.submitted, team.failed, team.unfinished), (2, 0, 0));
    assert_eq!(team.card_seconds.reserved, Some(120.0));
    assert!((team.card_seconds.running - 84.0).abs() < 1e-9);
    assert!((team.card_seconds.ideal - 80.0).abs() < 1e-9);
    assert_eq!(
        team.latency["whole-machine"][&Phase::BindLatency].p50,
        Percentile::Secs(1.0)
    );
}

#[test]
fn no_makespan_is_claimed_while_work_is_left() {
    let mut shared = team("shared", 40, true);
    shared.reserved_cards = Some(40);
    // The second round of a closed loop was never reached.
    let mut stages = stage(RoundStart::ThinkSecs(0.0), 1, 8, 5.0);
    stages.rounds.push(stages.rounds[0].clone());
    shared.stages = vec![stages];
    let plan = plan(vec![shared]);
    let mut observed = observation(vec![done("shared", "a", 8, 1.0, 6.0)], 50.0);
    let run = conclude_with(&plan, &mut observed, Some(&AuditFacts::default()));
    let team = &run.tenants[0];
    assert_eq!(
        (team.submitted, team.unfinished, team.makespan_secs),
        (2, 1, None)
    );
    assert_eq!(team.card_seconds.reserved, Some(2000.0));
}

#[test]
fn rounds_that_were_not_due_yet_are_not_missed() {
    let mut shared = team("shared", 40, true);
    let mut stages = stage(RoundStart::AtSecs(0.0), 1, 8, 5.0);
    let mut later = stages.rounds[0].clone();
    later.start = RoundStart::AtSecs(100.0);
    stages.rounds.push(later);
    shared.stages = vec![stages];
    let plan = plan(vec![shared]);
    let mut observed = observation(vec![waiting("shared", "a", 8, 0.0)], 90.0);
    let run = conclude_with(&plan, &mut observed, Some(&AuditFacts::default()));
    assert_eq!(
        (run.tenants[0].submitted, run.tenants[0].unfinished),
        (1, 1)
    );
}

#[test]
fn evictions_and_refusals_are_counted() {
    let plan = plan(vec![team("shared", 40, true)]);
    let mut evicted = done("shared", "a", 8, 1.0, 20.0);
    evicted.attempts.insert(
        0,
        Attempt {
            reserved_secs: Some(0.5),
            end: AttemptEnd::Preempted,
            ..Attempt::default()
        },
    );
    let mut refused = waiting("shared", "b", 8, 0.0);
    refused.outcome = Outcome::Failed;
    refused.error = Some("connection refused".into());
    let mut observed = observation(vec![evicted, refused], 30.0);
    let run = conclude_with(&plan, &mut observed, Some(&AuditFacts::default()));
    let team = &run.tenants[0];
    assert_eq!((team.evictions, team.failed, team.unfinished), (1, 1, 0));
    // The refused one is in the percentiles, as never bound.
    assert_eq!(
        team.latency["whole-machine"][&Phase::BindLatency].censored,
        1
    );
}

#[test]
fn faults_of_host_and_harness_are_told_apart_and_outcomes_are_none() {
    let plan = plan(vec![team("shared", 40, true)]);
    let mut late = done("shared", "a", 8, 1.0, 6.0);
    late.submitted_secs = Some(0.2);
    let mut observed = observation(vec![late], 30.0);
    observed.relists = 1;
    observed.clock_jumps = vec![ClockJump {
        at_secs: 3.0,
        by_secs: -2.0,
    }];
    observed.harness.late_ticks = 5;
    let run = conclude_with(&plan, &mut observed, None);
    assert_eq!(
        kinds(&run),
        [
            "clock-jump",
            "late-submit",
            "overloaded",
            "lost-evidence",
            "lost-evidence"
        ]
    );
    assert!(run.disturbed.iter().all(|d| !d.remedy.is_empty()));
    assert_eq!(run.harness.late_submits, 1);
    assert!((run.harness.max_submit_lateness_ms - 200.0).abs() < 1e-6);

    // One tick late by a second is enough, and one that is a little late is not.
    for (late_secs, expected) in [(0.9, &[][..]), (5.0, &["frozen-harness"])] {
        let mut frozen = observation(vec![done("shared", "a", 8, 1.0, 6.0)], 30.0);
        frozen.harness.late_ticks = 1;
        frozen.harness.latest_tick_secs = late_secs;
        let facts = AuditFacts::default();
        assert_eq!(
            kinds(&conclude_with(&plan, &mut frozen, Some(&facts))),
            expected
        );
    }
    let torn = AuditFacts {
        unread_lines: 1,
        ..AuditFacts::default()
    };
    let mut seen = observation(vec![done("shared", "a", 8, 1.0, 6.0)], 30.0);
    assert_eq!(
        kinds(&conclude_with(&plan, &mut seen, Some(&torn))),
        ["lost-evidence"]
    );

    let mut quiet = observation(vec![done("shared", "a", 8, 1.0, 6.0)], 30.0);
    let folder = folder(&plan);
    let facts = RunFacts {
        restarts: BTreeMap::from([("kube-scheduler".into(), 3)]),
        ..RunFacts::default()
    };
    let audit = AuditFacts::default();
    let run = conclude(
        &plan,
        &Clock::new(),
        &mut quiet,
        Some(&audit),
        &folder.writer,
        facts,
    );
    assert_eq!(run.disturbed, []);
    assert_eq!(run.restarts["kube-scheduler"], 3);
}

#[test]
fn the_folder_holds_all_files_and_reads_back() {
    let plan = plan(vec![team("a", 4, true), team("b", 40, true)]);
    let folder = folder(&plan);
    let mut observed = observation(vec![done("a", "x", 8, 1.0, 6.0)], 10.0);
    let audit = audit::AuditFacts {
        calls: Calls {
            total: CallCounts::from([("hami".into(), BTreeMap::from([("get nodes".into(), 3)]))]),
            ..Calls::default()
        },
        ..AuditFacts::default()
    };
    let _ = conclude(
        &plan,
        &Clock::new(),
        &mut observed,
        Some(&audit),
        &folder.writer,
        RunFacts::default(),
    );
    let run = Run::load(folder.writer.dir()).unwrap();
    assert_eq!(run.notes, Vec::<String>::new());
    assert_eq!(run.records[0].attempts[0].borrowed_cards, 4);
    assert_eq!(run.calls.unwrap().total["hami"]["get nodes"], 3);
    let log = std::fs::read_to_string(folder.writer.dir().join("latency.hlog")).unwrap();
    assert!(log.contains("Tag=a/whole-machine/bind_latency,"), "{log}");
}

#[test]
fn what_could_not_be_written_disturbs_the_run_and_does_not_end_it() {
    let plan = plan(vec![team("shared", 40, true)]);
    let folder = folder(&plan);
    std::fs::remove_dir_all(folder.writer.dir()).unwrap();
    let mut observed = observation(vec![done("shared", "a", 8, 1.0, 6.0)], 10.0);
    let audit = AuditFacts::default();
    let run = conclude(
        &plan,
        &Clock::new(),
        &mut observed,
        Some(&audit),
        &folder.writer,
        RunFacts::default(),
    );
    assert_eq!(run.tenants[0].makespan_secs, Some(6.0));
    assert_eq!(kinds(&run), ["lost-evidence"; 3]);
    assert!(
        run.disturbed
            .iter()
            .any(|d| d.detail.contains("jobs.jsonl"))
    );
}

/// A run whose evidence lacks `source`, with everything else there.
fn lacking(source: EvidenceSource) -> RunSummary {
    let plan = plan(vec![team("shared", 40, true)]);
    let folder = folder(&plan);
    let mut observed = observation(vec![done("shared", "a", 8, 1.0, 6.0)], 10.0);
    let calls = BTreeMap::from([("hami".into(), BTreeMap::from([("get nodes".into(), 2.0)]))]);
    let audit = AuditFacts {
        calls: Calls {
            per_bound_pod: calls,
            ..Calls::default()
        },
        ..AuditFacts::default()
    };
    let disk = Storage {
        fsyncs: 3,
        fsync_p50: Percentile::Secs(0.001),
        fsync_p99: Percentile::Secs(0.002),
        commits: 3,
        commit_p50: Percentile::Secs(0.001),
        commit_p99: Percentile::Secs(0.002),
    };
    let mut facts = RunFacts {
        evidence: Evidence::of(crate::cluster::Cluster::EVIDENCE),
        restarts: BTreeMap::from([("kueue".into(), 0)]),
        storage: Some(disk),
        client_limits: BTreeMap::from([(
            "hami".into(),
            Some(plan::ClientLimit {
                qps: 10.0,
                burst: 10,
            }),
        )]),
        ..RunFacts::default()
    };
    facts.evidence.lack(source, "managed");
    conclude(
        &plan,
        &Clock::new(),
        &mut observed,
        Some(&audit),
        &folder.writer,
        facts,
    )
}

#[test]
fn absent_evidence_gives_no_value_names_its_reason_and_disturbs_nothing() {
    for source in [
        EvidenceSource::AuditLog,
        EvidenceSource::ComponentExits,
        EvidenceSource::EtcdMetrics,
    ] {
        let run = lacking(source);
        assert_eq!(run.disturbed, [], "{source:?}");
        assert_eq!(run.evidence.absent(source), Some("managed"));
        let calls = source != EvidenceSource::AuditLog;
        assert_eq!(run.calls_per_pod.contains_key("hami"), calls, "{source:?}");
        assert_eq!(run.bind_rate.ceiling_per_sec.contains_key("hami"), calls);
        assert_eq!(run.accuracy.unmatched_bindings.is_some(), calls);
        let exits = source != EvidenceSource::ComponentExits;
        assert_eq!(run.restarts.contains_key("kueue"), exits, "{source:?}");
        let known = metrics::values(&metrics::Source::without_plan(&run, &[]), Use::Compare);
        for metric in [
            Metric::Restarts,
            Metric::RestartsPerHour,
            Metric::LeasesLost,
        ] {
            let key = MetricKey::of("", None, metric);
            assert_eq!(known.contains_key(&key), exits, "{source:?} {metric:?}");
        }
        assert_eq!(run.storage.is_some(), source != EvidenceSource::EtcdMetrics);
    }
}

#[test]
fn an_audit_log_that_should_be_there_and_is_not_disturbs() {
    let plan = plan(vec![team("shared", 40, true)]);
    let mut observed = observation(vec![done("shared", "a", 8, 1.0, 6.0)], 10.0);
    let run = conclude_with(&plan, &mut observed, None);
    assert_eq!(kinds(&run), ["lost-evidence"]);
}
