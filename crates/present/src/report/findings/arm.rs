//! What an arm found.

use super::super::tables::data_plane;
use crate::charts::{Material, Measured, RunMaterial, bills};
use crate::tables::waits;
use crate::text::{count, percent, secs, thousands, times, whole};
use plan::metric::{Metric, MetricKey, Phase};
use results::run_folder::Bill;

/// An arm of the session.
pub(super) struct Arm<'a> {
    material: &'a Material,
    name: &'a str,
    teams: Vec<Team>,
}

/// A team's medians over the arm's repeats.
struct Team {
    name: String,
    makespan: Option<Measured>,
    ideal_secs: Option<f64>,
    reserved: Option<f64>,
    admitted: Option<f64>,
    ideal_card_secs: Option<f64>,
}

impl<'a> Arm<'a> {
    pub fn of(material: &'a Material, name: &'a str) -> Self {
        let run = material.runs.iter().find(|r| r.summary.arm == name);
        let teams = run.into_iter().flat_map(RunMaterial::working).map(|t| {
            let measured = |metric| Measured::of(material, name, &MetricKey::team(&t.name, metric));
            let alone = run.is_some_and(|run| !run.run.info.plan.shares_machines(&t.name));
            let number = |metric| measured(metric)?.known().filter(|v| *v > 0.0);
            Team {
                name: t.name.clone(),
                // One that was not reached is compared with nothing.
                makespan: measured(Metric::MakespanSecs).filter(|m| m.known().is_some()),
                ideal_secs: number(Metric::IdealSecs).filter(|_| alone),
                reserved: number(Metric::CardSecondsReserved),
                admitted: number(Metric::CardSecondsAdmitted),
                ideal_card_secs: number(Metric::CardSecondsIdeal),
            }
        });
        Self {
            material,
            name,
            teams: teams.collect(),
        }
    }

    /// What it found, the most important first.
    pub fn sentences(&self) -> Vec<String> {
        let all = [
            self.time(),
            self.cards(),
            self.control_plane(),
            self.waited(),
            self.unbound(),
            self.placements(),
            self.evictions(),
            self.restarts(),
        ];
        all.into_iter().flatten().collect()
    }

    /// What its requests waited for most, in the run that is shown.
    fn waited(&self) -> Option<String> {
        let mut shown = self.material.shown().into_iter();
        let run = shown.find(|run| run.summary.arm == self.name)?;
        waits::sentence(&run.summary, &run.run.info.plan)
    }

