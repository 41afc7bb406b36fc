//! Continues a session that was interrupted: whether that is possible, and which runs are left.
//!
//! In: an order, and the folder of a session. Out: the runs that are left, or the reason why the session cannot be continued.
//! A session continues only with the same plans, HAMi and programs: its runs must be repeats of each other.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::run::{Bench, recorded};
use host::machine;
use plan::{Order, Plan, Takes, Turns};
use results::run_folder::{
    Ended, Ordered, ReadError, ReopenError, Session, SessionWriter, Summary, ordered,
};

/// The most differences that are named.
const NAMED: usize = 3;

/// Why a session cannot be continued.
#[derive(Debug, thiserror::Error)]
pub enum NoResume {
    /// No folder is given.
    #[error("the order names no folder")]
    NoFolder,
    /// Restarts are counted over one stretch of time.
    #[error("a soak cannot be continued: it counts restarts over one unbroken time")]
    Soak,
    /// Something else was asked for when it began.
    #[error(
        "{} cannot be continued: this differs from what it recorded: {differences}; ask for the same, or begin a new session",
        dir.display()
    )]
    Differs {
        /// Its folder.
        dir: PathBuf,
        /// What differs, and how.
        differences: String,
    },
    /// The folder cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The folder cannot be written.
    #[error(transparent)]
    Reopen(#[from] ReopenError),
}

/// A session that was interrupted, or is complete.
#[derive(Debug)]
pub struct Earlier {
    /// What it wrote.
    pub(super) session: Session,
    /// What it was to do.
    ordered: Value,
}

impl Earlier {
    /// Reads the session in the order's folder.
    ///
    /// # Errors
    /// It cannot be read, or it did not record its order.
    pub fn read(order: &Order) -> Result<Self, NoResume> {
        let dir = folder(order)?;
        Ok(Self {
            session: Session::load(dir)?,
            ordered: ordered::read(dir)?,
        })
    }

    /// Checks that no headroom writes it.
    ///
    /// # Errors
    /// One does.
    pub fn at_rest(&self) -> Result<(), NoResume> {
        Ok(SessionWriter::reopen(&self.session.dir).map(drop)?)
    }

    /// Checks that it was begun with the same plans and version and, if they are known, the same programs.
    ///
    /// # Errors
    /// It was not. The message names the differences.
    pub fn fits(&self, order: &Order, bench: Option<&Bench>) -> Result<(), NoResume> {
        if order.plans.iter().any(|plan| plan.soak_secs.is_some()) {
            return Err(NoResume::Soak);
        }
        let now = match bench {
            Some(bench) => ordered(order, bench),
            None => Ordered::new(order),
        };
        let mut differences = now.differences(&self.ordered);
        if differences.is_empty() {
            return Ok(());
        }
        let more = differences.len().saturating_sub(NAMED);
        differences.truncate(NAMED);
        if more > 0 {
            differences.push(format!("and {more} more"));
        }
        Err(NoResume::Differs {
            dir: self.session.dir.clone(),
            differences: differences.join("; "),
        })
    }

    /// Its end, if it is complete: every run came to its end, and nothing is left.
    #[must_use]
    pub fn complete(&self, order: &Order) -> Option<Ended> {
        let Session { summary, dir } = &self.session;
        (summary.complete && self.left(order).is_empty()).then(|| Ended {
            summary: summary.clone(),
            dir: dir.clone(),
            interrupted: false,
        })
    }

    /// Runs that came to their end, and stay.
    #[must_use]
    pub fn kept(&self) -> usize {
        done(&self.session.summary).count()
    }

    /// The runs that are left, in the order in which they run.
    #[must_use]
    pub fn left<'a>(&self, order: &'a Order) -> Vec<(&'a Plan, u32)> {
        left(&order.plans, &self.session.summary)
    }

    /// How long the runs that are left take.
    #[must_use]
    pub fn takes(&self, order: &Order) -> Takes {
        let left = Turns::new(&order.plans).without(done(&self.session.summary));
        left.takes(machine::cores())
    }
}

/// The folder of the session to continue.
pub(super) fn folder(order: &Order) -> Result<&Path, NoResume> {
    order.host.out.as_deref().ok_or(NoResume::NoFolder)
}

/// The order as it is recorded.
pub(super) fn ordered<'a>(order: &'a Order, bench: &'a Bench) -> Ordered<'a> {
    Ordered {
        hami: Some(&bench.hami),
        components: Some(recorded(&bench.programs)),
        ..Ordered::new(order)
    }
}

/// Arm and repeat of the runs that came to their end.
pub(super) fn done(summary: &Summary) -> impl Iterator<Item = (&str, u32)> {
    let runs = summary.runs.iter().filter(|run| run.came_to_its_end());
    runs.map(|run| (run.arm.as_str(), run.repeat))
}

