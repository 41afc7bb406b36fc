//! Plans and records made by hand, for tests.

use std::collections::BTreeMap;

use super::summary::SCHEMA;
use super::{Attempt, AttemptEnd, HamiKind, HamiSource, Outcome, Program, Record, RunInfo};
use crate::plan::{
    ClientLimit, ClusterPlan, ControllerManagerPlan, Group, HamiPlan, HardwarePlan, Host,
    KueuePlan, NodeGroup, Plan, Policy, Preempt, QuotaPlan, QuotaUnit, Request, Round, RoundStart,
    SchedulerPlan, Stage, TenantPlan, Via,
};

pub(crate) fn cards(n: u32) -> Request {
    Request {
        cards: n,
        gpumem_mib: None,
        gpucores: None,
    }
}

/// A team with `nominal` cards of quota, in cohort `all` if `shares`.
pub(crate) fn team(name: &str, nominal: u32, shares: bool) -> TenantPlan {
    TenantPlan {
        name: name.into(),
        group: None,
        quota: Some(QuotaPlan {
            nominal_cards: nominal,
            cohort: shares.then(|| "all".into()),
            borrowing_limit_cards: None,
            lending_limit_cards: None,
            reclaim_within_cohort: Preempt::Any,
            within_cluster_queue: Preempt::Never,
        }),
        priority: 0,
        reserved_cards: None,
        background: false,
        awaited: true,
        stages: Vec::new(),
        ideal_secs: None,
        published: BTreeMap::new(),
    }
}

/// A stage of one round.
pub(crate) fn stage(start: RoundStart, count: u32, n: u32, run_secs: f64) -> Stage {
    Stage {
        name: "explore".into(),
        rounds: vec![Round {
            start,
            groups: vec![Group {
                count,
                request: cards(n),
                run_secs: Some(run_secs),
                via: Via::Job,
            }],
            interleave: false,
        }],
    }
}

pub(crate) fn plan(tenants: Vec<TenantPlan>) -> Plan {
    let limit = ClientLimit {
        qps: 50.0,
        burst: 100,
    };
    Plan {
        experiment: "regimes".into(),
        arm: "default".into(),
        compress: 120.0,
        quick: false,
        rescaled: false,
        seed: 1,
        repeats: 1,
        soak_secs: None,
        cluster: ClusterPlan {
            groups: vec![NodeGroup {
                name: "all".into(),
                nodes: 5,
            }],
        },
        hami: HamiPlan {
            node_policy: Policy::Spread,
            gpu_policy: Policy::Spread,
            limit,
            stamp_handshake: true,
        },
        kueue: KueuePlan {
            limit,
            quota_unit: QuotaUnit::Cards,
        },
        scheduler: SchedulerPlan {
            limit,
            leader_elect: true,
        },
        controller_manager: ControllerManagerPlan { limit },
        hardware: HardwarePlan {
            device_plugin_delay_secs: 0.0,
        },
        data_plane: None,
        clearer: None,
        stalls: vec![],
        tenants,
        observe_secs: None,
        linger_secs: 0.0,
        give_up_secs: 100.0,
    }
}

/// A record of `n` cards without attempts.
pub(crate) fn waiting(tenant: &str, name: &str, n: u32, intended_secs: f64) -> Record {
    Record {
        tenant: tenant.into(),
        name: name.into(),
        stage: "explore".into(),
        round: 0,
        class: cards(n).class(),
        request: cards(n),
        via: Via::Job,
        run_secs: Some(5.0),
        data_plane: None,
        intended_secs,
        submitted_secs: Some(intended_secs),
        created_secs: Some(intended_secs),
        error: None,
        attempts: Vec::new(),
        finished_secs: None,
        outcome: Outcome::Unfinished,
    }
}

/// A record of `n` cards that was submitted at once, admitted and bound at `from`, and done at `to`.
pub(crate) fn done(tenant: &str, name: &str, n: u32, from: f64, to: f64) -> Record {
    Record {
        attempts: vec![Attempt {
            cards: vec![],
            reserved_secs: Some(from),
            admitted_secs: Some(from),
            released_secs: Some(to),
            pod: Some(format!("{name}-x")),
            pod_uid: Some(format!("{tenant}/{name}")),
            pod_created_secs: Some(from),
            bound_secs: Some(from),
            bound_audit_secs: None,
            node: Some("gpu-00".into()),
            running_secs: Some(from),
            useful_secs: None,
            told_secs: None,
            ended_secs: Some(to),
            end: AttemptEnd::Succeeded,
            borrowed_cards: 0,
        }],
        finished_secs: Some(to),
        outcome: Outcome::Succeeded,
        ..waiting(tenant, name, n, 0.0)
    }
}

/// A `run.json` of a run that has not started.
pub(crate) fn info(plan: &Plan) -> RunInfo {
    RunInfo {
        schema: SCHEMA,
        headroom: "0.1.0".into(),
        repeat: 1,
        started: "2026-01-01T00:00:00Z".into(),
        clock_started: None,
        plan: plan.clone(),
        host: Host::default(),
        hami: HamiSource {
            source: HamiKind::Builtin,
            version: "0.1.0".into(),
            sha256: "00".into(),
        },
        components: BTreeMap::from([(
            "etcd".into(),
            Program {
                version: "3.6.13".into(),
                sha256: "11".into(),
            },
        )]),
        client_limits: BTreeMap::from([("etcd".into(), None)]),
        evidence: vec!["watch".into()],
        machine: serde_json::json!({"cores": 2}),
    }
}
