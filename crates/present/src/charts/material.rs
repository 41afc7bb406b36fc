//! A session and its runs, read once for all charts and the report.

use std::collections::BTreeMap;
use std::path::Path;

use super::theme::Teams;
use crate::text::{each_once, grouped, in_one_line, unless_none};
use plan::metric::{MetricKey, Use};
use plan::{DataPlanePlan, TenantPlan};
use results::metrics::{self, Source, Values};
use results::run_folder::{ReadError, Record, Run, RunSummary, Session, TenantSummary};

/// A session with those of its runs that can be read.
#[derive(Debug)]
pub struct Material {
    /// The session.
    pub session: Session,
    /// Its runs, in the order they ran.
    pub runs: Vec<RunMaterial>,
    /// Of each arm the metrics of its repeats together.
    pub together: BTreeMap<String, Values>,
    /// What could not be read or is incomplete, one line each.
    pub notes: Vec<String>,
    /// Colours of the teams.
    pub teams: Teams,
}

/// A run: its metrics and what they came from.
#[derive(Debug)]
pub struct RunMaterial {
    /// Its part of the session's summary.
    pub summary: RunSummary,
    /// What it recorded.
    pub run: Run,
    /// Its metrics.
    pub metrics: Values,
}

impl RunMaterial {
    /// Wall-clock time of the run's clock's zero; none if it never started.
    pub fn clock_started(&self) -> Option<jiff::Timestamp> {
        self.run.info.clock_started.as_deref()?.parse().ok()
    }
}

impl Material {
    /// Reads a session. A run that can't be read is left out and noted.
    pub fn load(path: &Path) -> Result<Self, ReadError> {
        let mut session = Session::load(path)?;
        let (read, mut notes) = session.sound_runs();
        if !session.summary.complete {
            notes.push("the session did not end in order, so its values are incomplete".to_owned());
        }
        notes.extend(session.summary.failed.iter().map(|run| {
            let error = in_one_line(&run.error);
            format!("arm {}, repeat {}: failed: {error}", run.arm, run.repeat)
        }));
        let mut runs = Vec::new();
        let mut of_runs: Vec<(String, &str)> = Vec::new();
        for (summary, run) in session.summary.runs.iter().zip(read) {
            let folder = summary.folder.as_str();
            of_runs.extend(run.notes.iter().map(|note| (note.clone(), folder)));
            let metrics = metrics::values(&Source::of(summary, &run), Use::Show);
            runs.push(RunMaterial {
                summary: summary.clone(),
                run,
                metrics,
            });
        }
        // What several runs lack is said once.
        for (note, folders) in grouped(of_runs) {
            notes.push(format!("{}: {note}", folders.join(", ")));
        }
        let planned = runs.iter().flat_map(|r| &r.run.info.plan.tenants);
        let planned = planned.map(|t| t.name.as_str());
        let summarised = session.summary.runs.iter().flat_map(|r| &r.tenants);
        let teams = Teams::new(planned.chain(summarised.map(|t| t.name.as_str())));
        let mut material = Self {
            session,
            runs,
            together: BTreeMap::new(),
            notes,
            teams,
        };
        let together = material.arms().into_iter().map(|arm| {
            let own = material.of_arm(arm);
            let own: Vec<&Values> = own.iter().map(|run| &run.metrics).collect();
            (arm.to_owned(), metrics::medians(&own))
        });
        material.together = together.collect();
        Ok(material)
    }

    /// Every run of an arm.
    pub fn all_of(&self, arm: &str) -> impl DoubleEndedIterator<Item = &RunMaterial> + Clone {
        self.runs.iter().filter(move |r| r.summary.arm == arm)
    }

