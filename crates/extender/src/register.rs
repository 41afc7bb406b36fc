//! Node registration. In: nodes as watched. Out: handshakes, and the cards that can be given to pods.
//!
//! A round runs when a node comes or goes, when this host is elected, and every 15 s. In a round each node is asked about five
//! vendors. A vendor without a pending handshake costs a GET and a PATCH. So at start a cluster without handshakes costs ten
//! calls per node. Meanwhile `/filter` waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use tokio::time::MissedTickBehavior;

use super::api::lock;
use super::cards::{self, NodeUse};
use super::request::annotation;
use super::server::Extender;
use super::{names, quantity};

const PERIOD: Duration = Duration::from_secs(15);
/// Age at which a handshake counts as unanswered.
const HANDSHAKE_AGE: SignedDuration = SignedDuration::from_secs(60);
const DATE_TIME: &str = "%Y-%m-%d %H:%M:%S";

/// The state of registration. Filters wait for it.
#[derive(Debug, Default)]
pub(crate) struct Registration {
    /// A round has ended since this process was last elected.
    pub synced: bool,
    /// Cards in use at the end of the last round, for metrics.
    pub overview: HashMap<String, NodeUse>,
    /// Each node's number of shares and report, when last read.
    reported: HashMap<String, (i64, Option<String>)>,
}

impl Registration {
    /// Forgets a node that is gone.
    pub(crate) fn forget(&mut self, node: &str) {
        self.overview.remove(node);
        self.reported.remove(node);
    }
}

/// Runs rounds for ever.
pub(crate) async fn run(extender: Arc<Extender>) {
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + PERIOD, PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = extender.nodes_changed.notified() => {}
            () = extender.elected.notified() => {}
            _ = ticks.tick() => {}
        }
        // A nudge that comes before the caches are complete is lost, as it is in HAMi.
        if extender.is_started() {
            round(&extender).await;
        }
    }
}

async fn round(extender: &Extender) {
    let mut registration = extender.registration.write().await;
    if !extender.is_leader() {
        return;
    }
    for node in extender.nodes.all() {
        if !extender.settings.registers(&node) {
            continue;
        }
        register(extender, &mut registration, &node).await;
        for handshake in names::OTHER_HANDSHAKES {
            shake(extender, &node, handshake).await;
        }
    }
    registration.overview = lock(&extender.accounts).usage();
    registration.synced = true;
}

async fn register(extender: &Extender, registration: &mut Registration, node: &Arc<Node>) {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let cards = cards::of_node(node);
    let (healthy, changed) = check(extender, registration, node, name).await;
    if !healthy {
        if lock(&extender.accounts).nodes.contains_key(name) {
            tracing::error!(node = name, "cards are gone; the node is taken out");
            registration.reported.remove(name);
            withdraw(extender, name).await;
            lock(&extender.accounts).nodes.remove(name);
        }
        return;
    }
    match cards {
        Ok(cards) if changed => {
            let nodes = &mut lock(&extender.accounts).nodes;
            if nodes.insert(name.to_owned(), cards).is_none() {
                tracing::info!(node = name, "registered");
            }
        }
        Ok(_) => {}
        Err(error) => tracing::debug!(node = name, "no cards: {error}"),
    }
}

/// Whether a node's cards may be used, and whether its report must be read again.
async fn check(
    extender: &Extender,
    registration: &mut Registration,
    node: &Node,
    name: &str,
) -> (bool, bool) {
    let (answered, shaken) = shake(extender, node, names::HANDSHAKE).await;
    let shares = allocatable(node, &extender.settings.nvidia.count);
    let report = annotation(&node.metadata, names::NODE_REGISTER).map(str::to_owned);
    let known = registration.reported.get(name).cloned().unwrap_or_default();
    let now = (shares, report);
    let verdict = match (shares, known.0) {
        (0, 0) => return (answered, shaken),
        (0, _) => (false, shaken),
        (shares, known_shares) if shares != known_shares => (true, true),
        _ if known.1 != now.1 => (answered, true),
        _ => return (answered, shaken),
    };
    registration.reported.insert(name.to_owned(), now);
    verdict
}

/// Whether a vendor's device plugin still answers (or was just asked), and whether it was just asked.
async fn shake(extender: &Extender, node: &Node, handshake: &str) -> (bool, bool) {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let text = annotation(&node.metadata, handshake).unwrap_or_default();
    if text.contains("Requesting") {
        let expired =
            asked_at(text).is_some_and(|at| Zoned::now().duration_since(&at) >= HANDSHAKE_AGE);
        let has_cards = allocatable(node, &extender.settings.nvidia.count) > 0;
        return (!expired || has_cards, false);
    }
    if let Err(error) = extender.calls.get_node(name).await {
        tracing::error!(node = name, "handshake: {error}");
        return (true, false);
    }
    let asked = format!("Requesting_{}", Zoned::now().strftime(DATE_TIME));
    let patch = json!({ "metadata": { "annotations": { (handshake): asked } } });
    if let Err(error) = extender.calls.patch_node(name, &patch).await {
        tracing::error!(node = name, "handshake: {error}");
    }
    (true, true)
}

/// When a plugin was asked, in local time, as HAMi writes it.
fn asked_at(text: &str) -> Option<Zoned> {
    let (_, stamp) = text.split_once('_')?;
    let at = DateTime::strptime(DATE_TIME, stamp).ok()?;
    at.to_zoned(TimeZone::system()).ok()
}

fn allocatable(node: &Node, resource: &str) -> i64 {
    let amounts = node.status.iter().flat_map(|status| &status.allocatable);
    let mut amount = amounts.filter_map(|amounts| amounts.get(resource));
    amount
        .find_map(|amount| quantity::whole(&amount.0))
        .unwrap_or(0)
}

async fn withdraw(extender: &Extender, node: &str) {
    let patch = json!({ "metadata": { "annotations": { (names::HANDSHAKE): null } } });
    let mut done = extender.calls.get_node(node).await;
    if done.is_ok() {
        done = extender.calls.patch_node(node, &patch).await;
    }
    if let Err(error) = done {
        tracing::error!(node, "handshake not withdrawn: {error}");
    }
}

/// Waits until a round has ended; `false` if the caller gave up before. A caller that gives up during a round is served all
/// the same after it, since HAMi does not check its caller while it waits for the lock.
pub(crate) async fn wait_synced(
    extender: &Extender,
    gave_up: &tokio_util::sync::CancellationToken,
) -> bool {
    const POLL: Duration = Duration::from_millis(100);
    loop {
        if extender.registration.read().await.synced {
            return true;
        }
        tokio::select! {
            () = gave_up.cancelled() => return false,
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_handshake_and_no_other() {
        let now = Zoned::now();
        let text = format!("Requesting_{}", now.strftime(DATE_TIME));
        let age = now.duration_since(&asked_at(&text).unwrap());
        assert!(age < SignedDuration::from_secs(2), "{age:?}");
        assert!(asked_at("Requesting").is_none());
        assert!(asked_at("Requesting_soon").is_none());
    }
}
