//! Every whole-machine request of every run by where it was placed, a row an arm: how often clearing goes wrong, and how sure
//! that is.

use plotters::prelude::*;

use super::canvas::{Key, Sketch};
use super::material::Material;
use super::pen::{Area, Drawn, Mark, bar, spot};
use super::theme::{GRID, INK, SOFT, TEXT, WRONG, width};
use super::words::{Words, write};
use crate::text::{count, joined, percent, short, unless_none};
use plan::metric::{Metric, MetricKey};
use results::run_folder::{Placed, Placements};

/// The most arms, and runs of an arm, that one picture shows.
const ARMS: usize = 8;
const RUNS: usize = 16;
/// Requests of a run stand in columns of this many.
const DEEP: usize = 5;
const CELL: i32 = 30;
/// Space between two runs and between two arms.
const APART: i32 = 12;
const GAP: i32 = 26;
/// Room above the runs for the arm's name and share.
const HEADING: i32 = 40;

/// The chart's data.
#[derive(Debug)]
pub struct PlacedWhere {
    arms: Vec<Arm>,
    origin: String,
}

#[derive(Debug)]
struct Arm {
    name: String,
    all: Placements,
    /// Published share that was placed on the machine cleared for it.
    published: Option<f64>,
    /// Of each run, where its requests were placed.
    runs: Vec<Vec<Placed>>,
}

impl PlacedWhere {
    /// A chart, if machines were cleared for requests.
    pub fn of(material: &Material) -> Option<Self> {
        let summary = &material.session.summary;
        let arms = summary.arms.iter().filter_map(|arm| {
            let runs = summary.runs.iter().filter(|r| r.arm == arm.name);
            let placed = runs.map(|r| r.placements.iter().map(|l| l.placed).collect());
            let published = |metric: Metric| {
                let of = |name: &str| name.parse().is_ok_and(|k: MetricKey| k.metric == metric);
                let found = arm.published.iter().find(|(name, _)| of(name));
                found.map(|(_, share)| *share)
            };
            Some(Arm {
                name: arm.name.clone(),
                all: arm.placements.clone()?,
                published: published(Metric::PlacedRightShare)
                    .or_else(|| published(Metric::PlacedElsewhereShare).map(|share| 1.0 - share)),
                runs: placed.take(RUNS).collect(),
            })
        });
        let arms: Vec<Arm> = arms.take(ARMS).collect();
        (!arms.is_empty()).then(|| Self {
            arms,
            origin: material.origin(),
        })
    }
}

impl Arm {
    fn columns(placed: &[Placed]) -> i32 {
        i32::try_from(placed.len().div_ceil(DEEP).max(1)).unwrap_or(1)
    }

    fn rows(&self) -> i32 {
        let deepest = self.runs.iter().map(Vec::len).max().unwrap_or(1);
        i32::try_from(deepest.clamp(1, DEEP)).unwrap_or(1)
    }

    /// Side of a cell, so that all runs find room left of `right`.
    fn cell(&self, right: i32) -> i32 {
        let columns: i32 = self.runs.iter().map(|r| Self::columns(r)).sum();
        let apart = APART * i32::try_from(self.runs.len()).unwrap_or(1);
        ((right - apart) / columns.max(1)).clamp(12, CELL)
    }

    fn height(&self) -> i32 {
        HEADING + self.rows() * CELL + GAP
    }

    /// `43 of 50, 73 to 94 %`.
    fn share(&self) -> String {
        let right = self.all.right;
        let (low, high) = (percent(right.low), percent(right.high));
        let low = low.trim_end_matches(" %");
        format!(
            "{} of {} on their machine ({low} to {high})",
            right.count, right.of
        )
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>, top: i32) -> Drawn {
        let right = body.dim_in_pixel().0.cast_signed();
        write(body, (0, top + 16), &short(&self.name, 30), &Words::bold())?;
        let mut words = self.share();
        if let Some(published) = self.published {
            words = format!("{words}; published {}", percent(published));
        }
        let after = width(&short(&self.name, 30), TEXT, true) + 24;
        if after + width(&words, TEXT, false) < right {
            write(body, (right, top + 16), &words, &Words::soft().right())?;
        }
        let cell = self.cell(right);
        let mut left = 0;
        for run in &self.runs {
            for (i, placed) in run.iter().enumerate() {
                let int = |n: usize| i32::try_from(n).unwrap_or(0);
                let x = left + int(i / DEEP) * cell;
                let y = top + HEADING + int(i % DEEP) * cell;
                bar(body, (x + 1, y + 1), (x + cell - 1, y + cell - 1), GRID)?;
                let (mark, colour) = look(*placed);
                spot(body, (x + cell / 2, y + cell / 2), mark, colour)?;
            }
            left += Self::columns(run) * cell + APART;
        }
        Ok(())
    }
}

