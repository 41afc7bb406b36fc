//! The command line of `headroom clearer`.

use std::time::Duration;

use interface::{ClearerStrategy, ClearerTrigger};
use kube::core::Selector;

use super::selector;

/// Settings of the node clearer. The cluster is the one `KUBECONFIG` names (or the pod's service account).
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Example: KUBECONFIG=./kubeconfig headroom clearer --scope gpu=on --allow vision,speech \\
  --strategy reserve --health-bind 127.0.0.1:8099

Decisions go to standard output, one JSON object a line."
)]
pub struct Args {
    /// Label selector of the nodes it may clear; required, so that nothing is in reach by default.
    #[arg(long, value_name = "LABEL_SELECTOR", value_parser = selector::parse)]
    pub scope: Selector,
    /// Teams (namespaces) whose tasks it may stop. A node that holds anything else is never chosen.
    #[arg(long, value_name = "TENANT", value_delimiter = ',', required = true, value_parser = team)]
    pub allow: Vec<String>,
    /// How a node is emptied.
    #[arg(long, value_enum, default_value_t = ClearerStrategy::Reserve)]
    pub strategy: ClearerStrategy,
    /// What counts as a request that waits for a machine.
    #[arg(long, value_enum, default_value_t = ClearerTrigger::Unschedulable)]
    pub trigger: ClearerTrigger,
    /// A node not taken by its request this many seconds after its clearing began is put back.
    #[arg(long, value_name = "SECS", default_value_t = 120.0, value_parser = positive_secs)]
    pub time_limit: f64,
    /// A request must have been waiting this many seconds before a node is cleared for it.
    #[arg(long, value_name = "SECS", default_value_t = 0.0, value_parser = non_negative_secs)]
    pub patience: f64,
    /// Clearings in progress at the same time, at most.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_clearings: u32,
    /// Nodes cleared in vain for one request before it is left alone: something else than cards keeps it waiting.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: u32,
    /// Resource that counts cards. HAMi's memory resource is taken to be this name followed by `mem`.
    #[arg(long, value_name = "RESOURCE", default_value = "nvidia.com/gpu")]
    pub card_resource: String,
    /// Address of /healthz and /readyz; none: not served.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub health_bind: Option<std::net::SocketAddr>,
    /// Namespace of the Lease that keeps two clearers apart.
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub lease_namespace: String,
    /// Name of that Lease. It also tells a clearer's own clearings from others', so it must stay the same over restarts; clearers
    /// whose scopes overlap should share it.
    #[arg(long, value_name = "NAME", default_value = "headroom-clearer")]
    pub lease_name: String,
    /// A holder silent for this many seconds has lost the Lease.
    #[arg(long, value_name = "SECS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..3600))]
    pub lease_secs: u32,
    /// Put every node back, re-activate every task stopped under the same Lease, and exit: to be run before uninstalling.
    #[arg(long)]
    pub put_back_all: bool,
}

impl Args {
    /// [`Args::time_limit`] as a duration.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        Duration::from_secs_f64(self.time_limit)
    }

    /// True if tasks of this namespace may be stopped.
    #[must_use]
    pub fn may_stop(&self, namespace: &str) -> bool {
        self.allow.iter().any(|a| a == namespace)
    }
}

/// A day: no clearing is meant to last longer, and it keeps stamps far from overflow.
const MOST_SECS: f64 = 86_400.0;

fn team(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() || !text.chars().all(plain) {
        return Err("expected names of namespaces, separated by commas".into());
    }
    Ok(text.to_owned())
}

fn secs(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(secs) if (0.0..=MOST_SECS).contains(&secs) => Ok(secs),
        _ => Err(format!("expected seconds, 0 to {MOST_SECS}")),
    }
}

fn non_negative_secs(text: &str) -> Result<f64, String> {
    secs(text)
}

fn positive_secs(text: &str) -> Result<f64, String> {
    secs(text).and_then(|secs| {
        if secs > 0.0 {
            Ok(secs)
        } else {
            Err("must be above 0".into())
        }
    })
}
