//! How a command ends.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Failed, with an error message.
    Failed = 1,
    /// The user's input or machine is at fault; nothing was started.
    Usage = 2,
    /// Done, but the host or the harness disturbed it.
    Disturbed = 3,
    /// Done, and a metric became worse.
    Regression = 4,
    /// Stopped by a signal; partial results are kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
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
