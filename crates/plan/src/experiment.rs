//! Loads experiments by name or from a file, and makes the plans of their arms.

use std::collections::BTreeSet;

use super::check::Check;
use super::error::PlanError;
use super::expect::{Claim, Expect, Metric, Published};
use super::expect_check::{Classes, check_expect};
use super::file::Document;
use super::host::Host;
use super::old::{Hint, modernise};
use super::overrides::{Overrides, options};
use super::tree::{self, Node};
use super::{Plan, decode, minutes, resolve, run_secs, source};

/// An experiment. Its file has been checked, with each of its arms.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Name, e.g. `regimes`.
    pub name: String,
    /// The question it answers, in one line.
    pub title: String,
    /// What it does and why; may be empty.
    pub description: String,
    /// Its arms, in the order they run; at least one.
    pub arms: Vec<Arm>,
    /// Runs of each arm, unless an arm or `--repeat` says otherwise.
    pub repeats: u32,
    /// Its regimes: groups of teams that can run alone.
    pub regimes: Vec<String>,
    /// The regime it is restricted to, if it was loaded by that name.
    pub regime: Option<String>,
    /// Published values, and the claims that must hold.
    pub expect: Expect,
    /// Its settings for the command that runs it.
    pub host: Host,
    /// Words of an older headroom that its file uses.
    pub hints: Vec<Hint>,
    /// The file's name in errors.
    source: String,
    tree: Node,
}

/// An arm of an experiment.
#[derive(Debug, Clone)]
pub struct Arm {
    /// Name, e.g. `default`.
    pub name: String,
    /// What differs in it, in a sentence; may be empty.
    pub description: String,
    /// True if it runs only when `--arm` names it.
    pub on_request: bool,
    changes: Option<Node>,
}

/// Name and title of every embedded experiment, in their order.
#[must_use]
pub fn names() -> Vec<(String, String)> {
    embedded().map(|e| (e.name, e.title)).collect()
}

/// Published restarts per hour of an idle cluster; `None` if no embedded experiment has them.
#[must_use]
pub fn published_restarts_per_hour() -> Option<f64> {
    let mut published = embedded().flat_map(|e| e.expect.published);
    let found = published.find(|p| p.metric == Metric::RestartsPerHour);
    found.map(|p| p.value)
}

/// Every embedded experiment, in their order. Each is parsed and checked when it is reached.
pub fn embedded() -> impl Iterator<Item = Experiment> {
    source::EXPERIMENTS
        .iter()
        .filter_map(|(name, text)| Experiment::from_text(name, text).ok())
}

/// Loads an experiment: the embedded one of that name, the one with a regime of that name (restricted to it and, unless others
/// are asked for, to the first arm), or the file at that path (a name with a `/`, or ending in `.yaml` or `.yml`).
///
/// # Errors
///
/// There is none, the file cannot be read, or something in it is wrong in one of its arms.
pub fn load(name_or_path: &str) -> Result<Experiment, PlanError> {
    match source::experiment(name_or_path) {
        Ok((name, text)) => Experiment::from_text(&name, &text),
        Err(PlanError::Unknown { mut accepted, .. }) => {
            for mut experiment in embedded() {
                if experiment.regimes.iter().any(|r| r == name_or_path) {
                    experiment.regime = Some(name_or_path.to_owned());
                    // The others differ in what teams do to each other.
                    for arm in experiment.arms.iter_mut().skip(1) {
                        arm.on_request = true;
                    }
                    return Ok(experiment);
                }
                accepted.extend(experiment.regimes);
            }
            Err(PlanError::unknown("experiment", name_or_path, accepted))
        }
        Err(err) => Err(err),
    }
}

