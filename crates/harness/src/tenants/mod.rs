//! Teams as Kubernetes and Kueue objects.
//!
//! In: a [`Plan`]. Out: the objects that give each team its namespace, machines and quota, and the object of each Job. Only
//! [`apply`], [`create`] and [`admissible`] call the API server. When a Job is submitted is decided elsewhere.

mod admissible;
mod apply;
mod workload;

use serde_json::{Value, json};

use crate::cluster::TOTAL_GPUMEM;
use plan::{CARD_MEMORY_MIB, Plan, QuotaPlan, QuotaUnit, TenantPlan};

pub use admissible::{NotAdmissible, admissible};
pub use apply::{ApplyError, apply, create};
pub use workload::{
    GROUP_LABEL, IMAGE_ANNOTATION, NAME_LABEL, PULL_FOR_ANNOTATION, RUN_FOR_ANNOTATION,
    START_AT_ANNOTATION, TENANT_LABEL, job,
};

/// Group and version of the Kueue objects written here.
pub const KUEUE_API: &str = "kueue.x-k8s.io/v1beta2";

/// Name of the ResourceFlavor that covers every machine.
const EVERY_NODE_FLAVOR: &str = "all-nodes";

/// Every object the plan's teams need, in the order in which they must be created.
pub fn objects(plan: &Plan) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut flavors: Vec<&Option<String>> = Vec::new();
    for tenant in plan.tenants.iter().filter(|t| t.quota.is_some()) {
        if !flavors.contains(&&tenant.group) {
            flavors.push(&tenant.group);
        }
    }
    objects.extend(flavors.iter().map(|group| flavor(group.as_deref())));
    let mut priorities: Vec<i32> = plan.tenants.iter().map(|t| t.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    objects.extend(priorities.into_iter().map(priority_class));
    for tenant in &plan.tenants {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": tenant.name, "labels": { TENANT_LABEL: tenant.name } },
        }));
        if let Some(quota) = &tenant.quota {
            objects.push(cluster_queue(tenant, quota, plan.kueue.quota_unit));
            objects.push(json!({
                "apiVersion": KUEUE_API, "kind": "LocalQueue",
                "metadata": { "name": tenant.name, "namespace": tenant.name },
                "spec": { "clusterQueue": tenant.name },
            }));
        }
    }
    objects
}

fn flavor_name(group: Option<&str>) -> &str {
    group.unwrap_or(EVERY_NODE_FLAVOR)
}

fn flavor(group: Option<&str>) -> Value {
    let mut flavor = json!({
        "apiVersion": KUEUE_API, "kind": "ResourceFlavor",
        "metadata": { "name": flavor_name(group) },
        "spec": {},
    });
    if let Some(group) = group {
        flavor["spec"]["nodeLabels"] = json!({ GROUP_LABEL: group });
    }
    flavor
}

/// Name of the `WorkloadPriorityClass` of a priority.
fn priority_class_name(value: i32) -> String {
    match value {
        ..0 => format!("minus-{}", value.unsigned_abs()),
        0.. => format!("priority-{value}"),
    }
}

fn priority_class(value: i32) -> Value {
    json!({
        "apiVersion": KUEUE_API, "kind": "WorkloadPriorityClass",
        "metadata": { "name": priority_class_name(value) },
        "value": value,
    })
}

/// The resources that a ClusterQueue counts, and how much of each one card is.
fn counted(unit: QuotaUnit) -> Vec<(&'static str, u32)> {
    let cards = ("nvidia.com/gpu", 1);
    let memory = (TOTAL_GPUMEM, CARD_MEMORY_MIB);
    match unit {
        QuotaUnit::Cards => vec![cards],
        // The units differ in how Kueue computes a pod's charge, not in the resource charged.
        QuotaUnit::Memory | QuotaUnit::MemoryRaw => vec![memory],
        QuotaUnit::Both => vec![cards, memory],
    }
}

fn cluster_queue(tenant: &TenantPlan, quota: &QuotaPlan, unit: QuotaUnit) -> Value {
    let counted = counted(unit);
    let resources: Vec<Value> = counted
        .iter()
        .map(|(name, worth)| {
            let amount = |cards: u32| (u64::from(cards) * u64::from(*worth)).to_string();
            let mut resource = json!({ "name": name, "nominalQuota": amount(quota.nominal_cards) });
            // Without a cohort there is nobody to borrow from, and Kueue refuses limits.
            if quota.cohort.is_some() {
                if let Some(cards) = quota.borrowing_limit_cards {
                    resource["borrowingLimit"] = json!(amount(cards));
                }
                if let Some(cards) = quota.lending_limit_cards {
                    resource["lendingLimit"] = json!(amount(cards));
                }
            }
            resource
        })
        .collect();
    let mut queue = json!({
        "apiVersion": KUEUE_API, "kind": "ClusterQueue",
        "metadata": { "name": tenant.name },
        "spec": {
            // An empty selector matches every namespace. null would match none.
            "namespaceSelector": {},
            "resourceGroups": [{
                "coveredResources": counted.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                "flavors": [{ "name": flavor_name(tenant.group.as_deref()), "resources": resources }],
            }],
            "preemption": {
                "reclaimWithinCohort": quota.reclaim_within_cohort,
                "withinClusterQueue": quota.within_cluster_queue,
            },
        },
    });
    if let Some(cohort) = &quota.cohort {
        queue["spec"]["cohortName"] = json!(cohort);
    }
    queue
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{self, Overrides};

    #[test]
    fn every_memory_unit_is_counted_under_the_name_that_kueue_gives_it() {
        let experiment = plan::load("quota-unit").unwrap();
        let covered = |arm: &str| {
            let overrides = Overrides {
                arms: vec![arm.into()],
                ..Overrides::default()
            };
            let plan = plan::plans(&experiment, &overrides).unwrap().remove(0);
            let queue = objects(&plan)
                .into_iter()
                .find(|o| o["kind"] == "ClusterQueue")
                .unwrap();
            let group = &queue["spec"]["resourceGroups"][0];
            (
                group["coveredResources"].clone(),
                group["flavors"][0]["resources"][0]["nominalQuota"].clone(),
            )
        };
        let memory = (json!([TOTAL_GPUMEM]), json!("245640"));
        assert_eq!(covered("memory"), memory);
        assert_eq!(covered("memory-raw"), memory);
        assert_eq!(covered("cards"), (json!(["nvidia.com/gpu"]), json!("10")));
        assert_eq!(covered("both").0, json!(["nvidia.com/gpu", TOTAL_GPUMEM]));
    }
}