    /// The run of the same arm as `shown` of which there is most, the first of several with as much; `shown` where none has
    /// more.
    pub fn most<'a>(
        &'a self,
        shown: &'a RunMaterial,
        of: impl Fn(&RunMaterial) -> u32,
    ) -> &'a RunMaterial {
        let most = self
            .all_of(&shown.summary.arm)
            .rev()
            .max_by_key(|run| of(run));
        most.filter(|run| of(run) > of(shown)).unwrap_or(shown)
    }

    /// The runs of an arm whose values count: those that came to their end; if none did, all.
    pub fn of_arm(&self, arm: &str) -> Vec<&RunMaterial> {
        let own = || self.all_of(arm);
        let ended: Vec<&RunMaterial> = own().filter(|r| r.summary.came_to_its_end()).collect();
        if ended.is_empty() {
            own().collect()
        } else {
            ended
        }
    }

    /// What was published of a metric for an arm as it ran.
    pub fn published(&self, arm: &str, key: &MetricKey) -> Option<f64> {
        if key.team_name().is_some() {
            return self.of_arm(arm).iter().find_map(|run| run.published(key));
        }
        let arm = self.session.summary.arms.iter().find(|a| a.name == arm)?;
        let mut all = arm.published.iter();
        let own = all.find(|(name, _)| name.parse().as_ref() == Ok(key));
        own.map(|(_, value)| *value).filter(|v| v.is_finite())
    }

    /// Names of the arms, in the order they first ran.
    pub fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<&str> = Vec::new();
        for run in &self.session.summary.runs {
            if !arms.contains(&run.arm.as_str()) {
                arms.push(&run.arm);
            }
        }
        arms
    }

    /// For each arm the run to show where only one can be shown: its first undisturbed one, else its first.
    pub fn shown(&self) -> Vec<&RunMaterial> {
        let one = |arm| {
            let mut own = self.all_of(arm);
            let undisturbed = own.clone().find(|r| r.summary.disturbed.is_empty());
            undisturbed.or_else(|| own.next())
        };
        self.arms().into_iter().filter_map(one).collect()
    }

    /// How charts of one arm end their names: nothing where there is but one arm.
    pub fn suffix(&self, arm: &str) -> String {
        if self.arms().len() > 1 {
            format!("-{arm}")
        } else {
            String::new()
        }
    }

    /// Name of the session's folder.
    pub fn folder(&self) -> Option<String> {
        let path = self.session.dir.canonicalize().ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// Small print that names what ran: HAMi, compression, run.
    pub fn origin(&self) -> String {
        let summary = &self.session.summary;
        let quick = if summary.quick {
            ", a quick first look"
        } else {
            ""
        };
        let partial = if summary.complete { "" } else { ", incomplete" };
        let all = summary.runs.iter().flat_map(|run| &run.disturbed);
        let kinds = each_once(all.map(|d| d.kind.as_str()));
        let disturbed = unless_none(kinds.len(), |_| {
            format!(", disturbed: {}", kinds.join(", "))
        });
        format!(
            "{} on {}, timeline ÷ {}{quick}{partial}{disturbed}.",
            summary.experiment,
            summary.hami.label(),
            summary.compress
        )
    }
}

impl RunMaterial {
    /// The records of all teams but those whose work only fills the cluster.
    pub fn foreground(&self) -> impl Iterator<Item = &Record> {
        let fills = |name: &str| self.planned(name).is_some_and(|t| t.background);
        self.run.records.iter().filter(move |r| !fills(&r.tenant))
    }

    /// The plan of a team.
    pub fn planned(&self, team: &str) -> Option<&TenantPlan> {
        let teams = &self.run.info.plan.tenants;
        teams.iter().find(|t| t.name == team)
    }

    /// Teams that did any work in it but fill the cluster.
    pub fn working(&self) -> impl Iterator<Item = &TenantSummary> {
        let fills = |name: &str| self.planned(name).is_some_and(|t| t.background);
        let teams = self.summary.tenants.iter();
        teams.filter(move |t| t.submitted > 0 && !fills(&t.name))
    }

    /// What was played on its machines; `None`: nothing was, so bound pods worked at once.
    pub fn data_plane(&self) -> Option<&DataPlanePlan> {
        self.run.info.plan.data_plane.as_ref()
    }

    /// What was published of a team's metric for this run.
    pub fn published(&self, key: &MetricKey) -> Option<f64> {
        let team = key.team_name()?;
        let mut all = self.planned(team)?.published.iter();
        // A folder of an older headroom has older names.
        let own = all.find(|(name, _)| MetricKey::parse_in_team(team, name).as_ref() == Ok(key));
        own.map(|(_, value)| *value).filter(|v| v.is_finite())
    }

    /// `default, repeat 1`.
    pub fn label(&self) -> String {
        format!("arm {}, repeat {}", self.summary.arm, self.summary.repeat)
    }
}
