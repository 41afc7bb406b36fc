//! Invented times for real plans.

use rand::rngs::SmallRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use plan::schedule::{Placed, list_schedule};
use plan::{Plan, QuotaUnit, Request, Round, RoundStart, TenantPlan, Via};
use results::run_folder::{Attempt, AttemptEnd, Outcome, Record};

/// What came of a plan.
pub struct Played {
    /// One a request.
    pub records: Vec<Record>,
    /// The observation's end.
    pub end_secs: f64,
}

/// Plays any plan: timelines by their ideal schedule and a little more, bursts at the pace of HAMi's client limit.
pub fn play(plan: &Plan, seed: u64) -> Played {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut records = Vec::new();
    let mut end_secs = plan.observe_secs.unwrap_or(0.0);
    for tenant in &plan.tenants {
        let mut capacity = plan.capacity(tenant);
        if plan.kueue.quota_unit != QuotaUnit::Cards && plan.kueue.quota_unit != QuotaUnit::Both {
            capacity.cards *= 3;
        }
        #[allow(clippy::cast_precision_loss)] // a repeat's number
        let turnaround = 1.3 + 0.1 * seed as f64;
        let own = match list_schedule(&tenant.stages, capacity, turnaround) {
            Some(placed) if !placed.is_empty() => timeline(tenant, &placed, &mut random),
            _ => burst(plan, tenant, &mut random),
        };
        records.extend(own);
    }
    let last = records
        .iter()
        .filter_map(|r| r.finished_secs)
        .fold(0.0, f64::max);
    if plan.observe_secs.is_none() {
        end_secs = last;
    }
    for record in &mut records {
        cut(record, end_secs);
    }
    Played { records, end_secs }
}

fn blank(
    tenant: &TenantPlan,
    stage: &str,
    round: usize,
    index: usize,
    request: Request,
    via: Via,
) -> Record {
    Record {
        tenant: tenant.name.clone(),
        name: format!("{stage}-{round}-{index:03}"),
        stage: stage.to_owned(),
        round: u32::try_from(round).unwrap(),
        class: request.class(),
        request,
        via,
        run_secs: None,
        data_plane: None,
        intended_secs: 0.0,
        submitted_secs: None,
        created_secs: None,
        error: None,
        attempts: Vec::new(),
        finished_secs: None,
        outcome: Outcome::Unfinished,
    }
}

/// Every experiment of a team with the number of its round, in the order of submission.
fn members(tenant: &TenantPlan) -> Vec<(Record, &Round, Option<f64>)> {
    let mut all = Vec::new();
    for stage in &tenant.stages {
        for (number, round) in stage.rounds.iter().enumerate() {
            let mut groups: Vec<_> = round.groups.iter().map(|g| (g, 0)).collect();
            let mut index = 0;
            while let Some(at) = groups.iter().position(|(g, done)| *done < g.count) {
                // In turn, if the round is interleaved: the group with the smallest share done goes next.
                let at = if round.interleave {
                    let share =
                        |(g, done): &(&plan::Group, u32)| f64::from(*done) / f64::from(g.count);
                    (0..groups.len())
                        .min_by(|a, b| share(&groups[*a]).total_cmp(&share(&groups[*b])))
                        .unwrap()
                } else {
                    at
                };
                let group = groups[at].0;
                groups[at].1 += 1;
                let mut record =
                    blank(tenant, &stage.name, number, index, group.request, group.via);
                record.run_secs = group.run_secs;
                all.push((record, round, group.run_secs));
                index += 1;
            }
        }
    }
    all
}

fn timeline(tenant: &TenantPlan, placed: &[Placed], random: &mut SmallRng) -> Vec<Record> {
    let mut records = Vec::new();
    for ((mut record, _, _), placed) in members(tenant).into_iter().zip(placed) {
        let lag = random.random_range(0.2..1.0);
        let admitted = placed.start_secs + 0.2 * lag;
        let bound = placed.start_secs + lag;
        let ended = placed.end_secs - 0.2 * lag;
        record.intended_secs = placed.submitted_secs;
        record.submitted_secs = Some(placed.submitted_secs + 0.001);
        record.created_secs = Some(placed.submitted_secs + 0.01);
        record.attempts.push(Attempt {
            refused_secs: None,
            unschedulable_secs: None,
            reserved_secs: Some(admitted - 0.01),
            admitted_secs: Some(admitted),
            released_secs: Some(ended + 0.1),
            pod: Some(record.name.clone()),
            pod_uid: Some(format!("{:08x}", random.next_u32())),
            pod_created_secs: Some(admitted + 0.05),
            bound_secs: Some(bound + 0.003),
            bound_audit_secs: Some(bound),
            node: Some(format!("gpu-{:02}", placed.node)),
            cards: Vec::new(),
            running_secs: Some(bound + 0.02),
            useful_secs: None,
            told_secs: None,
            ended_secs: Some(ended),
            end: AttemptEnd::Succeeded,
            borrowed_cards: 0,
        });
        record.finished_secs = Some(ended + 0.05);
        record.outcome = Outcome::Succeeded;
        records.push(record);
    }
    records
}

/// Calls that HAMi's limiter lets through for a pod.
const CALLS: f64 = 9.0;

