//! The plans of the embedded experiments, and which setting goes before which.

use std::collections::BTreeMap;

use crate::experiment::Experiment;
use crate::{
    ClientLimit, Host, NamedLimits, Overrides, Plan, Policy, RoundStart, TenantPlan, Via,
    expected_secs, load, names, plans, published_restarts_per_hour, source,
};

pub(super) fn planned(name: &str, set: impl Fn(&mut Overrides)) -> BTreeMap<String, Plan> {
    let mut overrides = Overrides::default();
    set(&mut overrides);
    let plans = plans(&load(name).unwrap(), &overrides).unwrap();
    plans
        .into_iter()
        .map(|plan| (plan.arm.clone(), plan))
        .collect()
}

pub(super) fn team<'a>(plan: &'a Plan, name: &str) -> &'a TenantPlan {
    plan.tenants.iter().find(|t| t.name == name).unwrap()
}

fn teams(plan: &Plan) -> Vec<&str> {
    plan.tenants.iter().map(|t| t.name.as_str()).collect()
}

/// Requests of a team by class.
pub(super) fn counts(team: &TenantPlan) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for group in team.groups() {
        *counts.entry(group.request.class()).or_default() += group.count;
    }
    counts
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.01
}

#[test]
fn every_manifest_is_embedded_and_every_embedded_experiment_loads() {
    for (folder, embedded) in [
        ("experiments", source::EXPERIMENTS),
        ("timelines", source::TIMELINES),
    ] {
        let path = format!(
            "{}/manifests/{folder}",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../..")
        );
        let mut files: Vec<String> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| {
                entry
                    .unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        files.sort();
        let mut names: Vec<&str> = embedded.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        assert_eq!(files, names);
    }
    for (name, _) in source::EXPERIMENTS {
        assert_eq!(load(name).unwrap().name, *name);
    }
    assert_eq!(names().len(), source::EXPERIMENTS.len());
}

#[test]
fn regimes_play_the_timeline_as_published() {
    let plan = &planned("regimes", |_| {})["fixed"];
    assert_eq!(plan.cluster.nodes(), 50);
    assert!(close(plan.compress, 120.0));
    for name in ["dedicated", "shared", "workstation"] {
        let team = team(plan, name);
        assert_eq!(team.groups().map(|g| g.count).sum::<u32>(), 113);
        let card_seconds: f64 = team
            .groups()
            .map(|g| f64::from(g.count * g.request.cards) * g.run_secs.unwrap())
            .sum();
        assert!((card_seconds - 8248.0).abs() < 0.5, "{card_seconds}");
        assert!(team.groups().all(|g| g.via == Via::Job));
    }
    assert!(close(team(plan, "dedicated").ideal_secs.unwrap(), 450.0));
    assert!(close(team(plan, "shared").ideal_secs.unwrap(), 450.0));
    assert!((1048.0..=1058.0).contains(&team(plan, "workstation").ideal_secs.unwrap()));
    let others = team(plan, "others").quota.as_ref().unwrap();
    let shared = team(plan, "shared").quota.as_ref().unwrap();
    assert_eq!((shared.nominal_cards, others.nominal_cards), (40, 312));
    assert!(shared.cohort.is_some() && shared.cohort == others.cohort);
    assert!(close(
        team(plan, "shared").published["makespan_secs"],
        461.3
    ));
    assert!(close(
        team(plan, "dedicated").published["card_seconds_reserved"],
        18352.0
    ));
}

#[test]
fn the_closed_loop_has_its_fitted_ideals() {
    let plans = planned("regimes", |o| {
        o.timeline = Some("autoresearch-closed-loop".to_owned());
    });
    let plan = &plans["fixed"];
    assert!(close(team(plan, "dedicated").ideal_secs.unwrap(), 450.0));
    assert!(close(team(plan, "workstation").ideal_secs.unwrap(), 1090.5));
    let first = team(plan, "shared").stages[0].rounds[0].start;
    assert_eq!(first, RoundStart::ThinkSecs(13.5 * 60.0 / 120.0));
}

#[test]
fn a_regime_runs_alone_on_the_whole_cluster() {
    let plan = &planned("workstation", |_| {})["fixed"];
    assert_eq!(teams(plan), ["workstation"]);
    assert_eq!(
        (plan.experiment.as_str(), plan.cluster.nodes()),
        ("regimes", 50)
    );
    let plan = &planned("regimes", |o| o.regime = Some("shared".to_owned()))["fixed"];
    assert_eq!(teams(plan), ["shared", "others"]);
}

#[test]
fn regimes_has_three_arms_and_one_regime_alone_has_the_first() {
    let arms = |name| planned(name, |_| {}).into_keys().collect::<Vec<_>>();
    assert_eq!(arms("regimes"), ["closed-loop", "contended", "fixed"]);
    assert_eq!(arms("shared"), ["fixed"]);
    let plans = planned("regimes", |_| {});
    assert_eq!(
        teams(&plans["closed-loop"]),
        ["dedicated", "shared", "others"]
    );
    let contended = &plans["contended"];
    assert_eq!(
        teams(contended),
        ["dedicated", "shared", "owners", "borrower", "comers"]
    );
    let nominal = |name| team(contended, name).quota.as_ref().unwrap().nominal_cards;
    // Every card of the common machines is somebody's.
    assert_eq!(
        ["shared", "owners", "borrower", "comers"].map(nominal),
        [40, 240, 0, 72]
    );
    // More is asked for than there is, once the shared team asks for its own.
    let asked = |name| {
        let groups = team(contended, name).groups();
        groups.map(|g| g.count * g.request.cards).sum::<u32>()
    };
    assert_eq!(asked("owners") + asked("borrower"), 312);
    // The makespan is claimed only where it can slip.
    let experiment = load("regimes").unwrap();
    let about_makespan = |claim: &&crate::expect::Claim| claim.claim.contains("takes at most 3 %");
    let claim = experiment.expect.claims.iter().find(about_makespan);
    assert_eq!(claim.unwrap().arms, ["closed-loop", "contended"]);
}

#[test]
fn in_arm_lent_the_cohort_is_full_and_only_the_borrower_exceeds_its_quota() {
    assert!(!planned("regimes", |_| {}).contains_key("lent"));
    let plan = &planned("regimes", |o| o.arms = vec!["lent".to_owned()])["lent"];
    let held = |name: &str| -> u32 {
        team(plan, name)
            .groups()
            .map(|g| g.count * g.request.cards)
            .sum()
    };
    let nominal = |name: &str| team(plan, name).quota.as_ref().unwrap().nominal_cards;
    assert_eq!(held("borrower") + held("owners"), 352);
    assert_eq!(held("owners"), nominal("owners"));
    assert_eq!(held("borrower"), nominal("borrower") + nominal("shared"));
    assert!(team(plan, "borrower").priority < team(plan, "shared").priority);
    assert!(team(plan, "borrower").background && team(plan, "owners").background);
    let order = teams(plan);
    let place = |name: &str| order.iter().position(|n| *n == name);
    assert!(
        place("borrower") < place("owners"),
        "the borrower must find whole machines"
    );
}

#[test]
fn rate_limit_scales_with_the_cluster() {
    let plans = planned("rate-limit", |_| {});
    let limit = |arm: &str| plans[arm].hami.limit;
    assert_eq!(
        limit("hami-default-binpack"),
        ClientLimit {
            qps: 5.0,
            burst: 10
        }
    );
    assert_eq!(
        limit("raised-spread"),
        ClientLimit {
            qps: 100.0,
            burst: 200
        }
    );
    for (arm, nodes, whole, tenths) in [
        ("hami-default-spread", 50, 40, 80),
        ("hami-default-25-nodes", 25, 20, 40),
        ("hami-default-200-nodes", 200, 160, 320),
    ] {
        let requests = team(&plans[arm], "requests");
        assert_eq!(plans[arm].cluster.nodes(), nodes);
        assert_eq!(
            counts(requests),
            [("tenth".into(), tenths), ("whole-card".into(), whole)].into()
        );
        assert!(
            requests
                .groups()
                .all(|g| g.via == Via::Pod && g.run_secs.is_none())
        );
        assert!(requests.stages[0].rounds[0].interleave);
        assert_eq!(
            requests.published.is_empty(),
            nodes != 50,
            "published at 50 nodes only"
        );
    }
    assert_eq!(plans["raised-binpack"].observe_secs, Some(90.0));

    let small = planned("rate-limit", |o| o.nodes = Some(10));
    assert_eq!(
        small.len(),
        4,
        "those about a size of their own are left out"
    );
    let both = Overrides {
        nodes: Some(10),
        arms: vec!["hami-default-25-nodes".to_owned()],
        ..Overrides::default()
    };
    let refusal = super::super::plans(&load("rate-limit").unwrap(), &both).unwrap_err();
    assert!(
        refusal
            .to_string()
            .contains("a number of machines of its own"),
        "{refusal}"
    );
}

#[test]
fn placement_fills_first_and_scales() {
    for (nodes, groups, fill, small, whole, machines) in [
        (50, [10, 40], 120, 60, 40, 5),
        (10, [2, 8], 24, 12, 8, 1),
        (200, [40, 160], 480, 240, 160, 20),
    ] {
        let plans = planned("placement", |o| o.nodes = Some(nodes));
        for plan in plans.values() {
            assert_eq!(plan.cluster.nodes(), nodes);
            assert!(team(plan, "filler").background);
            assert_eq!(
                counts(team(plan, "filler")),
                [("tenth".into(), fill)].into()
            );
            assert_eq!(
                counts(team(plan, "small")),
                [("tenth".into(), small)].into()
            );
            let large = [
                ("whole-card".into(), whole),
                ("whole-machine".into(), machines),
            ];
            assert_eq!(counts(team(plan, "large")), large.into());
            // The same minute of arrivals at any size.
            let last = team(plan, "small").stages[0].rounds.last().unwrap().start;
            let RoundStart::AtSecs(last) = last else {
                panic!("{last:?}")
            };
            assert!((55.0..60.0).contains(&last), "{last}");
        }
        let split = &plans["groups"];
        assert_eq!(
            split
                .cluster
                .groups
                .iter()
                .map(|g| g.nodes)
                .collect::<Vec<_>>(),
            groups
        );
        assert_eq!(team(split, "filler").group.as_deref(), Some("small"));
        assert_eq!(team(split, "large").group.as_deref(), Some("large"));
        assert_eq!(plans["spread"].hami.node_policy, Policy::Spread);
        assert_eq!(plans["binpack"].hami.node_policy, Policy::Binpack);
        assert_eq!(team(&plans["spread"], "large").group, None);
    }
}

#[test]
fn quota_unit_is_the_same_at_any_size() {
    for nodes in [10, 50, 200] {
        let plans = planned("quota-unit", |o| o.nodes = Some(nodes));
        assert_eq!(plans.len(), 4);
        for plan in plans.values() {
            let research = team(plan, "research");
            assert_eq!(research.quota.as_ref().unwrap().nominal_cards, 10);
            let groups: Vec<_> = research.groups().collect();
            assert_eq!((groups.len(), groups[0].count), (1, 3));
            assert_eq!(
                (groups[0].request.cards, groups[0].request.gpumem_mib),
                (8, Some(8192))
            );
        }
    }
}

/// Bring-up and tear-down of one run on two cores, seconds.
const AROUND_A_RUN_SECS: f64 = 25.0;

#[test]
fn the_three_failures_take_less_than_25_minutes() {
    let secs: f64 = ["rate-limit", "placement", "quota-unit"]
        .iter()
        .flat_map(|name| planned(name, |_| {}).into_values())
        .map(|plan| f64::from(plan.repeats) * (expected_secs(&plan) + AROUND_A_RUN_SECS))
        .sum();
    assert!(secs < 25.0 * 60.0, "{secs}");
}

/// What was measured on the real components at these compressions, to know that the estimate told to users is of use.
#[test]
fn the_expected_time_is_near_what_was_measured() {
    let closed = |o: &mut Overrides| o.timeline = Some("autoresearch-closed-loop".to_owned());
    for (name, compress, loops, measured) in [
        ("dedicated", 120.0, false, 451.5),
        ("workstation", 120.0, false, 1129.0),
        ("workstation", 120.0, true, 1205.6),
        ("workstation", 2400.0, true, 166.0),
    ] {
        let plans = planned(name, |o| {
            o.compress = Some(compress);
            if loops {
                closed(o);
            }
        });
        let expected = expected_secs(&plans["fixed"]);
        assert!(
            (0.8..1.25).contains(&(expected / measured)),
            "{name} {compress}: {expected}"
        );
    }
}

#[test]
fn quick_is_a_compression_and_a_label() {
    let plan = &planned("regimes", |o| o.quick = true)["fixed"];
    assert!(plan.quick && close(plan.compress, 1200.0));
    let plan = &planned("quota-unit", |o| o.quick = true)["cards"];
    assert!(
        !plan.quick,
        "nothing in it is compressed, so its metrics are comparable"
    );
}

#[test]
fn published_metrics_stand_beside_those_of_the_same_compression_and_size_only() {
    let experiment = load("regimes").unwrap();
    let known = |set: &dyn Fn(&mut Overrides)| {
        let mut overrides = Overrides::default();
        set(&mut overrides);
        let plans = plans(&experiment, &overrides).unwrap();
        let beside = plans[0].tenants.iter().any(|t| !t.published.is_empty());
        let expect = experiment.expected(&plans, &overrides);
        (
            beside,
            !expect.published.is_empty(),
            !expect.claims.is_empty(),
        )
    };
    assert_eq!(known(&|_| ()), (true, true, true));
    assert_eq!(known(&|o| o.compress = Some(120.0)), (true, true, true));
    assert_eq!(known(&|o| o.compress = Some(600.0)), (false, false, false));
    assert_eq!(known(&|o| o.quick = true), (false, false, false));
    let experiment = load("rate-limit").unwrap();
    let small = Overrides {
        nodes: Some(10),
        ..Overrides::default()
    };
    let plans = plans(&experiment, &small).unwrap();
    let expect = experiment.expected(&plans, &small);
    assert!(expect.published.is_empty() && !expect.claims.is_empty());
}

#[test]
fn so_many_repeats_asked_for_are_so_many_and_not_the_file_s_time_to_soak() {
    let text = LAYERS.replacen("seed: 3", "soak_secs: 7200\nseed: 3", 1);
    let experiment = Experiment::from_text("layers.yaml", &text).unwrap();
    let planned = |set: &dyn Fn(&mut Overrides)| {
        let mut overrides = Overrides::default();
        set(&mut overrides);
        let plan = plans(&experiment, &overrides).unwrap().remove(0);
        (plan.repeats, plan.soak_secs)
    };
    assert_eq!(planned(&|_| ()), (1, Some(7200.0)));
    assert_eq!(planned(&|o| o.repeat = Some(3)), (3, None));
    assert_eq!(planned(&|o| o.soak_secs = Some(3600.0)), (1, Some(3600.0)));
}

const LAYERS: &str = "
name: layers
title: What goes before what
observe_secs: 10
seed: 3
hami: { node_policy: binpack, limits: { qps: 7, burst: 9 } }
tenants:
  a: { quota: { cards: 8, cohort: c, lending_limit_cards: 2 }, workload: [burst: { requests: [{ count: 4, request: whole-card, run_secs: { from: 1, to: 9 } }] }] }
  b: { workload: [burst: { requests: [{ count: { share_of_cards: 0.5 }, request: whole-card }] }] }
arms:
  plain: {}
  changed:
    changes:
      seed: 4
      hami: { limits: raised }
      tenants: { a: { quota: { cohort: null, lending_limit_cards: null } }, b: null }
";

fn layers(set: impl Fn(&mut Overrides)) -> Vec<Plan> {
    let mut overrides = Overrides::default();
    set(&mut overrides);
    plans(
        &Experiment::from_text("layers", LAYERS).unwrap(),
        &overrides,
    )
    .unwrap()
}

#[test]
fn an_option_goes_before_the_arm_the_arm_before_the_file_the_file_before_the_default() {
    let plans = layers(|_| {});
    let [plain, changed] = &plans[..] else {
        panic!()
    };
    assert_eq!((plain.seed, changed.seed), (3, 4));
    assert_eq!(plain.hami.limit, ClientLimit { qps: 7.0, burst: 9 });
    assert_eq!(
        changed.hami.limit,
        ClientLimit {
            qps: 100.0,
            burst: 200
        }
    );
    assert_eq!(
        changed.hami.node_policy,
        Policy::Binpack,
        "the file's, which the arm leaves"
    );
    assert_eq!(changed.hami.gpu_policy, Policy::Spread, "the default");
    assert_eq!(teams(changed), ["a"], "null removes");
    assert_eq!(team(changed, "a").quota.as_ref().unwrap().cohort, None);
    assert_eq!(team(changed, "a").quota.as_ref().unwrap().nominal_cards, 8);
    let plans = layers(|o| {
        o.limits = Some(NamedLimits::HamiDefault);
        o.seed = Some(5);
        o.node_policy = Some(Policy::Spread);
        o.repeat = Some(2);
        o.arms = vec!["changed".to_owned()];
    });
    assert_eq!(plans.len(), 1);
    assert_eq!((plans[0].seed, plans[0].repeats), (5, 2));
    assert_eq!(
        plans[0].hami.limit,
        ClientLimit {
            qps: 5.0,
            burst: 10
        }
    );
    assert_eq!(plans[0].hami.node_policy, Policy::Spread);
}

#[test]
fn host_settings_of_a_file_start_at_its_folder_and_options_go_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.yaml");
    let text = "name: e\ntitle: t\nhost: { hami: bin/scheduler, out: results, keep: true }\n\
                observe_secs: 1\ntenants: { a: { workload: [burst: { requests: [{ count: 1, request: tenth }] }] } }\n";
    std::fs::write(&path, text).unwrap();
    let file = load(path.to_str().unwrap()).unwrap().host;
    let beside = |name: &str| folder.path().join(name);
    assert_eq!(file.hami.as_deref(), beside("bin/scheduler").to_str());
    assert_eq!(file.out, Some(beside("results")));
    let options = Host {
        hami: Some("builtin".into()),
        cache: Some("c".into()),
        ..Host::default()
    };
    let merged = Host {
        hami: Some("builtin".into()),
        cache: Some("c".into()),
        ..file.clone()
    };
    assert_eq!(options.or(&file), merged);
}

