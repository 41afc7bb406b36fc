//! Brings a cluster up, until its first Job can be admitted.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, Config};
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Cluster, ClusterError, Parts, Spec, client, kueue, nodes,
    state::StateDir,
    substrate,
    supervisor::Supervisor,
    system,
    wait::{PATIENCE, POLL, get, until},
};
use plan::Component;

/// User agent of the harness while it brings the cluster up.
const USER_AGENT: &str = "headroom-bring-up";

/// Calls that HAMi makes for a node without handshakes: a GET and a PATCH for each of five vendors.
const HANDSHAKE_CALLS: f64 = 10.0;

/// Ports of all components.
#[derive(Debug, Clone, Copy)]
struct Ports {
    substrate: substrate::Ports,
    system: system::Ports,
    kueue: kueue::Ports,
}

/// Brings a cluster up and waits until its nodes are ready and registered with HAMi, and Kueue admits objects.
///
/// `notes` gets a line at each step, for a progress display. If no cluster is returned, nothing stays behind.
///
/// # Errors
///
/// Any [`ClusterError`]. If a component dies, the error has the last lines of its log.
pub async fn bring_up(
    spec: Spec<'_>,
    notes: &(dyn Fn(&str) + Send + Sync),
    cancel: CancellationToken,
) -> Result<Cluster, ClusterError> {
    let started = Instant::now();
    fs::create_dir_all(&spec.logs).map_err(ClusterError::file("create", &spec.logs))?;
    let logs = spec
        .logs
        .canonicalize()
        .map_err(ClusterError::file("open", &spec.logs))?;
    // kwokctl leaves its children to init. Only as their parent does the harness learn how they end.
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        tracing::debug!("exits of the substrate will lack their status: {error}");
    }
    let state = StateDir::create(&spec.state_root)?;
    let mut tried = false;
    let (supervisor, ports, etcd_port) = loop {
        let supervisor = Supervisor::new();
        let assembled = tokio::select! {
            result = assemble(&spec, &state, &logs, &supervisor, notes) => match result {
                Err(error) => Err(dead_behind(error, &supervisor, &logs).await),
                done => done,
            },
            error = death(&supervisor, &logs) => Err(error),
            () = cancel.cancelled() => Err(ClusterError::Cancelled),
        };
        match assembled {
            Ok((ports, etcd_port)) => break (supervisor, ports, etcd_port),
            // Another program took a port since it was chosen; or the machine was too busy for a moment.
            Err(error) if (error.is_port_clash() || error.is_impatience()) && !tried => {
                notes(if error.is_port_clash() {
                    "a port was taken meanwhile, trying others"
                } else {
                    "the API server was slow to start and a component gave up on it, trying again"
                });
                tried = true;
                drop(supervisor);
                state.reset();
            }
            Err(error) => return Err(error),
        }
    };
    Ok(Cluster {
        supervisor,
        state,
        logs,
        limits: Component::client_limits(spec.plan),
        bring_up_secs: started.elapsed().as_secs_f64(),
        ports,
        etcd_port,
    })
}

/// Starts everything and waits until it is ready. Returns etcd's port.
async fn assemble(
    spec: &Spec<'_>,
    state: &StateDir,
    logs: &Path,
    supervisor: &Supervisor,
    notes: &(dyn Fn(&str) + Send + Sync),
) -> Result<(system::Ports, u16), ClusterError> {
    let (plan, programs, dir) = (spec.plan, &spec.programs, state.dir());
    let ports = choose_ports(state)?;
    notes("starting etcd, kube-apiserver and kwok");
    let components = substrate::create(programs, ports.substrate, plan, dir, logs).await?;
    for (name, pid, log) in components {
        supervisor.adopt(&name, pid, log);
    }
    let client = client(&substrate::kubeconfig(dir), USER_AGENT).await?;
    until("kube-apiserver", PATIENCE, || answers(&client, "/readyz")).await?;
    let limit = plan.controller_manager.limit;
    let manager = system::controller_manager(programs, limit, ports.system, dir, logs)?;
    let leader = manager.name.clone();
    supervisor.run(manager);
    until(&leader, PATIENCE, || leads(&client, &leader)).await?;

    if let Parts::Bare { extender_port } = spec.parts {
        notes("starting kube-scheduler");
        let asks = system::Ports {
            hami: extender_port,
            ..ports.system
        };
        let scheduler = system::kube_scheduler(programs, &plan.scheduler, asks, dir, logs)?;
        supervisor.run(scheduler);
        let elect = plan.scheduler.leader_elect;
        until("kube-scheduler", PATIENCE, || {
            scheduling(&client, elect, ports.system.scheduler)
        })
        .await?;
        return Ok((ports.system, ports.substrate.etcd));
    }

    notes("installing Kueue, creating nodes, starting HAMi and kube-scheduler");
    let quota = async {
        let program =
            kueue::install(&client, programs, &plan.kueue, ports.kueue, dir, logs).await?;
        supervisor.run(program);
        until("Kueue", PATIENCE, || async {
            kueue::admits(&client).await.map_err(|e| e.to_string())
        })
        .await?;
        notes("Kueue is ready");
        Ok(())
    };
    let scheduling = async {
        schedulers(spec, &client, ports.system, dir, logs, supervisor).await?;
        notes("nodes are ready and registered with HAMi");
        Ok::<_, ClusterError>(())
    };
    futures::try_join!(quota, scheduling)?;
    Ok((ports.system, ports.substrate.etcd))
}

