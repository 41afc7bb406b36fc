//! Compares what two extenders did.
//!
//! In: what each side did in a scenario, play by play. Out: a [`Verdict`] that lists every difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::counted::{COUNTS, Counted};
use super::observed::Observed;
use super::scenario::Judged;

/// The result of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the scenario.
    pub scenario: String,
    /// Why it is judged by counts within margins; null if everything must be equal.
    pub loosely: Option<String>,
    /// Number of plays of each side.
    pub plays: [usize; 2],
    /// Whether the two sides are equivalent in it.
    pub equivalent: bool,
    /// What differs.
    pub differences: Vec<Difference>,
    /// What differed between the first side's own plays. There the second side may do any of what the first did.
    pub varies: Vec<String>,
    /// Each side's first play in numbers, for the table; null if only counts were recorded.
    pub first: [Option<Summary>; 2],
}

/// A play in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// How many pods were bound.
    pub bound: usize,
    /// How many pods there were.
    pub pods: usize,
    /// Questions to the filter.
    pub attempts: u64,
    /// API calls.
    pub calls: u64,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Where, e.g. `pods/w1/outcome`.
    pub what: String,
    /// The first side's values, each once.
    pub first: Vec<String>,
    /// The second side's values.
    pub second: Vec<String>,
}

/// Compares two sides' plays of a scenario.
#[must_use]
pub fn judge(scenario: &str, judged: Judged, sides: [&[Observed]; 2]) -> Verdict {
    let first = sides.map(|plays| plays.first().map(summary));
    match judged {
        Judged::Exactly => Verdict {
            first,
            ..verdict(
                scenario,
                judged,
                sides.map(<[Observed]>::len),
                exactly(sides),
            )
        },
        Judged::Loosely(_) => {
            let counted: Vec<Counted> = sides[0].iter().map(Counted::of).collect();
            let verdict = judge_counts(scenario, judged, &counted, sides[1]);
            Verdict { first, ..verdict }
        }
    }
}

/// Compares recorded counts with plays.
#[must_use]
pub fn judge_counts(
    scenario: &str,
    judged: Judged,
    recorded: &[Counted],
    played: &[Observed],
) -> Verdict {
    let counted: Vec<Counted> = played.iter().map(Counted::of).collect();
    let plays = [recorded.len(), played.len()];
    let found = (loosely(recorded, &counted), vec![]);
    Verdict {
        first: [None, played.first().map(summary)],
        ..verdict(scenario, judged, plays, found)
    }
}

fn verdict(
    scenario: &str,
    judged: Judged,
    plays: [usize; 2],
    (differences, varies): (Vec<Difference>, Vec<String>),
) -> Verdict {
    Verdict {
        scenario: scenario.to_owned(),
        loosely: match judged {
            Judged::Exactly => None,
            Judged::Loosely(why) => Some(why.to_owned()),
        },
        plays,
        equivalent: differences.is_empty() && plays.iter().all(|plays| *plays > 0),
        differences,
        varies,
        first: [None, None],
    }
}

fn summary(observed: &Observed) -> Summary {
    let pods = observed.pods.values();
    let placed = pods.filter(|pod| pod.outcome.starts_with("bound"));
    Summary {
        bound: placed.count(),
        pods: observed.pods.len(),
        attempts: observed.attempts,
        calls: observed.calls.values().sum(),
    }
}

/// The values of each side, by their path. The second side may have only values that the first has.
fn exactly(sides: [&[Observed]; 2]) -> (Vec<Difference>, Vec<String>) {
    let [first, second] = sides.map(values);
    let mut places: BTreeSet<&String> = first.keys().collect();
    places.extend(second.keys());
    let none = BTreeSet::from([ABSENT.to_owned()]);
    let mut differences = Vec::new();
    for place in places {
        let [a, b] = [&first, &second].map(|side| side.get(place).unwrap_or(&none));
        if !b.is_subset(a) {
            differences.push(Difference {
                what: place.clone(),
                first: a.iter().cloned().collect(),
                second: b.iter().cloned().collect(),
            });
        }
    }
    let varies = first.into_iter().filter(|(_, values)| values.len() > 1);
    (differences, varies.map(|(place, _)| place).collect())
}

/// The value of something that is missing.
const ABSENT: &str = "-";

