//! What was played on the machines of a run and not measured, in words.

use crate::text::secs;
use plan::{DataPlane, DataPlanePlan};

/// `played, not measured: whole-card: image 20 GB pulled in 2.67 s, CUDA 17 ms, …`. Classes that go through the same are
/// named together.
pub fn played(plan: &DataPlanePlan) -> String {
    let mut all: Vec<(Vec<&str>, String)> = Vec::new();
    for (class, phases) in &plan.classes {
        let phases = in_words(phases);
        match all.iter_mut().find(|(_, known)| *known == phases) {
            Some((classes, _)) => classes.push(class),
            None => all.push((vec![class], phases)),
        }
    }
    let each = all
        .iter()
        .map(|(classes, phases)| format!("{}: {phases}", classes.join(", ")));
    let each: Vec<String> = each.collect();
    let by = if plan.compressed_by > 1.0 {
        format!(" (the file's seconds ÷ {})", plan.compressed_by)
    } else {
        String::new()
    };
    format!("played, not measured: {}{by}", each.join("; "))
}

fn in_words(phases: &DataPlane) -> String {
    let image = if phases.pull_secs > 0.0 {
        format!(
            "image {} GB pulled in {}",
            phases.image_gb,
            secs(phases.pull_secs)
        )
    } else {
        "no image to pull".to_owned()
    };
    format!(
        "{image}, CUDA {}, model {}, shutdown {}, release {}",
        secs(phases.cuda_init_secs),
        secs(phases.model_load_secs),
        secs(phases.shutdown_secs),
        secs(phases.release_secs)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_its_value_and_equal_classes_are_named_once() {
        let machine = DataPlane {
            image_gb: 20.0,
            pull_secs: 2.0,
            cuda_init_secs: 0.02,
            model_load_secs: 1.5,
            shutdown_secs: 0.25,
            release_secs: 0.007,
            ..DataPlane::default()
        };
        let card = DataPlane::default();
        let plan = DataPlanePlan {
            compressed_by: 120.0,
            classes: [
                ("tenth", card),
                ("whole-card", card),
                ("whole-machine", machine),
            ]
            .map(|(class, phases)| (class.to_owned(), phases))
            .into(),
        };
        assert_eq!(
            played(&plan),
            "played, not measured: tenth, whole-card: no image to pull, CUDA 0 s, model 0 s, shutdown 0 s, release 0 s; \
             whole-machine: image 20 GB pulled in 2 s, CUDA 20 ms, model 1.5 s, shutdown 250 ms, release 7 ms (the \
             file's seconds ÷ 120)"
        );
    }
}
