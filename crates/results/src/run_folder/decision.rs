//! The node clearer's decision log as a run keeps it: a line of `clearer.jsonl`.
//!
//! A view of the clearer's own lines: what is not needed to judge a run is skipped, and an event from a later clearer is
//! read as far as it is understood.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Event of a line: the clearing has begun; nothing has been changed yet.
pub const CHOSEN: &str = "chosen";
/// Event of a line: a task was told to end.
pub const EVICTED: &str = "stopped";
/// Event of a line: a task was told to end, and whether it will is not known.
pub const EVICTION_UNANSWERED: &str = "stop-unanswered";
/// Event of a line: the machine is its request's, and only its request's.
pub const HANDED_OVER: &str = "handed-over";

/// Event of a line: the request's pod is on its machine.
pub const LANDED: &str = "landed";
/// Event of a line: the clearing ended without the request on its machine.
pub const FAILED: &str = "failed";
/// Event of a line: the machine is as it was before the clearing.
pub const PUT_BACK: &str = "put-back";
/// Event of a line: a task that was told to end by way of its Workload queues again.
pub const REACTIVATED: &str = "reactivated";

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Wall-clock time, UTC.
    pub time: Timestamp,
    /// What was decided or seen, e.g. [`HANDED_OVER`].
    pub event: String,
    /// Which clearing; none for what concerns the clearer itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearing: Option<ClearingRef>,
    /// UID of the pod that was told to end, of [`EVICTED`] and [`EVICTION_UNANSWERED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim_uid: Option<String>,
    /// Its namespace, of [`EVICTED`] and [`REACTIVATED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim_namespace: Option<String>,
    /// Its Workload, if it was evicted by way of it, of [`EVICTED`] and [`REACTIVATED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
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
    use clearer::log::{ClearingTag, Event, Line, StoppedTask};

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
        let victim = StoppedTask {
            victim_namespace: "vision".into(),
            victim_pod: "p".into(),
            victim_uid: "v1".into(),
            workload: None,
            priority: 0,
            cards: 1.0,
            age_secs: 60.0,
            card_seconds: 60.0,
        };
        let unanswered = read(Event::StopUnanswered {
            victim: victim.clone(),
        });
        assert_eq!(unanswered.event, EVICTION_UNANSWERED);
        assert_eq!(unanswered.victim_uid.as_deref(), Some("v1"));
        let evicted = read(Event::Stopped { victim });
        assert_eq!(evicted.event, EVICTED);
        assert_eq!(evicted.victim_uid.as_deref(), Some("v1"));
        let again = read(Event::Reactivated {
            victim_namespace: "vision".into(),
            workload: "job-hold-1a2b3".into(),
            stopped_by: "c1".into(),
        });
        assert_eq!(again.event, REACTIVATED);
        assert_eq!(again.workload.as_deref(), Some("job-hold-1a2b3"));
        assert_eq!(again.victim_namespace.as_deref(), Some("vision"));
        assert_eq!(read(Event::PutBack).event, PUT_BACK);
        let chosen = read(Event::Chosen {
            strategy: interface::ClearerStrategy::Reserve,
            victims: 8,
            card_seconds: 1.0,
            cost: 1.0,
        });
        assert_eq!(chosen.event, CHOSEN);
    }
}
