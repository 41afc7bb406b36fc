//! What the embedded experiments plan, and how options, arms and files go before one another.

use super::*;

fn regimes(overrides: &Overrides) -> Vec<Plan> {
    plans(&load("regimes").unwrap(), overrides).unwrap()
}

#[test]
fn regimes_play_the_timeline_as_published() {
    let plan = &regimes(&Overrides::default())[0];
    println!("{}", plan.describe());
    assert_eq!(plan.cluster.nodes(), 50);
    assert!((plan.compress - 120.0).abs() < f64::EPSILON);
    let team = |name: &str| plan.tenants.iter().find(|t| t.name == name).unwrap();
    let ideal = |name: &str| team(name).ideal_secs.unwrap();
    for name in ["dedicated", "shared", "workstation"] {
        let experiments: u32 = team(name).groups().map(|g| g.count).sum();
        assert_eq!(experiments, 113);
        let card_seconds: f64 = team(name)
            .groups()
            .map(|g| f64::from(g.count * g.request.cards) * g.run_secs.unwrap())
            .sum();
        assert!((card_seconds - 8248.0).abs() < 0.5, "{card_seconds}");
    }
    assert!((ideal("dedicated") - 450.0).abs() < 0.01);
    assert!((ideal("shared") - 450.0).abs() < 0.01);
    assert!((1048.0..=1058.0).contains(&ideal("workstation")));
    assert_eq!(team("others").quota.as_ref().unwrap().nominal_cards, 312);
    assert!((team("shared").published["makespan_secs"] - 461.3).abs() < 1e-9);
}

#[test]
fn the_closed_loop_has_its_fitted_ideals() {
    let timeline = Some("autoresearch-closed-loop".to_owned());
    let plan = &regimes(&Overrides {
        timeline,
        ..Overrides::default()
    })[0];
    let ideal = |name: &str| {
        plan.tenants
            .iter()
            .find(|t| t.name == name)
            .and_then(|t| t.ideal_secs)
            .unwrap()
    };
    assert!((ideal("dedicated") - 450.0).abs() < 0.01);
    assert!((ideal("workstation") - 1090.5).abs() < 0.01);
}
