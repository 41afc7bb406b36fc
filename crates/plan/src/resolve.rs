//! Makes a [`Plan`] from a merged document: works out what is derived, and checks everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::check::{self, Check};
use super::error::PlanError;
use super::file::{Document, Phase, TenantDoc};
use super::overrides::Overrides;
use super::sizing::Sizing;
use super::stalls::Stall;
use super::timeline::{self, Timeline};
use super::work::Work;
use super::workload::Group;
use super::{
    CARD_MEMORY_MIB, ClientLimit, ClusterPlan, ControllerManagerPlan, DataPlanePlan, HamiPlan,
    KueuePlan, Place, Plan, RoundStart, SchedulerPlan, Stage, TenantPlan, source,
};
use super::{expected, quotas, schedule};

/// What a plan is made from.
pub(super) struct Input<'a> {
    /// The merged document.
    pub doc: &'a Document,
    /// The same as a tree that knows where each value was written.
    pub check: Check<'a>,
    /// The experiment file's name in errors.
    pub source: &'a str,
    /// Name of the arm.
    pub arm: &'a str,
    /// The regime to run alone.
    pub regime: Option<&'a str>,
    /// The command line.
    pub overrides: &'a Overrides,
}

/// The plan of one arm.
pub(super) fn plan(input: &Input<'_>) -> Result<Plan, PlanError> {
    let Input { doc, check, .. } = *input;
    input.check_settings()?;
    let sizing = Sizing::new(doc, check)?;
    let timelines = input.timelines()?;
    let compress = input.compress(&timelines)?;
    let quotas = quotas::quotas(&doc.tenants, check, &sizing)?;
    input.check_clearer(&sizing)?;
    let mut tenants = Vec::new();
    for (index, (name, team)) in doc.tenants.iter().enumerate() {
        let work = Work {
            check,
            path: format!("tenants.{name}"),
            team,
            quota: quotas[index].as_ref(),
            group_cards: sizing.cards(team.group.as_deref()),
            factor: sizing.factor(team),
            compress: compress.unwrap_or(1.0),
            // Each team draws from a sequence of its own, so that adding one does not change the others.
            seed: doc.seed ^ (index as u64).rotate_right(16),
        };
        let stages = work.stages(&timelines)?;
        if let Some(cards) = team.reserved_cards {
            let field = format!("tenants.{name}.reserved_cards");
            check.whole(&field, cards, 1..=work.group_cards)?;
        }
        tenants.push(TenantPlan {
            name: name.clone(),
            group: team.group.clone(),
            quota: quotas[index].clone(),
            priority: team.priority,
            reserved_cards: team.reserved_cards.map(|cards| sizing.scaled(team, cards)),
            background: team.background,
            awaited: team.awaited && !team.background,
            ideal_secs: None,
            stages,
            published: input.published(name, sizing.factor(team)),
        });
    }
    let data_plane = input.data_plane(compress, &tenants)?;
    let mut plan = Plan {
        experiment: doc.name.clone(),
        arm: input.arm.to_owned(),
        compress: compress.unwrap_or(1.0),
        quick: input.overrides.quick && compress.is_some(),
        rescaled: false,
        seed: doc.seed,
        repeats: doc.repeats,
        // They were measured at the file's own size, once.
        busy_cores: doc.busy_cores.filter(|_| !input.is_resized()),
        soak_secs: doc.soak_secs,
        cluster: ClusterPlan {
            groups: sizing.groups,
        },
        hami: HamiPlan {
            node_policy: doc.hami.node_policy,
            gpu_policy: doc.hami.gpu_policy,
            limit: doc.hami.limits.numbers(),
            stamp_handshake: doc.hami.stamp_handshake,
        },
        kueue: KueuePlan {
            limit: doc.kueue.limits,
            quota_unit: doc.kueue.quota_unit,
        },
        scheduler: SchedulerPlan {
            limit: doc.scheduler.limits,
            leader_elect: doc.scheduler.leader_elect,
        },
        controller_manager: ControllerManagerPlan {
            limit: doc.controller_manager.limits,
        },
        hardware: doc.hardware.clone(),
        data_plane,
        clearer: doc.clearer.clone(),
        stalls: input.stalls()?,
        tenants,
        observe_secs: doc.observe_secs,
        linger_secs: doc.linger_secs,
        give_up_secs: 0.0,
    };
    for index in 0..plan.tenants.len() {
        let team = &plan.tenants[index];
        let capacity = plan.capacity(team);
        input.check_fit(&plan, team, capacity.cards)?;
        if !team.background && !team.stages.is_empty() && team.groups().all(Group::has_ideal) {
            let ideal_secs = schedule::makespan_secs(&team.stages, capacity, 0.0);
            plan.tenants[index].ideal_secs = ideal_secs;
        }
    }
    if let Some(regime) = input.regime {
        plan.tenants.retain(|team| {
            let own = doc.tenants[&team.name].regime.as_ref();
            own.is_none_or(|own| own == regime)
        });
    }
    input.check_work(&plan)?;
    let give_up_secs = doc.give_up_secs;
    plan.give_up_secs = give_up_secs.unwrap_or_else(|| expected::give_up_secs(&plan));
    Ok(plan)
}

