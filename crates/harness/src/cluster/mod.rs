//! A real control plane on this machine, with fake machines.
//!
//! In: a [`Plan`] and the paths of the programs. Out: a running [`Cluster`]: its kubeconfig, audit log, processes and
//! their exits. It listens on 127.0.0.1 only, leaves nothing behind when it is dropped, and creates neither quotas nor
//! Jobs. It must never touch another cluster.
//!
//! - [`bring_up`]: from nothing to a cluster whose first Job can be admitted
//! - [`substrate`]: etcd, kube-apiserver, kwok, by kwokctl
//! - [`system`]: kube-controller-manager, kube-scheduler and HAMi; [`kueue`] and its [`certs`]: the system under test
//! - [`nodes`]: the fake machines; [`extender`]: changing the extender of a bare cluster
//! - [`supervisor`]: keeps the system under test running and records its exits
//! - [`state`]: the folder of each cluster, its owner, and the removal of leftovers
//! - [`proc`], [`ports`]: what the host says about processes and ports
//! - [`pause`]: a paused process
//! - [`manifest`], [`wait`]: settings into YAML files; waiting until something is ready

mod bring_up;
mod certs;
mod error;
mod extender;
mod kueue;
mod manifest;
mod nodes;
mod pause;
mod ports;
mod proc;
mod state;
mod substrate;
pub(crate) mod supervisor;
mod system;
mod wait;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

pub use bring_up::bring_up;
pub use error::ClusterError;
pub(crate) use kueue::TOTAL_GPUMEM;
pub use nodes::{CARD_TYPE, fake as fake_node};
pub(crate) use pause::Paused;
pub(crate) use proc::SESSION_ENV;
pub use state::{ClusterState, clear_leftovers, down, list};
pub use supervisor::Exit;
pub use system::SCHEDULER_NAME;

use plan::{ClientLimit, Component, Plan, Programs};
use results::run_folder::EvidenceSource;
use state::StateDir;
use supervisor::Supervisor;

/// How much of the system under test comes up with the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// All of it: Kueue, HAMi, kube-scheduler, and the plan's nodes registered with HAMi.
    Whole,
    /// kube-scheduler alone. It asks the extender at a port of the loopback interface. The caller starts the extender
    /// ([`Cluster::replace_extender`]) and creates the nodes.
    Bare {
        /// Port of that extender.
        extender_port: u16,
    },
}

/// What to bring up, and where.
#[derive(Debug, Clone)]
pub struct Spec<'a> {
    /// The run's settings.
    pub plan: &'a Plan,
    /// How much of the system under test.
    pub parts: Parts,
    /// The programs to run.
    pub programs: Programs,
    /// Folder in which each cluster has its own.
    pub state_root: PathBuf,
    /// Folder for the components' logs and the audit log. They are written there from the start, so that they outlive the
    /// cluster, however it ends.
    pub logs: PathBuf,
}

/// A running cluster. Dropping it ends every process and removes everything on disk but the logs.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order: nothing is restarted while the rest ends.
    supervisor: Supervisor,
    state: StateDir,
    logs: PathBuf,
    limits: BTreeMap<String, Option<ClientLimit>>,
    bring_up_secs: f64,
    ports: system::Ports,
    etcd_port: u16,
}

impl Cluster {
    /// What a run on such a cluster can be measured by.
    pub const EVIDENCE: [EvidenceSource; 4] = [
        EvidenceSource::Watch,
        EvidenceSource::AuditLog,
        EvidenceSource::ComponentExits,
        EvidenceSource::EtcdMetrics,
    ];

    /// Name of the cluster, and of its folder.
    pub fn id(&self) -> &str {
        self.state.id()
    }

    /// The kubeconfig, with full rights.
    pub fn kubeconfig(&self) -> PathBuf {
        substrate::kubeconfig(self.state.dir())
    }

    /// A client that names itself `user_agent` in the audit log.
    ///
    /// # Errors
    ///
    /// The kubeconfig or its certificates cannot be read.
    pub async fn client(&self, user_agent: &str) -> Result<Client, ClusterError> {
        client(&self.kubeconfig(), user_agent).await
    }

    /// kube-apiserver's audit log: one JSON event a line, written when the request is complete, never rotated.
    pub fn audit_log(&self) -> PathBuf {
        self.logs.join(substrate::AUDIT_LOG)
    }

    /// Seconds from the call of [`bring_up`] until Kueue could admit a first Job.
    pub fn bring_up_secs(&self) -> f64 {
        self.bring_up_secs
    }

