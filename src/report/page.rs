//! The HTML file: findings first, then figures, pictures, warnings and what it takes to run it again.

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;

use super::findings::findings;
use super::shell;
use super::tables::{ArmTable, tables};
use super::{ReportError, compared};
use crate::charts::text::{clean, short, to_the_second};
use crate::charts::theme::{GRID, INK, PAPER, SOFT, hex};
use crate::charts::{Chart, DrawError, Material, charts, trends};
use crate::compare::{ArmRows, Comparison, Outcome};
use crate::run_folder::HamiKind;

const TEMPLATE: &str = include_str!("page.html");

/// A session as the template sees it.
#[derive(Debug, Serialize)]
struct Part {
    experiment: String,
    started: String,
    folder: String,
    hami: String,
    hami_sha256: String,
    builtin: bool,
    quick: bool,
    /// By what the timeline was divided; none where it was not.
    compress: Option<String>,
    findings: Vec<String>,
    tables: Vec<ArmTable>,
    verdicts: Vec<Verdict>,
    figures: Vec<Figure>,
    calls: Vec<Calls>,
    warnings: Vec<Warning>,
    notes: Vec<String>,
    programs: Vec<[String; 3]>,
    limits: Vec<[String; 2]>,
    evidence: Vec<String>,
    machine: Vec<[String; 2]>,
    runs: Vec<[String; 5]>,
    command: String,
    headroom: String,
}

#[derive(Debug, Serialize)]
struct Figure {
    title: String,
    svg: String,
}

#[derive(Debug, Serialize)]
struct Warning {
    run: String,
    kind: String,
    detail: String,
    remedy: String,
}

/// A published shape and whether it was seen again.
#[derive(Debug, Serialize)]
struct Verdict {
    arm: String,
    claim: String,
    holds: &'static str,
    reason: String,
}

/// A component's API calls for each bound pod.
#[derive(Debug, Serialize)]
struct Calls {
    arm: String,
    component: String,
    what: String,
    sum: String,
}

/// A comparison as the template sees it.
#[derive(Debug, Serialize)]
struct Compared {
    headline: String,
    verdict: String,
    regression: bool,
    arms: Vec<ComparedArm>,
    notes: Vec<String>,
}

/// An arm of a comparison.
#[derive(Debug, Serialize)]
struct ComparedArm {
    arm: String,
    base_runs: usize,
    new_runs: usize,
    rows: Vec<[String; 8]>,
}

/// The report's HTML: what came of comparing `materials`, the trend since `earlier` ones, and each of `materials`.
///
/// # Errors
/// If a chart can't be drawn, or the template fails.
pub fn html(
    materials: Vec<Material>,
    earlier: Vec<Material>,
    comparisons: &[Comparison],
) -> Result<String, ReportError> {
    let parts: Vec<Part> = materials.iter().map(part).collect::<Result<_, _>>()?;
    let all: Vec<Material> = materials.into_iter().chain(earlier).collect();
    let over = trends(&all);
    let over: Vec<Figure> = over
        .iter()
        .map(|(_, c)| figure(c.as_ref()))
        .collect::<Result<_, _>>()?;
    let compared: Vec<Compared> = comparisons.iter().map(in_words).collect();
    let mut environment = Environment::new();
    // The name's end turns escaping on.
    environment.add_template("page.html", TEMPLATE)?;
    let colours =
        context! { ink => hex(INK), soft => hex(SOFT), grid => hex(GRID), paper => hex(PAPER) };
    let page = environment.get_template("page.html")?;
    Ok(page.render(context! {
        parts => Value::from(Serde(&parts)),
        over => Value::from(Serde(&over)),
        sessions => all.len(),
        compared => Value::from(Serde(&compared)),
        colours,
    })?)
}

fn in_words(comparison: &Comparison) -> Compared {
    let arm = |arm: &ArmRows| ComparedArm {
        arm: clean(&arm.arm),
        base_runs: arm.base_runs,
        new_runs: arm.new_runs,
        rows: arm.declared.iter().map(compared::cells).collect(),
    };
    Compared {
        headline: clean(&compared::headline(comparison)),
        verdict: clean(&compared::verdict(comparison)),
        regression: comparison.outcome == Outcome::Regression,
        arms: comparison
            .arms
            .iter()
            .filter(|a| !a.declared.is_empty())
            .map(arm)
            .collect(),
        notes: comparison.notes.iter().map(|n| clean(n)).collect(),
    }
}

fn part(material: &Material) -> Result<Part, ReportError> {
    let summary = &material.session.summary;
    let info = material.runs.first().map(|r| &r.run.info);
    let figures = charts(material)
        .iter()
        .map(|c| figure(c.as_ref()))
        .collect::<Result<_, _>>()?;
    Ok(Part {
        experiment: summary.experiment.clone(),
        started: to_the_second(&summary.started),
        folder: material.folder().unwrap_or_default(),
        hami: summary.hami.label(),
        hami_sha256: summary.hami.sha256.clone(),
        builtin: summary.hami.source == HamiKind::Builtin,
        quick: summary.quick,
        compress: (summary.compress > 1.0).then(|| summary.compress.to_string()),
        findings: findings(material),
        tables: tables(material),
        verdicts: verdicts(material),
        figures,
        calls: calls(material),
        warnings: warnings(material),
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
        evidence: info.map(|i| i.evidence.clone()).unwrap_or_default(),
        machine: info.map(|i| flat(&i.machine)).unwrap_or_default(),
        runs: runs(material),
        command: clean(&shell(&summary.command)),
        headroom: summary.headroom.clone(),
    })
}

fn figure(chart: &dyn Chart) -> Result<Figure, DrawError> {
    Ok(Figure {
        title: chart.title(),
        svg: chart.svg()?,
    })
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
        })
    })
    .collect()
}

/// Whether a shape holds, in a word.
fn holds(verdict: Option<bool>) -> &'static str {
    match verdict {
        Some(true) => "yes",
        Some(false) => "no",
        None => "can't be judged",
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
