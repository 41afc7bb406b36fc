//! The watches: they pass events from the API server to the state machine, each with the time at which it is read.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::clock::Clock;
use super::objects::{Kind, Slim, TENANT_LABEL, Watched};
use super::state::{Event, Object, ObjectKind};

/// Pause after an error before the watch resumes. It is short, so that few events get a late time, and long enough not to
/// burn a core while the API server is down.
const RETRY: Duration = Duration::from_millis(200);

/// Errors and progress of the watches themselves.
#[derive(Debug, Default)]
pub struct WatchHealth {
    /// Errors after which a watch resumed. Without a re-list nothing is lost, only late.
    pub interruptions: AtomicU32,
    /// Says that a watch's first list is complete.
    pub listed: Notify,
}

/// Objects of one kind, as they are watched.
pub(crate) fn objects<V>(
    client: &Client,
    labelled: bool,
) -> impl Stream<Item = watcher::Result<watcher::Event<Watched<V>>>> + Send + use<V>
where
    V: Kind + From<Slim> + Clone + Debug + Send + Sync + 'static,
    Watched<V>: DeserializeOwned,
{
    let api: Api<Watched<V>> = Api::all(client.clone());
    let mut config = watcher::Config::default();
    if labelled {
        config = config.labels(TENANT_LABEL);
    }
    watcher(api, config)
}

/// Passes the events of `stream` to `sink`, each with its time, for ever.
pub(crate) async fn follow<V>(
    stream: impl Stream<Item = watcher::Result<watcher::Event<Watched<V>>>> + Send,
    kind: ObjectKind,
    wrap: fn(V) -> Object,
    clock: Clock,
    health: Arc<WatchHealth>,
    sink: impl Fn(Event, f64) + Send,
) {
    let mut stream = std::pin::pin!(stream);
    while let Some(item) = stream.next().await {
        let at = clock.now_secs();
        match item {
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                sink(Event::Seen(wrap(object.view)), at);
            }
            Ok(watcher::Event::Delete(object)) => sink(Event::Gone(wrap(object.view)), at),
            Ok(watcher::Event::Init) => sink(Event::ListStarted(kind), at),
            Ok(watcher::Event::InitDone) => {
                sink(Event::ListDone(kind), at);
                health.listed.notify_one();
            }
            Err(error) => {
                tracing::debug!(%error, ?kind, "watch interrupted");
                health.interruptions.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