#[test]
fn drawn_run_times_follow_the_seed() {
    let runs = |seed| -> Vec<f64> {
        let plans = layers(|o| o.seed = Some(seed));
        team(&plans[0], "a")
            .groups()
            .map(|g| g.run_secs.unwrap())
            .collect()
    };
    assert_eq!(runs(1), runs(1));
    assert_ne!(runs(1), runs(2));
    assert_eq!(runs(1).len(), 4);
    assert!(runs(1).iter().all(|secs| (1.0..=9.0).contains(secs)));
}

#[test]
fn a_share_of_the_cards_follows_the_cluster() {
    for nodes in [50, 10] {
        let plans = layers(|o| o.nodes = Some(nodes));
        assert_eq!(
            counts(team(&plans[0], "b")),
            [("whole-card".into(), nodes * 4)].into()
        );
    }
}

#[test]
fn a_timeline_is_found_beside_its_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("own.yaml", source::TIMELINES[0].1);
    write(
        "e.yaml",
        "name: e\ntitle: t\ntenants: { a: { workload: [timeline: own.yaml] } }\n",
    );
    let experiment = load(folder.path().join("e.yaml").to_str().unwrap()).unwrap();
    let plans = plans(&experiment, &Overrides::default()).unwrap();
    assert_eq!(
        plans[0].tenants[0].groups().map(|g| g.count).sum::<u32>(),
        113
    );
}

