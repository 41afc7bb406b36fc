//! What the two programs under a cluster, the extender and the node clearer, are told and what they call
//! themselves.
//!
//! A plan names the same settings, so each is said once, here: by one name on a command line ([`clap::ValueEnum`]), in a
//! file (serde) and in its schema. A crate of its own because neither program may know of plans and no plan of either
//! program. Names only: nothing here acts.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The built-in extender's calls are counted under this name.
pub const EXTENDER_AGENT: &str = "headroom-extender";

/// What the built-in extender calls itself to the API server: its name and version.
pub const EXTENDER_USER_AGENT: &str = concat!("headroom-extender/", env!("CARGO_PKG_VERSION"));

/// The clearer's calls are counted under this name.
pub const CLEARER_AGENT: &str = "headroom-clearer";

/// What the clearer calls itself to the API server: its name and version.
pub const CLEARER_USER_AGENT: &str = concat!("headroom-clearer/", env!("CARGO_PKG_VERSION"));

/// Where a pod goes among nodes, or a container among cards, as HAMi names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Prefer the fullest.
    Binpack,
    /// Prefer the emptiest.
    Spread,
}

impl Policy {
    /// Its name in files and on command lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binpack => "binpack",
            Self::Spread => "spread",
        }
    }
}

/// HAMi's limits by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NamedLimits {
    /// 100/200, what the article raised them to.
    Raised,
    /// 5/10, what HAMi is installed with.
    HamiDefault,
}

/// How a machine is emptied, by the clearer's own names for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ClearerStrategy {
    /// List the machine's tasks, cordon it, evict those listed: the published first version, racy.
    ListThenEvict,
    /// Cordon, evict, and list again each second until no task holds a card: the published second version.
    Recheck,
    /// Reserve the machine for the request before anything is read.
    Reserve,
}

impl ClearerStrategy {
    /// Its name in files and on the clearer's command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ListThenEvict => "list-then-evict",
            Self::Recheck => "recheck",
            Self::Reserve => "reserve",
        }
    }
}

/// Which requests a machine is cleared for, by the clearer's own names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ClearerTrigger {
    /// A whole-machine pod that Kueue has admitted and kube-scheduler calls unschedulable.
    Unschedulable,
    /// That, and a pending whole-machine Workload within its team's nominal quota.
    PendingWorkload,
}

impl ClearerTrigger {
    /// Its name in files and on the clearer's command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unschedulable => "unschedulable",
            Self::PendingWorkload => "pending-workload",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Command line, file and `name` agree on every value of `T`.
    fn one_name<T: ValueEnum + Serialize>(name: impl Fn(T) -> &'static str) {
        for value in T::value_variants() {
            let typed = value.to_possible_value().unwrap();
            let written = serde_json::to_value(value).unwrap();
            assert_eq!(written, typed.get_name());
            assert_eq!(written, name(value.clone()));
        }
    }

    #[test]
    fn a_value_has_one_name_wherever_it_is_written() {
        one_name(Policy::name);
        one_name(ClearerStrategy::name);
        one_name(ClearerTrigger::name);
    }

    #[test]
    fn calls_are_counted_under_what_stands_before_the_slash() {
        for (agent, whole) in [
            (EXTENDER_AGENT, EXTENDER_USER_AGENT),
            (CLEARER_AGENT, CLEARER_USER_AGENT),
        ] {
            assert_eq!(whole.split_once('/').unwrap().0, agent);
        }
    }

    #[test]
    fn limits_are_called_the_same_on_the_command_line_and_in_files() {
        for value in NamedLimits::value_variants() {
            let typed = value.to_possible_value().unwrap();
            assert_eq!(serde_json::to_value(value).unwrap(), typed.get_name());
        }
    }
}
