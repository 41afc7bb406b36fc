//! What an experiment expects: published metrics, and a closed set of predicates over metrics (not a language).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an experiment expects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// Values that were published, to be printed beside the measured ones.
    pub published: Vec<Published>,
    /// The shape that must hold, whatever the metrics.
    pub shape: Vec<Shape>,
    /// What it means for a user if every shape holds, in one plain sentence.
    pub meaning: String,
}

/// A published metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which metric.
    pub metric: Metric,
    /// Arm it was published for; `None`: every arm.
    #[serde(default)]
    pub arm: Option<String>,
    /// Team; left out for a metric of the whole run.
    #[serde(default)]
    pub tenant: String,
    /// Class of request, for a metric that has one.
    #[serde(default)]
    pub class: Option<String>,
    /// Its value.
    pub value: f64,
}

impl Published {
    /// Name of the metric in [`super::TenantPlan::published`]: `makespan_secs`, or `whole-card.bound_p95_secs`.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.class {
            Some(class) => format!("{class}.{}", self.metric.name()),
            None => self.metric.name().to_owned(),
        }
    }
}

/// A shape that must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The shape in words.
    pub claim: String,
    /// Arms that it is judged on. Default: every arm.
    #[serde(default)]
    pub arms: Vec<String>,
    /// The predicate.
    pub holds: Predicate,
}

/// A predicate over metrics. Values of repeats are taken at their median.
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
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    #[serde(default)]
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
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    #[serde(default)]
    pub at_most: Option<f64>,
}

/// Requests of a team.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Team.
    pub tenant: String,
    /// Class of request. Default: all classes.
    #[serde(default)]
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
    #[serde(default)]
    pub class: Option<String>,
    /// Arm. Default: the arm being judged.
    #[serde(default)]
    pub arm: Option<String>,
}

/// Values of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// From the clock's start to the team's last experiment done, seconds.
    MakespanSecs,
    /// Cards set aside × makespan.
    CardSecondsReserved,
    /// Quota held: admission → given back.
    CardSecondsAdmitted,
    /// Pod bound → pod ended.
    CardSecondsBound,
    /// Cards × run time of every experiment of the workload.
    CardSecondsIdeal,
    /// Requests bound when the observation ended.
    BoundCount,
    /// Median from intended submit to bound, seconds.
    BoundP50Secs,
    /// 95th percentile from intended submit to bound, seconds.
    BoundP95Secs,
    /// Median from intended submit to useful work, seconds; only in a run with a data plane.
    UsefulP50Secs,
    /// 95th percentile from intended submit to useful work, seconds; only in a run with a data plane.
    UsefulP95Secs,
    /// Most requests that held quota at the same time.
    AdmittedAtOnce,
    /// Most cards of requests that held quota at the same time.
    AdmittedCardsAtOnce,
    /// Attempts of the team ended by preemption or eviction.
    Evictions,
    /// Card-seconds of running that these have to do again.
    CardSecondsLost,
    /// Card-seconds from these being evicted until bound again, or until the observation's end.
    CardSecondsWaited,
    /// Whole-machine requests on the machine cleared for them. Counted over all runs of the arm, as are the next six.
    PlacedRight,
    /// Whole-machine requests on another machine, which had become empty and was being cleared for nobody.
    PlacedFree,
    /// Whole-machine requests on yet another machine.
    PlacedWrong,
    /// Whole-machine requests that placed nowhere.
    PlacedNever,
    /// The last three together.
    NotPlacedRight,
    /// Requests on the machine cleared for them ÷ all for which one was chosen or none was found, 0 to 1.
    PlacedRightShare,
    /// Requests on another machine than the one cleared for them, empty or not, ÷ the same.
    PlacedElsewhereShare,
    /// Median from a clearing's begin to its request being bound, seconds, of those that placed right.
    ClearingP50Secs,
    /// Restarts of supervised components. Of no team, as are the next two.
    Restarts,
    /// These ÷ hours under observation.
    RestartsPerHour,
    /// Of these, those of a component that lost its Lease.
    LeasesLost,
}

impl Metric {
    /// Its name in files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MakespanSecs => "makespan_secs",
            Self::CardSecondsReserved => "card_seconds_reserved",
            Self::CardSecondsAdmitted => "card_seconds_admitted",
            Self::CardSecondsBound => "card_seconds_bound",
            Self::CardSecondsIdeal => "card_seconds_ideal",
            Self::BoundCount => "bound_count",
            Self::BoundP50Secs => "bound_p50_secs",
            Self::BoundP95Secs => "bound_p95_secs",
            Self::UsefulP50Secs => "useful_p50_secs",
            Self::UsefulP95Secs => "useful_p95_secs",
            Self::AdmittedAtOnce => "admitted_at_once",
            Self::AdmittedCardsAtOnce => "admitted_cards_at_once",
            Self::Evictions => "evictions",
            Self::CardSecondsLost => "card_seconds_lost",
            Self::CardSecondsWaited => "card_seconds_waited",
            Self::PlacedRight => "placed_right",
            Self::PlacedFree => "placed_free",
            Self::PlacedWrong => "placed_wrong",
            Self::PlacedNever => "placed_never",
            Self::NotPlacedRight => "not_placed_right",
            Self::PlacedRightShare => "placed_right_share",
            Self::PlacedElsewhereShare => "placed_elsewhere_share",
            Self::ClearingP50Secs => "clearing_p50_secs",
            Self::Restarts => "restarts",
            Self::RestartsPerHour => "restarts_per_hour",
            Self::LeasesLost => "leases_lost",
        }
    }

    /// Whether it is of the whole run and of no team.
    #[must_use]
    pub fn of_run(self) -> bool {
        matches!(
            self,
            Self::Restarts | Self::RestartsPerHour | Self::LeasesLost
        )
    }

    /// Whether it can be had for one class of request.
    #[must_use]
    pub(crate) fn by_class(self) -> bool {
        matches!(
            self,
            Self::BoundCount
                | Self::BoundP50Secs
                | Self::BoundP95Secs
                | Self::UsefulP50Secs
                | Self::UsefulP95Secs
        )
    }
}
