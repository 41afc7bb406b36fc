//! The HTML file: findings first, then metrics, pictures, warnings and what it takes to run it again.
//!
//! - [`part`]: a session as the template sees it

mod part;

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;

use self::part::{Part, Picture};
use super::article::{self, Told};
use super::{ReportError, WithEarlier, compared};
use crate::charts::theme::{GRID, INK, PAPER, SOFT, hex};
use crate::charts::{Material, trends};
use crate::text::{clean, percent};
use compare::{ArmRows, Comparison, Outcome};
use results::disturbance::OTHERS_SHARE;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const GLOSSARY: &str = include_str!("glossary.html");

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

/// The report's HTML: what came of comparing `materials`, or why they were not compared, the trend since `earlier` ones, and each of `materials`.
pub fn html(
    materials: Vec<Material>,
    earlier: Vec<Material>,
    with_earlier: &WithEarlier,
) -> Result<String, ReportError> {
    let parts: Vec<Part> = materials.iter().map(Part::of).collect::<Result<_, _>>()?;
    let elsewhere: Vec<Told> = article::elsewhere(&materials);
    let all: Vec<Material> = materials.into_iter().chain(earlier).collect();
    let over = trends(&all);
    let over: Vec<Picture> = over
        .iter()
        .map(|(_, c)| Picture::of(c.as_ref()))
        .collect::<Result<_, _>>()?;
    let compared: Vec<Compared> = with_earlier.comparisons.iter().map(in_words).collect();
    let mut environment = Environment::new();
    // The name's end turns escaping on.
    environment.add_template("page.html", TEMPLATE)?;
    environment.add_template("style.css", STYLE)?;
    environment.add_template("glossary.html", GLOSSARY)?;
    let colours =
        context! { ink => hex(INK), soft => hex(SOFT), grid => hex(GRID), paper => hex(PAPER) };
    let page = environment.get_template("page.html")?;
    Ok(page.render(context! {
        parts => Value::from(Serde(&parts)),
        elsewhere => Value::from(Serde(&elsewhere)),
        over => Value::from(Serde(&over)),
        sessions => all.len(),
        compared => Value::from(Serde(&compared)),
        not_compared => with_earlier.not_compared.iter().map(|why| clean(why)).collect::<Vec<_>>(),
        colours,
        others_cpu => percent(OTHERS_SHARE),
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
