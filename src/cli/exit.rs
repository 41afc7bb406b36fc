//! How a command ends.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Failed, with an error message.
    Failed,
    /// The user's input or machine is at fault; nothing was started.
    Usage,
    /// Done, but the host or the harness disturbed it.
    Disturbed,
    /// Done, and a metric became worse.
    Regression,
    /// Stopped by a signal; partial results are kept.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Disturbed => 3,
            Exit::Regression => 4,
            Exit::Interrupted => 130,
        })
    }
}

impl From<clearer::Ended> for Exit {
    fn from(ended: clearer::Ended) -> Self {
        match ended {
            clearer::Ended::Done => Self::Done,
            clearer::Ended::Interrupted => Self::Interrupted,
        }
    }
}

/// A signal stopped the command before it had results.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;
