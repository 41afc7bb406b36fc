//! Decides whether this process acts. In: kube-scheduler's Lease, as watched. Out: yes while its holder runs on this host.
//!
//! HAMi has no Lease of its own. In its chart it shares a pod, and so a host name, with the kube-scheduler it serves.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;

use super::api::lock;
use super::caches::Change;

/// What a change of the Lease means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// This host was just elected.
    Elected,
    /// This host lost it.
    Lost,
}

/// Follows one Lease.
#[derive(Debug)]
pub(crate) struct Leader {
    /// The beginning that the holder's identity must have.
    pub host: String,
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease's name.
    pub name: String,
    /// The Lease as last seen, and when.
    pub seen: Mutex<Option<(Lease, Instant)>>,
}

impl Leader {
    fn holds(&self, lease: &Lease) -> bool {
        let mut holder = lease.spec.iter().flat_map(|spec| &spec.holder_identity);
        holder.any(|holder| holder.starts_with(&self.host))
    }

    /// Handles a Lease that the watch showed.
    pub(crate) fn saw(&self, change: &Change<Lease>, now: Instant) -> Option<Turn> {
        let (Change::Added(lease) | Change::Updated(_, lease) | Change::Removed(lease)) = change;
        let meta = &lease.metadata;
        if meta.name.as_ref() != Some(&self.name)
            || meta.namespace.as_ref() != Some(&self.namespace)
        {
            return None;
        }
        let gone = matches!(change, Change::Removed(_));
        *lock(&self.seen) = (!gone).then(|| (Lease::clone(lease), now));
        let held_before = matches!(change, Change::Updated(old, _) if self.holds(old));
        match (gone, held_before, self.holds(lease)) {
            (true, _, _) | (false, true, false) => Some(Turn::Lost),
            (false, false, true) => Some(Turn::Elected),
            _ => None,
        }
    }

    /// Whether the Lease is held from this host and was renewed within its duration.
    pub(crate) fn is_leader(&self, now: Instant) -> bool {
        lock(&self.seen).as_ref().is_some_and(|(lease, at)| {
            let mut secs = lease.spec.iter().filter_map(|it| it.lease_duration_seconds);
            let valid =
                |secs| u64::try_from(secs).is_ok_and(|secs| *at + Duration::from_secs(secs) > now);
            secs.any(valid) && self.holds(lease)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn lease(holder: &str) -> Arc<Lease> {
        let lease = json!({
            "metadata": { "namespace": "kube-system", "name": "hami" },
            "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15 },
        });
        Arc::new(serde_json::from_value(lease).unwrap())
    }

    fn leader(name: &str) -> Leader {
        Leader {
            host: "host-a".to_owned(),
            namespace: "kube-system".to_owned(),
            name: name.to_owned(),
            seen: Mutex::default(),
        }
    }

    #[test]
    fn leads_while_this_hosts_scheduler_renews() {
        let leader = leader("hami");
        let now = Instant::now();
        assert!(!leader.is_leader(now));
        assert_eq!(
            leader.saw(&Change::Added(lease("host-a_1")), now),
            Some(Turn::Elected)
        );
        assert!(leader.is_leader(now + Duration::from_secs(14)));
        assert!(!leader.is_leader(now + Duration::from_secs(15)));
        let renewed = Change::Updated(lease("host-a_1"), lease("host-a_1"));
        assert_eq!(leader.saw(&renewed, now + Duration::from_secs(10)), None);
        assert!(leader.is_leader(now + Duration::from_secs(20)));
        assert_eq!(
            leader.saw(&Change::Updated(lease("host-a_1"), lease("host-b_1")), now),
            Some(Turn::Lost)
        );
        assert!(!leader.is_leader(now));
        assert_eq!(
            leader.saw(&Change::Removed(lease("host-b_1")), now),
            Some(Turn::Lost)
        );
    }

    #[test]
    fn other_leases_do_not_matter() {
        let leader = leader("other");
        assert_eq!(
            leader.saw(&Change::Added(lease("host-a_1")), Instant::now()),
            None
        );
        assert!(!leader.is_leader(Instant::now()));
    }
}
