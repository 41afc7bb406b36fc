//! Why a component exited.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a component exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// It lost its Lease and gave up, as leader election has it.
    LeaseLost,
    /// It panicked or met a fatal run-time error.
    Crash,
    /// A signal that the harness did not send; SIGKILL is also what the kernel sends when memory runs out.
    Killed,
    /// It exited by itself with an error code.
    Failed,
    /// It exited by itself with code 0, which a component never should.
    Ended,
    /// Its program could not be started.
    NotStarted,
    /// The harness stopped it.
    Stopped,
}

impl Cause {
    /// The cause as run folders name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeaseLost => "lease-lost",
            Self::Crash => "crash",
            Self::Killed => "killed",
            Self::Failed => "failed",
            Self::Ended => "ended",
            Self::NotStarted => "not-started",
            Self::Stopped => "stopped",
        }
    }
}
