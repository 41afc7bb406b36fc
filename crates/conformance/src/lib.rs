//! `headroom conformance`: plays the same scenarios with two extenders, and says whether they do the same.
//!
//! In: two HAMi schedulers, real or built in, or one and the recorded outcomes of another. Out: a table, a record, and whether
//! they are equivalent. In each scenario both run on the same real control plane, one after the other, each time as a new
//! process with new nodes in a new namespace. What may differ is fixed in the scenario, or in a margin, before anything is
//! played.
//!
//! - [`scenario`], [`catalog`]: the scenarios
//! - [`lab`], [`tap`]: the control plane, and the tap between kube-scheduler and the extender
//! - [`play`], [`observed`], [`names`]: playing a scenario, and writing down its outcome in a comparable form
//! - [`compare`], [`counted`], [`latency`]: judging
//! - [`record`], [`table`]: the record, and the printed table

pub mod catalog;
pub mod compare;
pub mod counted;
mod lab;
pub mod latency;
mod names;
pub mod observed;
mod play;
pub mod record;
pub mod scenario;
pub mod table;
mod tap;

use host::errln;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use compare::{Verdict, judge};
use components::Hami;
use lab::Lab;
use latency::{Latency, Shown};
use observed::Observed;
use plan::{Component, Programs};
use record::{Outcome, PlayRecord, Recorded, SCHEMA, Session};
use results::run_folder::Cause;
use scenario::{Judged, Scenario, Step};

/// How many single pods must be timed to judge how fast they are bound.
const ENOUGH_PODS: usize = 20;

/// How many plays at the default limit are needed; each is one sample.
const ENOUGH_PLAYS: usize = 8;

/// How many bursts are needed. Each is one sample, since its pods wait for each other. Below 5 samples no interval contains the
/// median in 90 of 100 cases: all samples are on one side of it in 2 of 2⁵.
const ENOUGH_BURSTS: usize = 5;

/// The order: what to play, with which programs, and where to write.
#[derive(Debug)]
pub struct Order {
    /// The extenders to play. The second is compared with the first, unless `against` is given.
    pub sides: Vec<Hami>,
    /// Recorded outcomes with which the only side is compared.
    pub against: Option<(PathBuf, Recorded)>,
    /// Scenarios to play.
    pub scenarios: Vec<Scenario>,
    /// Number of plays of each.
    pub repeats: u32,
    /// Programs of the control plane.
    pub programs: Programs,
    /// Folder in which each live cluster has its own.
    pub state_root: PathBuf,
    /// Folder for the record and the logs.
    pub out: PathBuf,
}

/// Plays everything. Returns the session's record, which is also in the folder.
///
/// # Errors
/// The control plane does not come up or breaks, or a file cannot be written.
pub async fn run(order: &Order, cancel: &CancellationToken) -> anyhow::Result<Session> {
    std::fs::create_dir_all(&order.out)
        .with_context(|| format!("can't make {}", order.out.display()))?;
    let mut sides: Vec<_> = order.sides.iter().map(|hami| hami.source.clone()).collect();
    if let Some((_, recorded)) = &order.against {
        sides.insert(0, recorded.hami.clone());
    }
    let mut session = Session {
        schema: SCHEMA,
        headroom: env!("CARGO_PKG_VERSION").into(),
        started: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        sides,
        against: order
            .against
            .as_ref()
            .map(|(path, _)| path.display().to_string()),
        plays: Vec::new(),
        verdicts: Vec::new(),
        latency: Vec::new(),
        equivalent: None,
    };
    for repeat in 1..=order.repeats {
        let played = tokio::select! {
            played = once(order, repeat, &mut session) => played,
            () = cancel.cancelled() => break,
        };
        played?;
    }
    conclude(order, &mut session, !cancel.is_cancelled());
    record::write(&order.out.join("conformance.json"), &session)?;
    Ok(session)
}

/// Plays each scenario once with each side, on a control plane of its own.
async fn once(order: &Order, repeat: u32, session: &mut Session) -> anyhow::Result<()> {
    let logs = order.out.join(format!("logs-{repeat}"));
    let cancel = CancellationToken::new();
    let lab = Lab::open(&order.programs, &order.state_root, &logs, &cancel).await?;
    errln!(
        "repeat {repeat} of {}: control plane ready in {:.1} s",
        order.repeats,
        lab.cluster.bring_up_secs()
    );
    let (sides, offset) = (order.sides.len(), usize::from(order.against.is_some()));
    let mut number = 0;
    for (place, scenario) in order.scenarios.iter().enumerate() {
        for turn in 0..sides {
            // A B, B A, A B, …: neither is always the first.
            let side = (turn + place + repeat as usize) % sides;
            number += 1;
            let hami = &order.sides[side];
            let played = play::play(&lab, hami, scenario, number)
                .await
                .with_context(|| {
                    format!("scenario {} with {}", scenario.name, hami.source.label())
                })?;
            errln!(
                "  {}/{} {} {}: {} attempts, {} calls, {:.1} s",
                place + 1,
                order.scenarios.len(),
                scenario.name,
                ["A", "B"][side + offset],
                played.observed.attempts,
                played.observed.calls.values().sum::<u64>(),
                played.wall_secs
            );
            session.plays.push(PlayRecord {
                scenario: scenario.name,
                side: side + offset,
                repeat,
                played,
            });
            intact(&lab)?;
        }
    }
    if let Some(cluster) = Arc::into_inner(lab.cluster) {
        cluster.tear_down().await;
    }
    Ok(())
}

