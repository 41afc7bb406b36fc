//! `headroom list` and `headroom explain`.

use host::{errln, outln};
use plan::{self, Experiment, Hint, Overrides, Plan, PlanError, minutes};

/// Prints every experiment with the time that its default arms take.
///
/// # Errors
/// Never in practice: a test loads every embedded experiment.
pub fn list() -> Result<(), PlanError> {
    for (name, title) in plan::names() {
        let plans = plan::plans(&plan::load(&name)?, &Overrides::default())?;
        outln!("{name:<14} {:>11}  {title}", minutes(expected_secs(&plans)));
        let regimes = plan::load(&name)?.regimes;
        if !regimes.is_empty() {
            outln!("{:<27} one alone: {}", "", regimes.join(", "));
        }
    }
    Ok(())
}

/// The experiment of that name or file. Each old word in the file gives a line.
///
/// # Errors
/// There is no such experiment, or its file is wrong.
pub fn loaded(name: &str) -> Result<Experiment, PlanError> {
    let experiment = plan::load(name)?;
    say(&experiment.hints);
    Ok(experiment)
}

/// Says which words of a file are old.
pub fn say(hints: &[Hint]) {
    for hint in hints {
        errln!("{hint}");
    }
}

/// Explains an experiment.
///
/// # Errors
/// There is no such experiment, or its file is wrong.
pub fn explain(name: &str) -> Result<(), PlanError> {
    let experiment = loaded(name)?;
    outln!("{}: {}", experiment.name, experiment.title);
    if !experiment.description.is_empty() {
        outln!("\n{}", experiment.description.trim());
    }
    outln!("\narms");
    for arm in &experiment.arms {
        let asked = if arm.on_request {
            " (only with --arm)"
        } else {
            ""
        };
        let overrides = Overrides {
            arms: vec![arm.name.clone()],
            ..Overrides::default()
        };
        let secs = expected_secs(&plan::plans(&experiment, &overrides)?);
        outln!(
            "  {:<24} {:>11}  {}{asked}",
            arm.name,
            minutes(secs),
            arm.description
        );
    }
    published(&experiment);
    Ok(())
}

fn published(experiment: &Experiment) {
    if !experiment.expect.published.is_empty() {
        outln!("\npublished");
    }
    for metric in &experiment.expect.published {
        let arm = metric.arm.as_deref().unwrap_or("every arm");
        let name = format!("{} {}", metric.tenant, metric.key());
        outln!("  {arm}: {} = {}", name.trim_start(), metric.value);
    }
    if !experiment.expect.shape.is_empty() {
        outln!("\nwhat must hold");
    }
    for shape in &experiment.expect.shape {
        let arms = if shape.arms.is_empty() {
            "every arm".into()
        } else {
            shape.arms.join(", ")
        };
        outln!("  {arms}: {}", shape.claim);
    }
}

fn expected_secs(plans: &[Plan]) -> f64 {
    let secs = |plan: &Plan| f64::from(plan.repeats) * plan::run_secs(plan);
    plans.iter().map(secs).sum()
}
