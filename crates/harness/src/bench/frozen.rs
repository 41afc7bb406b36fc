//! Finds components that somebody else than the experiment paused (SIGSTOP, a debugger).

use std::collections::BTreeMap;

use plan::Component;
use plan::Stall;
use results::run_folder::Disturbance;

/// How much earlier or later than planned a stall of the experiment may be seen, seconds: two samples.
const MARGIN_SECS: f64 = 2.0;

/// A disturbance for each component that was seen paused outside of `stalls`. `stopped` has an entry for each sample, taken
/// once a second, that found a component paused: the component, and the second of the run.
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
            "{component} was paused (state T) by a signal or a debugger in {} of the samples taken once a second, first {:.0} s \
             into the run",
            at.len(),
            at.first().copied().unwrap_or(0.0)
        ),
        remedy: "do not touch the cluster's processes during a run, and run again".into(),
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
                .contains("kueue was paused (state T) by a signal or a debugger in 2")
        );
    }
}
