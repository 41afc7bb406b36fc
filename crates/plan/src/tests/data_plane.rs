//! The experiments with a data plane.

use std::collections::BTreeMap;

use super::plans::{planned, team};
use crate::experiment::Experiment;
use crate::{DataPlanePlan, Overrides, Plan, load, plans};

const EXPERIMENT: &str = "\
name: small
title: A small experiment
observe_secs: 90
compress: 10
data_plane:
  default: { image_gb: 5, pull_gbit_per_sec: 4, cuda_init_secs: 1, model_load_secs: 3, shutdown_secs: 20, release_secs: 2 }
  classes:
    whole-machine: { image_gb: 20, model_load_secs: 60 }
    tenth: { image_gb: 0 }
tenants:
  research:
    workload:
      - burst:
          requests:
            - { count: 1, request: whole-machine }
            - { count: 1, request: whole-card }
            - { count: 1, request: tenth }
";

fn plan(text: &str) -> Plan {
    let experiment = Experiment::from_text("small.yaml", text).unwrap();
    plans(&experiment, &Overrides::default()).unwrap().remove(0)
}

fn data_plane(text: &str) -> DataPlanePlan {
    plan(text).data_plane.expect("a data plane")
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn its_seconds_are_compressed_as_the_timeline_is_and_the_record_says_by_how_much() {
    let data_plane = data_plane(EXPERIMENT);
    assert!(close(data_plane.compressed_by, 10.0));
    let card = data_plane.of("whole-card");
    // 5 GB are 40 Gbit, at 4 Gbit/s 10 s.
    assert!(close(card.pull_secs, 1.0), "{card:?}");
    assert!(close(card.prepare_secs(), 0.4), "{card:?}");
    assert!(close(card.termination_secs(), 2.2), "{card:?}");
    let real = data_plane_of(&EXPERIMENT.replace("compress: 10\n", ""));
    assert!(close(real["whole-card"], 10.0), "{real:?}");
}

fn data_plane_of(text: &str) -> BTreeMap<String, f64> {
    let classes = data_plane(text).classes.into_iter();
    classes.map(|(class, c)| (class, c.pull_secs)).collect()
}

#[test]
fn a_class_changes_what_it_names_and_has_an_image_of_its_own_if_it_names_one() {
    let data_plane = data_plane(EXPERIMENT);
    let image = |class: &str| data_plane.of(class).image("research", class);
    assert_eq!(image("whole-card").as_deref(), Some("research"));
    let own = Some("research/whole-machine");
    assert_eq!(image("whole-machine").as_deref(), own);
    assert_eq!(image("tenth"), None);
    let machine = data_plane.of("whole-machine");
    assert!(close(machine.pull_secs, 4.0) && close(machine.cuda_init_secs, 0.1));
    assert!(close(machine.model_load_secs, 6.0), "{machine:?}");
}

#[test]
fn one_that_takes_no_time_is_none() {
    let start = EXPERIMENT.find("data_plane:").unwrap();
    let end = EXPERIMENT.find("tenants:").unwrap();
    for nothing in [
        "",
        "data_plane: {}\n",
        "data_plane: { default: { image_gb: 0 } }\n",
    ] {
        let mut text = EXPERIMENT.to_owned();
        text.replace_range(start..end, nothing);
        assert_eq!(plan(&text).data_plane, None, "{nothing:?}");
    }
}

#[test]
fn the_arms_with_one_run_when_asked_for_and_have_nothing_published_to_be_held_against() {
    for (name, like) in [
        ("regimes", "fixed"),
        ("preemption", "clearer"),
        ("burst", "evict"),
    ] {
        assert!(!planned(name, |_| {}).contains_key("data-plane"), "{name}");
        let both = planned(name, |o| o.arms = vec![like.into(), "data-plane".into()]);
        let (plain, with) = (&both[like], &both["data-plane"]);
        assert_eq!(plain.data_plane, None, "{name}");
        assert!(with.data_plane.is_some(), "{name}");
        assert_eq!(plain.clearer, with.clearer, "{name}");
        let quotas =
            |plan: &Plan| -> Vec<_> { plan.tenants.iter().map(|t| t.quota.clone()).collect() };
        assert_eq!(quotas(plain), quotas(with), "{name}");
        assert!(
            with.tenants.iter().all(|t| t.published.is_empty()),
            "{name}"
        );
    }
    let experiment = load("regimes").unwrap();
    let overrides = Overrides {
        arms: vec!["fixed".into(), "data-plane".into()],
        ..Overrides::default()
    };
    let plans = plans(&experiment, &overrides).unwrap();
    let published = experiment.expected(&plans, &overrides).published;
    assert_eq!(published.len(), experiment.expect.published.len());
    let arms = published.iter().map(|p| p.arm.as_deref());
    assert!(arms.into_iter().all(|arm| arm == Some("fixed")));
    assert!(!team(&plans[0], "shared").published.is_empty());
}
