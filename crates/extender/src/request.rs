//! What a pod asks for. In: a pod. Out: a request for cards for each container, init containers first, as HAMi counts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::device_config::Nvidia;
use super::{names, quantity};

/// The percentage that means "none given".
pub(crate) const NO_PERCENT: i32 = 101;

/// What one container asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CardRequest {
    /// Distinct cards.
    pub cards: i32,
    /// Memory on each card in MiB; 0 leaves it to `mem_percent`.
    pub mem_mib: i32,
    /// Percent of each card's memory, or [`NO_PERCENT`].
    pub mem_percent: i32,
    /// Percent of each card's cores; 100 asks for the whole card.
    pub cores: i32,
}

/// A request for each container, init containers first; `None` for a container that asks for no card.
pub(crate) fn of_pod(pod: &Pod, nvidia: &Nvidia) -> Vec<Option<CardRequest>> {
    let containers = pod.spec.iter().flat_map(|spec| {
        let init = spec.init_containers.iter().flatten();
        init.chain(&spec.containers)
    });
    let requests = containers.map(|container| of_container(container, nvidia));
    requests.collect()
}

/// The number of init containers. They come first in all lists by container.
pub(crate) fn init_count(pod: &Pod) -> usize {
    let init = pod.spec.iter().flat_map(|spec| &spec.init_containers);
    init.flatten().count()
}

/// Whether a container other than an init container asks for cards. Only then does a bind take the node lock.
pub(crate) fn wants_node_lock(pod: &Pod, nvidia: &Nvidia) -> bool {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers.any(|container| of_container(container, nvidia).is_some())
}

fn amount<'a>(container: &'a Container, resource: &str) -> Option<&'a Quantity> {
    let resources = container.resources.as_ref()?;
    let of = |list: &'a Option<BTreeMap<String, Quantity>>| list.as_ref()?.get(resource);
    of(&resources.limits).or_else(|| of(&resources.requests))
}

fn of_container(container: &Container, nvidia: &Nvidia) -> Option<CardRequest> {
    let whole =
        |resource: &str| amount(container, resource).map(|amount| quantity::whole(&amount.0));
    let cards = i32::try_from(whole(&nvidia.count)??)
        .ok()
        .filter(|cards| *cards > 0)?;
    let mut mem_mib = 0;
    if let Some(asked) = whole(&nvidia.memory) {
        // A memory request that cannot be met to the letter makes the container ask for no card at all.
        let asked = asked.and_then(|mib| mib.checked_mul(nvidia.memory_factor.max(1).into()));
        mem_mib = i32::try_from(asked?).ok().filter(|mib| *mib >= 0)?;
    }
    let mut mem_percent = match whole(&nvidia.memory_percent) {
        // Cannot fail: the value is clamped into 1..=100.
        Some(Some(percent)) if percent > 0 => i32::try_from(percent.min(100)).unwrap_or(100),
        _ => NO_PERCENT,
    };
    if mem_percent == NO_PERCENT && mem_mib == 0 {
        if nvidia.default_mem_mib == 0 {
            mem_percent = 100;
        } else {
            mem_mib = nvidia.default_mem_mib;
        }
    }
    let cores = whole(&nvidia.cores)
        .flatten()
        .and_then(|cores| i32::try_from(cores).ok());
    Some(CardRequest {
        cards,
        mem_mib,
        mem_percent,
        cores: cores.unwrap_or(nvidia.default_cores),
    })
}

/// An annotation of an object; empty text counts as given.
pub(crate) fn annotation<'a>(
    metadata: &'a k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    key: &str,
) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Whether a pod wants all of a container's cards on one NUMA node.
pub(crate) fn numa_bind(pod: &Pod) -> bool {
    let value = annotation(&pod.metadata, names::NUMA_BIND);
    value.is_some_and(|value| matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"))
}

/// Weights of the three parts of a card's score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weights {
    /// Weight of shares in use.
    pub slot: i64,
    /// Weight of cores in use.
    pub core: i64,
    /// Weight of memory in use.
    pub memory: i64,
}