/// The plans of the chosen arms, in the order in which they run. With `--nodes`, arms that set their own number of machines
/// are left out.
///
/// # Errors
///
/// An option's value is wrong, by itself or for this experiment.
pub fn plans(experiment: &Experiment, overrides: &Overrides) -> Result<Vec<Plan>, PlanError> {
    for name in &overrides.arms {
        if !experiment.arms.iter().any(|arm| arm.name == *name) {
            let accepted = experiment.arms.iter().map(|arm| &arm.name);
            return Err(PlanError::unknown("arm", name, accepted));
        }
    }
    let is_control = |arm: &Arm| {
        let mut claims = experiment.expect.claims.iter();
        claims.any(|claim| claim.control.as_ref() == Some(&arm.name))
    };
    let sized = |arm: &Arm| overrides.nodes.is_some() && arm.has_own_size();
    let asked = |arm: &&Arm| overrides.arms.contains(&arm.name);
    if let Some(arm) = experiment.arms.iter().filter(asked).find(|arm| sized(arm)) {
        let problem = format!(
            "arm {} is about a number of machines of its own; leave out --nodes or the arm",
            arm.name
        );
        return Err(PlanError::option("--nodes", "cluster.resize_to", problem));
    }
    let plans: Result<Vec<Plan>, PlanError> = experiment
        .arms
        .iter()
        .filter(|arm| match overrides.arms.as_slice() {
            _ if overrides.controls && is_control(arm) => !sized(arm),
            [] => !arm.on_request && !sized(arm),
            chosen => chosen.contains(&arm.name),
        })
        .map(|arm| experiment.plan(arm, overrides))
        .collect();
    let plans = plans?;
    // Without time for one run there is no soak.
    let first = plans.first().and_then(|plan| Some((plan, plan.soak_secs?)));
    if let Some((plan, soak_secs)) = first
        && soak_secs < run_secs(plan)
    {
        let problem = format!(
            "{} is too short: one run of arm {} takes about {}",
            minutes(soak_secs),
            plan.arm,
            minutes(run_secs(plan))
        );
        return Err(match overrides.soak_secs {
            Some(_) => PlanError::option("--soak", "soak_secs", problem),
            None => experiment.wrong("soak_secs", problem),
        });
    }
    Ok(plans)
}

impl Arm {
    /// Whether the arm sets the cluster's size.
    fn has_own_size(&self) -> bool {
        let cluster = self.changes.as_ref().and_then(|c| c.get("cluster"));
        cluster.is_some_and(|cluster| cluster.get("resize_to").is_some())
    }
}

impl Experiment {
    /// Parses and checks an experiment. `source` is its name in errors.
    pub(super) fn from_text(source: &str, text: &str) -> Result<Self, PlanError> {
        let mut tree = tree::parse(source, text)?;
        let hints = modernise(&mut tree);
        let doc: Document = decode::decode(&tree)?;
        let check = Check { tree: &tree };
        check.name("name", &doc.name)?;
        let arms = arms(&doc, check)?;
        let regimes: BTreeSet<&String> = doc
            .tenants
            .values()
            .filter_map(|t| t.regime.as_ref())
            .collect();
        let mut experiment = Self {
            name: doc.name.clone(),
            title: doc.title.clone(),
            description: doc.description.clone(),
            repeats: doc.repeats,
            regimes: regimes.into_iter().cloned().collect(),
            regime: None,
            expect: doc.expect.clone(),
            host: doc.host.clone().beside(source::folder(source)),
            hints,
            source: source.to_owned(),
            arms,
            tree,
        };
        let mut classes = Classes::new();
        for arm in &experiment.arms {
            let plan = experiment.plan(arm, &Overrides::default())?;
            for team in plan.tenants {
                let own = team.groups().map(|g| g.request.class()).collect::<Vec<_>>();
                classes.entry(team.name).or_default().extend(own);
            }
        }
        experiment.expect.take_only_classes(&classes);
        let check = Check {
            tree: &experiment.tree,
        };
        check_expect(check, &experiment, &classes)?;
        Ok(experiment)
    }

    /// The error that the file's `field` is wrong.
    #[must_use]
    pub fn wrong(&self, field: &str, problem: String) -> PlanError {
        Check { tree: &self.tree }.wrong(field, problem)
    }

