//! Waits until the teams' ClusterQueues admit Jobs.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use plan::Plan;

/// How often the ClusterQueues are read.
const POLL: Duration = Duration::from_millis(50);

/// How long Kueue may take. It needs well under a second if it works at all.
const LIMIT: Duration = Duration::from_secs(30);

/// A ClusterQueue does not admit.
#[derive(Debug, thiserror::Error)]
#[error("ClusterQueue {name} is not active after {} s: {reason}", LIMIT.as_secs())]
pub struct NotAdmissible {
    name: String,
    reason: String,
}

/// Waits until every team's ClusterQueue is active, so that its first Job can be admitted.
///
/// # Errors
/// Names the first ClusterQueue that does not become active, with Kueue's reason.
pub async fn admissible(client: &Client, plan: &Plan) -> Result<(), NotAdmissible> {
    let kind = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", "ClusterQueue");
    let queues: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let deadline = tokio::time::Instant::now() + LIMIT;
    for tenant in plan.tenants.iter().filter(|t| t.quota.is_some()) {
        loop {
            let reason = match queues.get(&tenant.name).await {
                Ok(queue) => match inactive(&queue.data) {
                    None => break,
                    Some(reason) => reason,
                },
                Err(error) => error.to_string(),
            };
            if tokio::time::Instant::now() > deadline {
                return Err(NotAdmissible {
                    name: tenant.name.clone(),
                    reason,
                });
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

/// Why a ClusterQueue is not active; `None` if it is.
fn inactive(queue: &Value) -> Option<String> {
    let conditions = queue
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let active = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Active");
    match active {
        Some(condition) if condition["status"] == "True" => None,
        Some(condition) => Some(
            condition["message"]
                .as_str()
                .unwrap_or("no reason given")
                .to_owned(),
        ),
        None => Some("Kueue has not looked at it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_active_condition_that_is_true_admits() {
        let with = |conditions: Value| inactive(&json!({ "status": { "conditions": conditions } }));
        assert_eq!(with(json!([{ "type": "Active", "status": "True" }])), None);
        let stopped = json!([{ "type": "Active", "status": "False", "message": "FlavorNotFound" }]);
        assert_eq!(with(stopped).as_deref(), Some("FlavorNotFound"));
        assert!(inactive(&json!({})).is_some());
    }
}
