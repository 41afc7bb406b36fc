//! From a merged document to a [`Plan`]: everything derived is worked out, everything is checked.

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;

use super::check::{self, Check};
use super::error::PlanError;
use super::experiment::Overrides;
use super::file::{Document, Phase, QuotaDoc, TenantDoc};
use super::schedule;
use super::sizing::Sizing;
use super::timeline::{self, Timeline};
use super::value::{NamedCards, QuotaCards};
use super::work::Work;
use super::workload::Group;
use super::{
    CARD_MEMORY_MIB, ClientLimit, ClusterPlan, ControllerManagerPlan, HamiPlan, HardwarePlan,
    KueuePlan, Place, Plan, Preempt, QuotaPlan, QuotaUnit, Request, RoundStart, SchedulerPlan,
    Stage, TenantPlan, source,
};

/// What a plan is made from.
pub(super) struct Input<'a> {
    /// The merged document.
    pub doc: &'a Document,
    /// The same as a tree that knows where each value came from.
    pub check: Check<'a>,
    /// The experiment file as errors name it.
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
    let quotas = input.quotas(&sizing)?;

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
            seed: doc.seed.wrapping_add(index as u64),
        };
        let stages = work.stages(&timelines)?;
        tenants.push(TenantPlan {
            name: name.clone(),
            group: team.group.clone(),
            quota: quotas[index].clone(),
            priority: team.priority,
            reserved_cards: team.reserved_cards.map(|cards| sizing.scaled(team, cards)),
            background: team.background,
            ideal_secs: None,
            stages,
            published: input.published(name, sizing.factor(team)),
        });
    }
    let mut plan = Plan {
        experiment: doc.name.clone(),
        arm: input.arm.to_owned(),
        compress: compress.unwrap_or(1.0),
        quick: input.overrides.quick && compress.is_some(),
        seed: doc.seed,
        repeats: doc.repeats,
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
        hardware: HardwarePlan {
            device_plugin_delay_secs: doc.hardware.device_plugin_delay_secs,
        },
        tenants,
        observe_secs: doc.observe_secs,
        give_up_secs: 0.0,
    };
    input.check_work(&plan)?;
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
        let belongs = |name: &str| {
            doc.tenants[name]
                .regime
                .as_ref()
                .is_none_or(|own| own == regime)
        };
        plan.tenants.retain(|team| belongs(&team.name));
    }
    plan.give_up_secs = match doc.give_up_secs {
        Some(secs) => secs,
        None => 3.0 * super::expected::work_secs(&plan, 0.0) + 600.0,
    };
    Ok(plan)
}