fn look(placed: Placed) -> (Mark, RGBColor) {
    match placed {
        Placed::Right => (Mark::Circle, INK),
        Placed::Wrong => (Mark::Cross, WRONG),
        Placed::Never => (Mark::Over, WRONG),
        Placed::Free => (Mark::Ring, INK),
        Placed::Unaided => (Mark::Ring, SOFT),
    }
}

fn finding(arms: &[(&str, &Placements)]) -> String {
    let several = arms.len() > 1;
    let each = arms.iter().take(4).map(|(name, all)| {
        let name = if several {
            format!("{name} ")
        } else {
            String::new()
        };
        let elsewhere = unless_none(all.on_another().count, |n| format!(", {n} elsewhere"));
        let nowhere = unless_none(all.never.count, |n| format!(", {n} nowhere"));
        let right = format!("{} of {}", all.right.count, all.right.of);
        format!("{name}{right}{elsewhere}{nowhere}")
    });
    let each = joined(each, "; ");
    format!("Requests on the machine cleared for them: {each}")
}

impl Sketch for PlacedWhere {
    fn name(&self) -> String {
        "placements".into()
    }

    fn title(&self) -> String {
        let arms = self.arms.iter().map(|a| (a.name.as_str(), &a.all));
        finding(&arms.collect::<Vec<_>>())
    }

    fn legend(&self) -> Vec<Key> {
        let all = || self.arms.iter().flat_map(|a| &a.runs).flatten();
        let keys = [
            (Placed::Right, "on the machine cleared for it"),
            (
                Placed::Wrong,
                "on one that was not empty, or cleared for another",
            ),
            (Placed::Never, "nowhere"),
            (Placed::Free, "on another one that had become empty"),
            (Placed::Unaided, "found a free machine"),
        ];
        let used = keys.into_iter().filter(|(l, _)| all().any(|a| a == l));
        used.map(|(placed, label)| {
            let (mark, colour) = look(placed);
            Key::new(mark, colour, label)
        })
        .collect()
    }

    fn note(&self) -> String {
        let more = |a: &Arm| a.all.by_run.len().saturating_sub(a.runs.len()) as u64;
        let more = unless_none(self.arms.iter().map(more).sum(), |n| {
            format!(" {} not shown.", count(n, "more run"))
        });
        format!(
            "A square is a whole-machine request, a block is a run. In brackets: the exact 95 % interval (Clopper and \
             Pearson) of the share placed on the machine cleared for it.{more} {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        let all: i32 = self.arms.iter().map(Arm::height).sum();
        all.unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let mut top = 0;
        for arm in &self.arms {
            arm.draw(body, top)?;
            top += arm.height();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::run_folder::Share;

    #[test]
    fn the_title_counts_requests_by_where_they_were_placed() {
        let share = |count| Share {
            count,
            of: 50,
            low: 0.7,
            high: 0.9,
        };
        let placements = |right, elsewhere, never| Placements {
            no_candidate: vec![],
            right: share(right),
            elsewhere: share(elsewhere),
            free: share(2),
            wrong: share(elsewhere - 2),
            never: share(never),
            by_run: Vec::new(),
        };
        let (first, second) = (placements(43, 5, 2), placements(50, 2, 0));
        assert_eq!(
            finding(&[("list-then-evict", &first), ("recheck", &second)]),
            "Requests on the machine cleared for them: list-then-evict 43 of 50, 5 elsewhere, 2 nowhere; recheck 50 of 50, 2 elsewhere"
        );
    }
}
