//! etcd, kube-apiserver and kwok, brought up by kwokctl's binary runtime.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::process::Command;

use super::{ClusterError, error::tail_text, manifest, program, supervisor};
use plan::{Component, HardwarePlan, Plan, Programs};

/// kwokctl's name for the cluster. Each cluster has a kwokctl folder of its own.
const NAME: &str = "headroom";

/// What the substrate listens on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub etcd: u16,
    pub etcd_peer: u16,
    pub apiserver: u16,
    pub kwok: u16,
}

/// How long kwokctl may take. It waits two minutes for a cluster that does not come up.
const TIMEOUT: Duration = Duration::from_secs(90);

fn kwokctl_workdir(state: &Path) -> PathBuf {
    state.join("kwok")
}

fn cluster_dir(state: &Path) -> PathBuf {
    kwokctl_workdir(state).join("clusters").join(NAME)
}

/// The kubeconfig of the cluster in this folder.
pub(super) fn kubeconfig(state: &Path) -> PathBuf {
    cluster_dir(state).join("kubeconfig.yaml")
}

/// Keys and certificates of the cluster in this folder.
pub(super) fn pki(state: &Path) -> PathBuf {
    cluster_dir(state).join("pki")
}

/// Name of the API server's audit log in the folder of logs. kwokctl chooses it.
pub(super) const AUDIT_LOG: &str = "audit.log";

/// Creates and starts the substrate. Its processes are detached; their ids are returned with their logs.
pub(super) async fn create(
    programs: &Programs,
    ports: Ports,
    plan: &Plan,
    state: &Path,
    logs: &Path,
) -> Result<Vec<(String, i32, PathBuf)>, ClusterError> {
    let config = state.join("kwokctl.yaml");
    write(&config, &settings(programs, ports, plan, state)?)?;
    write(
        &audit_policy(state),
        include_str!("../../../../manifests/audit-policy.yaml"),
    )?;
    let path = stub_path(state)?;
    let dir = cluster_dir(state);
    fs::create_dir_all(&dir).map_err(ClusterError::file("create", &dir))?;
    // kwokctl puts logs into its own folder. In the run's folder they outlive the cluster, however it ends.
    std::os::unix::fs::symlink(logs, dir.join("logs"))
        .map_err(ClusterError::file("link", &dir.join("logs")))?;
    run_kwokctl(programs, state, logs, &config, path).await?;

    let mut components = vec![];
    // kwokctl names programs, pid files and logs as headroom does.
    for name in Component::substrate().map(Component::name) {
        let pid_file = dir.join("pids").join(format!("{name}.pid"));
        let text = fs::read_to_string(&pid_file).map_err(ClusterError::file("read", &pid_file))?;
        let pid = text.trim().parse().map_err(|_| ClusterError::Unexpected {
            what: pid_file.display().to_string(),
            detail: format!("no process id: {text}"),
        })?;
        components.push((name.to_owned(), pid, logs.join(format!("{name}.log"))));
    }
    Ok(components)
}

async fn run_kwokctl(
    programs: &Programs,
    state: &Path,
    logs: &Path,
    config: &Path,
    path: OsString,
) -> Result<(), ClusterError> {
    let (name, kwokctl) = (
        Component::Kwokctl.name(),
        program(programs, Component::Kwokctl)?,
    );
    let log = logs.join(format!("{name}.log"));
    let output = fs::File::create(&log).map_err(ClusterError::file("create", &log))?;
    let errors = output
        .try_clone()
        .map_err(ClusterError::file("open", &log))?;
    let started = Instant::now();
    let mut child = Command::new(&kwokctl)
        .args(["create", "cluster", "--name", NAME])
        // Empty, so that it does not touch the user's own kubeconfig.
        .arg("--kubeconfig=")
        .arg("--config")
        .arg(config)
        .env_clear()
        .envs(super::environment(state))
        .env("PATH", path)
        .env("KWOK_WORKDIR", kwokctl_workdir(state))
        .current_dir(state)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| ClusterError::Start {
            component: name.into(),
            program: kwokctl.clone(),
            source,
        })?;
    let Ok(status) = tokio::time::timeout(TIMEOUT, child.wait()).await else {
        let lines = supervisor::tail(&log, 0);
        return Err(ClusterError::NotReady {
            what: "the cluster that kwokctl starts".into(),
            secs: started.elapsed().as_secs(),
            last: lines.last().cloned().unwrap_or_default(),
        });
    };
    let status = status.map_err(ClusterError::file("run", &kwokctl))?;
    if status.success() {
        return Ok(());
    }
    Err(ClusterError::Died {
        component: name.into(),
        how: format!("failed ({status})"),
        tail: tail_text(&supervisor::tail(&log, 0)),
        log,
    })
}

