//! Who pays for room: what each team lost when its work was evicted for others.

use plotters::prelude::*;

use super::bars::{Bars, STEP};
use super::canvas::{Key, Sketch};
use super::material::{Material, RunMaterial};
use super::pen::{Area, Drawn, Mark};
use super::theme::wash;
use crate::text::{count, short, whole};
use results::judge;
use results::run_folder::{Bill, Eviction};

/// The most teams (of all arms together) that one picture shows.
const ROWS: usize = 12;
const GAP: i32 = 14;
/// Room for the names of bars and for what they amount to.
const LEFT: i32 = 230;
const VALUE: i32 = 320;

/// The chart's data.
#[derive(Debug)]
pub struct Payment {
    arms: Vec<Arm>,
    /// Whether the session has more arms than those that paid.
    several: bool,
    origin: String,
}

#[derive(Debug)]
struct Arm {
    name: String,
    rows: Vec<(String, RGBColor, Bill)>,
}

/// What each team of a run paid, in display order. From the records: an older headroom kept no bills.
pub fn bills(run: &RunMaterial) -> Vec<(&str, Bill)> {
    let end_secs = run.summary.observed_secs;
    let (zero, decisions) = match run.clock_started() {
        Some(zero) => (zero, run.run.decisions.as_slice()),
        None => (jiff::Timestamp::UNIX_EPOCH, [].as_slice()),
    };
    let evictions = judge::evictions(&run.run.records, decisions, zero, end_secs);
    let teams = run.summary.tenants.iter().map(|team| {
        let own: Vec<&Eviction> = evictions.iter().filter(|s| s.tenant == team.name).collect();
        (team.name.as_str(), judge::bill(&own, end_secs))
    });
    teams.collect()
}

impl Payment {
    /// A chart, if any work was evicted.
    pub fn of(material: &Material) -> Option<Self> {
        let mut room = ROWS;
        let mut arms = Vec::new();
        for run in material.shown() {
            let paid = bills(run).into_iter().filter(|(_, b)| b.evictions() > 0);
            let named =
                paid.map(|(team, bill)| (team.to_owned(), material.teams.colour(team), bill));
            let rows: Vec<_> = named.take(room).collect();
            room -= rows.len();
            if !rows.is_empty() {
                let name = run.summary.arm.clone();
                arms.push(Arm { name, rows });
            }
        }
        (!arms.is_empty()).then(|| Self {
            arms,
            several: material.arms().len() > 1,
            origin: material.origin(),
        })
    }
}

/// Evictions, card-seconds lost and card-seconds waited of several teams together.
fn sum<'a>(bills: impl Iterator<Item = &'a Bill>) -> (u32, f64, f64) {
    bills.fold((0, 0.0, 0.0), |(evictions, lost, waited), b| {
        (
            evictions.saturating_add(b.evictions()),
            lost + b.lost_card_seconds,
            waited + b.waited_card_seconds,
        )
    })
}

fn finding(arms: &[Arm], several: bool) -> String {
    let paid = |name: &str, (evictions, lost, waited): (u32, f64, f64)| {
        format!(
            "{name} {} lost, {} waited ({})",
            whole(lost),
            whole(waited),
            count(u64::from(evictions), "eviction")
        )
    };
    let each: Vec<String> = match arms {
        [arm] if !several => {
            let rows = arm.rows.iter().take(4);
            rows.map(|(team, _, bill)| paid(team, sum(std::iter::once(bill))))
                .collect()
        }
        arms => {
            let arms = arms.iter().take(4);
            arms.map(|arm| paid(&arm.name, sum(arm.rows.iter().map(|(_, _, b)| b))))
                .collect()
        }
    };
    format!("Others paid, card·s: {}", each.join("; "))
}

impl Sketch for Payment {
    fn name(&self) -> String {
        "who-pays".into()
    }

    fn title(&self) -> String {
        finding(&self.arms, self.several)
    }

    fn legend(&self) -> Vec<Key> {
        let first = self.arms.first().and_then(|a| a.rows.first());
        let Some((_, colour, _)) = first else {
            return Vec::new();
        };
        vec![
            Key::new(Mark::Fill, *colour, "work to be done again"),
            Key::new(Mark::Fill, wash(*colour), "waiting until bound again"),
        ]
    }

    fn note(&self) -> String {
        format!(
            "Card-seconds, in the team's colour: from running to evicted, and from evicted to bound again or to the end of \
             the observation; one run of each arm. A task evicted twice counts twice, with or without a machine. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        let rows: usize = self.arms.iter().map(|a| a.rows.len()).sum();
        let rows = i32::try_from(rows).unwrap_or(1) * (2 * STEP + GAP);
        let arms = i32::try_from(self.arms.len()).unwrap_or(1);
        (rows + if self.several { arms * STEP } else { 0 } + 8).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let bills = self.arms.iter().flat_map(|a| &a.rows).map(|(_, _, b)| b);
        let most = bills
            .map(|b| b.lost_card_seconds.max(b.waited_card_seconds))
            .fold(0.0, f64::max);
        let bars = Bars::new(body, LEFT, VALUE, most);
        let mut y = STEP / 2;
        for arm in &self.arms {
            if self.several {
                bars.heading(y, &short(&arm.name, 40))?;
                y += STEP;
            }
            for (name, colour, bill) in &arm.rows {
                bars.name(y, name, 12)?;
                for (what, value, colour) in [
                    ("lost", bill.lost_card_seconds, *colour),
                    ("waited", bill.waited_card_seconds, wash(*colour)),
                ] {
                    bars.parts(y, &[(value, colour)])?;
                    bars.value(y, &format!("{} card·s {what}", whole(value)))?;
                    y += STEP;
                }
                y += GAP;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::theme::INK;
    use super::*;

    #[test]
    fn the_title_says_what_each_way_cost() {
        let row = |team: &str, lost| {
            let bill = Bill {
                by_clearer: 2,
                lost_card_seconds: lost,
                waited_card_seconds: 10.0,
                ..Bill::default()
            };
            (team.to_owned(), INK, bill)
        };
        let arm = |name: &str, lost| Arm {
            name: name.into(),
            rows: vec![row("vision", lost), row("speech", 30.0)],
        };
        assert_eq!(
            finding(&[arm("reserve", 1270.0)], false),
            "Others paid, card·s: vision 1,270 lost, 10 waited (2 evictions); speech 30 lost, 10 waited (2 evictions)"
        );
        assert_eq!(
            finding(&[arm("kueue", 70.0), arm("clearer", 20.0)], true),
            "Others paid, card·s: kueue 100 lost, 20 waited (4 evictions); clearer 50 lost, 20 waited (4 evictions)"
        );
    }
}