#[test]
fn a_timeline_outside_of_the_experiments_folder_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("theirs");
    std::fs::create_dir(&folder).unwrap();
    let secret = root.path().join("secret.yaml");
    std::fs::write(&secret, source::TIMELINES[0].1).unwrap();
    std::os::unix::fs::symlink(&secret, folder.join("link.yaml")).unwrap();
    for path in ["../secret.yaml", "link.yaml", secret.to_str().unwrap()] {
        let text =
            format!("name: e\ntitle: t\ntenants: {{ a: {{ workload: [timeline: {path}] }} }}\n");
        std::fs::write(folder.join("e.yaml"), text).unwrap();
        let error = load(folder.join("e.yaml").to_str().unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("is not in the experiment file's folder"),
            "{error}"
        );
    }
}

#[test]
fn a_plan_reads_as_text() {
    insta::assert_snapshot!(planned("regimes", |_| {})["fixed"].describe());
    insta::assert_snapshot!(planned("placement", |_| {})["groups"].describe());
}

#[test]
fn claims_and_metrics_of_the_whole_run_stay_whoever_takes_part() {
    let experiment = load("restarts").unwrap();
    let overrides = Overrides::default();
    let expected = experiment.expected(&plans(&experiment, &overrides).unwrap(), &overrides);
    assert!(!expected.claims.is_empty());
    assert_eq!(expected, experiment.expect);
    assert!(published_restarts_per_hour().is_some());
}

