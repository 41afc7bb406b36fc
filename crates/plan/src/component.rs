//! Components of a cluster: one table of what is known of each, and the programs found for them.
//!
//! Whoever asks about a component asks here: what files and tables call it, whether it is started again, of which pinned
//! module it is built, how its client is limited, what it calls itself in the audit log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::{ClientLimit, Plan};

/// A component of a cluster, in the order in which `headroom status` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The cluster's storage.
    Etcd,
    /// kube-apiserver.
    KubeApiserver,
    /// kube-controller-manager.
    KubeControllerManager,
    /// What plays the fake machines.
    Kwok,
    /// What starts the substrate; no part of a running cluster.
    Kwokctl,
    /// kube-scheduler.
    KubeScheduler,
    /// HAMi's scheduler extender, real or built in.
    Hami,
    /// Kueue's manager.
    Kueue,
    /// The node clearer, where a run has one.
    Clearer,
}

/// What a component is to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Starts the others and ends.
    Tool,
    /// Nobody starts it again.
    Substrate,
    /// Under test in every cluster, and started again.
    System,
    /// Beside the system in some runs, and started again.
    Beside,
}

/// How a component's calls are limited.
#[derive(Clone, Copy)]
enum Limit {
    /// It is no client, or not one that a plan knows of.
    NoClient,
    /// Its client has no limiter.
    None,
    /// By the plan.
    Planned(fn(&Plan) -> ClientLimit),
}

/// A row of the table.
struct Row {
    name: &'static str,
    program: &'static str,
    module: Option<&'static str>,
    role: Role,
    limit: Limit,
    agent: Option<&'static str>,
}

impl Component {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::Kwok,
        Self::Kwokctl,
        Self::KubeScheduler,
        Self::Hami,
        Self::Kueue,
        Self::Clearer,
    ];

    fn row(self) -> Row {
        use Limit::{NoClient, Planned};
        use Role::{Beside, Substrate, System, Tool};
        let row = |name, module, role, limit| Row {
            name,
            program: name,
            module,
            role,
            limit,
            agent: None,
        };
        match self {
            Self::Etcd => row("etcd", Some("etcd"), Substrate, NoClient),
            Self::KubeApiserver => row("kube-apiserver", Some("kubernetes"), Substrate, NoClient),
            Self::KubeControllerManager => row(
                "kube-controller-manager",
                Some("kubernetes"),
                System,
                Planned(|plan| plan.controller_manager.limit),
            ),
            Self::Kwok => Row {
                program: "kwok",
                ..row("kwok-controller", Some("kwok"), Substrate, Limit::None)
            },
            Self::Kwokctl => row("kwokctl", Some("kwok"), Tool, NoClient),
            Self::KubeScheduler => row(
                "kube-scheduler",
                Some("kubernetes"),
                System,
                Planned(|plan| plan.scheduler.limit),
            ),
            Self::Hami => row("hami", None, System, Planned(|plan| plan.hami.limit)),
            Self::Kueue => row(
                "kueue",
                Some("kueue"),
                System,
                Planned(|plan| plan.kueue.limit),
            ),
            Self::Clearer => Row {
                agent: Some(interface::CLEARER_AGENT),
                ..row("clearer", None, Beside, NoClient)
            },
        }
    }

    /// Its name where it runs: in files, logs and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Name of its program, and so of what a run records of the program.
    #[must_use]
    pub fn program(self) -> &'static str {
        self.row().program
    }

    /// The folder below `components/` that pins the module it is built of; `None`: it is not built.
    #[must_use]
    pub fn module(self) -> Option<&'static str> {
        self.row().module
    }

    /// How an operator sets its client limit; `None` if a plan knows of none.
    #[must_use]
    pub fn limit_setting(self) -> Option<&'static str> {
        match self {
            Self::KubeControllerManager => Some("--kube-api-qps and --kube-api-burst"),
            Self::KubeScheduler => Some("clientConnection in KubeSchedulerConfiguration"),
            Self::Hami => Some("--kube-qps and --kube-burst"),
            Self::Kueue => Some("clientConnection in Kueue's Configuration"),
            _ => None,
        }
    }

    /// Whether it is started again when it ends; what of the others ends stays dead.
    #[must_use]
    pub fn is_supervised(self) -> bool {
        matches!(self.row().role, Role::System | Role::Beside)
    }

    /// The component of this name where it runs.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The component whose program has this name.
    #[must_use]
    pub fn of_program(program: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.program() == program)
    }

    /// Those below the system under test.
    pub fn substrate() -> impl Iterator<Item = Self> {
        Self::of(Role::Substrate)
    }

    /// The system under test of every cluster.
    pub fn system() -> impl Iterator<Item = Self> {
        Self::of(Role::System)
    }

    /// Those that are built of a pinned module.
    pub fn pinned() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|c| c.module().is_some())
    }

    /// Client limits in force, by name; `None`: the component limits itself not at all.
    #[must_use]
    pub fn client_limits(plan: &Plan) -> BTreeMap<String, Option<ClientLimit>> {
        let limit = |component: Self| {
            let limit = match component.row().limit {
                Limit::NoClient => return None,
                Limit::None => None,
                Limit::Planned(of) => Some(of(plan)),
            };
            Some((component.name().to_owned(), limit))
        };
        Self::ALL.into_iter().filter_map(limit).collect()
    }

    fn of(role: Role) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |c| c.row().role == role)
    }
}