impl Input<'_> {
    fn check_settings(&self) -> Result<(), PlanError> {
        let Self { doc, check, .. } = *self;
        check.whole("repeats", doc.repeats, check::REPEATS)?;
        for (field, value, range) in [
            ("compress", doc.compress, check::COMPRESS),
            ("observe_secs", doc.observe_secs, check::SECS),
            ("give_up_secs", doc.give_up_secs, check::SECS),
        ] {
            if let Some(value) = value {
                check.number(field, value, range)?;
            }
        }
        check.number(
            "hardware.device_plugin_delay_secs",
            doc.hardware.device_plugin_delay_secs,
            check::SECS_OR_ZERO,
        )?;
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

    /// Every timeline that a team plays, by the text that names it in the document.
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

    /// A path in an experiment file starts at the file's folder.
    fn beside(&self, name_or_path: &str) -> String {
        if !source::is_path(name_or_path) || !source::is_path(self.source) {
            return name_or_path.to_owned();
        }
        let folder = Path::new(self.source).parent().unwrap_or(Path::new(""));
        // A bare file name would read as the name of an embedded timeline without its extension only.
        folder.join(name_or_path).to_string_lossy().into_owned()
    }

    fn no_effect(&self, option: &str) -> PlanError {
        PlanError::Field {
            at: Place::whole(option),
            field: self.doc.name.clone(),
            problem: "has no timeline, so the option would change nothing; leave it out".to_owned(),
        }
    }

    /// The compression; `None` when nothing is in timeline minutes.
    fn compress(&self, timelines: &BTreeMap<String, Timeline>) -> Result<Option<f64>, PlanError> {
        let minutes = self.doc.tenants.values().any(uses_minutes);
        if timelines.is_empty() && !minutes {
            return match self.overrides.compress {
                Some(_) => Err(self.no_effect("--compress")),
                None => Ok(None),
            };
        }
        if self.doc.compress.is_some() {
            return Ok(self.doc.compress);
        }
        let mut own = timelines.values().map(|t| t.time_compression);
        let Some(first) = own.next() else {
            return Err(self.check.wrong(
                "compress",
                "is missing: run_minutes needs it where there is no timeline".to_owned(),
            ));
        };
        if own.any(|other| other.total_cmp(&first).is_ne()) {
            return Err(self.check.wrong(
                "compress",
                "is missing: the timelines differ in time_compression".to_owned(),
            ));
        }
        Ok(Some(first))
    }

    /// The teams' quotas, in the order of the teams.
    fn quotas(&self, sizing: &Sizing) -> Result<Vec<Option<QuotaPlan>>, PlanError> {
        let tenants = &self.doc.tenants;
        let mut nominal: Vec<Option<u32>> = tenants
            .values()
            .map(|team| match team.quota.as_ref()?.cards {
                QuotaCards::Cards(cards) => Some(sizing.scaled(team, cards)),
                QuotaCards::Named(NamedCards::Rest) => None,
            })
            .collect();
        for (index, (name, team)) in tenants.iter().enumerate() {
            let Some(quota) = &team.quota else { continue };
            let field = format!("tenants.{name}.quota.cards");
            let cards = sizing.cards(team.group.as_deref());
            let group = team.group.as_deref().unwrap_or("all");
            if quota.cards == QuotaCards::Named(NamedCards::Rest) {
                if same_group_rest(tenants, team).count() > 1 {
                    return Err(self.check.wrong(
                        &field,
                        format!("only one team of group {group:?} can have the rest"),
                    ));
                }
                let taken: u32 = same_group(tenants, team).filter_map(|i| nominal[i]).sum();
                let rest = cards.checked_sub(taken).ok_or_else(|| {
                    self.check.wrong(
                        &field,
                        format!("there is no rest: the other teams' quotas take {taken} of {cards} cards"),
                    )
                })?;
                nominal[index] = Some(rest);
            }
            let own = nominal[index].unwrap_or(0);
            self.check.whole(&field, own, check::QUOTA_CARDS)?;
            if own > cards {
                return Err(self.check.wrong(
                    &field,
                    format!("{own} is more than the {cards} cards of group {group:?}"),
                ));
            }
        }
        tenants
            .iter()
            .zip(nominal)
            .map(|((name, team), nominal)| {
                let Some(quota) = &team.quota else {
                    return Ok(None);
                };
                self.check_quota(name, quota)?;
                Ok(Some(QuotaPlan {
                    nominal_cards: nominal.unwrap_or(0),
                    cohort: quota.cohort.clone(),
                    borrowing_limit_cards: quota
                        .borrowing_limit_cards
                        .map(|cards| sizing.scaled(team, cards)),
                    lending_limit_cards: quota
                        .lending_limit_cards
                        .map(|cards| sizing.scaled(team, cards)),
                    reclaim_within_cohort: quota.reclaim_within_cohort,
                    within_cluster_queue: quota.within_cluster_queue,
                }))
            })
            .collect()
    }

    /// What Kueue itself would refuse.
    fn check_quota(&self, name: &str, quota: &QuotaDoc) -> Result<(), PlanError> {
        let path = format!("tenants.{name}.quota");
        if let Some(cohort) = &quota.cohort {
            self.check.name(&format!("{path}.cohort"), cohort)?;
        }
        let limits = [
            (
                "borrowing_limit_cards",
                quota.borrowing_limit_cards.is_some(),
            ),
            ("lending_limit_cards", quota.lending_limit_cards.is_some()),
            (
                "reclaim_within_cohort",
                quota.reclaim_within_cohort != Preempt::Never,
            ),
        ];
        for (field, given) in limits {
            if given && quota.cohort.is_none() {
                return Err(self.check.wrong(
                    &format!("{path}.{field}"),
                    "needs a cohort to borrow from or lend to".to_owned(),
                ));
            }
        }
        if quota.within_cluster_queue == Preempt::Any {
            return Err(self.check.wrong(
                &format!("{path}.within_cluster_queue"),
                "\"Any\" is not known; accepted: Never, LowerPriority".to_owned(),
            ));
        }
        Ok(())
    }

    /// Each Job must fit its team's quota, and background work must fit the machines, or it would wait for ever.
    fn check_fit(&self, plan: &Plan, team: &TenantPlan, most: u32) -> Result<(), PlanError> {
        let field = format!("tenants.{}.workload", team.name);
        let mut background_cards = 0;
        for group in team.groups() {
            let request = group.request;
            let (cards, mib) = charged(plan.kueue.quota_unit, request);
            let most_mib = u64::from(most) * u64::from(CARD_MEMORY_MIB);
            if team.quota.is_some() && (cards > most || u64::from(mib) > most_mib) {
                let problem = format!(
                    "an experiment of cards: {} never fits: quota and machines let the team hold {most} at most",
                    request.cards
                );
                return Err(self.check.wrong(&field, problem));
            }
            if team.background && request.gpumem_mib.is_none() {
                background_cards += group.count * request.cards;
            }
        }
        if background_cards > most {
            let problem = format!(
                "background work of {background_cards} cards never fits: the team can hold {most} at most"
            );
            return Err(self.check.wrong(&field, problem));
        }
        Ok(())
    }

    /// There must be something to measure, and an end to it.
    fn check_work(&self, plan: &Plan) -> Result<(), PlanError> {
        let measured: Vec<&TenantPlan> = plan
            .tenants
            .iter()
            .filter(|t| !t.background && !t.stages.is_empty())
            .collect();
        if measured.is_empty() {
            return Err(self.check.wrong(
                "tenants",
                "no team has a workload to measure (background teams are not measured)".to_owned(),
            ));
        }
        let endless = measured
            .iter()
            .find(|t| t.groups().any(|g| g.run_secs.is_none()));
        match endless {
            Some(team) if plan.observe_secs.is_none() => Err(self.check.wrong(
                "observe_secs",
                format!(
                    "is missing: work of team {:?} runs until the end of the run",
                    team.name
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Published figures of a team in this arm. They were measured at the file's size: at another there are none.
    fn published(&self, tenant: &str, factor: f64) -> BTreeMap<String, f64> {
        if factor.total_cmp(&1.0).is_ne() {
            return BTreeMap::new();
        }
        self.doc
            .expect
            .published
            .iter()
            .filter(|p| p.tenant == tenant && p.arm.as_ref().is_none_or(|arm| arm == self.arm))
            .map(|p| (p.key(), p.value))
            .collect()
    }
}

/// Cards and MiB that one request is charged to its quota.
fn charged(unit: QuotaUnit, request: Request) -> (u32, u32) {
    let mib = request.gpumem_mib.unwrap_or(0);
    match unit {
        QuotaUnit::Cards => (request.cards, 0),
        QuotaUnit::Memory => (0, mib * request.cards),
        QuotaUnit::MemoryRaw => (0, mib),
        QuotaUnit::Both => (request.cards, mib * request.cards),
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

fn same_group<'a>(
    tenants: &'a IndexMap<String, TenantDoc>,
    team: &'a TenantDoc,
) -> impl Iterator<Item = usize> + 'a {
    tenants
        .values()
        .enumerate()
        .filter(|(_, other)| other.group == team.group)
        .map(|(index, _)| index)
}

fn same_group_rest<'a>(
    tenants: &'a IndexMap<String, TenantDoc>,
    team: &'a TenantDoc,
) -> impl Iterator<Item = usize> + 'a {
    same_group(tenants, team).filter(|&i| {
        let rest = QuotaCards::Named(NamedCards::Rest);
        tenants[i].quota.as_ref().is_some_and(|q| q.cards == rest)
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
