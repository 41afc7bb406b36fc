//! Experiments in words, for `headroom list` and `headroom explain`.

use std::fmt::{self, Write as _};

use super::{Experiment, Overrides, Plan, PlanError, load, minutes, names, plans, run_secs};

/// Every experiment with the time that its default arms take, a line each.
///
/// # Errors
/// Never in practice: a test loads every embedded experiment.
pub fn list() -> Result<String, PlanError> {
    let mut text = String::new();
    for (name, title) in names() {
        let experiment = load(&name)?;
        let secs = expected_secs(&plans(&experiment, &Overrides::default())?);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<14} {:>11}  {title}", minutes(secs));
        if !experiment.regimes.is_empty() {
            let regimes = experiment.regimes.join(", ");
            let _ = writeln!(text, "{:<27} one alone: {regimes}", "");
        }
    }
    Ok(text)
}

impl Experiment {
    /// Explains it: what it does, its arms, the published values and the claims.
    ///
    /// # Errors
    /// An arm of its file is wrong.
    pub fn explain(&self) -> Result<String, PlanError> {
        let mut arms = Vec::new();
        for arm in &self.arms {
            let overrides = Overrides {
                arms: vec![arm.name.clone()],
                ..Overrides::default()
            };
            arms.push(expected_secs(&plans(self, &overrides)?));
        }
        let mut text = String::new();
        // As above.
        let _ = self.write(&arms, &mut text);
        Ok(text)
    }

    fn write(&self, arm_secs: &[f64], f: &mut String) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.title)?;
        if !self.description.is_empty() {
            writeln!(f, "\n{}", self.description.trim())?;
        }
        writeln!(f, "\narms")?;
        for (arm, secs) in self.arms.iter().zip(arm_secs) {
            let asked = if arm.on_request {
                " (only with --arm)"
            } else {
                ""
            };
            let (name, takes) = (&arm.name, minutes(*secs));
            writeln!(f, "  {name:<24} {takes:>11}  {}{asked}", arm.description)?;
        }
        if !self.expect.published.is_empty() {
            writeln!(f, "\npublished")?;
        }
        for metric in &self.expect.published {
            let arm = metric.arm.as_deref().unwrap_or("every arm");
            let name = format!("{} {}", metric.tenant, metric.key());
            writeln!(f, "  {arm}: {} = {}", name.trim_start(), metric.value)?;
        }
        if !self.expect.claims.is_empty() {
            writeln!(f, "\nwhat must hold")?;
        }
        for claim in &self.expect.claims {
            let arms = if claim.arms.is_empty() {
                "every arm".into()
            } else {
                claim.arms.join(", ")
            };
            writeln!(f, "  {arms}: {}", claim.claim)?;
        }
        Ok(())
    }
}

fn expected_secs(plans: &[Plan]) -> f64 {
    let secs = |plan: &Plan| f64::from(plan.repeats) * run_secs(plan);
    plans.iter().map(secs).sum()
}
