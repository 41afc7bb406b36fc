//! Shows a run's progress: on a terminal one live line per team, elsewhere a plain line every ten seconds.
//!
//! In: [`Live`] snapshots. Out: lines on standard error. Standard output is for the final table.

use host::{errln, terminal};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::observer::{Live, LiveTenant};
use plan::{Plan, TenantPlan};

/// How often a plain line is printed if there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The live view of one run.
pub struct Progress {
    bars: Option<Vec<ProgressBar>>,
    // Held so that the bars stay on screen as a block.
    _screen: Option<MultiProgress>,
    next_plain: Instant,
    began: Instant,
    /// Jobs that each team submits in all, by its place in the plan.
    totals: Vec<u32>,
    expected_secs: f64,
    voice: String,
}

impl Progress {
    /// Opens the view of a run. With a `voice`, which its lines begin with, others print beside it, and it prints plain lines.
    pub fn new(plan: &Plan, voice: String) -> Self {
        let total = |team: &TenantPlan| team.groups().map(|g| g.count).sum();
        let totals: Vec<u32> = plan.tenants.iter().map(total).collect();
        let live = voice.is_empty() && terminal::watched();
        let screen = live.then(MultiProgress::new);
        let bars = screen.as_ref().map(|screen| {
            let style = ProgressStyle::with_template("{wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            (0..2 + totals.iter().filter(|n| **n > 0).count())
                .map(|_| screen.add(ProgressBar::new_spinner().with_style(style.clone())))
                .collect()
        });
        Self {
            bars,
            _screen: screen,
            next_plain: Instant::now(),
            began: Instant::now(),
            totals,
            expected_secs: plan::expected_secs(plan),
            voice,
        }
    }

    /// Shows a snapshot. `restarts` counts the restarts of all supervised components so far.
    pub fn show(&mut self, live: &Live, restarts: u32) {
        let left = self.expected_secs - self.began.elapsed().as_secs_f64();
        let left = if left > 0.0 {
            format!("about {left:.0} s left")
        } else {
            format!("{:.0} s longer than expected", -left)
        };
        let at = live.at_secs.map_or("background work first".into(), |at| {
            format!("t = {at:.0} s")
        });
        let head = format!("{at}, {left}, {restarts} restarts");
        match &self.bars {
            Some(bars) => {
                bars[0].set_message(head);
                bars[1].set_message(columns(HEAD));
                let teams = live.tenants.iter().zip(&self.totals);
                let teams = teams.filter(|(_, total)| **total > 0);
                for (bar, (tenant, total)) in bars[2..].iter().zip(teams) {
                    bar.set_message(tenant_line(tenant, *total, true));
                }
            }
            None if Instant::now() >= self.next_plain => {
                self.next_plain = Instant::now() + PLAIN_EVERY;
                let teams: Vec<String> = live
                    .tenants
                    .iter()
                    .zip(&self.totals)
                    .filter(|(_, total)| **total > 0)
                    .map(|(tenant, total)| tenant_line(tenant, *total, false))
                    .collect();
                errln!("{}{head} | {}", self.voice, teams.join(" | "));
            }
            None => {}
        }
    }

    /// Closes the view.
    pub fn close(self) {
        for bar in self.bars.into_iter().flatten() {
            bar.finish_and_clear();
        }
    }
}

/// The columns of [`tenant_line`]. Cards: those of bound pods; `held` are those for which quota is reserved, if more. Waiting:
/// Jobs without quota + Jobs with quota and no machine yet. Bound p50/p95: bind latency of the Jobs bound so far.
const HEAD: [&str; 6] = [
    "team",
    "stage",
    "cards/quota",
    "waiting",
    "done",
    "bound p50/p95",
];

/// The cells of a line, in less than 80 columns.
fn columns(cells: [&str; 6]) -> String {
    let [team, stage, cards, waiting, done, bound] = cells;
    format!("{team:<11.11} {stage:<11.11} {cards:<17} {waiting:<8} {done:<8} {bound}")
}

/// A team's progress.
fn tenant_line(tenant: &LiveTenant, total: u32, aligned: bool) -> String {
    let ended = tenant.done + tenant.failed;
    let place = match (&tenant.stage, tenant.round) {
        _ if ended == total => "done".into(),
        (Some(stage), Some(round)) => format!("{stage} #{}", round + 1),
        _ => "idle".into(),
    };
    let cards = &tenant.cards;
    let quota = cards.quota.map_or("-".into(), |q| q.to_string());
    let held = if cards.admitted > cards.bound {
        format!(" held {}", cards.admitted)
    } else {
        String::new()
    };
    let bound = match (tenant.bound_p50_secs, tenant.bound_p95_secs) {
        (Some(p50), Some(p95)) => format!("{p50:.1}/{p95:.1} s"),
        _ => "-".into(),
    };
    let (name, bound_cards) = (&tenant.name, cards.bound);
    if aligned {
        let cards = format!("{bound_cards}/{quota}{held}");
        let waiting = format!("{}+{}", tenant.waiting, tenant.admitted);
        let done = format!("{ended}/{total}");
        columns([name, &place, &cards, &waiting, &done, &bound])
    } else {
        format!(
            "{name} {place}: {bound_cards}/{quota} cards{held}, {}+{} waiting, {ended}/{total} done, bound p50/p95 {bound}",
            tenant.waiting, tenant.admitted
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::live::LiveCards;

    #[test]
    fn a_teams_line_fits_a_terminal_of_80_columns() {
        let tenant = LiveTenant {
            name: "workstation".into(),
            stage: Some("validate".into()),
            round: Some(0),
            waiting: 104,
            admitted: 24,
            done: 99,
            cards: LiveCards {
                quota: Some(312),
                bound: 128,
                admitted: 240,
                ..LiveCards::default()
            },
            bound_p50_secs: Some(173.7),
            bound_p95_secs: Some(313.9),
            ..LiveTenant::default()
        };
        let line = tenant_line(&tenant, 113, true);
        assert!(
            line.chars().count() < 80,
            "{}: {line}",
            line.chars().count()
        );
        for part in [
            "validate #1",
            "128/312 held 240",
            "104+24",
            "99/113",
            "173.7/313.9",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        let done = LiveTenant {
            done: 113,
            ..tenant
        };
        assert!(tenant_line(&done, 113, true).contains("done"));
    }
}