/// Creates the nodes, then starts HAMi and kube-scheduler. In this order HAMi does not wait for its 15 s tick to register
/// nodes: it looks at them when a node is added and when it becomes the leader, if it has finished starting by then.
async fn schedulers(
    spec: &Spec<'_>,
    client: &Client,
    ports: system::Ports,
    dir: &Path,
    logs: &Path,
    supervisor: &Supervisor,
) -> Result<(), ClusterError> {
    let (plan, programs) = (spec.plan, &spec.programs);
    let nodes = nodes::render(&plan.cluster, plan.hami.stamp_handshake);
    let (last, first) = nodes.split_last().ok_or_else(|| ClusterError::Unexpected {
        what: "the plan".into(),
        detail: "it has no nodes".into(),
    })?;
    let elect = plan.scheduler.leader_elect;
    supervisor.run(system::hami(programs, &plan.hami, elect, ports, dir, logs)?);
    let http = |port: u16| local_client(port);
    let (extender, metrics) = (http(ports.hami)?, http(ports.hami_metrics)?);
    futures::try_join!(
        nodes::create(client, first),
        until("HAMi", PATIENCE, || answers(&extender, "/healthz")),
    )?;
    supervisor.run(system::kube_scheduler(
        programs,
        &plan.scheduler,
        ports,
        dir,
        logs,
    )?);
    nodes::create(client, std::slice::from_ref(last)).await?;
    let names = plan.cluster.node_names();
    let storm = if plan.hami.stamp_handshake {
        0.0
    } else {
        HANDSHAKE_CALLS * f64::from(plan.cluster.nodes()) / plan.hami.limit.qps
    };
    let patience = PATIENCE + Duration::try_from_secs_f64(storm).unwrap_or(PATIENCE);
    futures::try_join!(
        until("kube-scheduler", PATIENCE, || scheduling(
            client,
            elect,
            ports.scheduler
        )),
        until("every node", PATIENCE, || async {
            let ready = nodes::ready(client).await.map_err(|e| e.to_string())?;
            all(ready, names.len(), "are ready")
        }),
        until("HAMi's registration of every node", patience, || async {
            let text = get(&metrics, "/metrics").await?;
            let known = names
                .iter()
                .filter(|(name, _)| text.contains(&format!("\"{name}\"")))
                .count();
            all(known, names.len(), "are registered")
        }),
    )?;
    Ok(())
}

fn all(have: usize, want: usize, what: &str) -> Result<(), String> {
    if have == want {
        Ok(())
    } else {
        Err(format!("{have} of {want} {what}"))
    }
}

/// Whether kube-scheduler schedules: it holds its Lease, or without leader election it answers.
async fn scheduling(client: &Client, elect: bool, port: u16) -> Result<(), String> {
    if !elect {
        let connected = TcpStream::connect(("127.0.0.1", port)).await;
        return connected.map(drop).map_err(|e| e.to_string());
    }
    leads(client, system::SCHEDULER_NAME).await
}

/// Whether a component holds its Lease.
async fn leads(client: &Client, lease: &str) -> Result<(), String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), system::LEASE_NAMESPACE);
    let lease = leases.get_opt(lease).await;
    let holder = lease
        .map_err(|e| e.to_string())?
        .and_then(|l| l.spec?.holder_identity);
    match holder {
        Some(holder) if !holder.is_empty() => Ok(()),
        _ => Err("it does not hold its Lease yet".into()),
    }
}

/// A client for plain HTTP on this machine.
pub(super) fn local_client(port: u16) -> Result<Client, ClusterError> {
    let unexpected = |detail: String| ClusterError::Unexpected {
        what: format!("address of port {port}"),
        detail,
    };
    let uri = format!("http://127.0.0.1:{port}")
        .parse()
        .map_err(|e: http::uri::InvalidUri| unexpected(e.to_string()))?;
    let mut config = Config::new(uri);
    config.proxy_url = None;
    config.read_timeout = Some(Duration::from_secs(5));
    Client::try_from(config).map_err(|e| unexpected(e.to_string()))
}

pub(super) async fn answers(client: &Client, path: &str) -> Result<(), String> {
    get(client, path).await.map(drop)
}

/// The component whose death caused `error`, if one died: a call to it fails sooner than its end is seen.
async fn dead_behind(error: ClusterError, supervisor: &Supervisor, logs: &Path) -> ClusterError {
    let death = timeout(5 * POLL, death(supervisor, logs)).await;
    death.unwrap_or(error)
}

/// Waits for the first component that dies. None may while a cluster comes up.
async fn death(supervisor: &Supervisor, logs: &Path) -> ClusterError {
    loop {
        if let Some(exit) = supervisor.exits().into_iter().next() {
            let tail = super::error::tail_text(&exit.last_lines);
            return ClusterError::Died {
                how: exit.how(),
                log: log_of(logs, &exit.component),
                tail,
                component: exit.component,
            };
        }
        sleep(POLL).await;
    }
}

fn log_of(logs: &Path, component: &str) -> PathBuf {
    logs.join(format!("{component}.log"))
}

fn choose_ports(state: &StateDir) -> Result<Ports, ClusterError> {
    let mut free = state.ports(11)?.into_iter();
    // `ports` returned as many as asked for, or an error.
    let mut next = || free.next().unwrap_or_default();
    Ok(Ports {
        substrate: substrate::Ports {
            etcd: next(),
            etcd_peer: next(),
            apiserver: next(),
            kwok: next(),
        },
        system: system::Ports {
            controller_manager: next(),
            scheduler: next(),
            hami: next(),
            hami_metrics: next(),
        },
        kueue: kueue::Ports {
            webhook: next(),
            health: next(),
            metrics: next(),
        },
    })
}
