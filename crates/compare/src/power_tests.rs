//! Simulations from the recorded A/A runs.

use super::*;
use crate::Outcome;

/// Enough for shares of a few per cent, few enough for a test.
const DRAWS: u32 = 1000;

/// The recorded comparison of like runs.
fn aa() -> Comparison {
    serde_json::from_str(include_str!("../../../docs/data/aa.json")).expect("a comparison")
}

#[test]
fn like_runs_are_called_worse_in_at_most_one_of_twenty_comparisons() {
    let aa = aa();
    assert!(aa.base.runs + aa.new.runs >= FEWEST && aa.outcome != Outcome::Regression);
    let columns = columns(&aa).unwrap();
    assert!(
        columns.len() >= 4,
        "metrics depend on each other: one alone shows nothing"
    );
    // What chance adds to a share of 5 % of so many draws: three standard errors.
    let most = aa.alpha + 3.0 * (aa.alpha * (1.0 - aa.alpha) / f64::from(DRAWS)).sqrt();
    for shape in [(1, 3), (1, 5), (7, 3)] {
        let shape = simulate(&columns, shape, aa.alpha, &[], DRAWS, 11);
        assert!(shape.false_alarms <= most, "{shape:?}");
        assert!(shape.false_alarms_at_threshold <= most, "{shape:?}");
        assert!(shape.false_alarms_of_rare <= RARE * most, "{shape:?}");
    }
}

/// That the test above could fail: at their limits, metrics that are tested one by one raise more alarms than allowed.
#[test]
fn without_correction_there_would_be_too_many_alarms() {
    let aa = aa();
    let columns = columns(&aa).unwrap();
    let mut random = SmallRng::seed_from_u64(11);
    let mut alarms = 0_u32;
    for _ in 0..DRAWS {
        let draw = draw(&columns, (1, 5), &mut random);
        let any = columns.iter().zip(&draw).any(|(column, (base, new))| {
            let new = column
                .allowed()
                .map_or_else(|| new.clone(), |shift| moved(new, shift));
            let sides = Sides::of(base, &new, &column.thresholds, aa.alpha);
            !column.rare && column.thresholds.p_worse(&sides) <= aa.alpha
        });
        alarms += u32::from(any);
    }
    let share = f64::from(alarms) / f64::from(DRAWS);
    assert!(share > aa.alpha * 1.5, "{share}");
}

#[test]
fn larger_changes_are_found_more_often_and_so_are_those_in_more_runs() {
    let aa = aa();
    let columns = columns(&aa).unwrap();
    let of = |shape| simulate(&columns, shape, aa.alpha, &[5.0, 20.0, 100.0], 200, 5);
    let (five, ten) = (of((1, 5)), of((1, 7)));
    for (few, many) in five.detection.iter().zip(&ten.detection) {
        let last = few.found.last().unwrap().1;
        assert!(last > 0.9, "{few:?}");
        assert!(
            few.found.windows(2).all(|w| w[0].1 <= w[1].1 + 0.05),
            "{few:?}"
        );
        let all = |d: &Detection| d.found.iter().map(|(_, share)| share).sum::<f64>();
        assert!(all(many) + 0.05 >= all(few), "{few:?} {many:?}");
    }
    // 3 + 3 runs can't show anything over five metrics.
    let three = of((1, 3));
    assert!(
        three
            .detection
            .iter()
            .flat_map(|d| &d.found)
            .all(|(_, share)| *share == 0.0)
    );
}

#[test]
fn runs_that_are_few_or_differ_show_nothing_about_chance() {
    let mut few = aa();
    let arm = &mut few.arms[0];
    (arm.base_runs, arm.new_runs) = (3, 3);
    for row in &mut arm.declared {
        row.base.truncate(3);
        row.new.truncate(3);
    }
    let line = power(&few, 1, 1).unwrap_err().to_string();
    assert!(line.contains("6 runs are too few"), "{line}");
    let mut mixed = aa();
    mixed.across.push(super::super::alike::Difference {
        topic: super::super::alike::Topic::Hami,
        what: "HAMi".into(),
        base: "a".into(),
        new: "b".into(),
    });
    assert!(
        power(&mixed, 1, 1)
            .unwrap_err()
            .to_string()
            .contains("HAMi")
    );
}

#[test]
fn a_comparison_that_was_changed_is_refused_in_one_line() {
    let refused = |change: fn(&mut Comparison)| {
        let mut aa = aa();
        change(&mut aa);
        let line = power(&aa, 1, 1).unwrap_err().to_string();
        assert!(line.contains("was changed"), "{line}");
        line
    };
    let line = refused(|aa| {
        let row = &mut aa.arms[0].declared[1];
        (row.base, row.new) = (Vec::new(), Vec::new());
    });
    assert!(line.contains("has 0 values for the 12 runs"), "{line}");
    let line = refused(|aa| {
        aa.arms[0].declared[0].new.pop();
    });
    assert!(line.contains("new side"), "{line}");
    refused(|aa| {
        let arm = &mut aa.arms[0];
        (arm.base_runs, arm.new_runs) = (usize::MAX, usize::MAX);
    });
    refused(|aa| aa.arms.push(aa.arms[0].clone()));
    for change in [
        |aa: &mut Comparison| aa.alpha = 5.0,
        |aa: &mut Comparison| aa.alpha = 0.0,
        |aa: &mut Comparison| aa.alpha = -0.05,
    ] {
        assert!(refused(change).contains("alpha"));
    }
}

#[test]
fn restarts_in_two_of_five_runs_after_a_week_without_one_are_found() {
    let aa = aa();
    let columns = columns(&aa).unwrap();
    assert!(
        columns.iter().any(|c| c.rare),
        "restarts are declared as rare"
    );
    let week = simulate(&columns, (7, 5), aa.alpha, &[], 200, 3);
    let found: Vec<f64> = week.rare_found.iter().map(|(_, share)| *share).collect();
    // Two or more of five: 1 − 0.6⁵ − 5 · 0.4 · 0.6⁴ = 0.66.
    assert!((found[2] - 0.66).abs() < 0.1, "{found:?}");
    assert!(found.windows(2).all(|w| w[0] <= w[1]), "{found:?}");
}