/// Pods one after the other as HAMi's limit lets them, on machines in turn (spread) or filled up (binpack).
fn burst(plan: &Plan, tenant: &TenantPlan, random: &mut SmallRng) -> Vec<Record> {
    let limit = plan.hami.limit;
    let spread = plan.hami.node_policy == plan::Policy::Spread;
    let nodes = plan.capacity(tenant).nodes.max(1);
    let mut free_at = 0.0_f64;
    let mut records = Vec::new();
    for (i, (mut record, round, _)) in members(tenant).into_iter().enumerate() {
        let due = match round.start {
            RoundStart::AtSecs(at) | RoundStart::ThinkSecs(at) => at,
        };
        let i = u32::try_from(i).unwrap();
        let waited = (f64::from(i + 1) * CALLS - f64::from(limit.burst)).max(0.0) / limit.qps;
        let contention = if spread { 0.02 } else { 0.4 };
        free_at = free_at.max(due) + contention;
        let bound = free_at.max(due + waited) + random.random_range(0.1..0.4);
        let early = if tenant.background { -30.0 } else { 0.0 };
        record.intended_secs = due + early;
        record.submitted_secs = Some(due + early + 0.001);
        record.created_secs = Some(due + early + 0.01);
        let whole = record.request.cards == plan::CARDS_PER_NODE;
        if whole && spread && plan.cluster.groups.len() == 1 {
            records.push(record);
            continue;
        }
        let node = if spread { i % nodes } else { i / 10 % nodes };
        record.attempts.push(Attempt {
            pod: Some(record.name.clone()),
            pod_uid: Some(format!("{:08x}", random.next_u32())),
            pod_created_secs: Some(due + early + 0.02),
            bound_secs: Some(bound + early),
            bound_audit_secs: Some(bound + early - 0.002),
            node: Some(format!("gpu-{node:02}")),
            cards: (0..record.request.cards)
                .map(|c| format!("GPU-gpu-{node:02}-{}", (i / nodes + c) % 8))
                .collect(),
            running_secs: Some(bound + early + 0.02),
            ..Attempt::default()
        });
        records.push(record);
    }
    records
}

/// Forgets what happened after the observation's end.
fn cut(record: &mut Record, end_secs: f64) {
    let late = |at: &mut Option<f64>| *at = at.filter(|at| *at <= end_secs);
    for attempt in &mut record.attempts {
        late(&mut attempt.bound_secs);
        late(&mut attempt.bound_audit_secs);
        late(&mut attempt.running_secs);
    }
}

/// A task that ran on a machine, was evicted, and perhaps bound again on another machine.
pub fn task(
    team: &str,
    cards: u32,
    node: u32,
    [running, evicted]: [f64; 2],
    again: Option<(u32, f64)>,
) -> Record {
    let request = Request {
        cards,
        gpumem_mib: None,
        gpucores: None,
    };
    let attempt = |node: u32, at: f64| Attempt {
        admitted_secs: Some(at - 0.2),
        pod: Some(format!("{team}-{node}")),
        pod_uid: Some(format!("{team}-{node}-{at}")),
        pod_created_secs: Some(at - 0.1),
        bound_secs: Some(at),
        bound_audit_secs: Some(at),
        node: Some(format!("gpu-{node:02}")),
        running_secs: Some(at),
        ..Attempt::default()
    };
    let mut first = attempt(node, running);
    if evicted.is_finite() {
        first.ended_secs = Some(evicted);
        first.released_secs = Some(evicted + 0.1);
        first.end = AttemptEnd::Preempted;
    }
    Record {
        tenant: team.to_owned(),
        name: format!("task-{node}-{running:.3}"),
        stage: "tasks".into(),
        round: 0,
        class: request.class(),
        request,
        via: Via::Job,
        run_secs: None,
        data_plane: None,
        intended_secs: running - 0.5,
        submitted_secs: Some(running - 0.5),
        created_secs: Some(running - 0.4),
        error: None,
        attempts: [first]
            .into_iter()
            .chain(again.map(|(node, at)| attempt(node, at)))
            .collect(),
        finished_secs: None,
        outcome: Outcome::Unfinished,
    }
}

/// Others hold every card of 50 machines; research asks for five whole machines, five are cleared one after the other,
/// and one of the five is placed on a machine where nothing was evicted.
pub fn preemption(_: &Plan, _: u64) -> Played {
    let mut records = Vec::new();
    for node in 0..50 {
        for card in 0..8 {
            let at = -30.0 + f64::from(node) * 0.1 + f64::from(card) * 0.01;
            let evicted = 20.0 + f64::from(node) * 11.0 + f64::from(card) * 0.8;
            // Machine 49 has been idle all along.
            match node {
                49 => {}
                0..5 => records.push(task(
                    "others",
                    1,
                    node,
                    [at, evicted],
                    (card < 5).then_some((30 + node, evicted + 9.0)),
                )),
                _ => records.push(task("others", 1, node, [at, f64::INFINITY], None)),
            }
        }
    }
    for node in [0, 1, 2, 3, 49] {
        let at = 31.0 + f64::from(node % 40) * 11.0;
        let mut placement = task("research", 8, node, [at, f64::INFINITY], None);
        placement.name = format!("whole-{node}");
        placement.intended_secs = 5.0;
        records.push(placement);
    }
    for (i, record) in records.iter_mut().enumerate() {
        record.name = format!("{}-{i:03}", record.name);
    }
    Played {
        records,
        end_secs: 150.0,
    }
}
