//! HAMi's command line. In: the flags of HAMi v2.10's scheduler, spelled as HAMi spells them. Out: typed settings.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

/// Flags of `headroom extender`: those of HAMi v2.10's scheduler.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Flags that HAMi knows and that change nothing here are accepted and ignored: logging flags other \
than -v, --profiling, --force-overwrite-default-scheduler (no webhook is served), --legacy-metrics, --debug, and the resource \
names of other vendors' devices.\n\nExample:\n  KUBECONFIG=cluster.yaml headroom extender \
--http_bind=127.0.0.1:9000 --metrics-bind-address=127.0.0.1:9001 \\\n    --scheduler-name=hami-scheduler \
--device-config-file=device-config.yaml --kube-qps=100 --kube-burst=200"
)]
pub struct Args {
    /// Address to serve kube-scheduler on; an empty host means loopback.
    #[arg(
        long = "http_bind",
        default_value = "127.0.0.1:8080",
        value_name = "HOST:PORT"
    )]
    pub(crate) http_bind: String,
    /// TLS certificate; the built-in extender serves plain HTTP only and refuses it.
    #[arg(long = "cert_file", default_value = "", value_name = "FILE")]
    pub(crate) cert_file: String,
    /// TLS key; the built-in extender serves plain HTTP only and refuses it.
    #[arg(long = "key_file", default_value = "", value_name = "FILE")]
    pub(crate) key_file: String,
    /// Name that the events are reported under.
    #[arg(long, default_value = "", value_name = "NAME")]
    pub(crate) scheduler_name: String,
    /// Which of the fitting nodes is chosen: binpack or spread; any other text means binpack, as in HAMi.
    #[arg(long, default_value = "binpack", value_name = "POLICY")]
    pub(crate) node_scheduler_policy: String,
    /// Which of a node's cards are chosen: binpack, spread, mutex, numa, topology-aware or a list of them; any other text
    /// means spread, as in HAMi.
    #[arg(long, default_value = "spread", value_name = "POLICY")]
    pub(crate) gpu_scheduler_policy: String,
    /// Address to serve metrics on; an empty host means loopback (HAMi: every interface).
    #[arg(long, default_value = ":9395", value_name = "HOST:PORT")]
    pub(crate) metrics_bind_address: String,
    /// Register only the nodes with these labels.
    #[arg(long, value_delimiter = ',', value_parser = label, value_name = "KEY=VALUE")]
    pub(crate) node_label_selector: Vec<(String, String)>,
    /// Calls per second to the API server, all calls together; 0 means 5, below 0 means no limit.
    #[arg(
        long,
        default_value_t = 5.0,
        allow_negative_numbers = true,
        value_name = "N"
    )]
    pub(crate) kube_qps: f32,
    /// How many calls may exceed --kube-qps at once.
    #[arg(
        long,
        default_value_t = 10,
        allow_negative_numbers = true,
        value_name = "N"
    )]
    pub(crate) kube_burst: i64,
    /// Seconds that a call to the API server may take; 0 means no limit.
    #[arg(long, default_value_t = 0, value_name = "SECS")]
    pub(crate) kube_timeout: u64,
    /// Age at which a node lock expires, such as 5m or 90s.
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "DURATION")]
    pub(crate) node_lock_timeout: Duration,
    /// How long a member of a pod group waits for a contended node lock; 0s: not at all.
    #[arg(long, default_value = "28s", value_parser = duration, value_name = "DURATION")]
    pub(crate) node_lock_retry_timeout: Duration,
    /// Register nodes only while kube-scheduler on this host holds its Lease.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          default_value = "false", value_parser = go_bool, value_name = "BOOL")]
    pub(crate) leader_elect: bool,
    /// Name of kube-scheduler's Lease.
    #[arg(long, default_value = "", value_name = "NAME")]
    pub(crate) leader_elect_resource_name: String,
    /// Namespace of kube-scheduler's Lease.
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub(crate) leader_elect_resource_namespace: String,
    /// HAMi's device file, of which the `nvidia` block is read.
    #[arg(long, value_name = "FILE")]
    pub(crate) device_config_file: PathBuf,
    /// Log verbosity: 4 shows each decision, 5 each card.
    #[arg(
        short = 'v',
        long = "v",
        default_value_t = 0,
        allow_negative_numbers = true,
        value_name = "N"
    )]
    pub(crate) verbosity: i32,
    /// Flags that are accepted and ignored.
    #[command(flatten)]
    pub(crate) ignored: Ignored,
}

