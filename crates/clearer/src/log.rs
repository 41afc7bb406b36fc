//! Where the decision log goes: one JSON line a decision on standard output.

use std::io::Write as _;
use std::sync::Arc;

use jiff::Timestamp;

pub use interface::clearer_log::{ClearingTag, Event, FailReason, Line, StoppedTask};

/// Where lines go.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&Line) + Send + Sync>);

impl Log {
    /// To standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self::to(|line| {
            // A closed pipe must not stop a clearing half-way; the annotations hold the evidence too.
            if let Ok(text) = serde_json::to_string(line) {
                let _ = writeln!(std::io::stdout().lock(), "{text}");
            }
        })
    }

    /// To a function of the caller's.
    pub fn to(sink: impl Fn(&Line) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Writes a line.
    pub fn write(&self, time: Timestamp, clearing: Option<&ClearingTag>, event: Event) {
        (self.0)(&Line {
            time,
            clearing: clearing.cloned(),
            event,
        });
    }
}