/// A program of the control plane, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// Version that it reports, e.g. `v1.36.3`; `unknown` if it reports none.
    pub version: String,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// What it calls itself in the audit log, where that depends on the file and is not its component's name.
    pub agent: Option<String>,
}

/// The programs and files that a control plane is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// Each component's program.
    pub of: BTreeMap<Component, Program>,
    /// Folder with Kueue's `crd/bases/*.yaml` (CRDs) and `webhook/manifests.yaml` (webhook configurations).
    pub kueue_manifests: PathBuf,
    /// Arguments before HAMi's own flags, e.g. `extender`.
    pub hami_args: Vec<OsString>,
}

impl Programs {
    /// Components by what they call themselves in the audit log where that is not their name.
    #[must_use]
    pub fn agents(&self) -> BTreeMap<String, String> {
        let agent = |c: Component| {
            let found = self.of.get(&c).and_then(|p| p.agent.clone());
            let agent = found.or_else(|| c.row().agent.map(Into::into))?;
            Some((agent, c.name().to_owned()))
        };
        Component::ALL.into_iter().filter_map(agent).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_component_is_found_by_its_names() {
        let names: BTreeSet<_> = Component::ALL.iter().map(|c| c.name()).collect();
        assert_eq!(names.len(), Component::ALL.len(), "{names:?}");
        for component in Component::ALL {
            assert_eq!(Component::named(component.name()), Some(component));
            assert_eq!(Component::of_program(component.program()), Some(component));
        }
        assert_eq!(Component::named("kubelet"), None);
    }

    #[test]
    fn what_is_started_again_is_not_the_substrate() {
        assert!(Component::substrate().all(|c| !c.is_supervised()));
        assert!(Component::system().all(Component::is_supervised));
        assert!(Component::Clearer.is_supervised());
        assert!(Component::system().all(|c| c != Component::Clearer));
    }

    #[test]
    fn limits_are_the_plans() {
        let plans = crate::plans(
            &crate::load("regimes").unwrap(),
            &crate::Overrides::default(),
        );
        let plan = &plans.unwrap()[0];
        let limits = Component::client_limits(plan);
        assert_eq!(limits["hami"], Some(plan.hami.limit));
        assert_eq!(limits["kwok-controller"], None);
        let names: Vec<_> = limits.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "hami",
                "kube-controller-manager",
                "kube-scheduler",
                "kueue",
                "kwok-controller"
            ]
        );
    }

    #[test]
    fn a_call_is_counted_for_its_component_whatever_the_program_calls_itself() {
        let program = |agent: Option<&str>| Program {
            path: PathBuf::new(),
            version: String::new(),
            sha256: String::new(),
            agent: agent.map(Into::into),
        };
        let programs = Programs {
            of: [
                (Component::Kueue, program(Some("manager"))),
                (Component::Hami, program(Some("scheduler"))),
                (Component::Kwok, program(None)),
            ]
            .into(),
            ..Programs::default()
        };
        let agents = programs.agents();
        assert_eq!(agents["manager"], "kueue");
        assert_eq!(agents["scheduler"], "hami");
        assert_eq!(agents["headroom-clearer"], "clearer");
        assert_eq!(agents.len(), 3, "{agents:?}");
    }
}