fn audit_policy(state: &Path) -> PathBuf {
    state.join("audit-policy.yaml")
}

/// kwokctl's configuration: its own options, kwok's, and the stages that kwok plays.
fn settings(
    programs: &Programs,
    ports: Ports,
    plan: &Plan,
    state: &Path,
) -> Result<String, ClusterError> {
    let path = |component| program(programs, component);
    let mut documents = manifest::parse_all(include_str!("../../../../kwok/kwokctl.yaml"));
    let kwokctl = &mut documents[0];
    for (option, value) in [
        ("etcdPort", json!(ports.etcd)),
        ("etcdPeerPort", json!(ports.etcd_peer)),
        ("kubeApiserverPort", json!(ports.apiserver)),
        ("kwokControllerPort", json!(ports.kwok)),
        ("kubeAuditPolicy", json!(audit_policy(state))),
        ("etcdBinary", json!(path(Component::Etcd)?)),
        (
            "kubeApiserverBinary",
            json!(path(Component::KubeApiserver)?),
        ),
        ("kwokControllerBinary", json!(path(Component::Kwok)?)),
        ("kubectlBinary", json!(stub(state))),
    ] {
        manifest::set(kwokctl, &format!("options/{option}"), value);
    }
    documents.extend(manifest::parse_all(include_str!(
        "../../../../kwok/node-stages.yaml"
    )));
    documents.extend(pod_stages(&plan.hardware, plan.data_plane.is_some()));
    Ok(manifest::render(&documents))
}

/// The stages of pods, with the hardware's delays. With a data plane, its stages replace those of the same name.
fn pod_stages(hardware: &HardwarePlan, data_plane: bool) -> Vec<Value> {
    let mut stages = manifest::parse_all(include_str!("../../../../kwok/pod-stages.yaml"));
    if data_plane {
        let own = manifest::parse_all(include_str!("../../../../kwok/data-plane-stages.yaml"));
        let name = |stage: &Value| stage["metadata"]["name"].clone();
        stages.retain(|stage| own.iter().all(|o| name(o) != name(stage)));
        stages.extend(own);
    }
    let delay = Duration::try_from_secs_f64(hardware.device_plugin_delay_secs).unwrap_or_default();
    for stage in &mut stages {
        if stage["metadata"]["name"] == "pod-device-plugin" {
            let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            manifest::set(stage, "spec/delay/durationMilliseconds", millis);
        }
    }
    stages
}

fn stub(state: &Path) -> PathBuf {
    state.join("bin").join("kubectl")
}

/// kwokctl asks kubectl whether the API server answers, and downloads a kubectl if there is none. The harness asks the API
/// server itself, so kwokctl gets a search path with nothing but a kubectl that always says yes.
fn stub_path(state: &Path) -> Result<OsString, ClusterError> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = stub(state);
    let dir = state.join("bin");
    fs::create_dir_all(&dir).map_err(ClusterError::file("create", &dir))?;
    let write_stub = || -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o755)
            .open(&path)?;
        std::io::Write::write_all(&mut file, b"#!/bin/sh\nexit 0\n")
    };
    write_stub().map_err(ClusterError::file("write", &path))?;
    Ok(dir.into())
}

/// Writes a file of the cluster.
pub(super) fn write(path: &Path, text: &str) -> Result<(), ClusterError> {
    fs::write(path, text).map_err(ClusterError::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_plugins_delay_reaches_its_stage_and_no_other() {
        let hardware = HardwarePlan {
            device_plugin_delay_secs: 0.25,
        };
        for data_plane in [false, true] {
            let stages = pod_stages(&hardware, data_plane);
            let delays: Vec<_> = stages
                .iter()
                .filter_map(|s| s["spec"]["delay"]["durationMilliseconds"].as_u64())
                .collect();
            assert_eq!(delays, [250]);
        }
    }

    #[test]
    fn a_data_plane_takes_the_place_of_the_stages_that_know_of_none() {
        let hardware = HardwarePlan {
            device_plugin_delay_secs: 0.0,
        };
        let names = |data_plane| {
            let stages = pod_stages(&hardware, data_plane).into_iter();
            let names = stages.map(|s| s["metadata"]["name"].as_str().unwrap().to_owned());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        let plain = names(false);
        assert!(!plain.contains(&"pod-useful".to_owned()), "{plain:?}");
        let with = names(true);
        assert!(plain.iter().all(|name| with.contains(name)), "{with:?}");
        let mut once = with.clone();
        once.dedup();
        assert_eq!(with, once, "two stages of one name");
    }
}
