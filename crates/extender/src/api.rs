//! The calls to the API server. Each waits for the shared client limit first.
//!
//! In: a kubeconfig and the limit. Out: one method for each call that HAMi makes. Watches bypass the limit, as in client-go. A
//! call is repeated only if the server asks for it (429 and 5xx with a time to wait), at most ten times, and each time it
//! waits for the limit. Nothing else is repeated here.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderValue, header::USER_AGENT};
use k8s_openapi::api::core::v1::{Binding, Event, Node, Pod};
use kube::Resource;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::limiter::Limiter;

/// How often a call is repeated if the server asks for it (client-go's value).
const MAX_RETRIES: u32 = 10;

/// Why a call failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CallError {
    /// The server's message, if there is one.
    pub message: String,
    /// HTTP status of the server's answer; `None` if there was none.
    pub code: Option<u16>,
}

impl CallError {
    /// The object does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == Some(404)
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self {
                message: status.message.clone(),
                code: Some(status.code),
            },
            other => Self {
                message: other.to_string(),
                code: None,
            },
        }
    }
}

/// A client whose calls share one limit.
pub(crate) struct Calls {
    client: kube::Client,
    limiter: Limiter,
    timeout: Option<Duration>,
}

impl Calls {
    /// Connects under a user agent of its own.
    ///
    /// # Errors
    /// The configuration's credentials cannot be used.
    pub(crate) fn connect(
        mut config: kube::Config,
        limiter: Limiter,
        timeout_secs: u64,
    ) -> anyhow::Result<Self> {
        config.headers.push((
            USER_AGENT,
            HeaderValue::from_static(interface::EXTENDER_USER_AGENT),
        ));
        // Retries of this layer would neither wait for the limit nor follow client-go's rules.
        config.default_retry = false;
        Ok(Self {
            client: kube::Client::try_from(config)?,
            limiter,
            timeout: (timeout_secs > 0).then(|| Duration::from_secs(timeout_secs)),
        })
    }

    /// The client itself, for watches.
    pub(crate) fn unlimited(&self) -> kube::Client {
        self.client.clone()
    }

    async fn limited<T, F>(&self, send: impl Fn() -> F) -> Result<T, CallError>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let mut retries = 0;
        loop {
            self.limiter.wait().await;
            let outcome = match self.timeout {
                None => send().await,
                Some(timeout) => {
                    tokio::time::timeout(timeout, send())
                        .await
                        .map_err(|_| CallError {
                            message: format!("no answer from the API server within {timeout:?}"),
                            code: None,
                        })?
                }
            };
            match outcome.as_ref().err().and_then(retry_after) {
                Some(pause) if retries < MAX_RETRIES => {
                    retries += 1;
                    tokio::time::sleep(pause).await;
                }
                _ => return Ok(outcome?),
            }
        }
    }

    fn namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.unlimited(), namespace)
    }

    async fn patch<K>(&self, api: Api<K>, name: &str, patch: Patch<&Value>) -> Result<K, CallError>
    where
        K: Clone + DeserializeOwned + std::fmt::Debug,
    {
        let params = PatchParams::default();
        self.limited(|| api.patch(name, &params, &patch)).await
    }

    /// GET a node.
    pub(crate) async fn get_node(&self, name: &str) -> Result<Node, CallError> {
        let api = Api::all(self.unlimited());
        self.limited(|| api.get(name)).await
    }

    /// GET a pod.
    pub(crate) async fn get_pod(&self, namespace: &str, name: &str) -> Result<Pod, CallError> {
        let api = self.namespaced(namespace);
        self.limited(|| api.get(name)).await
    }

    /// PATCH (merge) a node.
    pub(crate) async fn patch_node(&self, name: &str, patch: &Value) -> Result<Node, CallError> {
        let api = Api::all(self.unlimited());
        self.patch(api, name, Patch::Merge(patch)).await
    }

    /// PATCH (merge) a pod.
    pub(crate) async fn patch_pod(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Pod, CallError> {
        let api = self.namespaced(namespace);
        self.patch(api, name, Patch::Merge(patch)).await
    }

    /// POST a pod's binding.
    pub(crate) async fn bind(
        &self,
        namespace: &str,
        pod: &str,
        binding: &Binding,
    ) -> Result<(), CallError> {
        let api: Api<Pod> = self.namespaced(namespace);
        let post = PostParams::default();
        let _: IgnoredAny = self
            .limited(|| api.create_subresource("binding", pod, &post, binding))
            .await?;
        Ok(())
    }

    /// POST an event.
    pub(crate) async fn create_event(
        &self,
        namespace: &str,
        event: &Event,
    ) -> Result<Event, CallError> {
        let api = self.namespaced(namespace);
        let params = PostParams::default();
        self.limited(|| api.create(&params, event)).await
    }

    /// PATCH (strategic) an event.
    pub(crate) async fn patch_event(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Event, CallError> {
        let api = self.namespaced(namespace);
        self.patch(api, name, Patch::Strategic(patch)).await
    }
}

/// How long the server asks to wait before the call is repeated. The client does not pass on the header. So a 429 without a
/// time in its body counts as one second, which is the time in the API server's overload answer.
fn retry_after(error: &kube::Error) -> Option<Duration> {
    let kube::Error::Api(status) = error else {
        return None;
    };
    if status.code != 429 && status.code < 500 {
        return None;
    }
    let asked = status.details.as_ref().map(|it| it.retry_after_seconds);
    let secs = match asked.unwrap_or(0) {
        0 if status.code == 429 => 1,
        secs => secs,
    };
    (secs > 0).then(|| Duration::from_secs(secs.into()))
}

/// Locks a mutex. A panic elsewhere does not spoil its content, since every change is a single assignment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