    fn plan(&self, arm: &Arm, overrides: &Overrides) -> Result<Plan, PlanError> {
        let mut tree = self.tree.clone();
        if let Some(changes) = &arm.changes {
            tree.merge(changes);
        }
        for option in options(overrides)? {
            tree.merge(&option);
        }
        let mut doc: Document = decode::decode(&tree)?;
        overrides.set(&mut doc.hami);
        let regime = overrides.regime.as_ref().or(self.regime.as_ref());
        if let Some(regime) = regime
            && !self.regimes.contains(regime)
        {
            return Err(PlanError::unknown("regime", regime, &self.regimes));
        }
        let mut plan = resolve::plan(&resolve::Input {
            doc: &doc,
            check: Check { tree: &tree },
            source: &self.source,
            arm: &arm.name,
            regime: regime.map(String::as_str),
            overrides,
        })?;
        if overrides.quick || overrides.compress.is_some() {
            let own = Overrides {
                quick: false,
                compress: None,
                ..overrides.clone()
            };
            let own = self.plan(arm, &own)?.compress;
            plan.rescaled = plan.compress.total_cmp(&own).is_ne();
        }
        if plan.rescaled {
            plan.tenants.iter_mut().for_each(|t| t.published.clear());
        }
        Ok(plan)
    }

    /// What can be expected of these plans. Values were published for the experiment's own size. At another compression
    /// nothing was published, since the control plane's share of the time is different there.
    #[must_use]
    pub fn expected(&self, plans: &[Plan], overrides: &Overrides) -> Expect {
        if plans.iter().any(|plan| plan.rescaled) {
            return Expect::default();
        }
        let mut expect = self.expect.clone();
        // A metric of the whole run is of no team.
        let takes_part = |team: &str| {
            let takes = |plan: &Plan| plan.tenants.iter().any(|t| t.name == team);
            team.is_empty() || plans.iter().any(takes)
        };
        expect.published.retain(|p| takes_part(&p.tenant));
        if plans.iter().any(|plan| plan.data_plane.is_some()) {
            expect.published = without_data_plane(expect.published, plans);
        }
        let about = |claim: &Claim| claim.holds.tenants().into_iter().all(takes_part);
        if !expect.claims.iter().all(about) {
            expect.claims.retain(about);
            // It sums up all of the claims.
            expect.meaning.clear();
        }
        // Where a team's work was scaled, its plan has no metrics of what was published.
        expect.published.retain(|p| {
            let mut teams = plans.iter().flat_map(|plan| &plan.tenants);
            p.tenant.is_empty() && overrides.nodes.is_none()
                || teams.any(|t| t.name == p.tenant && t.published.contains_key(&p.key().in_team()))
        });
        expect
    }
}

/// What was published for every arm, without the arms with a data plane: the published measurements had none.
fn without_data_plane(published: Vec<Published>, plans: &[Plan]) -> Vec<Published> {
    let plain = || plans.iter().filter(|plan| plan.data_plane.is_none());
    let each = |p: Published| match p.arm {
        Some(_) => vec![p],
        None => plain()
            .map(|plan| Published {
                arm: Some(plan.arm.clone()),
                ..p.clone()
            })
            .collect(),
    };
    published.into_iter().flat_map(each).collect()
}

/// The arms of a document. If it names none, there is one without changes.
fn arms(doc: &Document, check: Check<'_>) -> Result<Vec<Arm>, PlanError> {
    let mut arms: Vec<Arm> = Vec::new();
    for (name, arm) in &doc.arms {
        let path = format!("arms.{name}");
        check.name(&path, name)?;
        let changes = check
            .tree
            .get("arms")
            .and_then(|all| all.get(name)?.get("changes"));
        for fixed in super::schema::FIXED {
            let kept = changes.is_none_or(|changes| changes.get(fixed).is_none());
            check.require(kept, &format!("{path}.changes.{fixed}"), || {
                "cannot be changed by an arm".to_owned()
            })?;
        }
        // A null removes a field; one that is not there may be misspelt.
        if let Some(changes) = changes {
            let mut tree = check.tree.clone();
            tree.merge_keeping_idle_nulls(changes);
            let _: Document = decode::decode(&tree)?;
        }
        arms.push(Arm {
            name: name.clone(),
            description: arm.description.clone(),
            on_request: arm.on_request,
            changes: changes.cloned(),
        });
    }
    if arms.is_empty() {
        arms.push(Arm {
            name: "default".to_owned(),
            description: String::new(),
            on_request: false,
            changes: None,
        });
    }
    let unasked = arms.iter().any(|arm| !arm.on_request);
    check.require(unasked, "arms", || {
        "all have on_request: true; at least one must run unasked".to_owned()
    })?;
    Ok(arms)
}
