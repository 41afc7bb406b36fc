//! The node clearer beside a run: how it is set. The clearer itself is a program of its own and knows nothing of plans.

use indexmap::IndexMap;
use interface::{ClearerStrategy, ClearerTrigger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NodeGroup;
use super::check::Check;
use super::error::PlanError;
use super::file::TenantDoc;

/// The node clearer beside a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearerPlan {
    /// How it empties a machine. Default: `reserve`.
    #[serde(default = "reserve")]
    pub strategy: ClearerStrategy,
    /// The group of machines it may clear. Default: every machine.
    pub scope: Option<String>,
    /// The teams whose Jobs and pods it may evict.
    pub evicts: Vec<String>,
    /// What makes it act. Default: `unschedulable`.
    #[serde(default = "unschedulable")]
    pub trigger: ClearerTrigger,
    /// A machine not taken by its request this many seconds after its clearing began is released. Default: 120, the
    /// clearer's own.
    #[serde(default = "deadline_secs")]
    pub deadline_secs: f64,
    /// Seconds between the list of a machine's tasks and its cordon, for the control of a race: with `list-then-evict` only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cordon_delay_secs: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(secs: &f64) -> bool {
    *secs == 0.0
}

fn reserve() -> ClearerStrategy {
    ClearerStrategy::Reserve
}

fn unschedulable() -> ClearerTrigger {
    ClearerTrigger::Unschedulable
}

fn deadline_secs() -> f64 {
    120.0
}

impl ClearerPlan {
    /// Its settings in words, for `--dry-run`.
    pub(super) fn in_words(&self) -> String {
        let delay = match self.cordon_delay_secs {
            0.0 => String::new(),
            secs => format!(" (its cordon {secs} s late)"),
        };
        format!(
            "{}{delay} when {}, on {}, evicts {}, releases after {} s",
            self.strategy.name(),
            self.trigger.name(),
            self.scope
                .as_deref()
                .map_or("every machine".to_owned(), |g| format!("machines {g}")),
            self.evicts.join(", "),
            self.deadline_secs
        )
    }

    /// Checks that what it names exists.
    pub(super) fn check(
        &self,
        check: Check<'_>,
        groups: &[NodeGroup],
        teams: &IndexMap<String, TenantDoc>,
    ) -> Result<(), PlanError> {
        if let Some(scope) = &self.scope {
            let names: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
            check.one_of("clearer.scope", "group", scope, &names)?;
        }
        check.not_empty("clearer.evicts", self.evicts.len())?;
        let names: Vec<&String> = teams.keys().collect();
        for (i, team) in self.evicts.iter().enumerate() {
            check.one_of(&format!("clearer.evicts.{i}"), "team", team, &names)?;
        }
        // The clearer takes a day at most.
        check.number("clearer.deadline_secs", self.deadline_secs, 1.0..=86_400.0)?;
        let (field, delay) = ("clearer.cordon_delay_secs", self.cordon_delay_secs);
        check.number(field, delay, 0.0..=86_400.0)?;
        let applies = is_zero(&delay) || self.strategy == ClearerStrategy::ListThenEvict;
        check.require(applies, field, || {
            "has no effect: only list-then-evict lists tasks before it cordons".to_owned()
        })?;
        Ok(())
    }
}
