//! The few calls of the API server that a clearing makes, behind a trait so that tests can replace the cluster.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::Value;
use tokio::sync::watch;

use super::facts::World;

/// Why a call failed, told apart as far as clearing acts on it.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum ApiError {
    /// The object is gone (or is another one by the same name).
    #[error("not found")]
    NotFound,
    /// The object has changed since it was read.
    #[error("changed meanwhile")]
    Conflict,
    /// A `PodDisruptionBudget` forbids the eviction for now.
    #[error("a PodDisruptionBudget forbids it for now")]
    Budget,
    /// The API server refuses, and would refuse again.
    #[error("refused: {0}")]
    Refused(String),
    /// This process does not hold the Lease.
    #[error("the Lease is not held")]
    NotLeader,
    /// The same call may succeed later: a time-out, a lost connection, an unavailable server or webhook.
    #[error("{0}")]
    Transient(String),
}

/// The cluster as clearing sees it.
///
/// [`Api::world`] comes from watches and may be a moment old. The `list_` and `get_` calls read the current state from the
/// API server. Every write is refused once the Lease is lost.
pub trait Api: Clone + Send + Sync + 'static {
    /// What the watches have seen.
    fn world(&self) -> Arc<World>;
    /// Changes whenever [`Api::world`] does.
    fn changes(&self) -> watch::Receiver<u64>;
    /// Wall-clock time.
    fn now(&self) -> Timestamp;
    /// Reads a node from the API server.
    fn get_node(&self, name: &str) -> impl Future<Output = Result<Node, ApiError>> + Send;
    /// Lists the pods bound to a node, read from the API server.
    fn list_bound(&self, node: &str) -> impl Future<Output = Result<Vec<Pod>, ApiError>> + Send;
    /// Applies a JSON merge patch to a node.
    fn patch_node(
        &self,
        name: &str,
        patch: &Value,
    ) -> impl Future<Output = Result<Node, ApiError>> + Send;
    /// Applies a JSON merge patch to a pod.
    fn patch_pod(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// Applies a JSON merge patch to a Workload.
    fn patch_workload(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// Evicts the pod with this UID.
    fn evict(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// The Lease, if it exists.
    fn get_lease(&self) -> impl Future<Output = Result<Option<Lease>, ApiError>> + Send;
    /// Creates the Lease (if it has no resourceVersion) or replaces it. A conflict means that another process was faster.
    fn put_lease(&self, lease: &Lease) -> impl Future<Output = Result<(), ApiError>> + Send;
}

/// Repeats a call until it succeeds or fails for good. Only transient failures are repeated, 0.2 s to 5 s apart.
///
/// # Errors
///
/// The first failure that is not transient.
pub async fn persist<T, F, Fut>(mut call: F) -> Result<T, ApiError>
where
    F: FnMut() -> Fut + Send,
    Fut: Future<Output = Result<T, ApiError>> + Send,
{
    let mut pause = Duration::from_millis(200);
    loop {
        match call().await {
            Err(ApiError::Transient(why)) => {
                tracing::warn!("{why}; trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            other => return other,
        }
    }
}
