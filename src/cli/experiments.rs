//! `headroom list` and `headroom explain`.

use host::outln;
use host::usage::OrUsage as _;
use plan::{self, Experiment, Overrides, Plan, minutes};

/// Prints every experiment with the time that its default arms take.
///
/// # Errors
/// None of an embedded experiment, which a test loads.
pub fn list() -> anyhow::Result<()> {
    for (name, title) in plan::names() {
        let plans =
            plan::plans(&plan::load(&name).or_usage()?, &Overrides::default()).or_usage()?;
        outln!("{name:<14} {:>11}  {title}", minutes(expected_secs(&plans)));
        let regimes = plan::load(&name).or_usage()?.regimes;
        if !regimes.is_empty() {
            outln!("{:<27} one alone: {}", "", regimes.join(", "));
        }
    }
    Ok(())
}

/// Prints what an experiment does.
///
/// # Errors
/// If there is no such experiment, or its file is wrong.
pub fn explain(name: &str) -> anyhow::Result<()> {
    let experiment = plan::load(name).or_usage()?;
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
        let secs = expected_secs(&plan::plans(&experiment, &overrides).or_usage()?);
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
