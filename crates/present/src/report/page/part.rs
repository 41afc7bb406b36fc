//! A session as the template sees it.

use serde::Serialize;

use super::super::findings::findings;
use super::super::soak::{self, Soaked, soaked};
use super::super::tables::{ArmTable, tables};
use super::super::{article, health};
use crate::charts::{Chart, DrawError, Material, charts};
use crate::text::{clean, shell, short, to_the_second};
use plan::HamiKind;

/// A session as the template sees it.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    experiment: String,
    /// What the experiment asks, does and what was published; empty for one that does not come along.
    title: String,
    description: String,
    started: String,
    folder: String,
    hami: String,
    hami_sha256: String,
    builtin: bool,
    quick: bool,
    /// By what the timeline was divided; none where it was not.
    compress: Option<String>,
    findings: Vec<String>,
    /// What restarted over the hours; none of a session that did not go on for a set time.
    soak: Option<Soaked>,
    soak_hours: [&'static str; 3],
    soak_restarts: [&'static str; 6],
    tables: Vec<ArmTable>,
    /// Whether the claims below were published, or stand in the experiment's file alone.
    published: bool,
    verdicts: Vec<Verdict>,
    charts: Vec<Picture>,
    calls: Vec<Calls>,
    warnings: Vec<Warning>,
    health_columns: [&'static str; 8],
    health_limits: [String; 8],
    health: Vec<[String; 8]>,
    notes: Vec<String>,
    programs: Vec<[String; 3]>,
    limits: Vec<[String; 2]>,
    evidence: Vec<String>,
    machine: Vec<[String; 2]>,
    runs: Vec<[String; 5]>,
    command: String,
    headroom: String,
}

/// A chart.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    title: String,
    svg: String,
}

/// A disturbance of a run.
#[derive(Debug, Serialize)]
struct Warning {
    run: String,
    kind: String,
    detail: String,
    remedy: String,
}

/// A claim and whether it holds.
#[derive(Debug, Serialize)]
struct Verdict {
    arm: String,
    claim: String,
    holds: &'static str,
    reason: String,
    can_fail: String,
}

/// A component's API calls for each bound pod.
#[derive(Debug, Serialize)]
struct Calls {
    arm: String,
    component: String,
    what: String,
    sum: String,
}

impl Part {
    /// Everything about a session.
    pub fn of(material: &Material) -> Result<Self, DrawError> {
        let summary = &material.session.summary;
        let info = material.runs.first().map(|r| &r.run.info);
        let pictures = charts(material)
            .iter()
            .map(|c| Picture::of(c.as_ref()))
            .collect::<Result<_, _>>()?;
        let told = article::experiment(&summary.experiment);
        let (title, description) = told.map_or_else(Default::default, |e| (e.title, e.description));
        let mut tables = tables(material);
        tables.extend(article::missing(material, &tables));
        Ok(Self {
            experiment: summary.experiment.clone(),
            title,
            description,
            started: to_the_second(&summary.started),
            folder: material.folder().unwrap_or_default(),
            hami: summary.hami.label(),
            hami_sha256: summary.hami.sha256.clone(),
            builtin: summary.hami.source == HamiKind::Builtin,
            quick: summary.quick,
            compress: (summary.compress > 1.0).then(|| summary.compress.to_string()),
            findings: findings(material),
            soak: soaked(material),
            soak_hours: soak::HOURS,
            soak_restarts: soak::RESTARTS,
            tables,
            published: article::was_published(material),
            verdicts: verdicts(material),
            charts: pictures,
            calls: calls(material),
            warnings: warnings(material),
            health_columns: health::COLUMNS,
            health_limits: health::limits(),
            health: health::rows(material),
            notes: material.notes.iter().map(|n| clean(n)).collect(),
            programs: info
                .into_iter()
                .flat_map(|i| &i.components)
                .map(|(name, p)| [name.clone(), p.version.clone(), p.sha256.clone()])
                .collect(),
            limits: info
                .into_iter()
                .flat_map(|i| &i.client_limits)
                .map(|(name, limit)| {
                    let limit = limit.map_or_else(
                        || "none".into(),
                        |l| format!("{} a second, burst {}", l.qps, l.burst),
                    );
                    [name.clone(), limit]
                })
                .collect(),
            evidence: info.map(|i| i.evidence.lines()).unwrap_or_default(),
            machine: info.map(|i| flat(&i.machine)).unwrap_or_default(),
            runs: runs(material),
            command: clean(&shell(&summary.command)),
            headroom: summary.headroom.clone(),
        })
    }
}

impl Picture {
    /// Draws a chart.
    pub fn of(chart: &dyn Chart) -> Result<Self, DrawError> {
        Ok(Self {
            title: chart.title(),
            svg: chart.svg()?,
        })
    }
}

fn warnings(material: &Material) -> Vec<Warning> {
    let runs = material.session.summary.runs.iter();
    runs.flat_map(|run| {
        run.disturbed.iter().map(|d| Warning {
            run: format!("{}, repeat {}", run.arm, run.repeat),
            kind: d.kind.clone(),
            detail: d.detail.clone(),
            remedy: d.remedy.clone(),
        })
    })
    .collect()
}

fn verdicts(material: &Material) -> Vec<Verdict> {
    let arms = material.session.summary.arms.iter();
    arms.flat_map(|arm| {
        arm.claims.iter().map(|claim| Verdict {
            arm: arm.name.clone(),
            claim: claim.claim.clone(),
            holds: holds(claim.holds),
            reason: claim.reason.clone(),
            can_fail: claim.can_fail(),
        })
    })
    .collect()
}

/// Whether a claim holds, in a word.
fn holds(verdict: Option<bool>) -> &'static str {
    match verdict {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not judged",
    }
}

