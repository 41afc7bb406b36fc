//! The node clearer's decision log as a run keeps it: a line of `clearer.jsonl`.
//!
//! It reads from the clearer's lines what judging a run needs. An event that an earlier clearer wrote under an older name is
//! read by its present one; an event of a later clearer is kept as it is.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

/// Event of a line: the clearing has begun; nothing has been changed yet.
pub const CHOSEN: &str = "chosen";
/// Event of a line: a request waits, and no machine may be cleared for it.
pub const NO_CANDIDATE: &str = "no-candidate";
/// Event of a line: a task was evicted.
pub const EVICTED: &str = "evicted";
/// Event of a line: an eviction was requested, and its outcome is not known.
pub const EVICTION_UNANSWERED: &str = "eviction-unanswered";
/// Event of a line: the machine is handed over; only its request can be bound to it.
pub const HANDED_OVER: &str = "handed-over";
/// Event of a line: the request is placed on its machine.
pub const PLACED: &str = "placed";
/// Event of a line: the clearing ended, and the request is not on its machine.
pub const FAILED: &str = "failed";
/// Event of a line: the machine is released; it is as it was before the clearing.
pub const RELEASED: &str = "put-back";
/// Event of a line: a task that was evicted by way of its Workload queues again.
pub const REACTIVATED: &str = "reactivated";

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Wall-clock time, UTC.
    pub time: Timestamp,
    /// What was decided or seen, e.g. [`HANDED_OVER`].
    #[serde(deserialize_with = "present_name")]
    pub event: String,
    /// Which clearing; none if the line is about the clearer itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearing: Option<ClearingRef>,
    /// UID of the evicted pod, of [`EVICTED`] and [`EVICTION_UNANSWERED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim_uid: Option<String>,
    /// Its namespace, of [`EVICTED`] and [`REACTIVATED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim_namespace: Option<String>,
    /// Its Workload, if it was evicted by way of it, of [`EVICTED`] and [`REACTIVATED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Name of the request's pod or Workload, of [`NO_CANDIDATE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// UID of that object, of [`NO_CANDIDATE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_uid: Option<String>,
    /// Why no machine may be cleared, of [`NO_CANDIDATE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Which clearing, for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearingRef {
    /// Its id.
    pub id: String,
    /// The machine.
    pub node: String,
    /// Namespace of the request: its team.
    pub namespace: String,
    /// Name of the request's pod, or of its Workload under the trigger `pending-workload`.
    pub request: String,
    /// UID of that object.
    pub request_uid: String,
}

/// The present name of an event: earlier clearers wrote three of them under other names.
fn present_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    Ok(match name.as_str() {
        "stopped" => EVICTED.into(),
        "stop-unanswered" => EVICTION_UNANSWERED.into(),
        "landed" => PLACED.into(),
        _ => name,
    })
}

impl Decision {
    /// When, seconds since the run's clock started; `zero` is the wall-clock time of that.
    #[must_use]
    pub fn secs(&self, zero: Timestamp) -> f64 {
        self.time.duration_since(zero).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearer::log::{ClearingTag, Event, Line, Victim};

    #[test]
    fn the_clearer_s_own_lines_are_understood() {
        let time: Timestamp = "2026-01-01T00:00:10.25Z".parse().unwrap();
        let tag = ClearingTag {
            id: "c1".into(),
            node: "gpu-07".into(),
            namespace: "research".into(),
            request: "burst-0-000-x".into(),
            request_uid: "u1".into(),
        };
        let read = |event: Event| {
            let line = Line {
                time,
                clearing: Some(tag.clone()),
                event,
            };
            serde_json::from_str::<Decision>(&serde_json::to_string(&line).unwrap()).unwrap()
        };
        let over = read(Event::HandedOver { secs: 4.5 });
        assert_eq!(over.event, HANDED_OVER);
        let clearing = over.clearing.as_ref().unwrap();
        assert_eq!(
            (clearing.node.as_str(), clearing.request_uid.as_str()),
            ("gpu-07", "u1")
        );
        let zero = "2026-01-01T00:00:00Z".parse().unwrap();
        assert!((over.secs(zero) - 10.25).abs() < 1e-9);
        let victim = Victim {
            namespace: "vision".into(),
            pod: "p".into(),
            uid: "v1".into(),
            workload: None,
            priority: 0,
            cards: 1.0,
            age_secs: 60.0,
            card_seconds: 60.0,
        };
        let unanswered = read(Event::EvictionUnanswered {
            victim: victim.clone(),
        });
        assert_eq!(unanswered.event, EVICTION_UNANSWERED);
        assert_eq!(unanswered.victim_uid.as_deref(), Some("v1"));
        let evicted = read(Event::Evicted { victim });
        assert_eq!(evicted.event, EVICTED);
        assert_eq!(evicted.victim_uid.as_deref(), Some("v1"));
        let again = read(Event::Reactivated {
            victim_namespace: "vision".into(),
            workload: "job-hold-1a2b3".into(),
            evicted_by: "c1".into(),
        });
        assert_eq!(again.event, REACTIVATED);
        assert_eq!(again.workload.as_deref(), Some("job-hold-1a2b3"));
        assert_eq!(again.victim_namespace.as_deref(), Some("vision"));
        assert_eq!(read(Event::Released).event, RELEASED);
        let placed = read(Event::Placed {
            secs: 5.0,
            pod: "burst-0-000-x".into(),
            pod_uid: "u1".into(),
        });
        assert_eq!(placed.event, PLACED);
        let chosen = read(Event::Chosen {
            strategy: interface::ClearerStrategy::Reserve,
            victims: 8,
            card_seconds: 1.0,
            cost: 1.0,
        });
        assert_eq!(chosen.event, CHOSEN);
    }

    #[test]
    fn events_of_earlier_clearers_are_read_by_their_present_names() {
        let names = [
            ("stopped", EVICTED),
            ("stop-unanswered", EVICTION_UNANSWERED),
            ("landed", PLACED),
            ("put-back", RELEASED),
            ("of-a-later-clearer", "of-a-later-clearer"),
        ];
        for (written, read) in names {
            let line = format!(r#"{{"time":"2026-01-01T00:00:00Z","event":"{written}"}}"#);
            let decision: Decision = serde_json::from_str(&line).unwrap();
            assert_eq!(decision.event, read);
        }
        // The clearer's own type reads them too.
        let line = r#"{"time":"2026-01-01T00:00:00Z","event":"stopped","victim_namespace":"vision","victim_pod":"p",
            "victim_uid":"v1","workload":null,"priority":0,"cards":1.0,"age_secs":60.0,"card_seconds":60.0}"#;
        let line: Line = serde_json::from_str(line).unwrap();
        assert!(matches!(line.event, Event::Evicted { .. }));
    }
}
