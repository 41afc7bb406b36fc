//! `ResourceQuota` for cards' memory and cores. In: quota objects, and what pods take. Out: whether a pod still fits.
//!
//! HAMi enforces `limits.<memory resource>` and `limits.<cores resource>` itself, since the API server cannot know how much
//! memory a whole card is.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::ResourceQuota;

use super::pod_devices::PodDevices;
use super::{names, quantity};

/// One resource in one namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Quota {
    /// Taken by pods.
    pub used: i64,
    /// The limit; `None` if there is none.
    pub limit: Option<i64>,
}

/// Limits and use by namespace, then by resource.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    memory: String,
    cores: String,
    memory_factor: i64,
    namespaces: HashMap<String, HashMap<String, Quota>>,
}

impl Quotas {
    /// Quotas of these two resources.
    pub(crate) fn new(memory: &str, cores: &str, memory_factor: i32) -> Self {
        Self {
            memory: memory.to_owned(),
            cores: cores.to_owned(),
            memory_factor: memory_factor.max(1).into(),
            namespaces: HashMap::new(),
        }
    }

    fn managed(&self, quota: &ResourceQuota) -> Vec<(String, i64)> {
        let hard = quota
            .spec
            .iter()
            .filter_map(|spec| spec.hard.as_ref())
            .flatten();
        hard.filter_map(|(key, amount)| {
            let resource = key.strip_prefix("limits.")?;
            let managed =
                !resource.is_empty() && (resource == self.memory || resource == self.cores);
            managed.then_some((resource.to_owned(), quantity::whole(&amount.0)?))
        })
        .collect()
    }

    /// Replaces the limits of a quota object's old state by those of its new one. Either may be missing.
    pub(crate) fn replace(&mut self, old: Option<&ResourceQuota>, new: Option<&ResourceQuota>) {
        for (quota, keep) in [(old, false), (new, true)] {
            let Some(quota) = quota else { continue };
            let namespace = quota.metadata.namespace.clone().unwrap_or_default();
            let managed = self.managed(quota);
            let resources = self.namespaces.entry(namespace).or_default();
            for (resource, limit) in managed {
                resources.entry(resource).or_default().limit = keep.then_some(limit);
            }
        }
    }

    /// Adds a pod's devices (`sign` 1) or subtracts them (`sign` -1).
    pub(crate) fn count(&mut self, namespace: &str, devices: &PodDevices, sign: i64) {
        let (mem, cores) = totals(devices);
        for (resource, amount) in [(&self.memory, mem), (&self.cores, cores)] {
            if !resource.is_empty() && devices.contains_key(names::NVIDIA) {
                let resources = self.namespaces.entry(namespace.to_owned()).or_default();
                let quota = resources.entry(resource.clone()).or_default();
                quota.used = (quota.used + sign * amount).max(0);
            }
        }
    }

    /// Whether a pod that takes these devices stays within its namespace's limits.
    pub(crate) fn fits(&self, namespace: &str, devices: &PodDevices) -> bool {
        let Some(resources) = self.namespaces.get(namespace) else {
            return true;
        };
        let (mem, cores) = totals(devices);
        let within = |resource: &str, amount: i64, factor: i64| {
            let quota = resources.get(resource).copied().unwrap_or_default();
            let limit = quota.limit.map(|limit| limit.saturating_mul(factor));
            limit.is_none_or(|limit| quota.used + amount <= limit)
        };
        within(&self.memory, mem, self.memory_factor) && within(&self.cores, cores, 1)
    }

    /// Everything known, for metrics.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str, Quota)> {
        self.namespaces.iter().flat_map(|(namespace, resources)| {
            resources
                .iter()
                .map(move |(resource, quota)| (namespace.as_str(), resource.as_str(), *quota))
        })
    }
}

fn totals(devices: &PodDevices) -> (i64, i64) {
    let shares = devices.get(names::NVIDIA).into_iter().flatten().flatten();
    let amounts = shares.map(|share| (i64::from(share.mem_mib), i64::from(share.cores)));
    amounts.fold((0, 0), |(mem, cores), (more_mem, more_cores)| {
        (mem + more_mem, cores + more_cores)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_devices::Share;
    use serde_json::json;

    fn devices(mem_mib: i32) -> PodDevices {
        let share = Share {
            uuid: "a".to_owned(),
            mem_mib,
            cores: 10,
            slots: 1,
        };
        PodDevices::from([(names::NVIDIA.to_owned(), vec![vec![share]])])
    }

    #[test]
    fn a_limit_binds_until_its_object_goes() {
        let quota: ResourceQuota = serde_json::from_value(json!({
            "metadata": { "name": "q", "namespace": "team" },
            "spec": { "hard": { "limits.nvidia.com/gpumem": "1000", "limits.cpu": "1" } },
        }))
        .unwrap();
        let mut quotas = Quotas::new("nvidia.com/gpumem", "nvidia.com/gpucores", 1);
        quotas.count("team", &devices(600), 1);
        assert!(quotas.fits("team", &devices(600)), "no limit yet");
        quotas.replace(None, Some(&quota));
        assert!(!quotas.fits("team", &devices(600)));
        assert!(quotas.fits("other", &devices(600)));
        quotas.count("team", &devices(600), -1);
        assert!(quotas.fits("team", &devices(1000)));
        assert!(!quotas.fits("team", &devices(1001)));
        quotas.replace(Some(&quota), None);
        assert!(quotas.fits("team", &devices(9999)));
    }
}
