//! What the title says of each arm, and when it speaks of a ceiling.

use super::finding::fits;
use super::*;
use plan::ClientLimit;

fn arm(name: &str, (qps, burst): (f64, u32), bound: u32, last_secs: f64) -> Arm {
    Arm {
        name: name.into(),
        limit: ClientLimit { qps, burst },
        calls: Some(9.0),
        end_secs: 90.0,
        asked: 120,
        bound,
        last_secs: Some(last_secs),
        curves: Vec::new(),
    }
}

const DEFAULT: (f64, u32) = (5.0, 10);
const RAISED: (f64, u32) = (100.0, 200);

fn chart(arms: Vec<Arm>) -> BoundOverTime {
    BoundOverTime {
        arms,
        origin: String::new(),
    }
}

fn names_a_ceiling(chart: &BoundOverTime) -> bool {
    chart.legend().iter().any(|key| key.label.contains("limit"))
}

#[test]
fn the_ceiling_is_the_limit_over_the_calls() {
    let slow = arm("a", DEFAULT, 44, 88.0);
    let line = slow.ceiling_line().unwrap();
    assert!((line[0].1 - 10.0 / 9.0).abs() < 1e-9);
    assert!((line[1].1 - 460.0 / 9.0).abs() < 1e-9);
    let fast = arm("a", RAISED, 120, 8.4).ceiling_line().unwrap();
    assert!((fast[1].0 - 8.8).abs() < 1e-9 && (fast[1].1 - 120.0).abs() < 1e-9);
}

#[test]
fn the_title_gives_each_arms_last_bind_and_speaks_of_the_limit_only_where_it_is_in_the_way() {
    let arms = [
        arm("hami-default", DEFAULT, 44, 88.2),
        arm("raised", RAISED, 120, 8.4),
    ];
    assert_eq!(
        finding(&arms),
        "Bound: hami-default 44 of 120 by 88.2 s (HAMi's limit of 5 / 10 allows 51); raised 120 of 120 by 8.4 s"
    );
    let mut none = arm("raised", RAISED, 0, 0.0);
    none.last_secs = None;
    assert_eq!(finding(&[none]), "Bound: raised 0 of 120");
}

#[test]
fn a_ceiling_that_is_drawn_nowhere_stands_in_no_legend() {
    let mut few = arm("raised", RAISED, 6, 8.4);
    few.asked = 6;
    let few = chart(vec![few]);
    assert!(few.arms[0].ceiling_line().is_none() && !names_a_ceiling(&few));
    assert!(!few.note().contains("ceiling"));
    assert!(names_a_ceiling(&chart(vec![arm("a", DEFAULT, 44, 88.0)])));
}

#[test]
fn a_title_of_many_arms_still_fits_and_names_them() {
    let names = [
        "hami-default-spread",
        "hami-default-binpack",
        "raised-spread",
        "raised-binpack",
        "hami-default-25-nodes",
        "hami-default-200-nodes",
    ];
    let arms = |limit| names.map(|name| arm(name, limit, 54, 89.7));
    let title = finding(&arms(DEFAULT));
    assert!(fits(&title), "{title}");
    for name in names {
        assert!(title.contains(&format!("{name} 54/120, 90 s")), "{title}");
    }
    let long = ["an-arm-of-a-name-as-long-as-this"; 8].map(|name| arm(name, RAISED, 54, 89.7));
    let title = finding(&long);
    assert!(fits(&title) && title.ends_with("more arms"), "{title}");
}