/// A pod's scoring weights; all are 1 by default.
///
/// # Errors
/// The annotation is not `slot=N,core=N,memory=N` with whole numbers from 0, of which one is above 0.
pub(crate) fn weights(pod: &Pod) -> Result<Weights, String> {
    let Some(text) = annotation(&pod.metadata, names::SCORING_WEIGHTS) else {
        return Ok(Weights {
            slot: 1,
            core: 1,
            memory: 1,
        });
    };
    let bad = |what: &str| {
        format!(
            "invalid {} annotation {text:?}: {what}",
            names::SCORING_WEIGHTS
        )
    };
    let mut given: BTreeMap<&str, i64> = BTreeMap::new();
    for part in text.split(',') {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| bad("an entry is no key=value"))?;
        let value = value.trim().parse::<i64>().ok().filter(|value| *value >= 0);
        let value = value.ok_or_else(|| bad("a weight is no whole number from 0"))?;
        if given.insert(key.trim(), value).is_some() {
            return Err(bad("a weight is given twice"));
        }
    }
    match given.into_iter().collect::<Vec<_>>().as_slice() {
        [("core", 0), ("memory", 0), ("slot", 0)] => Err(bad("every weight is 0")),
        &[("core", core), ("memory", memory), ("slot", slot)] => Ok(Weights { slot, core, memory }),
        _ => Err(bad("it must give slot, core and memory")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{nvidia, pod};
    use serde_json::json;

    fn first(limits: &serde_json::Value) -> Option<CardRequest> {
        let pod = pod(&json!([{ "name": "main", "resources": { "limits": limits } }]));
        of_pod(&pod, &nvidia()).remove(0)
    }

    #[test]
    fn whole_cards_tenths_and_percentages() {
        assert_eq!(
            first(&json!({"nvidia.com/gpu": "8"})),
            Some(CardRequest {
                cards: 8,
                mem_mib: 0,
                mem_percent: 100,
                cores: 0
            })
        );
        assert_eq!(
            first(
                &json!({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "2456", "nvidia.com/gpucores": "10"})
            ),
            Some(CardRequest {
                cards: 1,
                mem_mib: 2456,
                mem_percent: NO_PERCENT,
                cores: 10
            })
        );
        let percent =
            first(&json!({"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "250"})).unwrap();
        assert_eq!(percent.mem_percent, 100);
        let zero =
            first(&json!({"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "0"})).unwrap();
        assert_eq!(
            zero.mem_percent, 100,
            "a percentage of 0 counts as none given"
        );
    }

    #[test]
    fn memory_that_is_no_whole_number_asks_for_no_card() {
        assert_eq!(
            first(&json!({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "0.5"})),
            None
        );
        assert_eq!(
            first(&json!({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "-1"})),
            None
        );
        assert_eq!(first(&json!({"nvidia.com/gpu": "0"})), None);
        assert_eq!(first(&json!({"cpu": "1"})), None);
    }

    #[test]
    fn init_containers_come_first_and_need_no_lock_alone() {
        let mut pod = pod(&json!([{ "name": "main" }]));
        let gpu =
            json!({ "name": "prepare", "resources": { "requests": { "nvidia.com/gpu": "2" } } });
        pod.spec.as_mut().unwrap().init_containers =
            Some(vec![serde_json::from_value(gpu).unwrap()]);
        let requests = of_pod(&pod, &nvidia());
        assert_eq!(
            requests.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, false]
        );
        assert!(!wants_node_lock(&pod, &nvidia()));
    }

    #[test]
    fn weights_are_taken_whole_or_refused() {
        let mut pod = pod(&json!([]));
        assert_eq!(
            weights(&pod).unwrap(),
            Weights {
                slot: 1,
                core: 1,
                memory: 1
            }
        );
        for (text, good) in [
            ("slot=1,core=2,memory=3", true),
            ("slot=0,core=0,memory=0", false),
            ("slot=1,core=2", false),
            ("slot=1,core=2,disk=3", false),
            ("slot=1,slot=2,core=1", false),
            ("slot=-1,core=2,memory=3", false),
        ] {
            pod.metadata.annotations =
                Some([(names::SCORING_WEIGHTS.to_owned(), text.to_owned())].into());
            assert_eq!(weights(&pod).is_ok(), good, "{text}");
        }
    }
}