/// Flags of HAMi that the built-in extender does not need.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Ignored {
    /// Accepted and ignored: switches of HAMi, of klog, and for other vendors' devices.
    #[arg(
        long = "profiling",
        aliases = [
            "force-overwrite-default-scheduler", "legacy-metrics", "debug",
            "logtostderr", "alsologtostderr", "skip_headers", "skip_log_headers", "one_output", "add_dir_header",
            "enable-ascend", "enable-iluvatar", "sgpu-topology-aware",
        ],
        hide = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    switch: Vec<String>,
    /// Accepted and ignored: klog's values, and resource names of other vendors' devices.
    #[arg(
        long = "log_dir",
        aliases = [
            "log_file", "log_file_max_size", "log_backtrace_at", "stderrthreshold", "vmodule",
            "legacy_stderr_threshold_behavior", "dcu-name",
            "dcu-memory", "dcu-cores", "cambricon-mlu-name", "cambricon-mlu-memory", "cambricon-mlu-cores",
            "enflame-gcu-resource-name", "enflame-drs-gcu-resource-name", "enflame-gcu-memory-resource-name",
            "enflame-gcu-core-resource-name", "enflame-vgcu-resource-name", "enflame-vgcu-legacy-resource-name",
            "enflame-vgcu-percentage-resource-name", "kunlun-name", "kunlun-vcount", "kunlun-vmemory", "metax-name",
            "metax-vcount", "metax-vcore", "metax-vmemory", "mthreads-name", "mthreads-memory", "mthreads-cores",
        ],
        hide = true
    )]
    value: Vec<String>,
}

/// A Go duration such as `5m`, `1m30s` or `250ms`.
fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed: SignedDuration = text
        .parse()
        .map_err(|_| format!("{text:?} is no duration; write it as 5m, 90s or 250ms"))?;
    Duration::try_from(parsed).map_err(|_| format!("{text:?} is below zero"))
}

/// The texts that Go accepts as a boolean.
fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .ok_or_else(|| format!("{text:?} is no KEY=VALUE"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::args as parse;

    #[test]
    fn takes_the_flags_of_hamis_chart() {
        let args = parse(&[
            "--http_bind=0.0.0.0:443",
            "--scheduler-name=hami-scheduler",
            "--metrics-bind-address=:9395",
            "--node-scheduler-policy=spread",
            "--force-overwrite-default-scheduler=true",
            "--leader-elect=true",
            "--leader-elect-resource-name=hami-scheduler",
            "--node-lock-timeout=1m30s",
            "--node-label-selector=gpu=on,zone=a",
            "--logtostderr",
            "--vmodule=x=2",
            "--enable-ascend=true",
            "--dcu-name=a/b",
            "-v=4",
        ])
        .unwrap();
        assert!(args.leader_elect);
        assert_eq!(args.node_lock_timeout, Duration::from_secs(90));
        assert_eq!(args.node_label_selector.len(), 2);
        assert_eq!(args.verbosity, 4);
        assert!((args.kube_qps - 5.0).abs() < f32::EPSILON);
        assert_eq!(args.kube_burst, 10);
    }

    #[test]
    fn a_bare_switch_takes_no_value_from_the_next_flag() {
        let args = parse(&["--leader-elect", "--kube-qps", "100"]).unwrap();
        assert!(args.leader_elect);
        assert!((args.kube_qps - 100.0).abs() < f32::EPSILON);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(parse(&["--node-lock-timeout=soon"]).is_err());
        assert!(parse(&["--leader-elect=perhaps"]).is_err());
        assert!(parse(&["--no-such-flag"]).is_err());
    }
}
