//! Knows which machine has which image, and since when. It is told the time and reads no clock.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

/// The images of all machines.
///
/// A machine pulls one image at a time, in the order in which pods want them, as is kubelet's default
/// (`serializeImagePulls`). A pull that has begun goes on even if its pod is gone. Images are never removed.
#[derive(Debug, Default)]
pub struct Images {
    machines: HashMap<String, Machine>,
}

#[derive(Debug, Default)]
struct Machine {
    /// From when on each image is there.
    there: HashMap<String, Timestamp>,
    /// When the last of its pulls ends.
    busy_until: Option<Timestamp>,
}

impl Images {
    /// A pod on `node` wants `image` at `now`; pulling it takes `pull`. Returns when the image is there, which is `now` if it
    /// already is.
    pub fn wanted(&mut self, node: &str, image: &str, pull: Duration, now: Timestamp) -> Timestamp {
        let machine = self.machines.entry(node.to_owned()).or_default();
        if let Some(there) = machine.there.get(image) {
            return now.max(*there);
        }
        let begins = machine.busy_until.map_or(now, |busy| now.max(busy));
        // A pull takes a week at most, so this cannot overflow.
        let there = begins.checked_add(pull).unwrap_or(begins);
        machine.busy_until = Some(there);
        machine.there.insert(image.to_owned(), there);
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: Duration = Duration::from_secs(10);

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + secs).unwrap()
    }

    #[test]
    fn the_second_pod_of_an_image_on_a_machine_finds_it_there_and_one_elsewhere_does_not() {
        let mut images = Images::default();
        assert_eq!(images.wanted("gpu-00", "a", PULL, at(0)), at(10));
        assert_eq!(images.wanted("gpu-00", "a", PULL, at(60)), at(60));
        assert_eq!(images.wanted("gpu-01", "a", PULL, at(60)), at(70));
    }

    #[test]
    fn one_that_comes_while_the_image_is_pulled_waits_for_the_rest_of_that_pull() {
        let mut images = Images::default();
        images.wanted("gpu-00", "a", PULL, at(0));
        assert_eq!(images.wanted("gpu-00", "a", PULL, at(4)), at(10));
    }

    #[test]
    fn a_machine_pulls_one_image_after_the_other() {
        let mut images = Images::default();
        images.wanted("gpu-00", "a", PULL, at(0));
        assert_eq!(images.wanted("gpu-00", "b", PULL, at(4)), at(20));
        // What is there already waits for no pull.
        assert_eq!(images.wanted("gpu-00", "a", PULL, at(12)), at(12));
        // Idle again, it begins at once.
        assert_eq!(images.wanted("gpu-00", "c", PULL, at(30)), at(40));
    }
}
