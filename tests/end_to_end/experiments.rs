//! The experiments end to end, on real control planes, small and short: the same files, fewer machines, shorter watches.

use std::collections::BTreeMap;

use crate::support::{Bed, messages, say, turn};
use plan::metric::Phase;
use results::run_folder::{ArmSummary, Percentile, RunSummary, Session};

/// Runs an experiment of the repository with its text changed, on the built-in extender; the session.
fn run(bed: &Bed, experiment: &str, changes: &[(&str, &str)], options: &[&str]) -> Session {
    let source = format!(
        "{}/manifests/experiments/{experiment}.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut text = std::fs::read_to_string(source).expect("the experiment");
    for (from, to) in changes {
        assert!(text.contains(from), "{from:?} is not in {experiment}");
        text = text.replace(from, to);
    }
    std::fs::write(bed.path().join("small.yaml"), text).expect("a file");
    let mut args = vec!["bench", "small.yaml", "--hami", "builtin", "--out", "out"];
    args.extend(options);
    let output = bed.run(&args);
    // 3: done, but disturbed; the machine that runs tests may be a busy one.
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{}",
        messages(&output)
    );
    bed.assert_nothing_left();
    let session = Session::load(&bed.path().join("out")).expect("a readable session");
    assert!(session.summary.complete);
    let hami = session.summary.hami.label();
    say(&format!("end-to-end test of {experiment} used: {hami}"));
    session
}

fn arms(session: &Session) -> BTreeMap<&str, &ArmSummary> {
    let arms = session.summary.arms.iter();
    arms.map(|arm| (arm.name.as_str(), arm)).collect()
}

/// Every claim about the arm that the runs could answer holds, and at least one was answered.
fn assert_claims_hold(arm: &ArmSummary) {
    let answered: Vec<_> = arm.claims.iter().filter(|c| c.holds.is_some()).collect();
    assert!(!answered.is_empty(), "{arm:?}");
    for claim in answered {
        assert_eq!(claim.holds, Some(true), "{}: {claim:?}", arm.name);
    }
}

#[test]
fn the_default_limit_leaves_pods_unbound_and_the_raised_one_none() {
    let _turn = turn();
    let bed = Bed::new();
    let options = [
        "--nodes",
        "20",
        "--arm",
        "hami-default-spread",
        "--arm",
        "raised-spread",
    ];
    let changes = [("observe_secs: 90", "observe_secs: 30")];
    let session = run(&bed, "rate-limit", &changes, &options);
    let arms = arms(&session);
    assert_claims_hold(arms["hami-default-spread"]);
    assert_claims_hold(arms["raised-spread"]);
    // What the limit is spent on, and the rate that it allows.
    for run in &session.summary.runs {
        let ceiling = run.bind_rate.ceiling_per_sec["hami"];
        let calls: f64 = run.calls_per_pod["hami"].values().sum();
        let info = session.run(&run.folder).expect("a readable run").info;
        let limit = info.client_limits["hami"].expect("HAMi has one").qps;
        assert!((ceiling - limit / calls).abs() < 1e-6, "{ceiling} {calls}");
        assert!(calls > 1.0, "{:?}", run.calls_per_pod);
    }
}

#[test]
fn a_whole_machine_fits_where_small_tasks_are_packed_or_kept_apart_but_not_where_they_are_spread() {
    let _turn = turn();
    let bed = Bed::new();
    let changes = [
        ("observe_secs: 90", "observe_secs: 30"),
        ("count: 60", "count: 20"),
        // On few machines as many whole cards as machines could touch each of the group's before the one whole machine is
        // tried, and the test would be about that race.
        ("count: 40, request", "count: 20, request"),
    ];
    let session = run(&bed, "placement", &changes, &["--nodes", "10"]);
    let bound = |arm: &str| {
        let run = session.summary.runs.iter().find(|run| run.arm == arm);
        let team = run.unwrap().tenants.iter().find(|t| t.name == "large");
        let bound = &team.unwrap().latency["whole-machine"][&Phase::BindLatency];
        (bound.count, bound.censored)
    };
    assert_eq!(bound("spread"), (1, 1), "it never finds a machine");
    assert_eq!(bound("binpack"), (1, 0));
    assert_eq!(bound("groups"), (1, 0));
    // The evidence: every machine had something on it, and idle cards all the same.
    let spread = session.summary.runs.iter().find(|r| r.arm == "spread");
    let unplaced = &spread.unwrap().unplaced;
    assert_eq!(unplaced.len(), 1, "{unplaced:?}");
    let free = &unplaced[0].at_end;
    assert_eq!(free.machines.values().sum::<u32>(), 10, "{free:?}");
    assert!(free.idle_cards > 8, "{free:?}");
    assert_eq!(free.unusable_share, Some(1.0), "{free:?}");
}