fn calls(material: &Material) -> Vec<Calls> {
    let mut all = Vec::new();
    for run in material.shown() {
        for (component, by_call) in &run.summary.calls_per_pod {
            let sum: f64 = by_call.values().sum();
            let mut calls: Vec<_> = by_call.iter().collect();
            calls.sort_by(|a, b| b.1.total_cmp(a.1));
            let words: Vec<String> = calls
                .iter()
                .map(|(call, n)| format!("{call} {n:.2}"))
                .collect();
            all.push(Calls {
                arm: run.summary.arm.clone(),
                component: component.clone(),
                what: words.join(", "),
                sum: format!("{sum:.2}"),
            });
        }
    }
    all
}

fn runs(material: &Material) -> Vec<[String; 5]> {
    let runs = material.session.summary.runs.iter();
    runs.map(|r| {
        [
            format!("{}, repeat {}", r.arm, r.repeat),
            format!("{:.1} s", r.bring_up_secs),
            format!("{:.1} s", r.wall_secs),
            r.accuracy
                .watch_lag_ms
                .map_or_else(|| "no audit log".into(), |l| format!("{:.0} ms", l.p99)),
            format!(
                "{:.1} s CPU, {:.0} MiB",
                r.harness.cpu_secs, r.harness.peak_rss_mib
            ),
        ]
    })
    .collect()
}

/// A JSON value as names and values, nested names joined by spaces.
fn flat(value: &serde_json::Value) -> Vec<[String; 2]> {
    fn walk(name: &str, value: &serde_json::Value, rows: &mut Vec<[String; 2]>) {
        // More than any machine's description has.
        if rows.len() >= 60 {
            return;
        }
        match value {
            serde_json::Value::Object(fields) => {
                for (field, value) in fields {
                    walk(format!("{name} {field}").trim(), value, rows);
                }
            }
            serde_json::Value::String(text) => {
                rows.push([name.replace('_', " "), short(text, 200)]);
            }
            serde_json::Value::Number(number) if number.is_f64() => {
                let value = number.as_f64().unwrap_or_default();
                rows.push([name.replace('_', " "), format!("{value:.3}")]);
            }
            other => rows.push([name.replace('_', " "), short(&other.to_string(), 200)]),
        }
    }
    let mut rows = Vec::new();
    walk("", value, &mut rows);
    rows
}
