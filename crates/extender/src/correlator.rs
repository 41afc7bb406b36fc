//! Decides which events reach the API server, and in which form, by client-go's rules (tools/record).
//!
//! In: events as they happen. Out: an event to create, an event to count up, or nothing. Equal events are counted up. From
//! ten different messages on within ten minutes, similar events (same pod, type and reason) are combined. Per pod and type 25
//! events pass at once, then one in five minutes. These rules change how many calls a decision makes.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::limiter::Bucket;

const REMEMBERED: usize = 4096;
const SIMILAR_MAX: usize = 10;
const SIMILAR_WITHIN: Duration = Duration::from_mins(10);
const SPAM_BURST: u32 = 25;
const SPAM_PER_SEC: f64 = 1.0 / 300.0;

/// A map that forgets the entry that was not used for the longest time.
#[derive(Debug)]
struct Recent<V> {
    entries: HashMap<String, (u64, V)>,
    clock: u64,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            clock: 0,
        }
    }
}

impl<V> Recent<V> {
    fn get(&mut self, key: &str) -> Option<&mut V> {
        self.clock += 1;
        let (used, value) = self.entries.get_mut(key)?;
        *used = self.clock;
        Some(value)
    }

    fn put(&mut self, key: String, value: V) {
        self.clock += 1;
        if self.entries.len() >= REMEMBERED && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.entries.remove(&oldest));
        }
        self.entries.insert(key, (self.clock, value));
    }
}

#[derive(Debug)]
struct Similar {
    messages: HashSet<String>,
    last: Instant,
}

#[derive(Debug, Clone)]
struct Seen {
    count: i32,
    first: Option<Time>,
    name: Option<String>,
}

/// Remembers the events that were sent.
#[derive(Debug, Default)]
pub(crate) struct Correlator {
    similar: Recent<Similar>,
    seen: Recent<Seen>,
    spam: Recent<Bucket>,
}

/// An event to send: it is counted up if there is a `patch`, otherwise created.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The whole event.
    pub event: Event,
    /// The change if it exists already.
    pub patch: Option<Value>,
}

/// The pod that the event is about, and its type.
fn subject(event: &Event) -> String {
    let pod = &event.involved_object;
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    [&pod.namespace, &pod.name, &pod.uid, &event.type_]
        .map(part)
        .join("/")
}

fn similar_key(event: &Event) -> String {
    let reason = event.reason.as_deref().unwrap_or_default();
    format!("{}/{reason}", subject(event))
}

fn equal_key(event: &Event) -> String {
    let message = event.message.as_deref().unwrap_or_default();
    format!("{}/{message}", similar_key(event))
}

impl Correlator {
    /// What to do about an event.
    pub(crate) fn correlate(&mut self, event: Event, now: Instant) -> Option<Outcome> {
        let spam_key = subject(&event);
        let (event, key) = self.combine(event, now);
        let outcome = self.count(event, key);
        if self.spam.get(&spam_key).is_none() {
            let bucket = Bucket::new(SPAM_PER_SEC, SPAM_BURST, now);
            self.spam.put(spam_key.clone(), bucket);
        }
        self.spam.get(&spam_key)?.try_take(now).then_some(outcome)
    }

    fn combine(&mut self, mut event: Event, now: Instant) -> (Event, String) {
        let (equal, key) = (equal_key(&event), similar_key(&event));
        let message = event.message.clone().unwrap_or_default();
        let recent = self.similar.get(&key);
        let recent = recent.filter(|it| now.duration_since(it.last) <= SIMILAR_WITHIN);
        let Some(similar) = recent else {
            let messages = HashSet::from([message]);
            let last = now;
            self.similar.put(key, Similar { messages, last });
            return (event, equal);
        };
        similar.messages.insert(message.clone());
        similar.last = now;
        if similar.messages.len() < SIMILAR_MAX {
            return (event, equal);
        }
        // One is let go so that the set does not grow; which one does not matter.
        let any = similar.messages.iter().next().cloned();
        any.and_then(|any| similar.messages.take(&any));
        event.message = Some(format!("(combined from similar events): {message}"));
        (event, key)
    }

    fn count(&mut self, mut event: Event, key: String) -> Outcome {
        let mut patch = None;
        if let Some(seen) = self.seen.get(&key).cloned() {
            event.metadata.name = seen.name;
            event.first_timestamp = seen.first;
            event.count = Some(seen.count + 1);
            patch = Some(json!({
                "count": event.count,
                "lastTimestamp": event.last_timestamp,
                "message": event.message,
            }));
        }
        self.remember(key, &event);
        Outcome { event, patch }
    }

    /// Remembers an event as the API server has it now.
    pub(crate) fn stored(&mut self, event: &Event) {
        self.remember(equal_key(event), event);
    }

    fn remember(&mut self, key: String, event: &Event) {
        let seen = Seen {
            count: event.count.unwrap_or(1),
            first: event.first_timestamp.clone(),
            name: event.metadata.name.clone(),
        };
        self.seen.put(key, seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::new_event;
    use crate::testing::pod;

    fn event(message: &str) -> Event {
        new_event(
            &pod(&json!([])),
            "hami-scheduler",
            "Warning",
            "BindingFailed",
            message,
        )
    }

    #[test]
    fn equal_events_count_up_under_their_first_name() {
        let mut correlator = Correlator::default();
        let now = Instant::now();
        let first = correlator.correlate(event("locked"), now).unwrap();
        assert!(first.patch.is_none());
        let second = correlator.correlate(event("locked"), now).unwrap();
        assert_eq!(second.event.metadata.name, first.event.metadata.name);
        assert_eq!(second.patch.unwrap()["count"], 2);
        assert!(
            correlator
                .correlate(event("other"), now)
                .unwrap()
                .patch
                .is_none()
        );
    }

    #[test]
    fn from_the_tenth_message_on_similar_events_are_combined() {
        let mut correlator = Correlator::default();
        let now = Instant::now();
        let sent: Vec<Outcome> = (0..12)
            .filter_map(|n| correlator.correlate(event(&n.to_string()), now))
            .collect();
        let created = sent
            .iter()
            .filter(|outcome| outcome.patch.is_none())
            .count();
        assert_eq!((sent.len(), created), (12, 10));
        assert!(
            sent[9]
                .event
                .message
                .as_deref()
                .unwrap()
                .starts_with("(combined")
        );
        assert_eq!(sent[11].event.count, Some(3));
        let later = now + SIMILAR_WITHIN + Duration::from_secs(1);
        assert!(
            correlator
                .correlate(event("new"), later)
                .unwrap()
                .patch
                .is_none()
        );
    }

    #[test]
    fn after_25_events_about_a_pod_one_passes_in_five_minutes() {
        let mut correlator = Correlator::default();
        let now = Instant::now();
        let passed = (0..40)
            .filter_map(|_| correlator.correlate(event("locked"), now))
            .count();
        assert_eq!(passed, 25);
        let later = now + Duration::from_secs(301);
        let next = correlator.correlate(event("locked"), later).unwrap();
        assert_eq!(next.event.count, Some(41), "those held back are counted");
        assert!(correlator.correlate(event("locked"), later).is_none());
    }
}
