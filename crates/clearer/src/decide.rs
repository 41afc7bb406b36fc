//! Decides which requests wait for a machine, and which node is cleared for one. In: a snapshot of the cluster. Out: a
//! choice. It makes no calls.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};
use kube::ResourceExt as _;
use kube::core::SelectorExt as _;

use interface::ClearerTrigger;

use super::args::Args;
use super::facts::{self, Machine, World};
use super::log::Victim;
use super::owner;
use super::state::{ATTEMPTS, CLEARED_NODE, CLEARING, FAILED_AT, RequestKind, RequestRef, number};
use super::workload::Workload;

/// A request that waits for a whole machine.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which object.
    pub target: RequestRef,
    /// Cards it needs on one node.
    pub cards: u32,
    /// Its Workload's priority.
    pub priority: i32,
    /// When it was created: earlier ones go first.
    pub created: Timestamp,
    /// The spec of its pod, for selectors and tolerations.
    pub spec: PodSpec,
}

/// A node to clear.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The node as the watch has it.
    pub node: Arc<Node>,
    /// The tasks on it.
    pub victims: Vec<Victim>,
    /// Card-seconds lost, weighted by priority.
    pub cost: f64,
}

/// The requests that wait, in the order they are served: priority, then age.
pub fn waiting(world: &World, args: &Args, now: Timestamp) -> Vec<Request> {
    let pods = world.pods.iter();
    let mut requests: Vec<Request> = pods
        .filter_map(|pod| waiting_pod(world, pod, args, now))
        .collect();
    if args.trigger == ClearerTrigger::PendingWorkload {
        let workloads = world.workloads.iter();
        requests.extend(workloads.filter_map(|w| waiting_workload(world, w, args, now)));
    }
    requests.retain(|r| is_whole_machine(world, r, args));
    requests.sort_by(|a, b| {
        b.priority
            .cmp(&a.priority)
            .then(a.created.cmp(&b.created))
            .then_with(|| a.target.uid.cmp(&b.target.uid))
    });
    requests
}

fn patient(since: Timestamp, args: &Args, now: Timestamp) -> bool {
    now.duration_since(since).as_secs_f64() >= args.patience
}

fn waiting_pod(world: &World, pod: &Pod, args: &Args, now: Timestamp) -> Option<Request> {
    let since = facts::unschedulable_since(pod)?;
    let workload = world.workload_of(pod)?;
    let tried: u32 = number(pod, ATTEMPTS);
    let serves = workload.admitted && workload.active && tried < args.attempts;
    if !serves || !patient(since, args, now) {
        return None;
    }
    let spec = pod.spec.clone()?;
    Some(Request {
        target: RequestRef {
            kind: RequestKind::Pod,
            namespace: pod.namespace()?,
            name: pod.name_any(),
            uid: pod.uid()?,
        },
        cards: whole_cards(&spec, args)?,
        priority: workload.priority,
        created: workload.created,
        spec,
    })
}

fn waiting_workload(world: &World, w: &Workload, args: &Args, now: Timestamp) -> Option<Request> {
    let pending =
        w.active && !w.quota_reserved && !w.admitted && !w.finished && w.evicted_by.is_none();
    let spec = w.single_pod.clone()?;
    let cards = whole_cards(&spec, args)?;
    let queue = (w.namespace.clone(), w.queue.clone());
    let quota = world.quotas.get(world.local_queues.get(&queue)?)?;
    let within = quota.reserved + i64::from(cards) <= quota.nominal;
    (pending && within && w.attempts < args.attempts && patient(w.created, args, now)).then(|| {
        Request {
            target: RequestRef {
                kind: RequestKind::Workload,
                namespace: w.namespace.clone(),
                name: w.name.clone(),
                uid: w.uid.clone(),
            },
            cards,
            priority: w.priority,
            created: w.created,
            spec,
        }
    })
}

/// Cards a spec asks for, if they are whole ones.
fn whole_cards(spec: &PodSpec, args: &Args) -> Option<u32> {
    let cards = facts::cards(spec, &args.card_resource);
    (cards > 0 && !facts::is_sliced(spec, &args.card_resource)).then_some(cards)
}

