//! Single calls in the audit log, for callers who count them in their own way.

use jiff::Timestamp;

use super::{AuditEvent, what};

/// An answered call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The caller's user agent up to the first `/`.
    pub agent: String,
    /// `verb resource[/subresource]`, or `verb /path` for what is no resource.
    pub what: String,
    /// Namespace of the object; empty if it has none.
    pub namespace: String,
    /// Name of the object; empty if the call names none.
    pub name: String,
    /// HTTP status of the answer.
    pub code: u16,
    /// When the request was received.
    pub at: Timestamp,
}

impl Call {
    /// Whether it is a watch. A watch appears when it ends.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.what.starts_with("watch ")
    }

    /// The call, with the answer's status if it was refused.
    #[must_use]
    pub fn label(&self) -> String {
        if self.code >= 400 {
            format!("{} {}", self.what, self.code)
        } else {
            self.what.clone()
        }
    }
}

/// The call in a line of the log; `None` if the line is no event, or not the last stage of one.
#[must_use]
pub fn parse(line: &[u8]) -> Option<Call> {
    let event: AuditEvent<'_> = serde_json::from_slice(line).ok()?;
    if !matches!(&*event.stage, "ResponseComplete" | "Panic") {
        return None;
    }
    let (namespace, name) = match &event.object_ref {
        Some(object) => (object.namespace.to_string(), object.name.to_string()),
        None => Default::default(),
    };
    Some(Call {
        agent: event
            .user_agent
            .split('/')
            .next()
            .unwrap_or_default()
            .to_owned(),
        what: what(&event),
        namespace,
        name,
        code: event.response_status.as_ref().map_or(0, |s| s.code),
        at: event.request_received_timestamp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_call_shows_its_status_and_an_open_one_is_none_yet() {
        let line = |stage: &str| {
            format!(
                r#"{{"stage":"{stage}","verb":"get","requestURI":"/api/v1/nodes/a","userAgent":"scheduler/v1 (linux)",
                "objectRef":{{"resource":"nodes","name":"a"}},"responseStatus":{{"code":404}},
                "requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z"}}"#
            )
        };
        let call = parse(line("ResponseComplete").as_bytes()).unwrap();
        assert_eq!(
            (call.agent.as_str(), call.label().as_str()),
            ("scheduler", "get nodes 404")
        );
        assert!(parse(line("ResponseStarted").as_bytes()).is_none());
        assert!(parse(b"{\"stage\":").is_none());
    }
}
