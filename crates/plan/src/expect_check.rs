//! What `expect` names must exist, and its bounds must make sense.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Check;
use super::error::PlanError;
use super::expect::{Expect, Metric, MetricRef, Predicate};
use super::experiment::Experiment;
use super::metric::{Scope, Use};

/// The classes of request that each team submits in any arm.
pub(super) type Classes = BTreeMap<String, BTreeSet<String>>;

/// Checks an experiment's `expect`.
pub(super) fn check_expect(
    check: Check<'_>,
    experiment: &Experiment,
    classes: &Classes,
) -> Result<(), PlanError> {
    let names = Names {
        check,
        arms: experiment
            .arms
            .iter()
            .map(|arm| arm.name.as_str())
            .collect(),
        classes,
    };
    for (i, p) in experiment.expect.published.iter().enumerate() {
        let path = format!("expect.published.{i}");
        names.metric(&path, &p.tenant, p.class.as_deref(), p.metric)?;
        names.arm(&path, p.arm.as_deref())?;
    }
    for (i, claim) in experiment.expect.claims.iter().enumerate() {
        let path = format!("expect.claims.{i}");
        for (a, arm) in claim.arms.iter().enumerate() {
            check.one_of(&format!("{path}.arms.{a}"), "arm", arm, &names.arms)?;
        }
        if let Some(control) = &claim.control {
            let field = format!("{path}.control");
            check.one_of(&field, "arm", control, &names.arms)?;
            check.require(!claim.arms.contains(control), &field, || {
                format!("the claim is about arm {control}: in its control it must not hold")
            })?;
        }
        let path = format!("{path}.holds");
        match &claim.holds {
            Predicate::Within(p) => {
                let path = format!("{path}.within");
                names.metric_ref(&format!("{path}.of"), &p.of)?;
                names.bounds(&path, p.at_least, p.at_most)?;
            }
            Predicate::Ratio(p) => {
                let path = format!("{path}.ratio");
                names.metric_ref(&format!("{path}.of"), &p.of)?;
                names.metric_ref(&format!("{path}.to"), &p.to)?;
                names.bounds(&path, p.at_least, p.at_most)?;
            }
            Predicate::AllBound(p) => {
                let path = format!("{path}.all-bound");
                names.class(&path, &p.tenant, p.class.as_deref())?;
            }
            Predicate::SomeUnbound(p) => {
                let path = format!("{path}.some-unbound");
                names.class(&path, &p.tenant, p.class.as_deref())?;
            }
        }
    }
    Ok(())
}

impl Expect {
    /// Fills in the class of a metric that there is only by class, where its team submits requests of one class alone.
    pub(super) fn take_only_classes(&mut self, classes: &Classes) {
        let only = |tenant: &str, metric: Metric, class: &mut Option<String>| {
            let mut own = classes.get(tenant).into_iter().flatten();
            if let (None, Scope::Class, Some(first), None) =
                (&class, metric.row().scope, own.next(), own.next())
            {
                *class = Some(first.clone());
            }
        };
        for published in &mut self.published {
            only(&published.tenant, published.metric, &mut published.class);
        }
        for claim in &mut self.claims {
            let metrics = match &mut claim.holds {
                Predicate::Within(within) => vec![&mut within.of],
                Predicate::Ratio(ratio) => vec![&mut ratio.of, &mut ratio.to],
                Predicate::AllBound(_) | Predicate::SomeUnbound(_) => Vec::new(),
            };
            for of in metrics {
                only(&of.tenant, of.metric, &mut of.class);
            }
        }
    }
}

/// The names that there are.
struct Names<'a> {
    check: Check<'a>,
    arms: Vec<&'a str>,
    classes: &'a Classes,
}

impl Names<'_> {
    fn metric_ref(&self, path: &str, of: &MetricRef) -> Result<(), PlanError> {
        self.metric(path, &of.tenant, of.class.as_deref(), of.metric)?;
        self.arm(path, of.arm.as_deref())
    }

    fn metric(
        &self,
        path: &str,
        tenant: &str,
        class: Option<&str>,
        metric: Metric,
    ) -> Result<(), PlanError> {
        let field = format!("{path}.metric");
        let judged = metric.row().used == Use::Judge;
        self.check.require(judged, &field, || {
            format!("{metric} can't be judged (docs/metrics.md says what can)")
        })?;
        if metric.of_run() {
            let of_run = tenant.is_empty() && class.is_none();
            return self.check.require(of_run, &field, || {
                format!("{metric} is not counted by team or class")
            });
        }
        let by_class = class.is_none() || metric.by_class();
        self.check.require(by_class, &format!("{path}.class"), || {
            format!("{metric} is not counted by class")
        })?;
        self.class(path, tenant, class)?;
        let told = class.is_some() || metric.row().scope != Scope::Class;
        self.check.require(told, &format!("{path}.class"), || {
            let known = self.classes.get(tenant).into_iter().flatten();
            let known: Vec<&str> = known.map(String::as_str).collect();
            format!(
                "is missing: there is a {metric} of each class of requests; {tenant} has {}",
                known.join(", ")
            )
        })
    }

    fn class(&self, path: &str, tenant: &str, class: Option<&str>) -> Result<(), PlanError> {
        let teams: Vec<&String> = self.classes.keys().collect();
        let check = self.check;
        check.one_of(&format!("{path}.tenant"), "tenant", tenant, &teams)?;
        let Some(class) = class else { return Ok(()) };
        let classes: Vec<&String> = self.classes.get(tenant).into_iter().flatten().collect();
        check.one_of(&format!("{path}.class"), "class", class, &classes)
    }

    fn arm(&self, path: &str, arm: Option<&str>) -> Result<(), PlanError> {
        let Some(arm) = arm else { return Ok(()) };
        let field = format!("{path}.arm");
        self.check.one_of(&field, "arm", arm, &self.arms)
    }

    fn bounds(&self, path: &str, least: Option<f64>, most: Option<f64>) -> Result<(), PlanError> {
        let any = least.is_some() || most.is_some();
        self.check
            .require(any, path, || "needs at_least, at_most or both".to_owned())?;
        match (least, most) {
            (Some(least), Some(most)) => {
                self.check
                    .ordered(path, ["at_least", "at_most"], least, most)
            }
            _ => Ok(()),
        }
    }
}