    /// The team that the others are measured by: the one with most card-seconds set aside.
    fn base(&self) -> Option<&Team> {
        let owners = self.teams.iter().filter(|t| t.reserved.is_some());
        owners.max_by(|a, b| {
            a.reserved
                .partial_cmp(&b.reserved)
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    }

    fn time(&self) -> Option<String> {
        let base = self.base()?;
        let base_secs = base.makespan.as_ref()?;
        let others: Vec<String> = self
            .teams
            .iter()
            .filter(|t| t.name != base.name)
            .filter_map(|t| {
                let own = t.makespan.as_ref()?;
                let ratio = times(own.of_arm.at_least() / base_secs.of_arm.at_least());
                let published = own.published.zip(base_secs.published);
                let published = published.map(|(a, b)| format!(" (published {})", times(a / b)));
                Some(format!(
                    "{} {}, {ratio}{} that",
                    t.name,
                    secs(own.of_arm.at_least()),
                    published.unwrap_or_default()
                ))
            })
            .collect();
        let own = secs(base_secs.of_arm.at_least());
        let published = base_secs
            .published
            .map(|p| format!(" (published {})", secs(p)));
        let start = format!(
            "{} took {own}{} for its timeline",
            base.name,
            published.unwrap_or_default()
        );
        Some(if others.is_empty() {
            format!("{start}.")
        } else {
            format!("{start}; {}.", others.join("; "))
        })
    }

    fn cards(&self) -> Option<String> {
        let base = self.base()?;
        let reserved = base.reserved?;
        let held = base.admitted?;
        let text = format!(
            "Of the {} card-seconds set aside for {}, {} were held by its work (quota held); {} stood idle, ready for a burst",
            whole(reserved),
            base.name,
            percent(held / reserved),
            percent((1.0 - held / reserved).max(0.0))
        );
        let sharer = self
            .teams
            .iter()
            .find(|t| t.reserved.is_none() && t.admitted.is_some());
        let held_instead = sharer.and_then(|sharer| {
            let own = sharer.admitted?;
            Some(format!(
                ". {} held {} card-seconds, {} of what was set aside for {}",
                sharer.name,
                whole(own),
                percent(own / reserved),
                base.name
            ))
        });
        Some(format!("{text}{}.", held_instead.unwrap_or_default()))
    }

    fn control_plane(&self) -> Option<String> {
        let each: Vec<String> = self
            .teams
            .iter()
            .filter_map(|t| {
                let added = t.makespan.as_ref()?.of_arm.at_least() - t.ideal_secs?;
                let work = t
                    .admitted
                    .zip(t.ideal_card_secs)
                    .map(|(held, ideal)| held / ideal);
                let work = work.map_or_else(String::new, |r| {
                    format!(" and {} the ideal card-seconds", times(r))
                });
                Some(format!("{} {:+.1} s of time{work}", t.name, added))
            })
            .collect();
        let what = match data_plane(self.material, self.name) {
            None => "the control plane",
            Some(_) => "the control plane and the played data plane together",
        };
        (!each.is_empty()).then(|| {
            format!(
                "On top of the ideal schedule {what} cost {}.",
                each.join("; ")
            )
        })
    }

    fn unbound(&self) -> Option<String> {
        let run = self
            .material
            .runs
            .iter()
            .find(|r| r.summary.arm == self.name)?;
        let several = run.working().count() > 1;
        let mut parts = Vec::new();
        for team in run.working() {
            let of = if several {
                format!(" of {}", team.name)
            } else {
                String::new()
            };
            for (class, phases) in &team.latency {
                if let Some(bound) = phases.get(&Phase::BindLatency).filter(|l| l.censored > 0) {
                    let done = bound.count.saturating_sub(bound.censored);
                    let done = match done {
                        0 => "none".into(),
                        n => format!("only {}", thousands(n)),
                    };
                    let all = thousands(bound.count);
                    parts.push(format!("{done} of {all} {class} requests{of}"));
                }
            }
        }
        (!parts.is_empty()).then(|| {
            format!(
                "Within {} {} were bound.",
                secs(run.summary.observed_secs),
                parts.join(" and ")
            )
        })
    }

    fn placements(&self) -> Option<String> {
        let arms = self.material.session.summary.arms.iter();
        let placements = arms
            .filter(|a| a.name == self.name)
            .find_map(|a| a.placements.as_ref())?;
        Some(format!("{}.", placements.sentence()))
    }

    fn evictions(&self) -> Option<String> {
        let runs = || {
            self.material
                .runs
                .iter()
                .filter(|r| r.summary.arm == self.name)
        };
        let all: u32 = runs()
            .flat_map(|r| &r.summary.tenants)
            .map(|t| t.evictions)
            .fold(0, u32::saturating_add);
        if all == 0 {
            return None;
        }
        let run = runs().next()?;
        let each: Vec<String> = run
            .summary
            .tenants
            .iter()
            .filter(|t| t.evictions > 0)
            .map(|t| format!("{} of {}", t.evictions, t.name))
            .collect();
        let whose = if each.is_empty() {
            String::new()
        } else {
            format!(" (in the first run {})", each.join(", "))
        };
        let paid = bills(run);
        let sum = |of: fn(&Bill) -> f64| {
            paid.iter()
                .map(|(_, bill)| of(bill))
                .fold(0.0, |a, b| a + b)
        };
        Some(format!(
            "{} in {}{whose}: work evicted so that others could run. In the first run {} card-seconds of it were lost, and \
             it then waited for {} card-seconds.",
            count(u64::from(all), "eviction"),
            count(runs().count() as u64, "run"),
            whole(sum(|b| b.lost_card_seconds)),
            whole(sum(|b| b.waited_card_seconds))
        ))
    }

    fn restarts(&self) -> Option<String> {
        let mut all: Vec<(&str, u64)> = Vec::new();
        for run in self
            .material
            .runs
            .iter()
            .filter(|r| r.summary.arm == self.name)
        {
            for (component, n) in &run.summary.restarts {
                match all.iter_mut().find(|(name, _)| name == component) {
                    Some((_, sum)) => *sum += u64::from(*n),
                    None => all.push((component, u64::from(*n))),
                }
            }
        }
        all.retain(|(_, n)| *n > 0);
        let each: Vec<String> = all
            .iter()
            .map(|(name, n)| format!("{name} {}", thousands(*n)))
            .collect();
        (!each.is_empty()).then(|| format!("Components restarted: {}.", each.join(", ")))
    }
}
