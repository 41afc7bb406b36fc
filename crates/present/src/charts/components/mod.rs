//! Restarts of components over time, with etcd's stalls and its disk, and the waits of those who submitted meanwhile.

mod data;

use plotters::prelude::*;

use self::data::{Data, restarts};
use super::canvas::{Key, Sketch};
use super::material::{Material, RunMaterial};
use super::panel::{FOOT, HEAD, NAME, Panel};
use super::pen::{Area, Drawn, Mark, line, spot};
use super::scale::Scale;
use super::theme::{GRID, INK, SOFT, WRONG};
use super::words::{Words, write};
use crate::text::{count, joined, short};
use plan;
use results::run_folder::Soak;

const PANEL_HEIGHT: i32 = 400;
const DISK_HEIGHT: i32 = 170;
const LANE: i32 = 46;
/// From one panel's axis to the next panel: room for its title.
const BETWEEN: i32 = HEAD + 24;
/// The most teams that the legend names.
const TEAMS: usize = 8;

/// The chart's data.
#[derive(Debug)]
pub struct Components {
    suffix: String,
    /// The arm, where there are several.
    arm: Option<String>,
    /// `repeat 2 of 7`, where there are several.
    which: Option<String>,
    run: String,
    origin: String,
    /// What all runs of a soak came to, of which this is but one.
    soak: Option<String>,
    data: Data,
}

impl Components {
    /// A chart for each arm, and of several arms for those in which a component exited or etcd was stalled.
    pub fn of(material: &Material) -> Vec<Self> {
        let one = material.arms().len() == 1;
        let soak = material.session.summary.soak.as_ref();
        let charts = material.shown().into_iter().map(|shown| {
            let run = soak.map_or(shown, |_| {
                material.most(shown, |run| restarts(&run.summary))
            });
            Self {
                suffix: material.suffix(&run.summary.arm),
                arm: (!one).then(|| run.summary.arm.clone()),
                which: which(material, run),
                run: run.label(),
                origin: material.origin(),
                data: Data::of(material, run),
                soak: soak.map(in_a_soak),
            }
        });
        charts
            .filter(|c| c.data.is_eventful() || (one && !c.data.teams.is_empty()))
            .collect()
    }

    /// Where the panel of etcd's disk ends, and where the lanes of exits do.
    fn bottoms(&self) -> (i32, i32) {
        let disk = match self.data.fsyncs().len() {
            0 => 0,
            _ => BETWEEN + DISK_HEIGHT,
        };
        let lanes = match self.data.lanes().len() {
            0 => 0,
            n => BETWEEN + i32::try_from(n).unwrap_or(0) * LANE,
        };
        let disk = HEAD + PANEL_HEIGHT + disk;
        (disk, disk + lanes)
    }

    /// Marks stalls and exits over the whole height of a panel.
    fn draw_events<DB: DrawingBackend>(&self, panel: &Panel<DB>) -> Drawn {
        for stall in &self.data.stalls {
            let (from, to) = (stall.at_secs, stall.at_secs + stall.secs);
            panel.block(from, to, f64::MAX, GRID)?;
        }
        for exit in &self.data.exits {
            panel.upright(exit.secs, Mark::Dots, WRONG)?;
        }
        Ok(())
    }

    fn draw_disk<DB: DrawingBackend>(&self, body: &Area<DB>, panel: &Panel<DB>) -> Drawn {
        let fsyncs = self.data.fsyncs();
        for pair in fsyncs.windows(2) {
            let ends = [pair[0], pair[1]].map(|(at, p99)| panel.at(at, p99));
            line(body, &ends, Mark::Line, SOFT, 3)?;
        }
        for (at, p99) in fsyncs {
            spot(body, panel.at(at, p99), Mark::Circle, INK)?;
        }
        Ok(())
    }

    fn draw_exits<DB: DrawingBackend>(
        &self,
        body: &Area<DB>,
        panel: &Panel<DB>,
        top: i32,
    ) -> Drawn {
        write(body, (0, top - 24), "exits of components", &Words::bold())?;
        let mut y = top + LANE / 2;
        for (name, n) in self.data.lanes() {
            let own = || self.data.exits.iter().filter(|e| e.component == name);
            for exit in own() {
                spot(body, (panel.at(exit.secs, 0.0).0, y), Mark::Cross, WRONG)?;
            }
            let label = format!("{} ({n})", short(name, 30));
            // At the end that the first of them leaves free.
            let early = own().any(|e| panel.at(e.secs, 0.0).0 < panel.at(0.0, 0.0).0 + 480);
            if early {
                let right = body.dim_in_pixel().0.cast_signed() - 24;
                write(body, (right, y), &label, &Words::soft().right())?;
            } else {
                write(body, (panel.at(0.0, 0.0).0 + 8, y), &label, &Words::soft())?;
            }
            y += LANE;
        }
        Ok(())
    }
}

