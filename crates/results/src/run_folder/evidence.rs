//! What a run's metrics rest on: each source present, or named as absent with the reason.
//!
//! A source that this kind of cluster cannot give is absent: what would be measured by it has no value, and nothing is
//! disturbed. One that was expected and lost is absent too, and whoever lost it says so as a disturbance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A source of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceSource {
    /// The harness's own watches.
    Watch,
    /// kube-apiserver's audit log: API calls, and times of binding.
    AuditLog,
    /// How components ended: restarts.
    ComponentExits,
    /// etcd's own metrics: its disk.
    EtcdMetrics,
    /// The node clearer's decisions.
    ClearerLog,
}

impl EvidenceSource {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::AuditLog => "audit-log",
            Self::ComponentExits => "component-exits",
            Self::EtcdMetrics => "etcd-metrics",
            Self::ClearerLog => "clearer-log",
        }
    }
}

/// The sources of a run. In files a list of names, of which an absent one carries its reason:
/// `["watch", "audit-log: absent, the control plane is managed"]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
#[schemars(with = "Vec<String>")]
pub struct Evidence(Vec<Known>);

/// What is known of a source. Any name is kept: a later headroom may know of more.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    source: String,
    absent: Option<String>,
}

/// Between an absent source's name and the reason.
const ABSENT: &str = ": absent, ";

impl Evidence {
    /// These sources, all present.
    #[must_use]
    pub fn of(sources: impl IntoIterator<Item = EvidenceSource>) -> Self {
        let known = |source: EvidenceSource| Known {
            source: source.name().to_owned(),
            absent: None,
        };
        Self(sources.into_iter().map(known).collect())
    }

    /// Names a source as absent.
    pub fn lack(&mut self, source: EvidenceSource, reason: impl Into<String>) {
        self.0.retain(|known| known.source != source.name());
        self.0.push(Known {
            source: source.name().to_owned(),
            absent: Some(reason.into()),
        });
    }

    /// Why a source is absent; `None` if it is not. A run of an older headroom names none as absent.
    #[must_use]
    pub fn absent(&self, source: EvidenceSource) -> Option<&str> {
        let mut all = self.0.iter();
        let known = all.find(|known| known.source == source.name())?;
        known.absent.as_deref()
    }

    /// Whether metrics may rest on a source.
    #[must_use]
    pub fn has(&self, source: EvidenceSource) -> bool {
        self.absent(source).is_none()
    }

    /// Names of the absent sources.
    pub fn lacking(&self) -> impl Iterator<Item = &str> {
        let absent = self.0.iter().filter(|known| known.absent.is_some());
        absent.map(|known| known.source.as_str())
    }

    /// A line for each source, as files have it.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.clone().into()
    }

    /// Whether nothing is said of any source.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<String>> for Evidence {
    fn from(lines: Vec<String>) -> Self {
        let known = |line: String| match line.split_once(ABSENT) {
            Some((source, reason)) => Known {
                source: source.to_owned(),
                absent: Some(reason.to_owned()),
            },
            None => Known {
                source: line,
                absent: None,
            },
        };
        Self(lines.into_iter().map(known).collect())
    }
}

impl From<Evidence> for Vec<String> {
    fn from(evidence: Evidence) -> Self {
        let line = |known: Known| match known.absent {
            Some(reason) => known.source + ABSENT + &reason,
            None => known.source,
        };
        evidence.0.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_as_older_runs_have_it_is_read_and_written() {
        let text = r#"["watch","audit-log","component-exits","of-tomorrow"]"#;
        let evidence: Evidence = serde_json::from_str(text).unwrap();
        assert!(evidence.has(EvidenceSource::AuditLog));
        // Older runs measured it and did not name it.
        assert!(evidence.has(EvidenceSource::EtcdMetrics));
        assert_eq!(evidence.lacking().count(), 0);
        assert_eq!(serde_json::to_string(&evidence).unwrap(), text);
    }

    #[test]
    fn an_absent_source_keeps_its_reason_in_a_list_that_older_programs_read() {
        let mut evidence = Evidence::of([EvidenceSource::Watch, EvidenceSource::AuditLog]);
        evidence.lack(EvidenceSource::AuditLog, "managed: absent, by design");
        let text = serde_json::to_string(&evidence).unwrap();
        let old: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(
            old,
            ["watch", "audit-log: absent, managed: absent, by design"]
        );
        let read: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(read, evidence);
        let reason = read.absent(EvidenceSource::AuditLog);
        assert_eq!(reason, Some("managed: absent, by design"));
        assert!(!read.has(EvidenceSource::AuditLog) && read.has(EvidenceSource::Watch));
        assert_eq!(read.lacking().collect::<Vec<_>>(), ["audit-log"]);
    }
}
