//! `headroom setup` and `headroom doctor`: the components, and the machine.

use host::{errln, outln};

use super::{Exit, Place};
use components::Verdict;
use host::terminal::in_one;

/// Builds the components that are missing.
///
/// # Errors
/// Those of [`Place::programs`].
pub async fn setup(place: &Place) -> anyhow::Result<Exit> {
    let cache = place.open()?;
    let number = place.programs(&cache).await?.of.len();
    outln!(
        "{number} programs are ready; cache {}",
        cache.folder().display()
    );
    Ok(Exit::Done)
}

/// Prints what is missing, and what will disturb a run.
pub async fn doctor(place: &Place) -> Exit {
    if let Err(error) = place.open() {
        errln!("headroom: {}", in_one(&error));
    }
    let checks = components::doctor(place.cache.as_deref(), place.components.as_deref()).await;
    for check in &checks {
        let mark = match check.verdict {
            Verdict::Ok => "ok  ",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        outln!("{mark} {}: {}", check.name, check.detail);
        if let Some(remedy) = &check.remedy {
            outln!("     → {remedy}");
        }
    }
    if checks.iter().any(|c| c.verdict == Verdict::Fail) {
        Exit::Failed
    } else {
        Exit::Done
    }
}
