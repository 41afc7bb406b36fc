//! What a user sees while a run goes on: a live line a team on a terminal, a plain line every ten seconds without one.
//!
//! In: [`Live`] snapshots. Out: standard error only, so that standard output holds the final table alone.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::observer::{Live, LiveTenant};
use crate::plan::{Plan, TenantPlan};

/// How often a plain line is printed where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The live view of one run.
pub struct Progress {
    bars: Option<Vec<ProgressBar>>,
    // Held so that the bars stay on screen as a block.
    _screen: Option<MultiProgress>,
    next_plain: Instant,
    /// Experiments each team submits in all, by its place in the plan.
    totals: Vec<u32>,
    expected_secs: f64,
}

impl Progress {
    /// Opens the view for a run that is expected to take `expected_secs`.
    #[must_use]
    pub fn new(plan: &Plan, expected_secs: f64) -> Self {
        let total = |team: &TenantPlan| team.groups().map(|g| g.count).sum();
        let totals: Vec<u32> = plan.tenants.iter().map(total).collect();
        let screen = std::io::stderr().is_terminal().then(MultiProgress::new);
        let bars = screen.as_ref().map(|screen| {
            let style = ProgressStyle::with_template("{wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            (0..=totals.len())
                .map(|_| screen.add(ProgressBar::new_spinner().with_style(style.clone())))
                .collect()
        });
        Self {
            bars,
            _screen: screen,
            next_plain: Instant::now(),
            totals,
            expected_secs,
        }
    }

    /// Shows a snapshot. `restarts` counts those of all supervised components so far.
    pub fn show(&mut self, live: &Live, restarts: u32) {
        let left = (self.expected_secs - live.at_secs).max(0.0);
        let head = format!(
            "t = {:.0} s, about {left:.0} s left, {restarts} restarts",
            live.at_secs.max(0.0)
        );
        match &self.bars {
            Some(bars) => {
                bars[0].set_message(head);
                for ((bar, tenant), total) in bars[1..].iter().zip(&live.tenants).zip(&self.totals)
                {
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
                eprintln!("{head} | {}", teams.join(" | "));
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

fn tenant_line(tenant: &LiveTenant, total: u32, aligned: bool) -> String {
    let place = match (&tenant.stage, tenant.round) {
        (Some(stage), Some(round)) => format!("{stage} #{}", round + 1),
        _ => "idle".into(),
    };
    let quota = tenant.cards.quota.map_or("-".into(), |q| q.to_string());
    let done = format!("{}/{total} done", tenant.done + tenant.failed);
    let cards = format!("{}/{quota} cards", tenant.cards.bound);
    let pending = format!("{} waiting", tenant.waiting + tenant.admitted);
    let bound = match (tenant.bound_p50_secs, tenant.bound_p95_secs) {
        (Some(p50), Some(p95)) => format!("bound p50/p95 {p50:.2}/{p95:.2} s"),
        _ => "nothing bound yet".into(),
    };
    if aligned {
        format!(
            "{:<12} {place:<14} {cards:>14} {pending:>12} {done:>14}  {bound}",
            tenant.name
        )
    } else {
        format!(
            "{} {place}: {cards}, {pending}, {done}, {bound}",
            tenant.name
        )
    }
}
