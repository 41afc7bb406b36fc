//! The test against its definition, and what an interval holds.

use super::*;

fn is(values: &[f64]) -> Vec<Amount> {
    values.iter().map(|v| Amount::Is(*v)).collect()
}

/// Every assignment by hand: the test's definition, without ranks doubled or sums counted.
fn by_enumeration(low: &[f64], high: &[f64]) -> f64 {
    let all: Vec<f64> = low.iter().chain(high).copied().collect();
    // Number of pairs in which the second is larger, ties a half.
    let wins = |chosen: u32| -> f64 {
        let mut sum = 0.0;
        for (i, a) in all.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1) {
            for (j, b) in all.iter().enumerate().filter(|(j, _)| chosen >> j & 1 == 0) {
                assert_ne!(i, j);
                sum += if a > b {
                    1.0
                } else if a < b {
                    0.0
                } else {
                    0.5
                };
            }
        }
        sum
    };
    let seen = wins(((1 << high.len()) - 1) << low.len());
    let choices = (0_u32..1 << all.len()).filter(|c| c.count_ones() as usize == high.len());
    let (mut hits, mut n) = (0.0, 0.0);
    for choice in choices {
        n += 1.0;
        hits += f64::from(u8::from(wins(choice) >= seen - 1e-9));
    }
    hits / n
}

#[test]
fn p_is_the_share_of_assignments_that_are_as_extreme() {
    for (low, high) in [
        (&[1.0, 2.0, 3.0][..], &[4.0, 5.0, 6.0][..]),
        (&[1.0, 5.0, 2.0], &[4.0, 3.0]),
        (&[1.0, 1.0, 2.0, 2.0], &[2.0, 2.0, 3.0]),
        (&[2.0], &[1.0, 2.0, 3.0, 4.0, 5.0]),
        (&[7.0, 7.0], &[7.0, 7.0]),
    ] {
        let p = p_larger(&is(low), &is(high));
        let expected = by_enumeration(low, high);
        assert!(
            (p - expected).abs() < 1e-12,
            "{low:?} {high:?}: {p} for {expected}"
        );
    }
    assert!((p_larger(&is(&[1.0, 2.0, 3.0]), &is(&[4.0, 5.0, 6.0])) - 0.05).abs() < 1e-12);
    assert!((smallest_p(3, 3) - 0.05).abs() < 1e-12);
}

#[test]
fn what_is_over_a_bound_lies_above_what_is_below_it_and_level_with_the_rest() {
    let over = |v| Amount::Over(v);
    let fast = is(&[10.0, 20.0, 30.0]);
    assert!((p_larger(&fast, &[over(90.0), over(90.0), over(90.0)]) - 0.05).abs() < 1e-12);
    // Over 20 may be less or more than 30: no order between the two.
    let level = p_larger(&[Amount::Is(30.0)], &[over(20.0)]);
    assert!((level - 1.0).abs() < 1e-12, "{level}");
    assert!((p_larger(&[over(90.0); 4], &[over(90.0); 4]) - 1.0).abs() < 1e-12);
}

#[test]
fn drawn_assignments_agree_with_counted_ones() {
    let low: Vec<f64> = (0..31).map(|i| f64::from(i * 7 % 31)).collect();
    let high: Vec<f64> = (0..30).map(|i| f64::from(i * 11 % 31) + 4.0).collect();
    let ranks = double_ranks(&[low, high].concat());
    let seen: usize = ranks[31..].iter().sum();
    let (drawn, counted) = (
        drawn(&ranks, 30, seen),
        share(&ranks, 30, |sum| sum >= seen),
    );
    assert!((drawn - counted).abs() < 0.01, "{drawn} for {counted}");
    assert!(
        counted > 0.01 && counted < 0.5,
        "{counted}: nothing to tell apart"
    );
}

#[test]
fn an_interval_holds_what_the_test_does_not_exclude() {
    let base = is(&[100.0, 101.0, 99.0, 102.0, 98.0]);
    let new = is(&[110.0, 111.0, 109.0, 112.0, 108.0]);
    let (Some(low), Some(high)) = interval(&base, &new, true, 0.05) else {
        panic!("5 and 5 runs bound both ends");
    };
    assert!(
        low < 1.1 && 1.1 < high && low > 1.05 && high < 1.15,
        "{low} {high}"
    );
    let moved = |by: f64| -> Vec<Amount> { base.iter().map(|b| Shift::Times(by).of(*b)).collect() };
    assert!(p_larger(&moved(low - 0.001), &new) <= 0.05);
    assert!(p_larger(&moved(low + 0.001), &new) > 0.05);
    assert!(p_larger(&new, &moved(high + 0.001)) <= 0.05);
    let (low, high) = interval(&base, &new, false, 0.05);
    assert!(low.is_some_and(|l| l > 5.0) && high.is_some_and(|h| h < 15.0));
    // Two and two runs exclude nothing at 5 %: their smallest p is 1/6.
    assert_eq!(interval(&base[..2], &new[..2], true, 0.05), (None, None));
}
