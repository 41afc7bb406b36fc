//! The order for a session: what it runs, and where it writes.

use super::expect::Expect;
use super::{Host, Plan};

/// The order for a session.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name of the experiment.
    pub experiment: String,
    /// What the experiment expects.
    pub expect: Expect,
    /// One plan per arm.
    pub plans: Vec<Plan>,
    /// Where it is written and what it leaves behind. It is recorded as a whole.
    pub host: Host,
    /// The command line, which is recorded.
    pub command: Vec<String>,
}
