//! Where time goes: what each team's requests waited for, from submit to useful work.

use plotters::prelude::*;

use super::bars::{Bars, STEP};
use super::canvas::{Key, Sketch};
use super::material::Material;
use super::pen::{Area, Drawn, Mark};
use super::theme::{GRID, INK, SOFT, shade};
use crate::tables::waits;
use crate::text::{secs, short};
use results::waits::Cause;

/// The most teams (of all arms together) that one picture shows.
const ROWS: usize = 16;
/// Room for the names of bars and for what they amount to.
const LEFT: i32 = 330;
const VALUE: i32 = 150;

/// The chart's data.
#[derive(Debug)]
pub struct WaitedFor {
    title: String,
    /// Name, and seconds by cause, in [`Cause::ALL`]'s order.
    rows: Vec<(String, [f64; Cause::ALL.len()])>,
    origin: String,
}

impl WaitedFor {
    /// A chart, if a request waited for a second.
    pub fn of(material: &Material) -> Option<Self> {
        let several = material.arms().len() > 1;
        let mut rows = Vec::new();
        let mut title = None;
        for run in material.shown() {
            let arm = &run.summary.arm;
            for team in &run.summary.tenants {
                let Some(waits) = &team.waits else { continue };
                let by_cause = Cause::ALL.map(|c| waits.secs.get(&c).copied().unwrap_or(0.0));
                if by_cause.iter().sum::<f64>() >= 1.0 {
                    let name = if several {
                        format!("{arm}, {}", team.name)
                    } else {
                        team.name.clone()
                    };
                    rows.push((name, by_cause));
                }
            }
            let sentence = waits::sentence(&run.summary, &run.run.info.plan);
            let named = |s: String| if several { format!("{arm}: {s}") } else { s };
            title = title.or(sentence.map(named));
        }
        rows.truncate(ROWS);
        Some(Self {
            title: title?,
            rows,
            origin: material.origin(),
        })
    }

    /// The causes that occur, with their places.
    fn causes(&self) -> impl Iterator<Item = (usize, Cause)> {
        let occurs = |i: usize| self.rows.iter().any(|(_, secs)| secs[i] > 0.0);
        let all = Cause::ALL.into_iter().enumerate();
        all.filter(move |(i, _)| occurs(*i))
    }
}

/// A cause's colour: quota and machines are what a policy decides, the rest is the control plane's.
fn colour(cause: Cause) -> RGBColor {
    match cause {
        Cause::Quota => GRID,
        Cause::Machine => SOFT,
        Cause::Start => INK,
        Cause::Kueue => shade(0),
        Cause::Controllers => shade(1),
        Cause::Scheduler => shade(2),
        Cause::Hami => shade(3),
    }
}

impl Sketch for WaitedFor {
    fn name(&self) -> String {
        "waited-for".into()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn legend(&self) -> Vec<Key> {
        let key = |(_, cause): (usize, Cause)| Key::new(Mark::Fill, colour(cause), cause.words());
        self.causes().map(key).collect()
    }

    fn note(&self) -> String {
        format!(
            "Seconds that a team's requests waited from submit to useful work, all together, by what they waited for; first \
             attempts only; one run of each arm. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        let rows = i32::try_from(self.rows.len()).unwrap_or(1);
        (rows * STEP + 8).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let sum = |by_cause: &[f64]| by_cause.iter().sum::<f64>();
        let most = self.rows.iter().map(|(_, s)| sum(s)).fold(0.0, f64::max);
        let bars = Bars::new(body, LEFT, VALUE, most);
        let mut y = STEP / 2;
        for (name, by_cause) in &self.rows {
            bars.name(y, &short(name, 22), 12)?;
            let part = |(i, cause): (usize, Cause)| (by_cause[i], colour(cause));
            let parts: Vec<_> = self.causes().map(part).collect();
            bars.parts(y, &parts)?;
            bars.value(y, &secs(sum(by_cause)))?;
            y += STEP;
        }
        Ok(())
    }
}