fn values(plays: &[Observed]) -> BTreeMap<String, BTreeSet<String>> {
    let flat: Vec<BTreeMap<String, String>> = plays.iter().map(flatten).collect();
    let places: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    let of = |place: &String| {
        let values = flat
            .iter()
            .map(|play| play.get(place).map_or(ABSENT, String::as_str));
        (place.clone(), values.map(str::to_owned).collect())
    };
    places.into_iter().map(of).collect()
}

/// A play's values by path.
fn flatten(observed: &Observed) -> BTreeMap<String, String> {
    fn walk(at: &str, value: &Value, into: &mut BTreeMap<String, String>) {
        let below = |key: &str| format!("{at}/{key}").trim_start_matches('/').to_owned();
        match value {
            Value::Object(map) => map
                .iter()
                .for_each(|(key, value)| walk(&below(key), value, into)),
            Value::Array(list) => {
                for (n, value) in list.iter().enumerate() {
                    walk(&below(&(n + 1).to_string()), value, into);
                }
            }
            Value::String(text) => drop(into.insert(at.to_owned(), text.clone())),
            other => drop(into.insert(at.to_owned(), other.to_string())),
        }
    }
    let mut flat = BTreeMap::new();
    // A value of this type always becomes JSON: its keys are strings.
    let value = serde_json::to_value(observed).unwrap_or_default();
    walk("", &value, &mut flat);
    flat
}

/// Means of counts within their margins.
fn loosely(first: &[Counted], second: &[Counted]) -> Vec<Difference> {
    let beyond = |(name, margin, take): &super::counted::Metric| {
        let (a, b) = (mean(first, *take), mean(second, *take));
        let allowed = margin.about(a);
        // Sums of a few counts; this is far below any count.
        ((a - b).abs() > allowed + 1e-9).then(|| Difference {
            what: format!("{name} (mean, within ± {allowed:.2})"),
            first: vec![format!("{a:.2}")],
            second: vec![format!("{b:.2}")],
        })
    };
    COUNTS.iter().filter_map(beyond).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a handful of plays")]
fn mean(plays: &[Counted], take: fn(&Counted) -> f64) -> f64 {
    plays.iter().map(take).sum::<f64>() / plays.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::observed::PodSeen;
    use super::*;

    fn play(outcome: &str, calls: u64) -> Observed {
        let pod = PodSeen {
            outcome: outcome.into(),
            ..PodSeen::default()
        };
        Observed {
            pods: [("p".to_owned(), pod)].into(),
            attempts: 1,
            calls: [("get nodes".to_owned(), calls)].into(),
            ..Observed::default()
        }
    }

    #[test]
    fn one_call_more_is_a_difference_and_says_where() {
        let verdict = judge(
            "s",
            Judged::Exactly,
            [&[play("bound to a", 3)], &[play("bound to a", 4)]],
        );
        assert!(!verdict.equivalent);
        let found = &verdict.differences[0];
        assert_eq!(
            (found.what.as_str(), verdict.differences.len()),
            ("calls/get nodes", 1)
        );
        assert_eq!(
            (&found.first[0], &found.second[0]),
            (&"3".to_owned(), &"4".to_owned())
        );
    }

    #[test]
    fn what_one_side_lacks_is_a_difference() {
        let mut with_lock = play("bound to a", 3);
        with_lock.locks.insert("a".into(), "TIME,ns,p".into());
        let verdict = judge(
            "s",
            Judged::Exactly,
            [&[play("bound to a", 3)], &[with_lock]],
        );
        assert_eq!(verdict.differences[0].first, ["-"]);
    }

    #[test]
    fn the_second_may_do_what_the_first_has_done_and_nothing_else() {
        let first = [play("bound to a", 3), play("bound to a", 5)];
        let verdict = |calls| judge("s", Judged::Exactly, [&first, &[play("bound to a", calls)]]);
        assert!(verdict(5).equivalent && !verdict(4).equivalent);
        assert_eq!(verdict(5).varies, ["calls/get nodes"]);
    }

    #[test]
    fn loose_counts_may_differ_within_their_margins_but_pods_bound_may_not() {
        let verdict = |other: Observed| {
            judge(
                "s",
                Judged::Loosely("chance"),
                [&[play("bound to a", 20)], &[other]],
            )
        };
        assert!(verdict(play("bound to b", 25)).equivalent);
        assert!(!verdict(play("bound to a", 26)).equivalent);
        assert!(!verdict(play("not bound", 20)).equivalent);
    }

    #[test]
    fn nothing_played_is_not_equivalent() {
        assert!(!judge("s", Judged::Exactly, [&[], &[]]).equivalent);
    }
}
