//! Finds free ports on the loopback interface.

use std::{collections::BTreeSet, fs, net::TcpListener};

use rand::seq::SliceRandom;

use super::ClusterError;

/// Lowest port used. Well-known services are below.
const LOWEST: u16 = 20_000;

/// Lowest port that Linux gives to outgoing connections, if /proc does not say.
const DEFAULT_EPHEMERAL_START: u16 = 32_768;

/// Finds `wanted` ports that nothing listens on and that are not in `taken`.
///
/// They are below the range that Linux uses for outgoing connections, so that no connection can take one before its
/// component listens.
pub(super) fn find(wanted: usize, taken: &BTreeSet<u16>) -> Result<Vec<u16>, ClusterError> {
    let to = ephemeral_start();
    let from = LOWEST.min(to / 2);
    let mut candidates: Vec<u16> = (from..to).filter(|p| !taken.contains(p)).collect();
    candidates.shuffle(&mut rand::rng());
    let ports: Vec<u16> = candidates
        .into_iter()
        .filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .take(wanted)
        .collect();
    if ports.len() < wanted {
        return Err(ClusterError::NoPorts { wanted, from, to });
    }
    Ok(ports)
}

fn ephemeral_start() -> u16 {
    fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|range| range.split_ascii_whitespace().next()?.parse().ok())
        // If Linux uses nearly every port for connections, there is no room below. Then the test bind has to do.
        .filter(|&start| start >= 2_048)
        .unwrap_or(DEFAULT_EPHEMERAL_START)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_or_taken_by_another_cluster_is_not_given_out() {
        let to = ephemeral_start();
        let from = LOWEST.min(to / 2);
        let busy = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        // Leave exactly ten free candidates and ask for them all.
        let free = find(10, &BTreeSet::new()).unwrap();
        let taken: BTreeSet<u16> = (from..to).filter(|p| !free.contains(p)).collect();
        let mut got = find(10, &taken).unwrap();
        let mut want = free.clone();
        got.sort_unstable();
        want.sort_unstable();
        assert_eq!(got, want);
        let held = TcpListener::bind(("127.0.0.1", free[0])).unwrap();
        assert!(matches!(
            find(10, &taken),
            Err(ClusterError::NoPorts { wanted: 10, .. })
        ));
        drop((busy, held));
    }

    #[test]
    fn no_port_can_be_taken_by_an_outgoing_connection() {
        let ports = find(20, &BTreeSet::new()).unwrap();
        assert!(ports.iter().all(|&p| p < ephemeral_start()));
    }
}
