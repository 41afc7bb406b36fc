//! The cards reserved for a pod and their annotation: `UUID,NVIDIA,MiB,cores:` for each card, `;` after each container.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A share of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The card.
    pub uuid: String,
    /// Memory in MiB.
    pub mem_mib: i32,
    /// Cores in percent.
    pub cores: i32,
    /// How many pods' places it takes on the card; 0 counts as 1.
    pub slots: i32,
}

/// Shares by device type, then by container.
pub type PodDevices = BTreeMap<String, Vec<Vec<Share>>>;

/// The annotation's text for one device type.
pub fn encode(device_type: &str, containers: &[Vec<Share>]) -> String {
    let mut text = String::new();
    for shares in containers {
        for share in shares {
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "{},{device_type},{},{}:",
                share.uuid, share.mem_mib, share.cores
            );
        }
        text.push(';');
    }
    text
}

/// Reads the annotation's text. Containers without cards keep their place.
///
/// # Errors
/// A card has fewer than four fields, or its memory or cores are no number.
pub fn decode(text: &str) -> Result<Vec<Vec<Share>>, String> {
    let share = |text: &str| {
        let fields: Vec<&str> = text.split(',').collect();
        let [uuid, _device_type, mem, cores, ..] = fields.as_slice() else {
            return Err(format!("{text:?} has too few fields"));
        };
        let number = |field: &str| {
            field
                .parse::<i32>()
                .map_err(|_| format!("{text:?}: {field:?} is no number"))
        };
        Ok(Share {
            uuid: (*uuid).to_owned(),
            mem_mib: number(mem)?,
            cores: number(cores)?,
            slots: 0,
        })
    };
    let container = |text: &str| {
        text.split(':')
            .filter(|text| text.contains(','))
            .map(share)
            .collect()
    };
    text.split(';').map(container).collect()
}

/// What a pod really takes of each card. Init containers run one after the other, so the largest of their shares counts. The
/// other containers run at once, so their shares add up. The larger of the two is taken.
pub fn collapse(devices: &PodDevices, init_containers: usize) -> PodDevices {
    effective(devices, |card, share, index| {
        if index < init_containers {
            card.peak(share);
        } else {
            card.add(share);
        }
    })
}

/// What a pod takes once its init containers have ended.
pub fn without_init(devices: &PodDevices, init_containers: usize) -> PodDevices {
    effective(devices, |card, share, index| {
        if index >= init_containers {
            card.add(share);
        }
    })
}

#[derive(Default)]
struct CardTotal {
    peak: [i32; 3],
    sum: [i32; 3],
    seen: bool,
}

impl CardTotal {
    fn peak(&mut self, share: &Share) {
        self.seen = true;
        self.peak = [
            self.peak[0].max(share.mem_mib),
            self.peak[1].max(share.cores),
            1,
        ];
    }

    fn add(&mut self, share: &Share) {
        self.seen = true;
        self.sum = [
            self.sum[0] + share.mem_mib,
            self.sum[1] + share.cores,
            self.sum[2] + 1,
        ];
    }
}

fn effective(devices: &PodDevices, count: impl Fn(&mut CardTotal, &Share, usize)) -> PodDevices {
    let total = |containers: &Vec<Vec<Share>>| {
        let mut cards: BTreeMap<&str, CardTotal> = BTreeMap::new();
        for (index, shares) in containers.iter().enumerate() {
            for share in shares {
                count(cards.entry(&share.uuid).or_default(), share, index);
            }
        }
        let seen = cards.into_iter().filter(|(_, total)| total.seen);
        let shares = seen.map(|(uuid, CardTotal { peak, sum, .. })| Share {
            uuid: uuid.to_owned(),
            mem_mib: peak[0].max(sum[0]),
            cores: peak[1].max(sum[1]),
            slots: peak[2].max(sum[2]).max(1),
        });
        vec![shares.collect()]
    };
    devices
        .iter()
        .map(|(device_type, containers)| (device_type.clone(), total(containers)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn share(uuid: &str, mem_mib: i32, cores: i32) -> Share {
        Share {
            uuid: uuid.to_owned(),
            mem_mib,
            cores,
            slots: 0,
        }
    }

    #[test]
    fn the_text_is_hamis() {
        let containers = [
            vec![share("GPU-a", 2456, 10), share("GPU-b", 24564, 0)],
            vec![],
            vec![share("GPU-c", 1, 2)],
        ];
        let text = encode("NVIDIA", &containers);
        assert_eq!(
            text,
            "GPU-a,NVIDIA,2456,10:GPU-b,NVIDIA,24564,0:;;GPU-c,NVIDIA,1,2:;"
        );
        let mut read = decode(&text).unwrap();
        assert_eq!(
            read.pop(),
            Some(vec![]),
            "the last separator opens one more, empty, place"
        );
        assert_eq!(read, containers);
    }

    #[test]
    fn torn_text_is_refused() {
        assert!(decode("GPU-a,NVIDIA,1:;").is_err());
        assert!(decode("GPU-a,NVIDIA,one,2:;").is_err());
    }

    #[test]
    fn init_containers_count_by_their_peak() {
        let containers = vec![
            vec![share("a", 1000, 50)],
            vec![share("a", 3000, 10), share("b", 100, 1)],
            vec![share("a", 1000, 20)],
            vec![share("a", 500, 20)],
        ];
        let devices = PodDevices::from([("NVIDIA".to_owned(), containers)]);
        let slots = |shares: &[Share]| -> Vec<(String, i32, i32, i32)> {
            shares
                .iter()
                .map(|s| (s.uuid.clone(), s.mem_mib, s.cores, s.slots))
                .collect()
        };
        let all = collapse(&devices, 2);
        assert_eq!(
            slots(&all["NVIDIA"][0]),
            [("a".into(), 3000, 50, 2), ("b".into(), 100, 1, 1)]
        );
        let rest = without_init(&devices, 2);
        assert_eq!(slots(&rest["NVIDIA"][0]), [("a".into(), 1500, 40, 2)]);
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "[a-z0-9,:;-]*") {
            let _ = decode(&text);
        }
    }
}
