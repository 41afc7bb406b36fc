//! Components that were stopped where they stand (SIGSTOP, a debugger) by somebody else than the experiment.

use std::collections::BTreeMap;

use plan::Component;
use plan::Stall;
use results::run_folder::Disturbance;

/// A stall of the experiment's own may be seen this much earlier or later than planned, seconds: two samples.
const MARGIN_SECS: f64 = 2.0;

/// A disturbance for each component that was seen stopped outside of `stalls`. `stopped` has a component and a second of
/// the run for each sample, taken once a second, that found it so.
#[must_use]
pub fn disturbances(stopped: &[(String, f64)], stalls: &[Stall]) -> Vec<Disturbance> {
    let asked_for = |component: &str, at: f64| {
        component == Component::Etcd.name()
            && stalls
                .iter()
                .any(|s| (s.at_secs - MARGIN_SECS..=s.at_secs + s.secs + MARGIN_SECS).contains(&at))
    };
    let mut seen: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (component, at) in stopped.iter().filter(|(c, at)| !asked_for(c, *at)) {
        seen.entry(component).or_default().push(*at);
    }
    let disturbance = |(component, at): (&str, Vec<f64>)| Disturbance {
        kind: "frozen-component".into(),
        detail: format!(
            "{component} was held (state T) by a signal or a debugger in {} of the samples that are taken each second, first \
             {:.0} s into the run",
            at.len(),
            at.first().copied().unwrap_or(0.0)
        ),
        remedy: "leave the cluster's processes alone while a run goes on, and run again".into(),
    };
    seen.into_iter().map(disturbance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_experiment_did_not_ask_for_disturbs_it() {
        let stall = Stall {
            at_secs: 30.0,
            secs: 5.0,
        };
        let seen = |all: &[(&str, f64)]| {
            let all: Vec<_> = all.iter().map(|(c, at)| ((*c).to_owned(), *at)).collect();
            disturbances(&all, std::slice::from_ref(&stall))
        };
        assert_eq!(seen(&[("etcd", 31.0), ("etcd", 35.5)]), []);
        let found = seen(&[
            ("etcd", 31.0),
            ("kueue", 33.0),
            ("kueue", 34.0),
            ("etcd", 50.0),
        ]);
        let kinds: Vec<&str> = found.iter().map(|d| d.kind.as_str()).collect();
        assert_eq!(kinds, ["frozen-component"; 2]);
        assert!(found[0].detail.contains("etcd") && found[0].detail.contains("first 50 s"));
        assert!(
            found[1]
                .detail
                .contains("kueue was held (state T) by a signal or a debugger in 2")
        );
    }
}
