//! Who pays for room: what each team lost when its work was stopped for others.

use plotters::prelude::*;

use super::canvas::{Area, Drawn, Key, Mark, Sketch, Words, bar, write};
use super::material::{Material, RunMaterial};
use super::scale::Scale;
use super::text::{count, short, whole};
use super::theme::{WIDTH, wash};
use crate::run_folder::{AttemptEnd, Record};

/// The most teams (of all arms together) that one picture shows.
const ROWS: usize = 10;
const BAR: i32 = 36;
const STEP: i32 = 46;
const GAP: i32 = 14;
/// Where bars begin, and room at the right for what they amount to.
const LEFT: i32 = 330;
const VALUE: i32 = 320;

/// The chart's data.
#[derive(Debug)]
pub struct Payment {
    rows: Vec<(String, RGBColor, Bill)>,
    origin: String,
}

/// What a team lost in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bill {
    /// Attempts stopped: preempted or evicted.
    pub stops: u32,
    /// Card-seconds of running that were thrown away.
    pub lost: f64,
    /// Card-seconds from being stopped until bound again, or until the observation's end.
    pub waited: f64,
}

/// The bill of `records`, watched until `end_secs`.
pub fn bill<'a>(records: impl Iterator<Item = &'a Record>, end_secs: f64) -> Bill {
    let mut bill = Bill::default();
    for record in records {
        let cards = f64::from(record.request.cards);
        for (i, attempt) in record.attempts.iter().enumerate() {
            if !matches!(attempt.end, AttemptEnd::Preempted | AttemptEnd::Evicted) {
                continue;
            }
            bill.stops = bill.stops.saturating_add(1);
            let stopped = attempt
                .stopped_secs()
                .or(attempt.released_secs)
                .unwrap_or(end_secs)
                .min(end_secs);
            if let Some(running) = attempt.running_secs {
                bill.lost += cards * (stopped - running).max(0.0);
            }
            let again = record.attempts[i + 1..]
                .iter()
                .find_map(crate::run_folder::Attempt::bind_secs);
            bill.waited += cards * (again.unwrap_or(end_secs).min(end_secs) - stopped).max(0.0);
        }
    }
    bill
}

impl Payment {
    /// A chart, if any work was stopped.
    #[must_use]
    pub fn of(material: &Material) -> Option<Self> {
        let several = material.arms().len() > 1;
        let bills = |run: &RunMaterial| -> Vec<(String, RGBColor, Bill)> {
            let teams = run.summary.tenants.iter().map(|t| {
                let own = run.run.records.iter().filter(|r| r.tenant == t.name);
                let name = if several {
                    format!("{}: {}", run.summary.arm, t.name)
                } else {
                    t.name.clone()
                };
                (
                    name,
                    material.teams.colour(&t.name),
                    bill(own, run.summary.observed_secs),
                )
            });
            teams.filter(|(_, _, bill)| bill.stops > 0).collect()
        };
        let mut rows: Vec<_> = material.shown().into_iter().flat_map(bills).collect();
        rows.truncate(ROWS);
        (!rows.is_empty()).then(|| Self {
            rows,
            origin: material.origin(),
        })
    }
}

impl Sketch for Payment {
    fn name(&self) -> String {
        "who-pays".into()
    }

    fn title(&self) -> String {
        if let [(name, _, bill)] = &self.rows[..] {
            return format!(
                "{name} paid with {}, {} card·s of work and {} card·s of waiting",
                count(u64::from(bill.stops), "stop"),
                whole(bill.lost),
                whole(bill.waited)
            );
        }
        let each =
            self.rows.iter().take(3).map(|(name, _, bill)| {
                format!("{name} {} + {}", whole(bill.lost), whole(bill.waited))
            });
        format!(
            "Who paid, card·s of work lost + waiting: {}",
            each.collect::<Vec<_>>().join("; ")
        )
    }

    fn legend(&self) -> Vec<Key> {
        let colour = self.rows[0].1;
        vec![
            Key::new(Mark::Fill, colour, "work thrown away"),
            Key::new(Mark::Fill, wash(colour), "waiting until bound again"),
        ]
    }

    fn note(&self) -> String {
        format!(
            "Card-seconds: cards × time from running to stopped, and from stopped to bound again (or the observation's \
             end). {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        (i32::try_from(self.rows.len()).unwrap_or(1) * (2 * STEP + GAP) + 8).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let right = WIDTH.cast_signed() - 48 - VALUE;
        let most = self
            .rows
            .iter()
            .map(|(_, _, b)| b.lost.max(b.waited))
            .fold(0.0, f64::max);
        let scale = Scale::exact(most);
        #[allow(clippy::cast_possible_truncation)] // a share of a picture's width
        let end = |v: f64| LEFT + (scale.at(v) * f64::from(right - LEFT)).round() as i32;
        let mut y = STEP / 2;
        for (name, colour, bill) in &self.rows {
            write(body, (0, y), &short(name, 19), &Words::plain())?;
            for (what, value, colour) in [
                ("lost", bill.lost, *colour),
                ("waited", bill.waited, wash(*colour)),
            ] {
                bar(body, (LEFT, y - BAR / 2), (end(value), y + BAR / 2), colour)?;
                let text = format!("{} card·s {what}", whole(value));
                write(body, (right + 24, y), &text, &Words::soft().size(27.0))?;
                y += STEP;
            }
            y += GAP;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::stopped_task;
    use super::*;

    #[test]
    fn a_stopped_task_costs_its_run_and_its_wait() {
        // Eight cards, running from 10, stopped at 40, bound again at 55.
        let record = stopped_task("others", 8, [10.0, 40.0], Some(55.0));
        let own = bill([&record].into_iter(), 100.0);
        assert_eq!(
            own,
            Bill {
                stops: 1,
                lost: 240.0,
                waited: 120.0
            }
        );
        let never = stopped_task("others", 8, [10.0, 40.0], None);
        let own = bill([&never].into_iter(), 100.0);
        assert_eq!(
            own,
            Bill {
                stops: 1,
                lost: 240.0,
                waited: 480.0
            }
        );
    }
}
