//! What `expect` names must exist, and its bounds must make sense.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Check;
use super::error::PlanError;
use super::expect::{Expect, Metric, Predicate};
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
        names.team(&path, &p.tenant, p.class.as_deref(), Some(p.metric))?;
        names.arm(&path, p.arm.as_deref())?;
    }
    for (i, claim) in experiment.expect.claims.iter().enumerate() {
        let path = format!("expect.claims.{i}");
        for (a, arm) in claim.arms.iter().enumerate() {
            check.one_of(&format!("{path}.arms.{a}"), "arm", arm, &names.arms)?;
        }
        let path = format!("{path}.holds");
        match &claim.holds {
            Predicate::Within(p) => {
                let path = format!("{path}.within");
                names.team(
                    &format!("{path}.of"),
                    &p.of.tenant,
                    p.of.class.as_deref(),
                    Some(p.of.metric),
                )?;
                names.arm(&format!("{path}.of"), p.of.arm.as_deref())?;
                names.bounds(&path, p.at_least, p.at_most)?;
            }
            Predicate::Ratio(p) => {
                let path = format!("{path}.ratio");
                for (key, metric) in [("of", &p.of), ("to", &p.to)] {
                    let path = format!("{path}.{key}");
                    names.team(
                        &path,
                        &metric.tenant,
                        metric.class.as_deref(),
                        Some(metric.metric),
                    )?;
                    names.arm(&path, metric.arm.as_deref())?;
                }
                names.bounds(&path, p.at_least, p.at_most)?;
            }
            Predicate::AllBound(p) => {
                names.team(
                    &format!("{path}.all-bound"),
                    &p.tenant,
                    p.class.as_deref(),
                    None,
                )?;
            }
            Predicate::SomeUnbound(p) => {
                names.team(
                    &format!("{path}.some-unbound"),
                    &p.tenant,
                    p.class.as_deref(),
                    None,
                )?;
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
    fn team(
        &self,
        path: &str,
        tenant: &str,
        class: Option<&str>,
        metric: Option<Metric>,
    ) -> Result<(), PlanError> {
        if let Some(metric) = metric.filter(|m| m.row().used != Use::Judge) {
            let problem = format!("{metric} can't be judged (docs/metrics.md says what can)");
            return Err(self.check.wrong(&format!("{path}.metric"), problem));
        }
        if let Some(metric) = metric.filter(|f| f.of_run()) {
            if tenant.is_empty() && class.is_none() {
                return Ok(());
            }
            let problem = format!("{} is not counted by team or class", metric.id());
            return Err(self.check.wrong(&format!("{path}.metric"), problem));
        }
        let teams: Vec<&String> = self.classes.keys().collect();
        self.check
            .one_of(&format!("{path}.tenant"), "tenant", tenant, &teams)?;
        let field = format!("{path}.class");
        let classes: Vec<&String> = self.classes.get(tenant).into_iter().flatten().collect();
        let Some(class) = class else {
            return match metric {
                Some(metric) if metric.row().scope == Scope::Class => {
                    let known: Vec<&str> = classes.iter().map(|class| class.as_str()).collect();
                    let problem = format!(
                        "is missing: there is a {metric} of each class of requests; {tenant} has {}",
                        known.join(", ")
                    );
                    Err(self.check.wrong(&field, problem))
                }
                _ => Ok(()),
            };
        };
        if let Some(metric) = metric.filter(|f| !f.by_class()) {
            let problem = format!("{} is not counted by class", metric.id());
            return Err(self.check.wrong(&field, problem));
        }
        self.check.one_of(&field, "class", class, &classes)
    }

    fn arm(&self, path: &str, arm: Option<&str>) -> Result<(), PlanError> {
        match arm {
            None => Ok(()),
            Some(arm) => self
                .check
                .one_of(&format!("{path}.arm"), "arm", arm, &self.arms),
        }
    }

    fn bounds(&self, path: &str, least: Option<f64>, most: Option<f64>) -> Result<(), PlanError> {
        match (least, most) {
            (None, None) => Err(self
                .check
                .wrong(path, "needs at_least, at_most or both".to_owned())),
            (Some(least), Some(most)) if least > most => Err(self.check.wrong(
                &format!("{path}.at_least"),
                format!("{least} is more than at_most, {most}"),
            )),
            _ => Ok(()),
        }
    }
}
