//! Where whole-machine requests were placed that a machine was cleared for.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a request was placed where it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placed {
    /// On the machine cleared for it: the first one that was handed over to it.
    Right,
    /// On another machine, which was empty and being cleared for nobody: it became free before the one that was chosen for the
    /// request was.
    Free,
    /// On another machine, which was being cleared for somebody else, or for the request itself in a second attempt, or held
    /// others' tasks.
    Wrong,
    /// Before any machine was chosen for it: one was free.
    Unaided,
    /// Not at all before the observation ended.
    Never,
}

/// One request, its machine and its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Team.
    pub tenant: String,
    /// Job or bare pod.
    pub name: String,
    /// The machine cleared for it: the first that was handed over to it, or else the last that was chosen for it.
    pub cleared_node: Option<String>,
    /// Machines whose clearing began for it.
    pub clearings: u32,
    /// Why none could be cleared for it, if none ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_candidate: Option<String>,
    /// When the first of these began, seconds since the run's clock started.
    pub chosen_secs: Option<f64>,
    /// When a machine was first handed over to it.
    pub handed_over_secs: Option<f64>,
    /// The machine it was bound to.
    pub node: Option<String>,
    /// When, by the bind time of record.
    pub bound_secs: Option<f64>,
    /// The verdict.
    pub placed: Placed,
}

impl Placement {
    /// Whether it was never placed because no machine could be cleared for it.
    #[must_use]
    pub fn has_no_candidate(&self) -> bool {
        self.placed == Placed::Never && self.clearings == 0 && self.no_candidate.is_some()
    }

    /// From the first clearing's begin to the request being bound, seconds, of one placed on the machine cleared for it.
    #[must_use]
    pub fn clearing_secs(&self) -> Option<f64> {
        let (from, to) = self.chosen_secs.zip(self.bound_secs)?;
        (self.placed == Placed::Right).then_some((to - from).max(0.0))
    }
}

/// Requests of a run by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementCounts {
    /// [`Placed::Right`].
    pub right: u32,
    /// [`Placed::Free`]; in an older headroom's runs these are among `wrong`.
    #[serde(default)]
    pub free: u32,
    /// [`Placed::Wrong`].
    pub wrong: u32,
    /// [`Placed::Never`].
    pub never: u32,
    /// Of these, requests for which no machine could be cleared.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub no_candidate: u32,
    /// [`Placed::Unaided`]: says nothing about the clearer, and is in no share.
    pub unaided: u32,
    /// Median time from a clearing's begin to its request being bound, seconds, of those on the machine cleared for them; of an even
    /// number the lower of the two in the middle.
    pub clearing_p50_secs: Option<f64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl PlacementCounts {
    /// Counts a run's requests.
    #[must_use]
    pub fn of(placements: &[&Placement]) -> Self {
        let with = |placed| {
            let of = placements.iter().filter(|l| l.placed == placed);
            crate::count(of.count())
        };
        let mut secs: Vec<f64> = placements
            .iter()
            .filter_map(|l| l.clearing_secs())
            .collect();
        secs.sort_by(f64::total_cmp);
        Self {
            right: with(Placed::Right),
            free: with(Placed::Free),
            wrong: with(Placed::Wrong),
            never: with(Placed::Never),
            no_candidate: crate::count(placements.iter().filter(|l| l.has_no_candidate()).count()),
            unaided: with(Placed::Unaided),
            clearing_p50_secs: secs.get(secs.len().saturating_sub(1) / 2).copied(),
        }
    }

    /// Requests that the clearer answers for.
    #[must_use]
    pub fn judged(self) -> u32 {
        self.right
            .saturating_add(self.elsewhere())
            .saturating_add(self.never)
    }

    /// Requests that the clearer answers for and that are not on the machine cleared for them.
    #[must_use]
    pub fn not_right(self) -> u32 {
        self.elsewhere().saturating_add(self.never)
    }

    /// Share of the requests that it answers for on the machine cleared for them; `None` of none.
    #[must_use]
    pub fn right_share(self) -> Option<f64> {
        self.share(self.right)
    }

    /// Share of them on another machine.
    #[must_use]
    pub fn elsewhere_share(self) -> Option<f64> {
        self.share(self.elsewhere())
    }

    fn share(self, count: u32) -> Option<f64> {
        let of = self.judged();
        (of > 0).then(|| f64::from(count) / f64::from(of))
    }

    /// Requests on another machine than the one cleared for them, empty or not: what the published experiment counted as wrong.
    #[must_use]
    pub fn elsewhere(self) -> u32 {
        self.free.saturating_add(self.wrong)
    }
}

/// A share with its exact binomial interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// How many.
    pub count: u32,
    /// Of how many.
    pub of: u32,
    /// Lower end of the two-sided 95 % interval, 0 to 1: Clopper and Pearson (1934), with the requests of a run as a cluster
    /// (Korn and Graubard, 1998).
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Placements of an arm, over all its runs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Placements {
    /// On the machine cleared for them.
    pub right: Share,
    /// On another machine: [`Placed::Free`] and [`Placed::Wrong`] together, which is what was published.
    #[serde(default)]
    pub elsewhere: Share,
    /// Of these, on one that was empty and cleared for nobody.
    #[serde(default)]
    pub free: Share,
    /// Of these, on one that was not.
    pub wrong: Share,
    /// Not at all.
    pub never: Share,
    /// Why no machine could be cleared for some, each reason once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_candidate: Vec<String>,
    /// Run by run, in the order they ran.
    pub by_run: Vec<PlacementCounts>,
}

impl Placements {
    /// On another machine, in whatever way. An older headroom kept them all as wrong.
    #[must_use]
    pub fn on_another(&self) -> Share {
        let old = self.elsewhere == Share::default();
        if old { self.wrong } else { self.elsewhere }
    }

    /// All of it in one plain sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let without: u32 = self.by_run.iter().map(|run| run.no_candidate).sum();
        let none = format!(
            "no machine could be cleared for {without} of {} requests: {}",
            self.right.of,
            self.no_candidate.join("; ")
        );
        if without > 0 && without == self.right.of {
            return none;
        }
        let elsewhere = self.on_another();
        let percent = |s: Share| format!("{:.0} to {:.0} %", s.low * 100.0, s.high * 100.0);
        let mut text = format!(
            "{} of {} requests were placed on the machine cleared for them (exact 95 % interval {}), {} elsewhere ({}), {} never",
            self.right.count,
            self.right.of,
            percent(self.right),
            elsewhere.count,
            percent(elsewhere),
            self.never.count,
        );
        // Writing to a String cannot fail.
        if self.free.count > 0 {
            let _ = write!(
                text,
                "; of those elsewhere {} took a machine that was empty and cleared for nobody, {} did not ({})",
                self.free.count,
                self.wrong.count,
                percent(self.wrong),
            );
        }
        if without > 0 {
            let _ = write!(text, "; {none}");
        }
        if self.by_run.len() > 1 {
            let each = self.by_run.iter();
            let each = each.map(|c| format!("{}/{}/{}", c.right, c.elsewhere(), c.never));
            let _ = write!(text, "; run by run {}", each.collect::<Vec<_>>().join(" "));
        }
        let medians = self.by_run.iter().filter_map(|c| c.clearing_p50_secs);
        let medians: Vec<String> = medians.map(|secs| format!("{secs:.1}")).collect();
        if !medians.is_empty() {
            let _ = write!(
                text,
                "; clearing to placement, median of a run, {} s",
                medians.join(", ")
            );
        }
        text
    }
}
