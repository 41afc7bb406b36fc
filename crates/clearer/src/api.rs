//! The few calls that clearing makes, as a seam for tests.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::Value;
use tokio::sync::watch;

use super::facts::World;

/// Why a call failed, in the terms that clearing acts on.
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
    /// The Lease is not held (any more).
    #[error("the Lease is not held")]
    NotLeader,
    /// Worth another try: a time-out, a lost connection, an unavailable server or webhook.
    #[error("{0}")]
    Transient(String),
}

/// The cluster as clearing sees it.
///
/// [`Api::world`] comes from watches and may be a moment old; the `list_` and `get_` calls are answered from the
/// store's current state. Every write is refused once the Lease is lost.
pub trait Api: Clone + Send + Sync + 'static {
    /// What the watches have seen.
    fn world(&self) -> Arc<World>;
    /// Changes whenever [`Api::world`] does.
    fn changes(&self) -> watch::Receiver<u64>;
    /// Wall-clock time.
    fn now(&self) -> Timestamp;
    /// One node as it is now.
    fn get_node(&self, name: &str) -> impl Future<Output = Result<Node, ApiError>> + Send;
    /// The pods bound to a node as it is now.
    fn list_bound(&self, node: &str) -> impl Future<Output = Result<Vec<Pod>, ApiError>> + Send;
    /// JSON merge patch of a node.
    fn patch_node(
        &self,
        name: &str,
        patch: &Value,
    ) -> impl Future<Output = Result<Node, ApiError>> + Send;
    /// JSON merge patch of a pod.
    fn patch_pod(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// JSON merge patch of a Workload.
    fn patch_workload(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// Eviction of the pod with this UID.
    fn evict(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// The Lease, if it exists.
    fn get_lease(&self) -> impl Future<Output = Result<Option<Lease>, ApiError>> + Send;
    /// Creates (no resourceVersion) or replaces the Lease; a conflict means that another was faster.
    fn put_lease(&self, lease: &Lease) -> impl Future<Output = Result<(), ApiError>> + Send;
}

/// Repeats a call until it succeeds or fails for good: transient failures only, 0.2 s to 5 s apart.
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