impl Input<'_> {
    /// Whether an option chose another size or compression, or each run to be alone.
    fn is_resized(&self) -> bool {
        let Overrides {
            alone,
            compress,
            quick,
            nodes,
            ..
        } = self.overrides;
        *alone || *quick || compress.is_some() || nodes.is_some()
    }

    fn check_clearer(&self, sizing: &Sizing) -> Result<(), PlanError> {
        match &self.doc.clearer {
            Some(clearer) => clearer.check(self.check, &sizing.groups, &self.doc.tenants),
            None => Ok(()),
        }
    }

    fn data_plane(
        &self,
        compress: Option<f64>,
        tenants: &[TenantPlan],
    ) -> Result<Option<DataPlanePlan>, PlanError> {
        let Some(data_plane) = &self.doc.data_plane else {
            return Ok(None);
        };
        let groups = tenants.iter().flat_map(TenantPlan::groups);
        let submitted: BTreeSet<String> = groups.map(|g| g.request.class()).collect();
        data_plane.resolve(self.check, compress.unwrap_or(1.0), &submitted)
    }

    fn stalls(&self) -> Result<Vec<Stall>, PlanError> {
        let (seed, observe_secs) = (self.doc.seed, self.doc.observe_secs);
        match &self.doc.stalls {
            Some(stalls) => stalls.draw(self.check, seed, observe_secs),
            None => Ok(Vec::new()),
        }
    }

    fn check_settings(&self) -> Result<(), PlanError> {
        let Self { doc, check, .. } = *self;
        check.whole("repeats", doc.repeats, check::REPEATS)?;
        for (field, value, range) in [
            ("compress", doc.compress, check::COMPRESS),
            ("observe_secs", doc.observe_secs, check::SECS),
            ("give_up_secs", doc.give_up_secs, check::SECS),
            ("soak_secs", doc.soak_secs, check::SECS),
            (
                "hardware.device_plugin_delay_secs",
                Some(doc.hardware.device_plugin_delay_secs),
                check::SECS_OR_ZERO,
            ),
            ("linger_secs", Some(doc.linger_secs), check::SECS_OR_ZERO),
        ] {
            check.number(field, value, range)?;
        }
        let limit = |path: &str, limit: ClientLimit| {
            check.number(&format!("{path}.qps"), limit.qps, check::QPS)?;
            check.whole(&format!("{path}.burst"), limit.burst, check::BURST)
        };
        limit("hami.limits", doc.hami.limits.numbers())?;
        limit("kueue.limits", doc.kueue.limits)?;
        limit("scheduler.limits", doc.scheduler.limits)?;
        limit("controller_manager.limits", doc.controller_manager.limits)?;
        check.not_empty("tenants", doc.tenants.len())?;
        for (name, team) in &doc.tenants {
            let path = format!("tenants.{name}");
            check.name(&path, name)?;
            if let Some(regime) = &team.regime {
                check.name(&format!("{path}.regime"), regime)?;
            }
        }
        Ok(())
    }

    /// Whether a path in the file leads out of the file's folder, by a link, too. One that leads nowhere is told when it is read.
    fn leaves(&self, path: &str) -> bool {
        let here = Path::new(".");
        let folder = source::folder(self.source);
        let folder = if folder.as_os_str().is_empty() {
            here
        } else {
            folder
        };
        let (folder, file) = (
            folder.canonicalize(),
            Path::new(&self.beside(path)).canonicalize(),
        );
        source::is_path(path)
            && folder.is_ok_and(|folder| file.is_ok_and(|file| !file.starts_with(folder)))
    }

    /// Every timeline that a team plays, by its name in the document.
    fn timelines(&self) -> Result<BTreeMap<String, Timeline>, PlanError> {
        let mut timelines = BTreeMap::new();
        for (name, team) in &self.doc.tenants {
            for (i, phase) in team.workload.iter().enumerate() {
                let Phase::Timeline(wanted) = phase else {
                    continue;
                };
                if timelines.contains_key(wanted) {
                    continue;
                }
                let field = format!("tenants.{name}.workload.{i}.timeline");
                if self.overrides.timeline.is_none() {
                    self.check.require(!self.leaves(wanted), &field, || {
                        format!("{wanted} is not in the experiment file's folder or below it; copy it there, or name it with --timeline")
                    })?;
                }
                let (at, found) = match &self.overrides.timeline {
                    Some(option) => (Place::whole("--timeline"), timeline::load(option)),
                    None => (
                        self.check.tree.locate(&field),
                        timeline::load(&self.beside(wanted)),
                    ),
                };
                let timeline = found.map_err(|err| match err {
                    PlanError::Read { .. } | PlanError::Unknown { .. } => PlanError::Field {
                        at,
                        field,
                        problem: err.to_string(),
                    },
                    own => own,
                })?;
                timelines.insert(wanted.clone(), timeline);
            }
        }
        if timelines.is_empty() && self.overrides.timeline.is_some() {
            return Err(self.no_effect("--timeline"));
        }
        Ok(timelines)
    }

    /// A path in an experiment file is relative to the file's folder.
    fn beside(&self, name_or_path: &str) -> String {
        if !source::is_path(name_or_path) {
            return name_or_path.to_owned();
        }
        let path = source::folder(self.source).join(name_or_path);
        path.to_string_lossy().into_owned()
    }

    fn no_effect(&self, option: &str) -> PlanError {
        let name = &self.doc.name;
        let problem = format!("{name} has no timeline, so this would change nothing; leave it out");
        PlanError::option(option, "workload", problem)
    }

    /// The compression; `None` if nothing depends on it.
    fn compress(&self, timelines: &BTreeMap<String, Timeline>) -> Result<Option<f64>, PlanError> {
        if timelines.is_empty() && !self.doc.tenants.values().any(uses_minutes) {
            return match (&self.doc.data_plane, self.overrides.compress) {
                (Some(_), _) => Ok(Some(self.doc.compress.unwrap_or(1.0))),
                (None, Some(_)) => Err(self.no_effect("--compress")),
                (None, None) => Ok(None),
            };
        }
        if self.doc.compress.is_some() {
            return Ok(self.doc.compress);
        }
        let mut own = timelines.values().map(|t| t.time_compression);
        let missing = |why: &str| Err(self.check.wrong("compress", format!("is missing: {why}")));
        let Some(first) = own.next() else {
            return missing("run_minutes needs it where there is no timeline");
        };
        if own.any(|other| other.total_cmp(&first).is_ne()) {
            return missing("the timelines differ in time_compression");
        }
        Ok(Some(first))
    }

    /// Each Job must fit its team's quota, and background work must fit on the machines. Otherwise it would wait for ever.
    fn check_fit(&self, plan: &Plan, team: &TenantPlan, most: u32) -> Result<(), PlanError> {
        let field = format!("tenants.{}.workload", team.name);
        let mut background_cards = 0;
        for group in team.groups() {
            let request = group.request;
            let (cards, mib) = quotas::charged(plan.kueue.quota_unit, request);
            let most_mib = u64::from(most) * u64::from(CARD_MEMORY_MIB);
            let fits = team.quota.is_none() || (cards <= most && u64::from(mib) <= most_mib);
            self.check.require(fits, &field, || {
                let (n, cards) = (request.cards, if request.cards == 1 { "card" } else { "cards" });
                format!("a Job of {n} {cards} never fits: quota and machines let the team hold {most} at most")
            })?;
            if team.background && request.gpumem_mib.is_none() {
                background_cards += group.count * request.cards;
            }
        }
        self.check.require(background_cards <= most, &field, || {
            format!("background work of {background_cards} cards never fits: the team can hold {most} at most")
        })
    }

    /// There must be something to measure, and it must end.
    fn check_work(&self, plan: &Plan) -> Result<(), PlanError> {
        let teams = plan.tenants.iter();
        let measured: Vec<_> = teams
            .filter(|t| t.awaited && !t.stages.is_empty())
            .collect();
        self.check.require(!measured.is_empty(), "tenants", || {
            "no team has a workload to wait for (background teams are not waited for)".to_owned()
        })?;
        let is_endless = |t: &&&TenantPlan| t.groups().any(|g| g.run_secs.is_none());
        match measured.iter().find(is_endless) {
            Some(TenantPlan { name, .. }) if plan.observe_secs.is_none() => {
                let problem =
                    format!("is missing: work of team {name:?} runs until the end of the run");
                Err(self.check.wrong("observe_secs", problem))
            }
            _ => Ok(()),
        }
    }

    /// Published values of a team in this arm. They were measured at the file's size and, unless given for the arm, without a
    /// data plane. Otherwise there are none.
    fn published(&self, tenant: &str, factor: f64) -> BTreeMap<String, f64> {
        if factor.total_cmp(&1.0).is_ne() {
            return BTreeMap::new();
        }
        self.doc
            .expect
            .published
            .iter()
            .filter(|p| p.tenant == tenant)
            .filter(|p| match &p.arm {
                Some(arm) => arm == self.arm,
                None => self.doc.data_plane.is_none(),
            })
            .map(|p| (p.key().in_team(), p.value))
            .collect()
    }
}

/// Whether a team's work is in timeline minutes.
fn uses_minutes(team: &TenantDoc) -> bool {
    team.workload.iter().any(|phase| match phase {
        Phase::Timeline(_) => true,
        Phase::Burst(burst) => burst
            .requests
            .iter()
            .any(|r| r.run_minutes.is_some() && r.run_secs.is_none()),
        Phase::Stream(stream) => stream.run_minutes.is_some() && stream.run_secs.is_none(),
    })
}

/// The latest submit time of some stages, seconds; infinite for a closed loop.
pub(super) fn last_submit_secs(stages: &[Stage]) -> f64 {
    stages
        .iter()
        .flat_map(|s| &s.rounds)
        .map(|round| match round.start {
            RoundStart::AtSecs(at) => at,
            RoundStart::ThinkSecs(_) => f64::INFINITY,
        })
        .fold(0.0, f64::max)
}