#[test]
fn an_option_says_how_long_to_soak_before_the_file_does_and_no_arm_does() {
    let text = |set: &str| {
        format!(
            "name: mine\ntitle: T\nobserve_secs: 30\nsoak_secs: 600\ntenants:\n  a:\n    workload:\n      \
             - burst: {{ requests: [{{ count: 1, request: whole-card }}] }}\n{set}"
        )
    };
    let experiment = Experiment::from_text("mine.yaml", &text("")).unwrap();
    let soak = |secs: Option<f64>| {
        let overrides = Overrides {
            soak_secs: secs,
            ..Overrides::default()
        };
        plans(&experiment, &overrides).unwrap()[0].soak_secs
    };
    assert_eq!((soak(None), soak(Some(900.0))), (Some(600.0), Some(900.0)));
    let arm = "arms: { one: { changes: { soak_secs: 700 } } }\n";
    let error = Experiment::from_text("mine.yaml", &text(arm)).unwrap_err();
    assert!(error.to_string().contains("soak_secs"), "{error}");
}

#[test]
fn a_team_shares_machines_with_whoever_has_work_there() {
    let plans = planned("regimes", |_| {});
    assert!(
        !plans["fixed"].shares_machines("shared"),
        "the others are idle"
    );
    assert!(!plans["contended"].shares_machines("dedicated"));
    assert!(plans["contended"].shares_machines("shared"));
    let plans = planned("occupied", |_| {});
    assert!(
        plans["occupied"].shares_machines("shared") && !plans["empty"].shares_machines("shared")
    );
}
