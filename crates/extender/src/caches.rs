//! Local copies of the cluster's objects. In: a watch, which bypasses the client limit as in client-go. Out: the newest known
//! object by name, and each change once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use kube::Resource;
use kube::runtime::watcher::Event;
use tokio::sync::oneshot;
use watches::Changes;

use super::api::lock;

/// Objects by namespace and name.
#[derive(Debug)]
pub(crate) struct Cache<K>(Mutex<HashMap<String, Arc<K>>>);

/// A change that a watch showed.
#[derive(Debug)]
pub(crate) enum Change<K> {
    /// Not known before.
    Added(Arc<K>),
    /// Known before as the first of the two.
    Updated(Arc<K>, Arc<K>),
    /// Gone, in its last known state.
    Removed(Arc<K>),
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

impl<K> Default for Cache<K> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K> Cache<K> {
    /// The newest known object.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        lock(&self.0).get(&key(namespace, name)).cloned()
    }

    /// All known objects.
    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        lock(&self.0).values().cloned().collect()
    }

    /// Stores an object under its key.
    pub(crate) fn put(&self, key: String, object: Arc<K>) -> Change<K> {
        match lock(&self.0).insert(key, object.clone()) {
            None => Change::Added(object),
            Some(old) => Change::Updated(old, object),
        }
    }

    /// Removes all objects that are not listed, and returns them.
    fn retain(&self, listed: &HashSet<String>) -> Vec<Arc<K>> {
        let mut objects = lock(&self.0);
        let gone = objects.extract_if(|key, _| !listed.contains(key));
        gone.map(|(_, object)| object).collect()
    }
}

/// Keeps a cache up to date for ever, and says once that it is complete. The watcher resumes a broken watch, and what was
/// missed meanwhile comes as changes.
pub(crate) async fn follow<K>(
    mut events: Changes<K>,
    cache: Arc<Cache<K>>,
    complete: oneshot::Sender<()>,
    mut tell: impl FnMut(Change<K>),
) where
    K: Resource,
{
    let mut listed = HashSet::new();
    let mut complete = Some(complete);
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => {
                let (key, object) = slim(object);
                listed.insert(key.clone());
                tell(cache.put(key, object));
            }
            Ok(Event::InitDone) => {
                for gone in cache.retain(&listed) {
                    tell(Change::Removed(gone));
                }
                listed.clear();
                if let Some(complete) = complete.take() {
                    // Nobody waits any more only when the process is ending.
                    let _ = complete.send(());
                }
            }
            Ok(Event::Apply(object)) => {
                let (key, object) = slim(object);
                tell(cache.put(key, object));
            }
            Ok(Event::Delete(object)) => {
                let (key, object) = slim(object);
                lock(&cache.0).remove(&key);
                tell(Change::Removed(object));
            }
            Err(error) => tracing::warn!("watch: {error}"),
        }
    }
}

/// An object with its key, without its managed fields, which need more memory than the rest.
fn slim<K: Resource>(mut object: K) -> (String, Arc<K>) {
    let meta = object.meta_mut();
    meta.managed_fields = None;
    let key = key(
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default(),
    );
    (key, Arc::new(object))
}