/// The runs that are missing, failed or were cut short, in the order in which they run.
fn left<'a>(plans: &'a [Plan], summary: &Summary) -> Vec<(&'a Plan, u32)> {
    let mut turns = Turns::new(plans).without(done(summary));
    std::iter::from_fn(|| turns.next(0.0))
        .map(|turn| (turn.plan, turn.repeat))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Overrides;
    use results::fixtures::full;
    use results::run_folder::run_summary::cut;
    use results::run_folder::{Disturbance, FailedRun, RunSummary};

    fn order(dir: &Path, repeat: u32) -> Order {
        let overrides = Overrides {
            arms: vec!["memory".into(), "cards".into()],
            repeat: Some(repeat),
            ..Overrides::default()
        };
        let experiment = plan::load("quota-unit").unwrap();
        let plans = plan::plans(&experiment, &overrides).unwrap();
        Order {
            expect: experiment.expected(&plans, &overrides),
            plans,
            experiment: experiment.name,
            host: plan::Host {
                out: Some(dir.to_owned()),
                ..plan::Host::default()
            },
            command: vec!["headroom".into(), "bench".into(), "quota-unit".into()],
            resume: true,
        }
    }

    fn run(arm: &str, repeat: u32, disturbed: Option<&str>) -> RunSummary {
        let disturbance = |kind: &str| Disturbance {
            kind: kind.into(),
            detail: String::new(),
            remedy: String::new(),
        };
        RunSummary {
            arm: arm.into(),
            repeat,
            folder: format!("{arm}-{repeat}"),
            disturbed: disturbed.map(disturbance).into_iter().collect(),
            ..full().runs.remove(0)
        }
    }

    /// A session that ended with these runs.
    fn ended(runs: Vec<RunSummary>, failed: &[(&str, u32)]) -> Summary {
        let failed = failed.iter().map(|(arm, repeat)| FailedRun {
            arm: (*arm).into(),
            repeat: *repeat,
            folder: format!("{arm}-{repeat}"),
            error: "etcd did not come up".into(),
        });
        Summary {
            runs,
            failed: failed.collect(),
            complete: false,
            ..full()
        }
    }

    fn names(left: &[(&Plan, u32)]) -> Vec<String> {
        let name = |(plan, repeat): &(&Plan, u32)| format!("{}-{repeat}", plan.arm);
        left.iter().map(name).collect()
    }

    #[test]
    fn what_is_missing_failed_or_was_cut_short_is_left_and_a_disturbed_run_stays() {
        let order = order(Path::new("x"), 3);
        let earlier = ended(
            vec![
                run("memory", 1, None),
                run("cards", 1, Some("overloaded")),
                run("memory", 2, Some(cut::COMPONENT_LOST)),
                run("memory", 3, Some(cut::INTERRUPTED)),
            ],
            &[("cards", 2)],
        );
        let left = left(&order.plans, &earlier);
        let expected = ["memory-2", "cards-2", "memory-3", "cards-3"];
        assert_eq!(names(&left), expected);
    }

    /// Writes a session as far as `summary` says.
    fn written(dir: &Path, order: &Order, summary: &Summary) -> SessionWriter {
        let mut writer = SessionWriter::create(dir, summary).unwrap();
        writer.order(&Ordered::new(order)).unwrap();
        writer
    }

    #[test]
    fn a_session_continues_as_it_began_and_not_otherwise() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("session");
        let first = order(&dir, 2);
        let missing = Earlier::read(&first).unwrap_err().to_string();
        assert!(missing.contains("does not exist"), "{missing}");
        let runs = vec![run("memory", 1, None), run("cards", 1, None)];
        let writer = written(&dir, &first, &ended(runs, &[]));
        let earlier = Earlier::read(&first).unwrap();
        let live = earlier.at_rest().unwrap_err().to_string();
        assert!(live.contains("still running"), "{live}");
        drop(writer);
        earlier.at_rest().unwrap();
        earlier.fits(&first, None).unwrap();
        assert_eq!(earlier.kept(), 2);
        assert_eq!(earlier.takes(&first).runs, 2);

        let more = earlier.fits(&order(&dir, 3), None).unwrap_err().to_string();
        assert!(more.contains("arm cards, repeats: 2 → 3"), "{more}");
        let mut soak = order(&dir, 2);
        soak.plans[0].soak_secs = Some(3600.0);
        let refused = earlier.fits(&soak, None);
        assert!(matches!(refused, Err(NoResume::Soak)), "{refused:?}");
        assert!(earlier.complete(&first).is_none());
    }

    #[test]
    fn a_session_is_complete_if_nothing_is_left() {
        let root = tempfile::tempdir().unwrap();
        let order = order(root.path(), 1);
        let runs = || vec![run("memory", 1, None), run("cards", 1, None)];
        let mut summary = ended(runs(), &[]);
        summary.complete = true;
        written(root.path(), &order, &summary);
        let earlier = Earlier::read(&order).unwrap();
        let ended = earlier.complete(&order).unwrap();
        assert!(!ended.interrupted && ended.summary.complete);
    }

    #[test]
    fn a_session_without_an_order_is_told() {
        let root = tempfile::tempdir().unwrap();
        SessionWriter::create(root.path(), &full()).unwrap();
        let error = Earlier::read(&order(root.path(), 1)).unwrap_err();
        assert!(error.to_string().contains("order.json"), "{error}");
    }
}
