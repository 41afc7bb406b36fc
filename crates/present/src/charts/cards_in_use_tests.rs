//! What the title says of idle cards, and the legend of a quota.

use super::*;
use results::fixtures;

fn a_team(name: &str, reserved: Option<f64>, held: f64, makespan: f64) -> Team {
    Team {
        name: name.into(),
        colour: INK,
        card_seconds: CardSeconds {
            reserved,
            admitted: held,
            bound: held * 0.9,
            ideal: 8248.0,
            ..CardSeconds::default()
        },
        makespan_secs: Some(makespan),
        reserved: reserved.map(|r| (r / makespan, makespan)),
        quota: Some(40.0),
        may_borrow: false,
        bound: vec![(0.0, 3.0), (1.0, 24.0)],
        admitted: Vec::new(),
    }
}

#[test]
fn the_title_says_what_idled_and_what_sharing_cost() {
    let teams = [
        a_team("dedicated", Some(18000.0), 9000.0, 450.0),
        a_team("shared", None, 9000.0, 459.0),
    ];
    assert_eq!(
        finding(&teams),
        "Of the 18,000 card·s set aside for dedicated, 50 % were held by its work (quota held), 50 % stood idle; shared \
         held 50 % for the same work and took 1.02 × as long"
    );
    assert_eq!(
        finding(&teams[1..]),
        "shared had up to 24 cards in use at once"
    );
    let bare = Team {
        quota: None,
        ..teams[0].clone()
    };
    let title = finding(&[bare]);
    assert!(
        title.ends_with("45 % were held by its work (on bound pods), 55 % stood idle"),
        "{title}"
    );
}

#[test]
fn only_who_has_somebody_to_borrow_from_may_borrow() {
    let quota = |may_borrow| Team {
        may_borrow,
        ..a_team("research", None, 100.0, 450.0)
    };
    assert_eq!(quota_label(&[quota(false)]), Some("nominal quota"));
    let label = quota_label(&[quota(true), quota(true)]);
    assert_eq!(label, Some("nominal quota, may borrow"));
    let label = quota_label(&[quota(true), quota(false)]);
    assert_eq!(label, Some("nominal quota (some teams may borrow)"));
    let owner = a_team("dedicated", Some(18000.0), 9000.0, 450.0);
    assert_eq!(quota_label(&[owner]), None);

    let plan = |name: &str, cohort: Option<&str>| {
        let mut team = fixtures::team(name, 40, true);
        team.quota.as_mut().unwrap().cohort = cohort.map(String::from);
        team
    };
    let own = plan("research", Some("one"));
    assert!(may_borrow(
        &own,
        &[own.clone(), plan("others", Some("one"))]
    ));
    assert!(!may_borrow(
        &own,
        &[own.clone(), plan("others", Some("two"))]
    ));
    let alone = plan("research", None);
    assert!(!may_borrow(&alone, &[alone.clone(), plan("others", None)]));
}
