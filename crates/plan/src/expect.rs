//! What an experiment expects: published metrics, and a closed set of predicates over metrics (not a language).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::metric::Metric;
use crate::metric::MetricKey;

/// What an experiment expects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// Values that were published, to be printed beside the measured ones.
    pub published: Vec<Published>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// What it means for a user if every claim holds, in one plain sentence.
    pub meaning: String,
}

/// A published metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which metric.
    pub metric: Metric,
    /// Arm it was published for; `None`: every arm.
    pub arm: Option<String>,
    /// Team; left out for a metric of the whole run.
    #[serde(default)]
    pub tenant: String,
    /// Class of request, for a metric that has one.
    pub class: Option<String>,
    /// Its value.
    pub value: f64,
}

impl Published {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> MetricKey {
        MetricKey::of(&self.tenant, self.class.as_deref(), self.metric)
    }
}

/// A claim about metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In words.
    pub claim: String,
    /// Arms that it is judged on. Default: every arm.
    #[serde(default)]
    pub arms: Vec<String>,
    /// Its negative control: an arm with settings under which the predicate must not hold. Only a claim that was seen to fail
    /// there shows something where it holds. Default: none.
    pub control: Option<String>,
    /// The predicate.
    pub holds: Predicate,
}

/// A predicate over metrics. Counts, and whether requests are bound, are judged in every run; shares of requests by their
/// exact interval over all runs; anything else by the median of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Predicate {
    /// A metric lies within bounds.
    Within(Within),
    /// A metric divided by another lies within bounds.
    Ratio(Ratio),
    /// Every submitted request of the class (or team) was bound.
    AllBound(Requests),
    /// At least one submitted request of the class (or team) was not bound.
    SomeUnbound(Requests),
}

impl Claim {
    /// Whether it is judged on an arm.
    #[must_use]
    pub fn is_about(&self, arm: &str) -> bool {
        match self.arms.as_slice() {
            [] => self.control.as_deref() != Some(arm),
            arms => arms.iter().any(|a| a == arm),
        }
    }
}

impl Predicate {
    /// Teams whose metrics it is about.
    #[must_use]
    pub(crate) fn tenants(&self) -> Vec<&str> {
        match self {
            Self::Within(within) => vec![&within.of.tenant],
            Self::Ratio(ratio) => vec![&ratio.of.tenant, &ratio.to.tenant],
            Self::AllBound(of) | Self::SomeUnbound(of) => vec![&of.tenant],
        }
    }
}

/// A metric within bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// The metric.
    pub of: MetricRef,
    /// Lower bound, inclusive.
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    pub at_most: Option<f64>,
}

/// A metric divided by another, within bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The metric.
    pub of: MetricRef,
    /// What it is divided by.
    pub to: MetricRef,
    /// Lower bound, inclusive.
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    pub at_most: Option<f64>,
}

/// Requests of a team.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Team.
    pub tenant: String,
    /// Class of request. Default: all classes.
    pub class: Option<String>,
}

/// A metric of a team.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricRef {
    /// Which metric.
    pub metric: Metric,
    /// Team; left out for a metric of the whole run.
    #[serde(default)]
    pub tenant: String,
    /// Class of request, for a metric that has one.
    pub class: Option<String>,
    /// Arm. Default: the arm being judged.
    pub arm: Option<String>,
}

impl MetricRef {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> MetricKey {
        MetricKey::of(&self.tenant, self.class.as_deref(), self.metric)
    }
}
