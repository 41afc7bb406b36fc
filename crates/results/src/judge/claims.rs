//! The claims of an experiment file over an arm's runs.
//!
//! A claim goes by what it is about, and by the same rule whichever way it points:
//!
//! - a count, and whether requests are bound: every run by itself. One run that breaks the claim refutes it;
//! - a share of requests that are counted over all runs: the exact interval of the share. It decides only where all of it lies
//!   on one side of the bound;
//! - a count of such requests: one that was seen is proof that there are some; that none was seen proves nothing;
//! - anything else: the median of the runs. A ratio of times counts undisturbed runs only.

use std::collections::BTreeMap;

use super::Judged;
use super::binomial::{self, Counted};
use crate::metrics::{self, Amount, Values};
use crate::run_folder::{Claim, Control};
use plan::expect::{Expect, MetricRef, Predicate, Ratio, Requests, Within};
use plan::metric::{Metric, MetricKey, Repeats, Unit};

/// The runs of each arm.
pub type Runs<'a> = BTreeMap<&'a str, Vec<&'a Judged>>;

/// A verdict (`None`: open), with its reason; or why nothing can be said.
type Verdict = Result<(Option<bool>, String), String>;

/// Judges the claims that are declared for `arm`: whether all hold (`None`: not known), and each with its reason.
pub fn judge(expect: &Expect, arm: &str, runs: &Runs<'_>) -> (Option<bool>, Vec<Claim>) {
    let claims: Vec<Claim> = expect
        .claims
        .iter()
        .filter(|claim| claim.is_about(arm))
        .map(|claim| {
            let on = Arm { arm, runs };
            let (mut holds, mut reason) = on.verdict(&claim.holds);
            let rests_on = on.rests_on(&claim.holds);
            let control = claim.control.as_ref().map(|control| {
                let (holds, reason) = if runs.contains_key(control.as_str()) {
                    Arm { arm: control, runs }.verdict(&claim.holds)
                } else {
                    (None, format!("its control, arm {control}, did not run"))
                };
                Control {
                    arm: control.clone(),
                    holds,
                    reason,
                    seen: None,
                }
            });
            if control.as_ref().is_some_and(|c| c.holds == Some(true)) && holds == Some(true) {
                holds = None;
                reason += "; but it holds in its control as well";
            }
            Claim {
                claim: claim.claim.clone(),
                holds,
                reason,
                runs: Some(number(rests_on.len())),
                disturbed_runs: number(rests_on.iter().filter(|run| run.disturbed).count()),
                control,
            }
        })
        .collect();
    let holds = if claims.iter().any(|c| c.holds == Some(false)) {
        Some(false)
    } else if claims.is_empty() || claims.iter().any(|c| c.holds.is_none()) {
        None
    } else {
        Some(true)
    };
    (holds, claims)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The verdict in one sentence.
pub fn reason(holds: Option<bool>, claims: &[Claim]) -> String {
    let because = |wanted: Option<bool>| {
        let of = claims.iter().filter(|c| c.holds == wanted);
        of.map(|c| format!("{}: {}", c.claim, c.reason))
            .collect::<Vec<_>>()
            .join("; ")
    };
    match holds {
        Some(true) => format!("holds: {}", because(Some(true))),
        Some(false) => format!("does not hold: {}", because(Some(false))),
        None if claims.is_empty() => "no claim is declared for this arm".into(),
        None => format!("cannot be judged: {}", because(None)),
    }
}

/// The arm that is judged, among the others that its claims may name.
struct Arm<'a> {
    arm: &'a str,
    runs: &'a Runs<'a>,
}

impl<'a> Arm<'a> {
    /// What is known of a predicate, and why.
    fn verdict(&self, predicate: &Predicate) -> (Option<bool>, String) {
        let known = self.predicate(predicate);
        known.unwrap_or_else(|missing| (None, missing))
    }

    fn predicate(&self, predicate: &Predicate) -> Verdict {
        match predicate {
            Predicate::Within(within) => self.within(within),
            Predicate::Ratio(ratio) => self.ratio(ratio),
            Predicate::AllBound(requests) => self.bound(requests, |bound, all| bound >= all),
            Predicate::SomeUnbound(requests) => self.bound(requests, |bound, all| bound < all),
        }
    }

