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

Writes each decision to standard output, as one JSON object per line."
)]
pub struct Args {
    /// Label selector of the nodes it may clear. Required: by default no node is in reach.
    #[arg(long, value_name = "LABEL_SELECTOR", value_parser = selector::parse)]
    pub scope: Selector,
    /// Teams (namespaces) whose tasks it may evict. It never chooses a node with tasks of others.
    #[arg(long, value_name = "TEAM", value_delimiter = ',', required = true, value_parser = team)]
    pub allow: Vec<String>,
    /// How a node is emptied.
    #[arg(long, value_enum, default_value_t = ClearerStrategy::Reserve)]
    pub strategy: ClearerStrategy,
    /// Which requests it clears a node for.
    #[arg(long, value_enum, default_value_t = ClearerTrigger::Unschedulable)]
    pub trigger: ClearerTrigger,
    /// Seconds that a clearing may take. Then the node is released, with or without the request on it.
    #[arg(long, value_name = "SECS", default_value_t = 120.0, value_parser = positive_secs)]
    pub time_limit: f64,
    /// Seconds between the list of a node's tasks and the cordon of list-then-evict. For experiments: it makes the race wider.
    #[arg(long, value_name = "SECS", default_value_t = 0.0, value_parser = secs, hide = true)]
    pub cordon_delay: f64,
    /// Seconds that a request must wait before a node is cleared for it.
    #[arg(long, value_name = "SECS", default_value_t = 0.0, value_parser = secs)]
    pub patience: f64,
    /// How many clearings may be in progress at the same time.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_clearings: u32,
    /// How many clearings may fail for one request. Then it is left alone: it does not wait for cards.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: u32,
    /// Resource that counts cards. The name of HAMi's memory resource is this one followed by `mem`.
    #[arg(long, value_name = "RESOURCE", default_value = "nvidia.com/gpu")]
    pub card_resource: String,
    /// Address on which /healthz and /readyz are served. Without it they are not.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub health_bind: Option<std::net::SocketAddr>,
    /// Namespace of the Lease. Of the clearers that share a Lease only one works at a time.
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub lease_namespace: String,
    /// Name of the Lease. By it a clearer also knows its own clearings, so keep it over restarts. Clearers whose scopes
    /// overlap should share a Lease.
    #[arg(long, value_name = "NAME", default_value = "headroom-clearer")]
    pub lease_name: String,
    /// Seconds after which a silent holder has lost the Lease.
    #[arg(long, value_name = "SECS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..3600))]
    pub lease_secs: u32,
    /// Release every node, re-activate every task evicted under this Lease, and exit. Run it before you uninstall.
    #[arg(long)]
    pub put_back_all: bool,
}

impl Args {
    /// [`Args::time_limit`] as a duration.
    pub(crate) fn time_limit(&self) -> Duration {
        Duration::from_secs_f64(self.time_limit)
    }

    /// True if tasks of this namespace may be evicted.
    #[must_use]
    pub fn may_evict(&self, namespace: &str) -> bool {
        self.allow.iter().any(|a| a == namespace)
    }
}

/// A day. No clearing should last longer, and time stamps stay far from overflow.
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

fn positive_secs(text: &str) -> Result<f64, String> {
    match secs(text)? {
        0.0 => Err("must be above 0".into()),
        secs => Ok(secs),
    }
}