/// True if the request needs every card of some node in scope.
fn is_whole_machine(world: &World, request: &Request, args: &Args) -> bool {
    world.nodes.iter().any(|machine| {
        args.scope.matches(machine.node.labels()) && machine.cards.count == request.cards
    })
}

/// The node whose clearing loses the least work. `None` if there is no candidate, or if a free machine makes a clearing
/// needless.
///
/// A candidate is in scope, Ready and open to the request. It has exactly the cards that the request needs, only tasks
/// that may be evicted, and was not cleared in vain within the last time limit. `taken` are the nodes of clearings in
/// progress; `spoken_for` counts the free machines that earlier requests will take.
pub fn choose(
    world: &World,
    request: &Request,
    args: &Args,
    now: Timestamp,
    taken: &HashSet<String>,
    spoken_for: &mut usize,
) -> Option<Choice> {
    let weights = Weights::of(world);
    let mut best: Option<Choice> = None;
    let mut free = 0;
    for machine in &world.nodes {
        let node = &machine.node;
        if taken.contains(&node.name_any()) || !is_candidate(machine, request, args, now) {
            continue;
        }
        let Ok(victims) = victims(world, machine, request, args, now) else {
            continue;
        };
        if victims.is_empty() {
            free += 1;
            continue;
        }
        let choice = Choice {
            cost: weights.cost(&victims),
            node: Arc::clone(node),
            victims,
        };
        if best.as_ref().is_none_or(|b| cheaper(&choice, b)) {
            best = Some(choice);
        }
    }
    if free > *spoken_for {
        *spoken_for += 1;
        return None;
    }
    best
}

/// Why there is no candidate, in words; `None` if there is one, or a free machine, so that none is needed.
pub fn why_none(
    world: &World,
    request: &Request,
    args: &Args,
    now: Timestamp,
    taken: &HashSet<String>,
) -> Option<String> {
    let (mut all, mut held, mut teams) = (0_u32, 0_u32, BTreeSet::new());
    for machine in &world.nodes {
        let node = &machine.node;
        if !args.scope.matches(node.labels()) || machine.cards.count != request.cards {
            continue;
        }
        all += 1;
        if taken.contains(&node.name_any()) || !is_candidate(machine, request, args, now) {
            continue;
        }
        match victims(world, machine, request, args, now) {
            Ok(_) => return None,
            Err(team) => {
                held += 1;
                teams.insert(team);
            }
        }
    }
    let teams: Vec<String> = teams.into_iter().collect();
    let mut why = Vec::new();
    if held > 0 {
        let teams = teams.join(", ");
        why.push(format!(
            "{held} of {all} machines hold tasks that may not be evicted, of {teams}"
        ));
    }
    if all > held {
        let rest = all - held;
        why.push(format!(
            "{rest} are closed, do not fit, are being cleared or were cleared in vain lately"
        ));
    }
    Some(if why.is_empty() {
        "no machine in scope has as many cards as it asks for".to_owned()
    } else {
        why.join("; ")
    })
}

/// Less work lost, then fewer victims, then the name: the same snapshot always gives the same choice.
fn cheaper(a: &Choice, b: &Choice) -> bool {
    a.cost
        .total_cmp(&b.cost)
        .then(a.victims.len().cmp(&b.victims.len()))
        .then_with(|| a.node.name_any().cmp(&b.node.name_any()))
        == Ordering::Less
}

fn is_candidate(machine: &Machine, request: &Request, args: &Args, now: Timestamp) -> bool {
    let node = &machine.node;
    let failed = node.annotations().get(FAILED_AT);
    let failed_lately = failed
        .and_then(|text| text.parse::<Timestamp>().ok())
        .is_some_and(|at| now.duration_since(at).as_secs_f64() < args.time_limit);
    args.scope.matches(node.labels())
        && facts::is_ready(node)
        && !facts::is_cordoned(node)
        && !node.annotations().contains_key(CLEARING)
        && owner::reservation(node).is_none()
        && !failed_lately
        && facts::fits(&request.spec, node)
        && machine.cards.count == request.cards
}