    /// The runs of an arm; by default of the one that is judged.
    fn of(&self, arm: Option<&str>) -> &'a [&'a Judged] {
        let runs = self.runs.get(arm.unwrap_or(self.arm));
        runs.map_or(&[], Vec::as_slice)
    }

    /// The runs that a predicate looks at.
    fn rests_on(&self, predicate: &Predicate) -> Vec<&'a Judged> {
        let of = |metric: &MetricRef| self.of(metric.arm.as_deref());
        match predicate {
            Predicate::Within(within) => of(&within.of).to_vec(),
            Predicate::Ratio(ratio) => {
                let mut runs = self.in_ratio(ratio, &ratio.of);
                // Both sides may be of one arm.
                for run in self.in_ratio(ratio, &ratio.to) {
                    if !runs.iter().any(|other| std::ptr::eq(*other, run)) {
                        runs.push(run);
                    }
                }
                runs
            }
            Predicate::AllBound(_) | Predicate::SomeUnbound(_) => self.of(None).to_vec(),
        }
    }

    /// The runs that a side of a ratio counts.
    fn in_ratio(&self, ratio: &Ratio, side: &MetricRef) -> Vec<&'a Judged> {
        let all = self.of(side.arm.as_deref()).iter().copied();
        all.filter(|run| !of_times(ratio) || !run.disturbed)
            .collect()
    }

    fn missing(&self, key: &MetricKey, arm: Option<&str>) -> String {
        format!("there is no {key} of arm {}", arm.unwrap_or(self.arm))
    }

    fn within(&self, within: &Within) -> Verdict {
        let key = within.of.key();
        let row = key.row();
        match (row.repeats, row.unit) {
            (Repeats::Pooled, Unit::Share) => self.share(within, &key),
            (Repeats::Pooled, _) => self.seen(within, &key),
            (_, Unit::Count | Unit::Cards) => self.each(within, &key),
            _ => {
                let runs = self.of(within.of.arm.as_deref());
                let (holds, reason) = between(
                    &key.to_string(),
                    self.median(&within.of, runs)?,
                    within.at_least,
                    within.at_most,
                );
                Ok((holds, reason + &median_of(runs.len())))
            }
        }
    }

    /// A count, in each run.
    fn each(&self, within: &Within, key: &MetricKey) -> Verdict {
        let runs = self.of(within.of.arm.as_deref());
        let values: Vec<Amount> = runs
            .iter()
            .filter_map(|run| run.metrics.get(key).copied())
            .collect();
        let verdicts: Vec<Option<bool>> = values
            .iter()
            .map(|value| between("", *value, within.at_least, within.at_most).0)
            .collect();
        if values.is_empty() {
            return Err(self.missing(key, within.of.arm.as_deref()));
        }
        let shown: Vec<String> = values.iter().map(shown).collect();
        let reason = format!(
            "{key} is {}, expected {}",
            shown.join(", "),
            bounds(within.at_least, within.at_most)
        );
        Ok(every(&verdicts, runs.len(), &reason))
    }

    /// Whether requests were bound, in each run.
    fn bound(&self, of: &Requests, holds: fn(f64, f64) -> bool) -> Verdict {
        let key = |metric| MetricKey::of(&of.tenant, of.class.as_deref(), metric);
        let (bound, all) = (key(Metric::BoundCount), key(Metric::SubmittedCount));
        let runs = self.of(None);
        let counts: Vec<(f64, f64)> = runs
            .iter()
            .filter_map(|run| {
                let value = |key| run.metrics.get(key).map(|amount| amount.at_least());
                value(&bound).zip(value(&all))
            })
            .collect();
        if counts.is_empty() {
            return Err(match runs {
                [] => format!("arm {} did not run", self.arm),
                _ => self.missing(&bound, None),
            });
        }
        let verdicts: Vec<Option<bool>> = counts
            .iter()
            .map(|&(bound, all)| Some(holds(bound, all)))
            .collect();
        let shown: Vec<String> = counts
            .iter()
            .map(|(bound, all)| format!("{bound} of {all} bound"))
            .collect();
        Ok(every(&verdicts, runs.len(), &shown.join(", ")))
    }

    /// How many of the requests that are counted together `metric` counts, and of how many, run by run.
    fn counted(&self, metric: Metric, key: &MetricKey, arm: Option<&str>) -> Counted {
        use Metric::{
            NotPlacedRight, PlacedElsewhereShare, PlacedFree, PlacedNever, PlacedRight, PlacedWrong,
        };
        let by_run = self.of(arm).iter().filter_map(|run| {
            let count = |metric| {
                let amount = run.metrics.get(&key.with(metric))?.at_least();
                // A count of requests, far below 2³².
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                Some(amount as u32)
            };
            let (right, never) = (count(PlacedRight)?, count(PlacedNever)?);
            let (free, wrong) = (count(PlacedFree)?, count(PlacedWrong)?);
            let counted = match metric {
                PlacedElsewhereShare => free + wrong,
                PlacedFree => free,
                PlacedWrong => wrong,
                PlacedNever => never,
                NotPlacedRight => free + wrong + never,
                _ => right,
            };
            Some((counted, right + free + wrong + never))
        });
        Counted::new(by_run.collect())
    }

    /// A share of requests, by its interval.
    fn share(&self, within: &Within, key: &MetricKey) -> Verdict {
        let counted = self.counted(key.metric, key, within.of.arm.as_deref());
        if counted.of() == 0 {
            return Err(self.missing(key, within.of.arm.as_deref()));
        }
        let (at_least, at_most) = (within.at_least, within.at_most);
        let decide = |(low, high): (f64, f64)| share_holds(low, high, at_least, at_most);
        let interval = counted.interval();
        let holds = decide(interval);
        let mut reason = format!(
            "{key} is {counted}, expected {}",
            percents(at_least, at_most)
        );
        if holds.is_none() {
            reason += &match counted.runs_to_decide(|interval| decide(interval).is_some()) {
                Some(runs) => format!("; about {runs} runs like these would decide"),
                None => "; no number of runs like these would decide".to_owned(),
            };
        }
        Ok((holds, reason))
    }

    /// A count of requests over all runs: what was seen exists, what was not seen may exist.
    fn seen(&self, within: &Within, key: &MetricKey) -> Verdict {
        let counted = self.counted(key.metric, key, within.of.arm.as_deref());
        if counted.of() == 0 {
            return Err(self.missing(key, within.of.arm.as_deref()));
        }
        let count = f64::from(counted.count());
        let enough = within.at_least.is_none_or(|least| count >= least);
        let too_many = within.at_most.is_some_and(|most| count > most);
        let holds = match (too_many, enough) {
            (true, _) => Some(false),
            // Later requests may add to a count, and can't take from it.
            (false, true) if within.at_most.is_none() => Some(true),
            _ => None,
        };
        let reason = format!(
            "{key} is {counted}, expected {}",
            bounds(within.at_least, within.at_most)
        );
        let open = match (holds, enough) {
            (Some(_), _) => "",
            (None, true) => {
                "; that none is left to come can't be seen: claim a share, with what is tolerated"
            }
            (None, false) => "; too few requests to say",
        };
        Ok((holds, reason + open))
    }

    fn ratio(&self, ratio: &Ratio) -> Verdict {
        let side = |of: &MetricRef| {
            let counted = self.in_ratio(ratio, of);
            if counted.is_empty() && !self.of(of.arm.as_deref()).is_empty() {
                let arm = of.arm.as_deref().unwrap_or(self.arm);
                return Err(format!(
                    "every run of arm {arm} was disturbed, and a ratio of times is not judged from such runs"
                ));
            }
            Ok((self.median(of, &counted)?, counted.len()))
        };
        let ((of, of_runs), (to, to_runs)) = (side(&ratio.of)?, side(&ratio.to)?);
        let (holds, reason) = between("ratio", quotient(of, to)?, ratio.at_least, ratio.at_most);
        Ok((holds, reason + &median_of(of_runs.max(to_runs))))
    }

    fn median(&self, of: &MetricRef, runs: &[&Judged]) -> Result<Amount, String> {
        let values: Vec<&Values> = runs.iter().map(|run| &run.metrics).collect();
        let key = of.key();
        let median = metrics::medians(&values).get(&key).copied();
        median.ok_or_else(|| self.missing(&key, of.arm.as_deref()))
    }
}

