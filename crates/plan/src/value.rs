//! Values of the experiment file that can be written in more than one way.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::check::Check;
use super::error::PlanError;
use super::{CARD_MEMORY_MIB, CARDS_PER_NODE, ClientLimit, NamedLimits, Request};

/// A client limit by name or by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub(super) enum Limits {
    /// By name.
    Named(NamedLimits),
    /// By its numbers.
    Numbers(ClientLimit),
}

impl Limits {
    pub(super) const RAISED: Self = Self::Named(NamedLimits::Raised);

    pub(super) fn numbers(self) -> ClientLimit {
        match self {
            Self::Named(NamedLimits::Raised) => ClientLimit::new(100.0, 200),
            Self::Named(NamedLimits::HamiDefault) => ClientLimit::new(5.0, 10),
            Self::Numbers(limit) => limit,
        }
    }
}

/// Cards of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub(super) enum QuotaCards {
    /// This many.
    Cards(u32),
    /// By name.
    Named(NamedCards),
}

/// Cards of a quota by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NamedCards {
    /// What the other teams' quotas leave of the group's cards.
    Rest,
}

/// How many requests.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub(super) enum Count {
    /// This many.
    Number(u32),
    /// By name.
    Named(NamedCount),
    /// As many as fill a share of the cards.
    Share(Share),
}

/// A number of requests by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NamedCount {
    /// As many as the team's nominal quota holds.
    Nominal,
}

/// A share of the cards.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Share {
    /// Of the cards of the team's group, above 0 to 1.
    pub share_of_cards: f64,
}

/// What a request asks for, by the name of its class or in detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub(super) enum RequestShape {
    /// By the name of its class.
    Class(Class),
    /// In detail.
    Detail(Detail),
}

/// Classes of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Class {
    /// One card.
    WholeCard,
    /// All cards of one machine.
    WholeMachine,
    /// A tenth of one card: 2456 MiB and 10 % of the cores.
    Tenth,
}

/// What a request asks for in detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Detail {
    /// Distinct cards on one machine, 1 to 8.
    pub cards: u32,
    /// MiB on each card. Default: the whole card.
    pub gpumem_mib: Option<u32>,
    /// Percent of each card's cores. Default: not limited.
    pub gpucores: Option<u32>,
}

impl RequestShape {
    pub(super) fn request(self) -> Request {
        let whole = |cards| Request {
            cards,
            gpumem_mib: None,
            gpucores: None,
        };
        match self {
            Self::Class(Class::WholeCard) => whole(1),
            Self::Class(Class::WholeMachine) => whole(CARDS_PER_NODE),
            Self::Class(Class::Tenth) => Request {
                cards: 1,
                gpumem_mib: Some(CARD_MEMORY_MIB / 10),
                gpucores: Some(10),
            },
            Self::Detail(detail) => Request {
                cards: detail.cards,
                gpumem_mib: detail.gpumem_mib,
                gpucores: detail.gpucores,
            },
        }
    }
}

/// How long a Job runs.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub(super) enum RunTime {
    /// Always the same.
    Fixed(f64),
    /// Drawn uniformly from a range, by the run's seed.
    Between(Between),
}

/// A range.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Between {
    /// Shortest.
    pub from: f64,
    /// Longest.
    pub to: f64,
}

/// Implements `Deserialize` for a type written as a name, a number or a mapping. (serde's `untagged` would lose which
/// field of which alternative was wrong.)
impl Between {
    /// Checks that both are within `range`, and in order.
    pub(super) fn check(
        self,
        check: Check<'_>,
        path: &str,
        range: RangeInclusive<f64>,
    ) -> Result<(), PlanError> {
        check.number(&format!("{path}.from"), self.from, range.clone())?;
        check.number(&format!("{path}.to"), self.to, range)?;
        check.ordered(path, ["from", "to"], self.from, self.to)
    }
}

macro_rules! written_as {
    ($type:ident, $words:literal,
     $(text => $text:ty as $text_variant:ident,)?
     $(whole => $whole_variant:ident,)?
     $(number => $number_variant:ident,)?
     $(map => $map:ty as $map_variant:ident,)?
    ) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Written;

                impl<'de> Visitor<'de> for Written {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($words)
                    }

                    $(fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        let name = serde::de::value::StrDeserializer::new(text);
                        <$text>::deserialize(name).map($type::$text_variant)
                    })?

                    $(fn visit_u64<E: Error>(self, number: u64) -> Result<$type, E> {
                        u32::try_from(number).map($type::$whole_variant).map_err(|_| {
                            E::invalid_value(serde::de::Unexpected::Unsigned(number), &self)
                        })
                    })?

                    $(
                    fn visit_f64<E: Error>(self, number: f64) -> Result<$type, E> {
                        Ok($type::$number_variant(number))
                    }

                    #[allow(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
                    fn visit_u64<E: Error>(self, number: u64) -> Result<$type, E> {
                        Ok($type::$number_variant(number as f64))
                    }

                    #[allow(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
                    fn visit_i64<E: Error>(self, number: i64) -> Result<$type, E> {
                        Ok($type::$number_variant(number as f64))
                    }
                    )?

                    $(fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        <$map>::deserialize(MapAccessDeserializer::new(map)).map($type::$map_variant)
                    })?
                }

                deserializer.deserialize_any(Written)
            }
        }
    };
}

written_as!(Limits, "raised, hami-default, or { qps, burst }",
    text => NamedLimits as Named,
    map => ClientLimit as Numbers,
);
written_as!(QuotaCards, "a number of cards, or rest",
    text => NamedCards as Named,
    whole => Cards,
);
written_as!(Count, "a number, nominal, or { share_of_cards }",
    text => NamedCount as Named,
    whole => Number,
    map => Share as Share,
);
written_as!(RequestShape, "whole-card, whole-machine, tenth, or { cards, gpumem_mib, gpucores }",
    text => Class as Class,
    map => Detail as Detail,
);
written_as!(RunTime, "a number, or { from, to }",
    number => Fixed,
    map => Between as Between,
);