#[test]
fn a_quota_in_memory_admits_three_jobs_of_eight_cards_and_one_in_cards_admits_one() {
    let _turn = turn();
    let bed = Bed::new();
    let changes = [("run_secs: 15", "run_secs: 5")];
    let session = run(&bed, "quota-unit", &changes, &["--nodes", "5"]);
    let arms = arms(&session);
    assert_eq!(arms.len(), 4);
    for arm in arms.values() {
        assert_claims_hold(arm);
    }
}

#[test]
fn by_kueue_alone_no_machine_falls_empty_and_a_cleared_one_goes_to_its_request() {
    let _turn = turn();
    let bed = Bed::new();
    let changes = [
        ("observe_secs: 150", "observe_secs: 60"),
        ("linger_secs: 20", "linger_secs: 5"),
        ("      repeats: 2\n", ""),
    ];
    let arms_of_it = ["--arm", "kueue", "--arm", "clearer"];
    let options = [&["--nodes", "10"][..], &arms_of_it].concat();
    let session = run(&bed, "preemption", &changes, &options);
    let arms = arms(&session);
    assert_claims_hold(arms["kueue"]);
    // One request on so few machines: the share that it allows is wide, and the claim stays open.
    let claim = &arms["clearer"].claims[0];
    assert_eq!(claim.holds, None, "{claim:?}");
    assert!(claim.reason.contains("1 of 1 in 1 run"), "{claim:?}");
    let run = session.summary.runs.iter().find(|r| r.arm == "clearer");
    let run = run.expect("its run");
    // Eight single cards made room for it, and their team is told what that cost.
    assert!(
        run.tenants.iter().map(|t| t.evictions).sum::<u32>() >= 8,
        "{:?}",
        run.tenants
    );
    let decisions = session.run(&run.folder).expect("a readable run").decisions;
    assert!(
        !decisions.is_empty(),
        "the clearer's decisions are evidence"
    );
    // The machine was released, so that every machine can be used again.
    assert!(run.disturbed.iter().all(|d| d.kind != "component-lost"));
}

#[test]
fn a_reserved_machine_goes_to_its_request_however_many_tasks_arrive() {
    let _turn = turn();
    let bed = Bed::new();
    let changes = [
        ("observe_secs: 170", "observe_secs: 60"),
        ("repeats: 4", "repeats: 1"),
        ("every_secs: 5, count: 25,", "every_secs: 5, count: 5,"),
        // A machine of two clusters has no time to be quick.
        ("deadline_secs: 10", "deadline_secs: 45"),
    ];
    let options = ["--nodes", "10", "--arm", "reserve"];
    let session = run(&bed, "drain-race", &changes, &options);
    let placed = &session.summary.runs[0].placements;
    assert_eq!(placed.len(), 1, "one request on ten machines");
    assert_eq!(placed[0].node, placed[0].cleared_node, "{placed:?}");
    assert!(placed[0].node.is_some(), "{placed:?}");
}