/// Whether a ratio compares times, which a busy machine stretches.
fn of_times(ratio: &Ratio) -> bool {
    matches!(ratio.of.metric.row().unit, Unit::Secs | Unit::Ms)
}

fn median_of(runs: usize) -> String {
    match runs {
        0 | 1 => String::new(),
        n => format!(" (median of {n} runs)"),
    }
}

/// A claim about every run, by each run's own verdict.
fn every(verdicts: &[Option<bool>], of: usize, reason: &str) -> (Option<bool>, String) {
    let broken = verdicts.iter().filter(|v| **v == Some(false)).count();
    let held = verdicts.iter().filter(|v| **v == Some(true)).count();
    if broken > 0 {
        let holds = Some(false);
        return (holds, format!("{reason}; broken in {broken} of {of} runs"));
    }
    if held < of {
        return (None, format!("{reason}; known in {held} of {of} runs"));
    }
    let (_, high) = binomial::interval(0, number(of));
    let allowed = format!(
        "in {held} of {of} runs, which allows that up to {:.0} % of runs break it",
        high * 100.0
    );
    (Some(true), format!("{reason}; {allowed}"))
}

/// Whether a share lies within bounds, by its interval: yes if all of the interval does, no if none of it does.
fn share_holds(low: f64, high: f64, at_least: Option<f64>, at_most: Option<f64>) -> Option<bool> {
    let above = at_least.is_none_or(|least| low >= least);
    let below = at_most.is_none_or(|most| high <= most);
    let outside =
        at_least.is_some_and(|least| high < least) || at_most.is_some_and(|most| low > most);
    match (above && below, outside) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

/// Whether an amount lies within bounds, inclusive; unknown where it is only known to exceed something too small.
fn between(
    name: &str,
    amount: Amount,
    at_least: Option<f64>,
    at_most: Option<f64>,
) -> (Option<bool>, String) {
    let low = at_least.unwrap_or(f64::NEG_INFINITY);
    let high = at_most.unwrap_or(f64::INFINITY);
    let holds = match amount {
        Amount::Is(value) => Some((low..=high).contains(&value)),
        Amount::Over(value) if value >= high => Some(false),
        Amount::Over(value) if value >= low && high.is_infinite() => Some(true),
        Amount::Over(_) => None,
    };
    let expected = bounds(at_least, at_most);
    let reason = format!("{name} is {}, expected {expected}", shown(&amount));
    (holds, reason)
}

/// A value, with three decimals where it is no whole number.
fn shown(amount: &Amount) -> String {
    let number = |value: f64| {
        let places = if value.fract() == 0.0 { 0 } else { 3 };
        format!("{value:.places$}")
    };
    match amount {
        Amount::Is(value) => number(*value),
        Amount::Over(value) => format!("> {}", number(*value)),
    }
}

fn bounds(at_least: Option<f64>, at_most: Option<f64>) -> String {
    match (at_least, at_most) {
        (Some(low), Some(high)) if low.total_cmp(&high).is_eq() => format!("exactly {low}"),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "anything".into(),
    }
}

/// Bounds of a share.
fn percents(at_least: Option<f64>, at_most: Option<f64>) -> String {
    // Without the last bits that a product leaves, 28.000000000000004.
    let percent = |share: f64| (share * 1e6).round() / 1e4;
    bounds(at_least.map(percent), at_most.map(percent)) + " %"
}

fn quotient(of: Amount, to: Amount) -> Result<Amount, String> {
    match (of, to) {
        (_, Amount::Is(0.0)) => Err("the metric to compare with is 0".into()),
        (Amount::Is(of), Amount::Is(to)) => Ok(Amount::Is(of / to)),
        (Amount::Over(of), Amount::Is(to)) => Ok(Amount::Over(of / to)),
        (_, Amount::Over(to)) => Err(format!(
            "the metric to compare with is only known to exceed {to}"
        )),
    }
}
