//! Configures and starts kube-controller-manager, kube-scheduler and HAMi.

use std::{ffi::OsString, path::Path};

use serde_json::json;

use super::{
    ClusterError, manifest, program,
    substrate::{self, write},
    supervisor::Program,
};
use plan::{ClientLimit, Component, HamiPlan, Programs, SchedulerPlan};

/// How often kube-controller-manager looks for nodes that were not heard of, and after how long one counts as lost. The fake
/// machines' Leases last 200 s, so that their renewals are no load; what happens when one is lost is not measured.
const NODE_MONITOR: [&str; 2] = [
    "--node-monitor-period=10m",
    "--node-monitor-grace-period=1h",
];

/// Namespace of their Leases.
pub(super) const LEASE_NAMESPACE: &str = "kube-system";

/// Name of the scheduler, its profile and its Lease, as in HAMi's chart.
pub const SCHEDULER_NAME: &str = "hami-scheduler";

/// What they listen on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub controller_manager: u16,
    pub scheduler: u16,
    pub hami: u16,
    pub hami_metrics: u16,
}

/// Into how many shares HAMi splits a card, from its device configuration.
pub(super) fn split_count() -> u32 {
    let config = manifest::parse(include_str!(
        "../../../../manifests/hami-device-config.yaml"
    ));
    config["nvidia"]["deviceSplitCount"]
        .as_u64()
        .and_then(|n| n.try_into().ok())
        // The file is part of the program; a unit test reads the field.
        .expect("HAMi's device configuration names a split count")
}

/// kube-controller-manager, with leader election as it is shipped.
pub(super) fn controller_manager(
    programs: &Programs,
    limit: ClientLimit,
    ports: Ports,
    state: &Path,
    logs: &Path,
) -> Result<Program, ClusterError> {
    let (kubeconfig, pki) = (substrate::kubeconfig(state), substrate::pki(state));
    let component = Component::KubeControllerManager;
    let mut args = vec![
        option("--kubeconfig", &kubeconfig),
        option("--root-ca-file", &pki.join("ca.crt")),
        option("--service-account-private-key-file", &pki.join("admin.key")),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={}", ports.controller_manager).into(),
        format!("--kube-api-qps={}", limit.qps).into(),
        format!("--kube-api-burst={}", limit.burst).into(),
    ];
    args.extend(NODE_MONITOR.map(OsString::from));
    Ok(Program {
        name: component.name().into(),
        path: program(programs, component)?,
        args,
        env: super::environment(state),
        log: logs.join(format!("{}.log", component.name())),
        stdout: None,
    })
}

/// kube-scheduler with the extender in its configuration.
pub(super) fn kube_scheduler(
    programs: &Programs,
    plan: &SchedulerPlan,
    ports: Ports,
    state: &Path,
    logs: &Path,
) -> Result<Program, ClusterError> {
    let kubeconfig = substrate::kubeconfig(state);
    let mut config = manifest::parse(include_str!("../../../../manifests/kube-scheduler.yaml"));
    for (path, value) in [
        ("clientConnection/kubeconfig", json!(kubeconfig)),
        ("clientConnection/qps", json!(plan.limit.qps)),
        ("clientConnection/burst", json!(plan.limit.burst)),
        ("leaderElection/leaderElect", json!(plan.leader_elect)),
        (
            "extenders/0/urlPrefix",
            json!(format!("http://127.0.0.1:{}", ports.hami)),
        ),
    ] {
        manifest::set(&mut config, path, value);
    }
    let file = state.join("kube-scheduler.yaml");
    write(&file, &manifest::render(&[config]))?;
    Ok(Program {
        name: Component::KubeScheduler.name().into(),
        path: program(programs, Component::KubeScheduler)?,
        args: vec![
            option("--config", &file),
            option("--authentication-kubeconfig", &kubeconfig),
            option("--authorization-kubeconfig", &kubeconfig),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", ports.scheduler).into(),
        ],
        env: super::environment(state),
        log: logs.join("kube-scheduler.log"),
        stdout: None,
    })
}

/// HAMi's scheduler extender, real or built in: both take HAMi's flags.
pub(super) fn hami(
    programs: &Programs,
    plan: &HamiPlan,
    leader_elect: bool,
    ports: Ports,
    state: &Path,
    logs: &Path,
) -> Result<Program, ClusterError> {
    let devices = state.join("hami-device-config.yaml");
    write(
        &devices,
        include_str!("../../../../manifests/hami-device-config.yaml"),
    )?;
    let mut args = programs.hami_args.clone();
    args.extend(
        [
            format!("--http_bind=127.0.0.1:{}", ports.hami),
            format!("--metrics-bind-address=127.0.0.1:{}", ports.hami_metrics),
            format!("--scheduler-name={SCHEDULER_NAME}"),
            format!("--node-scheduler-policy={}", plan.node_policy.name()),
            format!("--gpu-scheduler-policy={}", plan.gpu_policy.name()),
            format!("--kube-qps={}", plan.limit.qps),
            format!("--kube-burst={}", plan.limit.burst),
            format!("--leader-elect={leader_elect}"),
            format!("--leader-elect-resource-name={SCHEDULER_NAME}"),
            format!("--leader-elect-resource-namespace={LEASE_NAMESPACE}"),
        ]
        .map(OsString::from),
    );
    args.push(option("--device-config-file", &devices));
    Ok(Program {
        name: Component::Hami.name().into(),
        path: program(programs, Component::Hami)?,
        args,
        env: super::environment(state),
        log: logs.join("hami.log"),
        stdout: None,
    })
}

/// `--flag=path`.
pub(super) fn option(flag: &str, path: &Path) -> OsString {
    let mut arg = OsString::from(flag);
    arg.push("=");
    arg.push(path);
    arg
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_split_count_is_what_hami_is_told() {
        assert_eq!(super::split_count(), 10);
    }
}