#[test]
fn a_burst_that_others_are_evicted_for_waits_less_and_the_others_pay() {
    let _turn = turn();
    let bed = Bed::new();
    // Tasks of a minute are long enough to be in the way of the burst, and short enough to be waited for.
    let changes = [
        ("compress: 6", "compress: 60"),
        (
            "run_minutes: { from: 2, to: 60 }",
            "run_minutes: { from: 50, to: 60 }",
        ),
        ("at_secs: 10", "at_secs: 1"),
        ("observe_secs: 600", "observe_secs: 90"),
        ("linger_secs: 60", "linger_secs: 5"),
        // The others' tasks, too, have an image, so that several pods of one are on each machine.
        (
            "          cuda_init_secs: 2 #",
            "          image_gb: 20\n          pull_gbit_per_sec: 0.5\n          cuda_init_secs: 2 #",
        ),
    ];
    let arms_of_it = ["evict", "wait", "data-plane"].map(|arm| ["--arm", arm]);
    let options = [&["--nodes", "10"][..], arms_of_it.as_flattened()].concat();
    let session = run(&bed, "burst", &changes, &options);
    let run = |arm: &str| {
        let run = session.summary.runs.iter().find(|r| r.arm == arm);
        run.expect("its run")
    };
    // Not by the claim, which a busy machine leaves open.
    let waited = |arm: &str| {
        let mut teams = run(arm).tenants.iter();
        let team = teams.find(|t| t.name == "research").expect("the team");
        let p50 = team.latency["whole-machine"][&Phase::BindLatency].p50;
        match p50 {
            Percentile::Secs(secs) | Percentile::Over { over: secs } => secs,
            Percentile::TooFew => panic!("a median takes one sample"),
        }
    };
    assert!(waited("wait") > waited("evict"));
    // In one arm the burst waits and nobody is evicted; in the other at least the tasks of one machine are.
    assert!(
        run("wait").evictions.is_empty(),
        "{:?}",
        run("wait").evictions
    );
    let evict = run("evict");
    assert!(evict.evictions.len() >= 8, "{:?}", evict.evictions);
    let bills = evict.tenants.iter().map(|t| &t.bill);
    let (evictions, lost) = bills.fold((0, 0.0), |(evictions, lost), bill| {
        (evictions + bill.evictions(), lost + bill.lost_card_seconds)
    });
    assert_eq!(evictions as usize, evict.evictions.len());
    assert!(lost > 0.0, "{:?}", evict.evictions);
    assert_data_plane_was_played(&session, run("data-plane"));
}

/// Nothing is faster than the data plane that was set, a machine pulls an image once, and cards are held until released.
fn assert_data_plane_was_played(session: &Session, run: &RunSummary) {
    // Of what is written into the pods.
    const ROUNDING: f64 = 0.001;
    let loaded = session.run(&run.folder).expect("a readable run");
    let mut pods = Vec::new();
    let mut longest_stop = 0.0_f64;
    for record in &loaded.records {
        let played = record.data_plane.expect("every record has it");
        for attempt in &record.attempts {
            // What is seen is seen late, and the audit log's stamp is not: the differences are at least the real ones.
            let Some(bound) = attempt.bound_audit_secs else {
                continue;
            };
            if let Some(useful) = attempt.useful_secs {
                assert!(
                    useful - bound + ROUNDING >= played.prepare_secs(),
                    "{attempt:?}"
                );
            }
            if let Some((told, ended)) = attempt.told_secs.zip(attempt.ended_secs) {
                longest_stop = longest_stop.max((ended - told) / played.termination_secs());
            }
            if let Some(running) = attempt.running_secs {
                let node = attempt.node.clone().unwrap_or_default();
                let image = played.image(&record.tenant, &record.class);
                let image = (node, image.expect("all have one"));
                pods.push((image, bound, running, played.pull_secs));
            }
        }
    }
    assert!(
        longest_stop >= 0.9,
        "the longest stop took {longest_stop} of its time"
    );
    pods.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut wanted = BTreeMap::new();
    let mut found = 0;
    for (image, bound, running, pull) in pods {
        let first = *wanted.entry(image).or_insert(bound);
        assert!(
            running - first + ROUNDING >= pull,
            "{running} - {first} < {pull}"
        );
        found += usize::from(running - bound < pull / 2.0);
    }
    assert!(found > 0, "nobody found an image that was there");
    let team = run.tenants.iter().find(|t| t.name == "research");
    let phases = &team.expect("the team").latency["whole-machine"];
    assert_eq!(
        phases[&Phase::Useful].count,
        phases[&Phase::BindLatency].count
    );
    assert!(run.evictions.iter().all(|s| s.useful_again_secs.is_some()));
    let data_plane = loaded.info.plan.data_plane;
    assert!(data_plane.is_some_and(|d| d.compressed_by > 1.0));
}