/// The tasks on a node, or the team of one that may not be evicted for this request.
fn victims(
    world: &World,
    machine: &Machine,
    request: &Request,
    args: &Args,
    now: Timestamp,
) -> Result<Vec<Victim>, String> {
    let name = machine.node.name_any();
    let here = world.pods.iter().filter(|p| {
        facts::bound_to(p) == Some(&name) && facts::holds_cards(p, &args.card_resource)
    });
    here.map(|pod| {
        let victim = victim(world, pod, machine.cards.memory_mib, args, now);
        let may = may_evict(world, pod, args) && victim.priority <= request.priority;
        may.then_some(victim)
            .ok_or_else(|| pod.namespace().unwrap_or_default())
    })
    .collect()
}

/// True if a pod may be evicted at all: its team is on the allow-list, no machine was cleared for it, and its Workload is
/// known if Kueue runs it.
pub fn may_evict(world: &World, pod: &Pod, args: &Args) -> bool {
    args.may_evict(&pod.namespace().unwrap_or_default())
        && !pod.annotations().contains_key(CLEARED_NODE)
        && (!facts::is_kueues(pod) || world.workload_of(pod).is_some())
}

/// A pod as a victim, with what its eviction loses.
pub fn victim(
    world: &World,
    pod: &Pod,
    card_memory_mib: Option<u32>,
    args: &Args,
    now: Timestamp,
) -> Victim {
    let worth = |p: &Pod| {
        p.spec.as_ref().map_or(0.0, |s| {
            facts::card_share(s, &args.card_resource, card_memory_mib)
        })
    };
    let workload = world.workload_of(pod);
    let card_seconds = match workload {
        // Deactivating a Workload evicts all of its pods.
        Some(w) => {
            let siblings = world.pods_of(&w.uid).filter(|p| {
                facts::bound_to(p).is_some() && facts::holds_cards(p, &args.card_resource)
            });
            siblings.map(|p| worth(p) * facts::run_secs(p, now)).sum()
        }
        None => worth(pod) * facts::run_secs(pod, now),
    };
    Victim {
        namespace: pod.namespace().unwrap_or_default(),
        pod: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        workload: workload.map(|w| w.name.clone()),
        priority: match workload {
            Some(w) => w.priority,
            None => pod.spec.as_ref().and_then(|s| s.priority).unwrap_or(0),
        },
        cards: worth(pod),
        age_secs: facts::run_secs(pod, now),
        card_seconds,
    }
}

/// Weight of a card-second by priority: 1 at the lowest priority in the cluster, 2 at the next one, and so on.
///
/// Ranks and not values, because Kubernetes priorities have no unit.
struct Weights {
    ranks: BTreeMap<i32, f64>,
    lost_before: BTreeMap<(String, String), f64>,
}

impl Weights {
    fn of(world: &World) -> Self {
        let workloads = world.workloads.iter().map(|w| w.priority);
        let pods = world.pods.iter().filter_map(|p| p.spec.as_ref()?.priority);
        let all: BTreeSet<i32> = workloads.chain(pods).chain([0]).collect();
        let ranks = (1_u32..).map(f64::from);
        let lost = |w: &Arc<Workload>| {
            let key = (w.namespace.clone(), w.name.clone());
            (key, w.lost_card_seconds)
        };
        Self {
            ranks: all.into_iter().zip(ranks).collect(),
            lost_before: world.workloads.iter().map(lost).collect(),
        }
    }

    /// Weighted card-seconds lost. A Workload with several pods here counts once. What a Workload lost to earlier clearings
    /// counts again: otherwise a task that has just been restarted would always be the cheapest.
    fn cost(&self, victims: &[Victim]) -> f64 {
        let mut seen = BTreeSet::new();
        let mut sum = 0.0;
        for victim in victims {
            let mut lost = victim.card_seconds;
            if let Some(workload) = &victim.workload {
                let key = (victim.namespace.clone(), workload.clone());
                lost += self.lost_before.get(&key).copied().unwrap_or(0.0);
                if !seen.insert(key) {
                    continue;
                }
            }
            sum += lost * self.ranks.get(&victim.priority).copied().unwrap_or(1.0);
        }
        sum
    }
}
