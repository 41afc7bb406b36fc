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
/// `["watch", "audit-log: absent, the control plane is managed"]`. Any name is kept: a later headroom may know of more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Evidence(Vec<String>);

/// Between an absent source's name and the reason.
const ABSENT: &str = ": absent, ";

impl Evidence {
    /// These sources, all present.
    #[must_use]
    pub fn of(sources: impl IntoIterator<Item = EvidenceSource>) -> Self {
        let names = sources.into_iter().map(EvidenceSource::name);
        Self(names.map(ToOwned::to_owned).collect())
    }

    /// Names a source as absent.
    pub fn lack(&mut self, source: EvidenceSource, reason: impl Into<String>) {
        let name = source.name();
        self.0.retain(|line| parts(line).0 != name);
        self.0.push(format!("{name}{ABSENT}{}", reason.into()));
    }

    /// Why a source is absent; `None` if it is not. A run of an older headroom names none as absent.
    #[must_use]
    pub fn absent(&self, source: EvidenceSource) -> Option<&str> {
        let mut all = self.0.iter().map(|line| parts(line));
        all.find(|(name, _)| *name == source.name())?.1
    }

    /// Whether metrics may rest on a source.
    #[must_use]
    pub fn has(&self, source: EvidenceSource) -> bool {
        self.absent(source).is_none()
    }

    /// Names of the absent sources.
    pub fn lacking(&self) -> impl Iterator<Item = &str> {
        let all = self.0.iter().map(|line| parts(line));
        all.filter(|(_, absent)| absent.is_some())
            .map(|(name, _)| name)
    }

    /// A line for each source, as files have it.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.clone()
    }

    /// Whether nothing is said of any source.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A source's name, and if it is absent the reason.
fn parts(line: &str) -> (&str, Option<&str>) {
    match line.split_once(ABSENT) {
        Some((name, reason)) => (name, Some(reason)),
        None => (line, None),
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
