//! The scenarios. Each is data or a short function. In a scenario's texts `@` is the prefix of the play's names.

mod cards;
mod life;
mod locks;
mod nodes;
mod policies;
mod requests;

use super::scenario::Scenario;

/// All scenarios, in the order in which they are played.
#[must_use]
pub fn all() -> Vec<Scenario> {
    [
        policies::scenarios(),
        requests::scenarios(),
        cards::scenarios(),
        locks::scenarios(),
        nodes::scenarios(),
        life::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::scenario::Step;
    use super::*;

    #[test]
    fn names_are_unique_and_steps_speak_of_pods_and_nodes_that_are_there() {
        let mut names = BTreeSet::new();
        for scenario in all() {
            assert!(
                names.insert(scenario.name),
                "{} is there twice",
                scenario.name
            );
            let mut nodes: BTreeSet<&str> = scenario.nodes.iter().map(|n| n.name).collect();
            let mut pods = BTreeSet::new();
            for step in &scenario.steps {
                let (node, pod): (Option<&str>, Vec<&str>) = match step {
                    Step::Submit(list) | Step::Burst(list) => {
                        pods.extend(list.iter().map(|p| p.name));
                        (None, vec![])
                    }
                    Step::Hold(one) => {
                        pods.insert(one.name);
                        (None, vec![])
                    }
                    Step::AddNode(node) => {
                        nodes.insert(node.name);
                        (None, vec![])
                    }
                    Step::Release(list) | Step::Begin(list) => (None, list.to_vec()),
                    Step::Retry(pod, _)
                    | Step::PatchPod(pod, _)
                    | Step::PatchStatus(pod, _)
                    | Step::Delete(pod) => (None, vec![pod]),
                    Step::PatchNode(node, _) | Step::DropNode(node) => (Some(node), vec![]),
                    Step::Register | Step::Restart | Step::Quota(_) => (None, vec![]),
                };
                let known =
                    node.is_none_or(|n| nodes.contains(n)) && pod.iter().all(|p| pods.contains(p));
                assert!(known, "{}: {step:?}", scenario.name);
            }
        }
        assert!(names.len() >= 25);
    }
}
