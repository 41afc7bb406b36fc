//! A session and its runs, read once for all charts and the report.

use std::path::Path;

use super::metrics::more;
use super::theme::Teams;
use crate::text::in_one_line;
use plan::DataPlanePlan;
use results::judge::{self, Values};
use results::run_folder::{ReadError, Run, RunSummary, Session, TenantSummary};

/// A session with those of its runs that can be read.
#[derive(Debug)]
pub struct Material {
    /// The session.
    pub session: Session,
    /// Its runs, in the order they ran.
    pub runs: Vec<RunMaterial>,
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
    /// Its metrics by name: `<team>.<metric>` or `<team>.<class>.<metric>`.
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
        let session = Session::load(path)?;
        let mut notes = Vec::new();
        if !session.summary.complete {
            notes.push("the session did not end in order: its metrics are partial".to_owned());
        }
        notes.extend(session.summary.failed.iter().map(|run| {
            let error = in_one_line(&run.error);
            format!("arm {}, repeat {}: failed: {error}", run.arm, run.repeat)
        }));
        let mut runs = Vec::new();
        // What several runs lack is said once.
        let mut of_runs: Vec<(String, Vec<&str>)> = Vec::new();
        for summary in &session.summary.runs {
            match session.run(&summary.folder) {
                Ok(run) => {
                    for note in &run.notes {
                        match of_runs.iter_mut().find(|(known, _)| known == note) {
                            Some((_, folders)) => folders.push(&summary.folder),
                            None => of_runs.push((note.clone(), vec![&summary.folder])),
                        }
                    }
                    let mut metrics = judge::metrics(summary, &run.records);
                    metrics.extend(more(summary));
                    runs.push(RunMaterial {
                        summary: summary.clone(),
                        run,
                        metrics,
                    });
                }
                Err(error) => notes.push(error.to_string()),
            }
        }
        for (note, folders) in of_runs {
            notes.push(format!("{}: {note}", folders.join(", ")));
        }
        let planned = runs
            .iter()
            .flat_map(|r| r.run.info.plan.tenants.iter().map(|t| t.name.as_str()));
        let summarised = session
            .summary
            .runs
            .iter()
            .flat_map(|r| r.tenants.iter().map(|t| t.name.as_str()));
        let teams = Teams::new(planned.chain(summarised));
        Ok(Self {
            session,
            runs,
            notes,
            teams,
        })
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
        self.arms()
            .into_iter()
            .filter_map(|arm| {
                let mut own = self.runs.iter().filter(|r| r.summary.arm == arm);
                let undisturbed = own.clone().find(|r| r.summary.disturbed.is_empty());
                undisturbed.or_else(|| own.next())
            })
            .collect()
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
        let mut kinds: Vec<&str> = all.map(|d| d.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let disturbed = match kinds.as_slice() {
            [] => String::new(),
            kinds => format!(", disturbed: {}", kinds.join(", ")),
        };
        format!(
            "{} on {}, timeline ÷ {}{quick}{partial}{disturbed}.",
            summary.experiment,
            summary.hami.label(),
            summary.compress
        )
    }
}

impl RunMaterial {
    /// Teams that did any work in it but fill the cluster.
    pub fn working(&self) -> impl Iterator<Item = &TenantSummary> {
        let plan = &self.run.info.plan.tenants;
        let fills = |name: &str| plan.iter().any(|t| t.background && t.name == name);
        self.summary
            .tenants
            .iter()
            .filter(move |t| t.submitted > 0 && !fills(&t.name))
    }

    /// What was played on its machines; `None`: nothing was, so bound pods worked at once.
    pub fn data_plane(&self) -> Option<&DataPlanePlan> {
        self.run.info.plan.data_plane.as_ref()
    }

    /// What was published for a team in this run's arm.
    pub fn published(&self, team: &str, metric: &str) -> Option<f64> {
        let tenants = &self.run.info.plan.tenants;
        let plan = tenants.iter().find(|t| t.name == team)?;
        plan.published
            .get(metric)
            .copied()
            .filter(|v| v.is_finite())
    }

    /// `default, repeat 1`.
    pub fn label(&self) -> String {
        format!("arm {}, repeat {}", self.summary.arm, self.summary.repeat)
    }
}
