//! The experiments with a node clearer.

use super::plans::{planned, team};
use crate::{ClearerStrategy, Plan, RoundStart, Via};

fn nominal(plan: &Plan, name: &str) -> u32 {
    let quota = team(plan, name).quota.as_ref();
    quota.map_or(0, |q| q.nominal_cards)
}

fn asked(plan: &Plan, name: &str) -> u32 {
    let groups = team(plan, name).groups();
    groups.map(|g| g.count * g.request.cards).sum()
}

#[test]
fn the_cluster_is_full_and_a_tenth_of_it_stands_on_quota_that_research_owns() {
    for nodes in [10, 50, 200] {
        let plans = planned("preemption", |o| o.nodes = Some(nodes));
        for arm in ["kueue", "kueue-binpack", "clearer"] {
            let (plan, cards) = (&plans[arm], nodes * 8);
            let held = asked(plan, "vision") + asked(plan, "speech");
            assert_eq!(held, cards, "every card is held");
            let owned = nominal(plan, "vision") + nominal(plan, "speech");
            assert_eq!(held - owned, cards / 10, "so many are borrowed");
            assert_eq!(nominal(plan, "research"), cards / 10);
            assert_eq!(asked(plan, "research"), cards / 10);
            assert!(team(plan, "vision").background && !team(plan, "vision").awaited);
            assert!(team(plan, "research").awaited);
        }
    }
}

#[test]
fn only_the_arm_of_that_name_clears() {
    let plans = planned("preemption", |_| {});
    assert!(plans["kueue"].clearer.is_none() && plans["kueue-binpack"].clearer.is_none());
    let clearer = plans["clearer"].clearer.as_ref().unwrap();
    assert_eq!(clearer.strategy, ClearerStrategy::Reserve);
    assert_eq!(clearer.evicts, ["vision", "speech"]);
    assert_eq!((plans["kueue"].repeats, plans["clearer"].repeats), (1, 2));
}

fn clearer_as_reserve(plan: &mut Plan) {
    plan.clearer.as_mut().unwrap().strategy = ClearerStrategy::Reserve;
    for team in &mut plan.tenants {
        team.published.clear();
    }
}

#[test]
fn the_arms_of_the_race_differ_in_the_strategy_alone() {
    let plans = planned("drain-race", |o| o.controls = true);
    let strategies: Vec<ClearerStrategy> = ["list-then-evict", "recheck", "reserve"]
        .map(|arm| plans[arm].clearer.as_ref().unwrap().strategy)
        .into();
    assert_eq!(
        strategies,
        [
            ClearerStrategy::ListThenEvict,
            ClearerStrategy::Recheck,
            ClearerStrategy::Reserve
        ]
    );
    let same = |arm: &str| {
        let mut plan = plans[arm].clone();
        plan.arm.clear();
        clearer_as_reserve(&mut plan);
        plan
    };
    assert_eq!(same("recheck"), same("reserve"));
    assert_eq!(same("list-then-evict"), same("reserve"));
    let mut late = plans["late-cordon"].clone();
    let clearer = late.clearer.as_mut().unwrap();
    assert!((clearer.cordon_delay_secs - 0.1).abs() < 1e-9);
    clearer.cordon_delay_secs = 0.0;
    late.arm.clear();
    clearer_as_reserve(&mut late);
    assert_eq!(
        late,
        same("reserve"),
        "the control is slower, and nothing else"
    );
    // A hundred clearings a strategy.
    assert!(plans.values().all(|p| p.repeats == 4));
    assert_eq!(asked(&plans["reserve"], "research"), 25 * 8);
}

#[test]
fn tasks_arrive_throughout_the_race_and_nobody_waits_for_them() {
    for nodes in [10, 50] {
        let plan = &planned("drain-race", |o| o.nodes = Some(nodes))["reserve"];
        let arrivals = team(plan, "arrivals");
        assert!(!arrivals.awaited && !arrivals.background);
        assert!(arrivals.groups().all(|g| g.via == Via::Pod));
        let clearer = plan.clearer.as_ref().unwrap();
        assert!(clearer.evicts.contains(&"arrivals".to_owned()));
        let last = |name: &str| match team(plan, name).stages[0].rounds.last().unwrap().start {
            RoundStart::AtSecs(last) => last,
            other @ RoundStart::ThinkSecs(_) => panic!("{other:?}"),
        };
        assert!(
            last("arrivals") >= last("research") + 30.0,
            "also beside the last"
        );
        // One that slips in is still there when the clearing's time is up.
        let shortest = arrivals
            .groups()
            .filter_map(|g| g.run_secs)
            .fold(f64::MAX, f64::min);
        assert!(shortest > clearer.deadline_secs, "{shortest}");
        // There is room for those that come, and not for a request.
        let held = asked(plan, "vision") + asked(plan, "speech");
        assert_eq!(held, nodes * 8 * 3 / 4);
    }
}

#[test]
fn seventy_percent_are_held_by_a_team_that_borrows_nothing() {
    let plans = planned("occupied", |_| {});
    let (empty, occupied) = (&plans["empty"], &plans["occupied"]);
    assert_eq!(asked(empty, "others"), 0);
    assert_eq!(asked(occupied, "others"), 280);
    assert!(asked(occupied, "others") <= nominal(occupied, "others"));
    assert!(team(occupied, "others").background);
    for plan in [empty, occupied] {
        assert!(
            plan.clearer.is_some(),
            "on in both, so that it is no difference"
        );
        assert_eq!(nominal(plan, "shared"), 40);
    }
}

#[test]
fn the_same_tasks_of_others_stand_in_the_way_of_each_burst() {
    let plans = planned("burst", |_| {});
    let runs = |arm: &str| -> Vec<f64> {
        let groups = team(&plans[arm], "vision").groups();
        groups.map(|g| g.run_secs.unwrap()).collect()
    };
    assert_eq!(runs("evict"), runs("wait"), "drawn from the same seed");
    assert_eq!(runs("dedicated"), runs("wait")[..180]);
    assert!(
        runs("wait")
            .iter()
            .all(|secs| (20.0..=600.0).contains(secs))
    );
    let dedicated = &plans["dedicated"];
    let own = |name: &str| dedicated.capacity(team(dedicated, name)).cards;
    assert_eq!((own("research"), own("vision")), (40, 180));
    assert_eq!(asked(dedicated, "vision") + asked(dedicated, "speech"), 360);
    assert!(plans["evict"].clearer.is_some() && plans["wait"].clearer.is_none());
}
