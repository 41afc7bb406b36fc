//! Events about pods. In: decisions. Out: events in the API server, one after the other, under the same client limit as every
//! other call. So under load they take tokens from binds, as HAMi's do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt as _;
use tokio::sync::mpsc;

use super::api::{CallError, Calls};
use super::correlator::{Correlator, Outcome};

/// How many events may wait; more are dropped (client-go's value).
const QUEUE: usize = 1000;
/// How often an event without an answer is tried, and the pause between tries (client-go's values).
const TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_secs(10);

/// What happened to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A node was found.
    FilteringSucceed,
    /// None was found, or the decision could not be written.
    FilteringFailed,
    /// It was bound.
    BindingSucceed,
    /// It was not bound.
    BindingFailed,
}

impl Reason {
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::FilteringSucceed => ("Normal", "FilteringSucceed"),
            Self::FilteringFailed => ("Warning", "FilteringFailed"),
            Self::BindingSucceed => ("Normal", "BindingSucceed"),
            Self::BindingFailed => ("Warning", "BindingFailed"),
        }
    }
}

/// Accepts events without making the caller wait.
#[derive(Debug)]
pub(crate) struct Recorder {
    component: String,
    queue: mpsc::Sender<Event>,
}

impl Recorder {
    /// Starts the writer; `component` is the name that events carry.
    pub(crate) fn start(calls: Arc<Calls>, component: &str) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(write_all(calls, waiting));
        Self {
            component: component.to_owned(),
            queue,
        }
    }

    /// Records what happened to a pod.
    pub(crate) fn record(&self, pod: &Pod, reason: Reason, message: &str) {
        let (kind, reason) = reason.texts();
        tracing::debug!(pod = pod.metadata.name, reason, "{message}");
        let event = new_event(pod, &self.component, kind, reason, message);
        if self.queue.try_send(event).is_err() {
            tracing::warn!("too many events are waiting; one is dropped");
        }
    }
}

/// An event about a pod that happened now.
pub(crate) fn new_event(
    pod: &Pod,
    component: &str,
    kind: &str,
    reason: &str,
    message: &str,
) -> Event {
    let now = Timestamp::now();
    // Events carry whole seconds.
    let stamp = Timestamp::from_second(now.as_second()).map(Time).ok();
    let of = &pod.metadata;
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", pod.name_any(), now.as_nanosecond())),
            namespace: Some(of.namespace.clone().unwrap_or_else(|| "default".to_owned())),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: of.namespace.clone(),
            name: of.name.clone(),
            uid: of.uid.clone(),
            resource_version: of.resource_version.clone(),
            ..ObjectReference::default()
        },
        type_: Some(kind.to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        count: Some(1),
        first_timestamp: stamp.clone(),
        last_timestamp: stamp,
        source: Some(EventSource {
            component: Some(component.to_owned()),
            host: None,
        }),
        reporting_component: Some(component.to_owned()),
        ..Event::default()
    }
}

async fn write_all(calls: Arc<Calls>, mut waiting: mpsc::Receiver<Event>) {
    let mut correlator = Correlator::default();
    while let Some(event) = waiting.recv().await {
        let Some(outcome) = correlator.correlate(event, Instant::now()) else {
            continue;
        };
        for tried in 1..=TRIES {
            match write(&calls, &outcome).await {
                Ok(stored) => correlator.stored(&stored),
                // The server has answered; asking again changes nothing.
                Err(error) if error.code.is_some() => tracing::debug!("event refused: {error}"),
                Err(error) => {
                    tracing::warn!("event not written: {error}");
                    let share = if tried == 1 { rand::random() } else { 1.0 };
                    tokio::time::sleep(PAUSE.mul_f64(share)).await;
                    continue;
                }
            }
            break;
        }
    }
}

async fn write(calls: &Calls, outcome: &Outcome) -> Result<Event, CallError> {
    let meta = &outcome.event.metadata;
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    if let Some(patch) = &outcome.patch {
        let name = outcome.event.name_any();
        match calls.patch_event(namespace, &name, patch).await {
            Err(error) if error.is_not_found() => {}
            done => return done,
        }
    }
    calls.create_event(namespace, &outcome.event).await
}
