//! The Lease by which only one of two clearers works. It is used as in client-go: other machines' clocks are not trusted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

use super::api::{Api, ApiError};
use super::health::Health;

/// Open while this process certainly holds the Lease. Every write checks it.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<Option<Instant>>>);

impl Gate {
    /// True if the Lease is held now.
    pub fn is_open(&self) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn set(&self, until: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// Acquires, renews and releases the Lease.
pub struct Elector<A> {
    api: A,
    identity: String,
    /// Namespace and name of the Lease, for people.
    lease: String,
    secs: u32,
    gate: Gate,
    health: Health,
    /// The last warning about a Lease that cannot be acquired, so that it is said once.
    said: Option<String>,
    /// Another holder's record as last seen, and when this process first saw it, by its own clock.
    seen: Option<(LeaseSpec, Instant)>,
}

impl<A: Api> Elector<A> {
    /// An elector for a Lease of `secs` seconds.
    pub fn new(
        api: A,
        identity: String,
        lease: String,
        secs: u32,
        gate: Gate,
        health: Health,
    ) -> Self {
        Self {
            api,
            identity,
            lease,
            said: None,
            secs,
            gate,
            health,
            seen: None,
        }
    }

    /// Waits until the Lease is held.
    pub async fn acquire(&mut self) {
        while !self.attempt().await {
            tokio::time::sleep(self.part(6)).await;
        }
    }

    /// Renews the Lease; returns when it is lost: another holds it, or renewal has failed for two thirds of its term.
    pub async fn keep(&mut self) {
        loop {
            tokio::time::sleep(self.part(6)).await;
            if !self.attempt().await && !self.gate.is_open() {
                return;
            }
        }
    }

    /// Gives up the Lease, so that a successor need not wait. Best effort.
    pub async fn release(&mut self) {
        self.gate.set(None);
        if let Ok(Some(mut lease)) = self.api.get_lease().await
            && let Some(spec) = lease.spec.as_mut()
            && spec.holder_identity.as_deref() == Some(&self.identity)
        {
            spec.holder_identity = None;
            if let Err(e) = self.api.put_lease(&lease).await {
                tracing::warn!("cannot release the Lease: {e}; a successor waits for its end");
            }
        }
    }

    /// The last warning about the wait for the Lease; `None` while it is held.
    #[cfg(test)]
    pub fn waits_for(&self) -> Option<&str> {
        self.said.as_deref()
    }

    fn say(&mut self, what: String) {
        if self.said.as_ref() != Some(&what) {
            tracing::warn!("{what}");
            self.said = Some(what);
        }
    }

    fn part(&self, of: u32) -> Duration {
        Duration::from_secs(u64::from(self.secs)) / of
    }

    /// Tries once to take or renew the Lease. True if it is held afterwards.
    async fn attempt(&mut self) -> bool {
        let begun = Instant::now();
        // A call that hangs must not hide that the Lease expires.
        let tried = tokio::time::timeout(self.part(3), self.take()).await;
        let lease = &self.lease;
        let trouble = match tried {
            Ok(Ok(true)) => {
                self.gate.set(Some(begun + self.part(3) * 2));
                self.health.beat(self.part(1));
                self.said = None;
                return true;
            }
            Ok(Ok(false)) => {
                self.gate.set(None);
                self.health.beat(self.part(1));
                let seen = self.seen.as_ref();
                let holder = seen.and_then(|(spec, _)| spec.holder_identity.as_deref());
                let holder = holder.unwrap_or_default();
                format!("waiting for the Lease {lease}, held by {holder}")
            }
            Ok(Err(e)) => format!("Lease {lease}: {e}; trying again"),
            Err(_) => format!("Lease {lease}: no answer in time; trying again"),
        };
        self.say(trouble);
        false
    }

    /// `Ok(false)`: another holds it.
    async fn take(&mut self) -> Result<bool, ApiError> {
        let found = self.api.get_lease().await?;
        let now = self.api.now();
        let mut lease = found.unwrap_or_default();
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.clone().filter(|h| !h.is_empty());
        let ours = holder.as_deref() == Some(self.identity.as_str());
        if holder.is_some() && !ours && !self.has_expired(&spec) {
            return Ok(false);
        }
        lease.spec = Some(self.renewed(spec, ours, now));
        match self.api.put_lease(&lease).await {
            Ok(()) => Ok(true),
            // Somebody was faster. The next try shows whether it was another clearer.
            Err(ApiError::Conflict) => Err(ApiError::Transient("changed meanwhile".into())),
            Err(e) => Err(e),
        }
    }

    fn renewed(&self, old: LeaseSpec, ours: bool, now: Timestamp) -> LeaseSpec {
        let mut spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.secs).ok(),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(old.lease_transitions.unwrap_or(0) + i32::from(!ours)),
            ..old
        };
        if !ours {
            spec.acquire_time = Some(MicroTime(now));
        }
        spec
    }

    /// True once another holder's record has not changed for its whole term, by this process's clock.
    fn has_expired(&mut self, spec: &LeaseSpec) -> bool {
        let term = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
        match &self.seen {
            Some((seen, since)) if seen == spec => since.elapsed() > Duration::from_secs(term),
            _ => {
                self.seen = Some((spec.clone(), Instant::now()));
                false
            }
        }
    }
}