/// Fails if the control plane lost a component. An extender may end by itself, nothing else may.
fn intact(lab: &Lab) -> anyhow::Result<()> {
    let exits = lab.cluster.exits();
    let mut lost = exits.iter().filter(|exit| exit.cause != Cause::Stopped);
    match lost.find(|exit| exit.component != Component::Hami.name()) {
        None => Ok(()),
        Some(exit) => anyhow::bail!(
            "{} {}, so that outcomes mean nothing; its log is among the session's",
            exit.component,
            exit.how()
        ),
    }
}

fn conclude(order: &Order, session: &mut Session, complete: bool) {
    if session.sides.len() == 2 {
        let verdict = |scenario: &Scenario| {
            let [first, second] = [0, 1].map(|side| session.observed(side, scenario));
            match &order.against {
                None => judge(scenario.name, scenario.judged, [&first, &second]),
                Some((_, known)) => held_to(known.scenarios.get(scenario.name), scenario, &second),
            }
        };
        session.verdicts = order.scenarios.iter().map(verdict).collect();
        session.latency = latencies(&order.scenarios, &session.plays);
        let same = session.verdicts.iter().all(|verdict| verdict.equivalent)
            && session
                .latency
                .iter()
                .all(|l| matches!(l.shown, Shown::Equivalent | Shown::NotJudged));
        session.equivalent = complete.then_some(same);
    }
}

/// Compares with recorded outcomes.
fn held_to(known: Option<&Outcome>, scenario: &Scenario, second: &[Observed]) -> Verdict {
    match known {
        Some(Outcome::Exactly(first)) => judge(scenario.name, scenario.judged, [first, second]),
        Some(Outcome::Loosely(first)) => {
            compare::judge_counts(scenario.name, scenario.judged, first, second)
        }
        None => judge(scenario.name, scenario.judged, [&[], second]),
    }
}

/// How fast pods were bound: single pods by limit, and each burst by its mean.
fn latencies(scenarios: &[Scenario], plays: &[PlayRecord]) -> Vec<Latency> {
    let mut all = Vec::new();
    let mut class =
        |name: &str, least, of: &dyn Fn(&Scenario) -> bool, take: fn(&PlayRecord) -> Vec<f64>| {
            let chosen =
                |play: &PlayRecord| scenarios.iter().any(|s| s.name == play.scenario && of(s));
            let secs = |side| -> Vec<f64> {
                let of_side = plays
                    .iter()
                    .filter(|play| play.side == side && chosen(play));
                of_side.flat_map(take).collect()
            };
            all.extend(latency::compare(name, least, &secs(0), &secs(1)));
        };
    let single = |limit| {
        move |s: &Scenario| s.judged == Judged::Exactly && s.limit == limit && !waits_on_purpose(s)
    };
    class(
        "single pods, raised limit",
        ENOUGH_PODS,
        &single(scenario::RAISED),
        |play| play.played.bound_secs.values().copied().collect(),
    );
    // At the default limit a play's second pod waits for the first one's calls, the third for both: its mean is one sample.
    class(
        "single pods, HAMi's default limit, mean of a play's",
        ENOUGH_PLAYS,
        &single(scenario::HAMI_DEFAULT),
        mean,
    );
    let bursts = scenarios
        .iter()
        .filter(|s| matches!(s.steps[..], [Step::Burst(_)]));
    for burst in bursts {
        let name = format!("{}, mean of its pods", burst.name);
        class(&name, ENOUGH_BURSTS, &|s| s.name == burst.name, mean);
    }
    all
}

#[expect(clippy::cast_precision_loss, reason = "a dozen pods")]
fn mean(play: &PlayRecord) -> Vec<f64> {
    let secs = &play.played.bound_secs;
    if secs.is_empty() {
        return Vec::new();
    }
    vec![secs.values().sum::<f64>() / secs.len() as f64]
}

/// Whether a scenario keeps pods from being bound as soon as they could be.
fn waits_on_purpose(scenario: &Scenario) -> bool {
    let waits = |step: &Step| matches!(step, Step::Hold(_) | Step::Retry(..));
    scenario.steps.iter().any(waits)
}

/// The outcomes of one side, in the form of a file with which others are compared.
#[must_use]
pub fn recorded(order: &Order, session: &Session, side: usize) -> Recorded {
    let outcome = |scenario: &Scenario| {
        let shown = session.observed(side, scenario);
        (
            scenario.name.to_owned(),
            Outcome::of(scenario.judged, &shown),
        )
    };
    Recorded {
        schema: SCHEMA,
        hami: session.sides[side].clone(),
        plays: order.repeats,
        scenarios: order.scenarios.iter().map(outcome).collect(),
    }
}
