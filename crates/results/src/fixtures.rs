//! Plans, records and a summary made by hand, for the tests of every crate that reads them. Nothing else may use them.

use std::collections::BTreeMap;

use crate::run_folder::summary::SCHEMA;
use crate::run_folder::{
    Accuracy, Attempt, AttemptEnd, Bill, BindRate, CardSeconds, Disturbance, Evidence,
    EvidenceSource, FailedRun, FreeCards, Harness, Latency, Outcome, Percentile, Phase, Program,
    Record, Resumed, RunInfo, RunSummary, Soak, SoakHour, Summary, TenantSummary, Unplaced,
};
use plan::{
    ClientLimit, ClusterPlan, ControllerManagerPlan, Group, HamiPlan, HardwarePlan, Host,
    KueuePlan, NodeGroup, Plan, Policy, Preempt, QuotaPlan, QuotaUnit, Request, Round, RoundStart,
    SchedulerPlan, Stage, TenantPlan, Via,
};
use plan::{HamiKind, HamiSource};

#[must_use]
pub fn cards(n: u32) -> Request {
    Request {
        cards: n,
        gpumem_mib: None,
        gpucores: None,
    }
}

/// A team with `nominal` cards of quota, in cohort `all` if `shares`.
#[must_use]
pub fn team(name: &str, nominal: u32, shares: bool) -> TenantPlan {
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
#[must_use]
pub fn stage(start: RoundStart, count: u32, n: u32, run_secs: f64) -> Stage {
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

#[must_use]
pub fn plan(tenants: Vec<TenantPlan>) -> Plan {
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
        busy_cores: None,
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
#[must_use]
pub fn waiting(tenant: &str, name: &str, n: u32, intended_secs: f64) -> Record {
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
#[must_use]
pub fn done(tenant: &str, name: &str, n: u32, from: f64, to: f64) -> Record {
    Record {
        attempts: vec![Attempt {
            cards: vec![],
            reserved_secs: Some(from),
            admitted_secs: Some(from),
            released_secs: Some(to),
            pod: Some(format!("{name}-x")),
            pod_uid: Some(format!("{tenant}/{name}")),
            pod_created_secs: Some(from),
            refused_secs: None,
            unschedulable_secs: None,
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
#[must_use]
pub fn info(plan: &Plan) -> RunInfo {
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
        evidence: Evidence::of([EvidenceSource::Watch]),
        machine: serde_json::json!({"cores": 2}),
    }
}

fn resumed() -> Resumed {
    Resumed {
        started: "2026-01-01T01:00:00Z".into(),
        command: ["headroom", "bench", "regimes", "--resume", "out"]
            .map(String::from)
            .into(),
    }
}

fn failed() -> FailedRun {
    FailedRun {
        arm: "default".into(),
        repeat: 2,
        folder: "default-2".into(),
        error: "etcd does not answer".into(),
    }
}

fn soak() -> Soak {
    Soak {
        asked_secs: 7200.0,
        took_secs: 7000.0,
        observed_secs: 6500.0,
        restarts: [("kube-scheduler".to_owned(), 2)].into(),
        restarts_per_hour: Some(1.1),
        hours: vec![SoakHour {
            observed_secs: 3500.0,
            restarts: 2,
        }],
    }
}

fn harness() -> Harness {
    Harness {
        cpu_secs: 5.0,
        peak_rss_mib: 40.0,
        late_submits: 0,
        max_submit_lateness_ms: 3.5,
        late_ticks: 0,
    }
}

/// A summary with every kind of value in it.
#[allow(clippy::too_many_lines)] // every field once
#[must_use]
pub fn full() -> Summary {
    let free = FreeCards {
        at_secs: 2.5,
        machines: [(7, 2), (8, 1)].into(),
        idle_cards: 22,
        unusable_share: Some(14.0 / 22.0),
    };
    let latency = Latency {
        count: 120,
        censored: 7,
        p50: Percentile::Secs(1.25),
        p95: Percentile::Over { over: 90.0 },
        p99: Percentile::TooFew,
        max: Percentile::Over { over: 90.0 },
        values: vec![Percentile::Secs(1.0), Percentile::Over { over: 90.0 }],
    };
    Summary {
        schema: SCHEMA,
        headroom: "0.1.0".into(),
        experiment: "regimes".into(),
        started: "2026-01-01T00:00:00Z".into(),
        resumed: vec![resumed()],
        command: vec!["bench".into(), "regimes".into()],
        hami: HamiSource {
            source: HamiKind::Builtin,
            version: "0.1.0".into(),
            sha256: "00".into(),
        },
        compress: 120.0,
        quick: false,
        complete: false,
        failed: vec![failed()],
        soak: Some(soak()),
        arms: vec![],
        meaning: String::new(),
        runs: vec![RunSummary {
            beside: vec![],
            bind_rate: BindRate {
                measured_per_sec: Some(0.5),
                ceiling_per_sec: [("hami".to_owned(), 0.55)].into(),
            },
            unplaced: vec![Unplaced {
                tenant: "large".into(),
                name: "burst-0-000".into(),
                first_try: free.clone(),
                at_end: free,
            }],
            placements: vec![],
            evictions: vec![],
            restart_causes: BTreeMap::new(),
            storage: None,
            stalls: vec![],
            bound_in_stalls: None,
            idle_card_seconds: Some(120.5),
            arm: "default".into(),
            repeat: 1,
            folder: "default-1".into(),
            started: Some("2026-01-01T00:00:01Z".into()),
            bring_up_secs: 12.5,
            wall_secs: 470.0,
            observed_secs: 450.25,
            evidence: Evidence::default(),
            disturbed: vec![Disturbance {
                kind: "late-submit".into(),
                detail: "2 late".into(),
                remedy: "idle machine".into(),
            }],
            tenants: vec![TenantSummary {
                waits: None,
                name: "shared".into(),
                makespan_secs: None,
                ideal_secs: Some(440.0),
                submitted: 8,
                failed: 1,
                unfinished: 1,
                evictions: 0,
                bill: Bill::default(),
                card_seconds: CardSeconds {
                    reserved: None,
                    admitted: 1.5,
                    ..CardSeconds::default()
                },
                latency: BTreeMap::from([(
                    "whole-card".into(),
                    BTreeMap::from([(Phase::BindLatency, latency)]),
                )]),
            }],
            restarts: BTreeMap::from([("kube-scheduler".into(), 2)]),
            calls_per_pod: BTreeMap::from([(
                "hami".into(),
                BTreeMap::from([("get nodes".into(), 3.0)]),
            )]),
            accuracy: Accuracy {
                watch_lag_ms: None,
                relists: 0,
                interruptions: 0,
                missing_stamps: 0,
                unmatched_bindings: Some(0),
            },
            harness: harness(),
        }],
    }
}
