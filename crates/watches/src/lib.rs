//! Watches of a cluster's objects, for the programs that follow them: the extender, the clearer and the harness. In: a client
//! and what to ask for. Out: changes in their order, a broken watch being resumed after a growing pause.
//!
//! Reading a Pod or a Node from JSON is more code than most of our crates have. It is compiled here, once.

use std::fmt::Debug;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

/// Lists and changes of objects. It ends never; an error is followed by another attempt.
pub type Changes<K> = BoxStream<'static, watcher::Result<Event<K>>>;

/// Every pod of the cluster that `config` selects.
#[must_use]
pub fn pods(client: &Client, config: Config) -> Changes<Pod> {
    of(Api::all(client.clone()), config)
}

/// Every node of the cluster that `config` selects.
#[must_use]
pub fn nodes(client: &Client, config: Config) -> Changes<Node> {
    of(Api::all(client.clone()), config)
}

/// Objects of another kind.
#[must_use]
pub fn of<K>(api: Api<K>, config: Config) -> Changes<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    watcher::watcher(api, config).default_backoff().boxed()
}