    /// Client limits in force, by component; `None` if a component has no limit.
    pub(crate) fn client_limits(&self) -> &BTreeMap<String, Option<ClientLimit>> {
        &self.limits
    }

    /// Components that run now with their process ids, including the substrate.
    pub(crate) fn components(&self) -> Vec<(String, i32)> {
        self.supervisor.components()
    }

    /// Says at any time which components run, as [`Cluster::components`] does, without holding the cluster.
    pub(crate) fn census(&self) -> impl Fn() -> Vec<(String, i32)> + Send + Sync + 'static {
        self.supervisor.census()
    }

    /// Pauses a component's process until the answer is dropped; `None` if it does not run.
    pub(crate) fn pause(&self, component: Component) -> Option<Paused> {
        let mut running = self.components().into_iter();
        let found = running.find(|(name, _)| name == component.name());
        found.map(|(_, pid)| Paused::new(pid))
    }

    /// A client for etcd's own HTTP server, which serves its metrics.
    ///
    /// # Errors
    ///
    /// etcd's address is malformed, which would be a bug here.
    pub(crate) fn etcd(&self) -> Result<Client, ClusterError> {
        bring_up::local_client(self.etcd_port)
    }

    /// Every exit of a component so far. [`Cluster::tear_down`] adds one with cause `stopped`, CPU time and peak memory for
    /// each component that runs.
    pub fn exits(&self) -> Vec<Exit> {
        self.supervisor.exits()
    }

    /// Keeps one more program running while the cluster is up. It gets the cluster's environment (`KUBECONFIG`) and the log
    /// `<name>.log`. Its standard output goes to `stdout` if that is given.
    pub(crate) fn run(
        &self,
        component: Component,
        program: PathBuf,
        args: Vec<OsString>,
        stdout: Option<PathBuf>,
    ) {
        let name = component.name();
        self.supervisor.run(supervisor::Program {
            name: name.to_owned(),
            path: program,
            args,
            env: environment(self.state.dir()),
            log: self.logs.join(format!("{name}.log")),
            stdout,
        });
    }

    /// Ends every process, removes everything on disk but the logs, and returns the exits of all components.
    pub async fn tear_down(self) -> Vec<Exit> {
        let work = move || {
            self.supervisor.stop();
            self.supervisor.exits()
            // `self` is dropped here, and with it the cluster's folder.
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }

    /// Leaves the cluster running after this program has ended, for [`list`] and [`down`] to find.
    ///
    /// From then on it has no supervisor: a component that dies stays dead, and [`list`] says so. Then take the cluster down
    /// and bring up another.
    ///
    /// # Errors
    ///
    /// The mark cannot be written. The cluster is gone then.
    pub fn keep(self) -> Result<(), ClusterError> {
        let Self {
            supervisor, state, ..
        } = self;
        // Marked first: if that fails, both are dropped and nothing is left.
        state.keep()?;
        supervisor.release();
        Ok(())
    }
}

/// A client for a kubeconfig that names itself `user_agent` in the audit log.
///
/// # Errors
///
/// The kubeconfig or its certificates cannot be read.
pub(crate) async fn client(kubeconfig: &Path, user_agent: &str) -> Result<Client, ClusterError> {
    let unexpected = |detail: String| ClusterError::Unexpected {
        what: kubeconfig.display().to_string(),
        detail,
    };
    let file = Kubeconfig::read_from(kubeconfig).map_err(|e| unexpected(e.to_string()))?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(|e| unexpected(e.to_string()))?;
    let agent = http::HeaderValue::from_str(user_agent).map_err(|e| unexpected(e.to_string()))?;
    config.headers.push((http::header::USER_AGENT, agent));
    Client::try_from(config).map_err(|e| unexpected(e.to_string()))
}

/// Where a component's program is.
fn program(programs: &Programs, component: Component) -> Result<PathBuf, ClusterError> {
    let found = programs.of.get(&component).map(|p| p.path.clone());
    found.ok_or_else(|| ClusterError::Unexpected {
        what: "the programs".into(),
        detail: format!("{} is not among them", component.program()),
    })
}

/// Environment of every component. Nothing is inherited from the user: no proxy, no KWOK_ or GODEBUG setting and no
/// locale can change a run.
fn environment(state: &Path) -> Vec<(OsString, OsString)> {
    vec![
        (SESSION_ENV.into(), state.into()),
        ("KUBECONFIG".into(), substrate::kubeconfig(state).into()),
        ("HOME".into(), state.into()),
        ("TMPDIR".into(), state.into()),
        // HAMi writes and reads time stamps without a zone.
        ("TZ".into(), "UTC".into()),
    ]
}
