//! Bind latency on an axis of percentiles, as HDR histograms are shown: every request, the never bound
//! ones too. A panel an arm.
//!
//! - [`curve`]: one team's requests of one class
//! - [`tails`]: the same in a few words

mod curve;
mod tails;

use plotters::prelude::*;

use self::curve::{Curve, curves};
use super::canvas::{Key, Sketch};
use super::grid;
use super::material::Material;
use super::panel::{FOOT, HEAD, NAME, Panel};
use super::pen::{Area, Drawn, Mark};
use super::scale::Scale;
use super::theme::INK;
use crate::text::{count, short, unless_none};
use results::metrics::Amount;

pub(super) use tails::tails;

/// The most arms that one picture shows.
const PANELS: usize = 8;
/// Height of the panel of a single arm, and of each of several.
const TALL: i32 = 520;
const LOW: i32 = 280;

/// The chart's data.
#[derive(Debug)]
pub struct BoundLatency {
    arms: Vec<Arm>,
    title: String,
    runs: usize,
    origin: String,
}

#[derive(Debug)]
struct Arm {
    name: String,
    curves: Vec<Curve>,
}

impl BoundLatency {
    /// A chart, if the session has records.
    pub fn of(material: &Material) -> Option<Self> {
        let shown = material.shown();
        let arms = shown.iter().map(|run| Arm {
            name: run.summary.arm.clone(),
            curves: curves(material, run),
        });
        let arms = arms.filter(|arm| !arm.curves.is_empty());
        let arms: Vec<Arm> = arms.take(PANELS).collect();
        let drawn = || arms.iter().flat_map(|a| &a.curves);
        let never: usize = drawn().map(|c| c.censored.len()).sum();
        let all: usize = drawn().map(Curve::count).sum();
        let words = match (&arms[..], &shown[..]) {
            ([], _) => return None,
            ([_], [run, ..]) => tails(run, 2).unwrap_or_default(),
            (several, _) => over_arms(several),
        };
        Some(Self {
            title: finding(never, all, &words),
            runs: material.runs.len(),
            origin: material.origin(),
            arms,
        })
    }
}

/// The largest curve of the arms: in which it took least, and in which most.
fn over_arms(arms: &[Arm]) -> String {
    let curves = arms.iter().flat_map(|a| &a.curves);
    let largest = curves.max_by_key(|c| c.count());
    let largest = largest.map_or("", |c| &c.label);
    let with_it = arms
        .iter()
        .filter_map(|arm| Some((arm, arm.curves.iter().find(|c| c.label == largest)?)));
    let mut each: Vec<(&Arm, &Curve)> = with_it.collect();
    each.sort_by(|(_, a), (_, b)| Amount::order(&a.tail_amount, &b.tail_amount));
    match each[..] {
        [(least, a), .., (most, b)] if a.tail != b.tail => {
            format!(
                "{largest}: {} in {}, {} in {}",
                a.tail, least.name, b.tail, most.name
            )
        }
        [(_, only), ..] => format!("{largest}: {} in each arm", only.tail),
        [] => String::new(),
    }
}

fn finding(never: usize, all: usize, words: &str) -> String {
    let all = count(all as u64, "request");
    let never = unless_none(never, |n| format!("{n} of {all} never bound. "));
    format!("{never}Bind latency, {words}")
}

impl Sketch for BoundLatency {
    fn name(&self) -> String {
        "bound-latency".into()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn legend(&self) -> Vec<Key> {
        let one = self.arms.len() == 1;
        let mut keys: Vec<Key> = Vec::new();
        let curves = || self.arms.iter().flat_map(|a| &a.curves);
        for curve in curves() {
            let label = if one {
                format!("{} (n = {})", curve.label, curve.count())
            } else {
                curve.label.clone()
            };
            if keys.iter().all(|k| k.label != label) {
                keys.push(Key::new(curve.mark, curve.colour, label));
            }
        }
        if curves().any(|c| !c.published.is_empty()) {
            keys.push(Key::new(Mark::Diamond, INK, "published"));
        }
        if curves().any(|c| !c.censored.is_empty()) {
            keys.push(Key::new(Mark::Over, INK, "never bound: longer than this"));
        }
        keys
    }

    fn note(&self) -> String {
        let runs = count(self.runs as u64, "run");
        format!(
            "From the intended submit time, every request of {runs}; percentiles p spaced by 1 ÷ (1 − p), time on a log \
             scale. {}",
            self.origin
        )
    }

    fn height(&self) -> u32 {
        match self.arms.len() {
            1 => (HEAD + TALL + FOOT + NAME).unsigned_abs(),
            n => grid::height(n, LOW),
        }
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let n = self.arms.len();
        let wide = (120, body.dim_in_pixel().0.cast_signed() - 40);
        let curves = || self.arms.iter().flat_map(|a| &a.curves);
        let most = curves().map(Curve::count).max().unwrap_or(1);
        let y = Scale::log_secs(curves().flat_map(|c| {
            let published = c.published.iter().map(|(_, secs)| secs);
            let all = c.observed.iter().chain(&c.censored).chain(published);
            all.copied()
        }));
        for (arm, place, last) in grid::each(&self.arms, LOW) {
            let (title, (sides, rows)) = match n {
                1 => ("bind latency".to_owned(), (wide, (HEAD, HEAD + TALL))),
                _ => (short(&arm.name, 40), place),
            };
            let x = Scale::percentiles(most, n > 1);
            let panel = Panel::new(body, sides, rows, x, y.clone());
            panel.axes(&title, "")?;
            panel.x_axis(if last { "percentile of requests" } else { "" }, true)?;
            for curve in &arm.curves {
                curve.draw(body, &panel)?;
            }
        }
        Ok(())
    }
}