/// Which of its arm's runs that is, where there are several.
fn which(material: &Material, run: &RunMaterial) -> Option<String> {
    match material.all_of(&run.summary.arm).count() {
        0 | 1 => None,
        n => Some(format!("repeat {} of {n}", run.summary.repeat)),
    }
}

fn in_a_soak(soak: &Soak) -> String {
    let restarts = soak.restarts.values();
    let restarts = restarts.fold(0_u64, |sum, n| sum.saturating_add(u64::from(*n)));
    format!(
        "Soak: {} in {} observed",
        count(restarts, "restart"),
        plan::minutes(soak.observed_secs)
    )
}

impl Sketch for Components {
    fn name(&self) -> String {
        format!("restarts-and-latency{}", self.suffix)
    }

    fn title(&self) -> String {
        let run = joined([&self.arm, &self.which].into_iter().flatten(), ", ");
        let finding = match run.as_str() {
            "" => self.data.finding(),
            run => format!("{run}: {}", self.data.finding()),
        };
        match &self.soak {
            Some(soak) => format!("{soak}; {finding}"),
            None => finding,
        }
    }

    fn legend(&self) -> Vec<Key> {
        let teams = self.data.teams.iter().take(TEAMS);
        let mut keys: Vec<Key> = teams
            .map(|(name, c, _)| Key::new(Mark::Ring, *c, name))
            .collect();
        if !self.data.never.is_empty() {
            keys.push(Key::new(Mark::Over, INK, "never bound"));
        }
        if !self.data.stalls.is_empty() {
            keys.push(Key::new(Mark::Fill, GRID, "etcd stalled on purpose"));
        }
        if !self.data.exits.is_empty() {
            keys.push(Key::new(Mark::Cross, WRONG, "component exited"));
        }
        keys
    }

    fn note(&self) -> String {
        let disk = match self.data.fsyncs().len() {
            0 => "",
            _ => {
                " etcd's disk: the 99th percentile of a few seconds each, at most (the upper end of etcd's own bucket); a stalled \
                  etcd reports nothing."
            }
        };
        format!(
            "Each request at its intended submit time.{disk} {}: {}",
            self.run, self.origin
        )
    }

    fn height(&self) -> u32 {
        (self.bottoms().1 + FOOT + NAME).unsigned_abs()
    }

    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn {
        let sides = (120, body.dim_in_pixel().0.cast_signed() - 24);
        let x = Scale::exact(self.data.observed_secs);
        let time = "seconds since the clock started";
        let (disk_bottom, exits_bottom) = self.bottoms();
        let waits = self.data.teams.iter().flat_map(|(_, _, waits)| waits);
        let waits = waits.map(|(_, wait)| *wait);
        let waits = waits.chain(self.data.never.iter().map(|(_, _, w)| *w));
        let rows = (HEAD, HEAD + PANEL_HEIGHT);
        let panel = Panel::new(body, sides, rows, x.clone(), Scale::log_secs(waits));
        self.draw_events(&panel)?;
        panel.axes("bind latency", "time (log scale)")?;
        panel.x_axis(time, exits_bottom == rows.1)?;
        for (_, colour, waits) in &self.data.teams {
            for (due, wait) in waits {
                spot(body, panel.at(*due, *wait), Mark::Ring, *colour)?;
            }
        }
        for (colour, due, wait) in &self.data.never {
            spot(body, panel.at(*due, *wait), Mark::Over, *colour)?;
        }
        if disk_bottom > rows.1 {
            let fsyncs = self.data.fsyncs();
            let y = Scale::log_secs(fsyncs.iter().map(|(_, p99)| *p99));
            let panel = Panel::new(body, sides, (rows.1 + BETWEEN, disk_bottom), x.clone(), y);
            self.draw_events(&panel)?;
            panel.axes("etcd writing its log, p99", "time (log scale)")?;
            panel.x_axis(time, exits_bottom == disk_bottom)?;
            self.draw_disk(body, &panel)?;
        }
        if exits_bottom > disk_bottom {
            let top = disk_bottom + BETWEEN;
            let panel = Panel::new(body, sides, (top, exits_bottom), x, Scale::linear(1.0));
            panel.x_axis(time, true)?;
            self.draw_exits(body, &panel, top)?;
        }
        Ok(())
    }
}
