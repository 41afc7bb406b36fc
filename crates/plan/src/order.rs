//! What a session is to do.

use super::expect::Expect;
use super::{Host, Plan};

/// What a session is to do.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name of the experiment.
    pub experiment: String,
    /// What the experiment expects.
    pub expect: Expect,
    /// One plan an arm.
    pub plans: Vec<Plan>,
    /// Where it is written, what it leaves behind; to be recorded whole.
    pub host: Host,
    /// The command line, to be recorded.
    pub command: Vec<String>,
}
