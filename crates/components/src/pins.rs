//! The pinned programs: which Go modules, which binaries, how each is told its version.
//!
//! In: the embedded go.mod and go.sum of each folder under `components/`. Out: versions and build arguments. Versions are
//! read from go.mod, never written here.

use plan::Component;
use sha2::{Digest, Sha256};

use super::version::Version;

/// A Go module of which one or more programs are built.
#[derive(Debug, Clone)]
pub(crate) struct Pin {
    /// Name of its folder under `components/`.
    pub name: &'static str,
    /// The module whose version counts.
    pub module: &'static str,
    /// `(package, name of the binary)` of each program; the packages are the `tool` lines of go.mod.
    pub programs: &'static [(&'static str, &'static str)],
    /// Variables (`-X`) that are set to the version, as the project's own release build does.
    version_variables: &'static [&'static str],
    /// Packages whose `gitVersion`, `gitMajor` and `gitMinor` are set, as Kubernetes' release build does.
    kubernetes_version_packages: &'static [&'static str],
    /// Seconds of a cold build on two cores; of a kind of machine that carries nothing else. An estimate to tell the user, never a limit.
    pub typical_secs: u32,
    /// MiB that a cold build leaves in the build cache and the binaries, estimated generously.
    pub build_mib: u64,
    /// MiB of module downloads when the module cache is empty, estimated generously.
    pub download_mib: u64,
    /// Text of go.mod.
    pub go_mod: &'static str,
    /// Text of go.sum.
    pub go_sum: &'static str,
}

/// Every pinned module, in build order.
pub(crate) static PINS: [Pin; 4] = [
    Pin {
        name: "etcd",
        module: "go.etcd.io/etcd/server/v3",
        programs: &[("go.etcd.io/etcd/server/v3", "etcd")],
        version_variables: &[],
        kubernetes_version_packages: &[],
        typical_secs: 34,
        build_mib: 700,
        download_mib: 150,
        go_mod: include_str!("../../../components/etcd/go.mod"),
        go_sum: include_str!("../../../components/etcd/go.sum"),
    },
    Pin {
        name: "kubernetes",
        module: "k8s.io/kubernetes",
        programs: &[
            ("k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver"),
            (
                "k8s.io/kubernetes/cmd/kube-controller-manager",
                "kube-controller-manager",
            ),
            ("k8s.io/kubernetes/cmd/kube-scheduler", "kube-scheduler"),
        ],
        version_variables: &[],
        // client-go's copy is what user agents, and so the audit log, carry.
        kubernetes_version_packages: &[
            "k8s.io/component-base/version",
            "k8s.io/client-go/pkg/version",
        ],
        typical_secs: 177,
        build_mib: 3000,
        download_mib: 900,
        go_mod: include_str!("../../../components/kubernetes/go.mod"),
        go_sum: include_str!("../../../components/kubernetes/go.sum"),
    },
    Pin {
        name: "kwok",
        module: "sigs.k8s.io/kwok",
        programs: &[
            ("sigs.k8s.io/kwok/cmd/kwok", "kwok"),
            ("sigs.k8s.io/kwok/cmd/kwokctl", "kwokctl"),
        ],
        version_variables: &["sigs.k8s.io/kwok/pkg/consts.Version"],
        kubernetes_version_packages: &[],
        typical_secs: 54,
        build_mib: 1200,
        download_mib: 450,
        go_mod: include_str!("../../../components/kwok/go.mod"),
        go_sum: include_str!("../../../components/kwok/go.sum"),
    },
    Pin {
        name: "kueue",
        module: "sigs.k8s.io/kueue",
        programs: &[("sigs.k8s.io/kueue/cmd/kueue", "kueue")],
        version_variables: &["sigs.k8s.io/kueue/pkg/version.GitVersion"],
        kubernetes_version_packages: &[],
        typical_secs: 123,
        build_mib: 1800,
        download_mib: 500,
        go_mod: include_str!("../../../components/kueue/go.mod"),
        go_sum: include_str!("../../../components/kueue/go.sum"),
    },
];

impl Pin {
    /// The version that go.mod names, e.g. `v1.36.3`.
    ///
    /// # Panics
    /// Never in a build that passed its tests: the embedded go.mod names its module.
    #[must_use]
    pub(crate) fn version(&self) -> &'static str {
        required_version(self.go_mod, self.module)
            .unwrap_or_else(|| panic!("components/{}/go.mod lacks {}", self.name, self.module))
    }

    /// The oldest Go that builds it: go.mod's `go` directive.
    #[must_use]
    pub(crate) fn go_needed(&self) -> Version {
        let mut lines = self.go_mod.lines();
        let version = lines.find_map(|line| line.strip_prefix("go "));
        version.and_then(Version::find).unwrap_or_default()
    }

    /// SHA-256 of go.sum, hex: with the version, the key under which it is cached.
    #[must_use]
    pub(crate) fn sum_sha256(&self) -> String {
        hex(&Sha256::digest(self.go_sum))
    }

    /// Name of its folder in the cache.
    #[must_use]
    pub(crate) fn key(&self) -> String {
        format!("{}-{}", self.version(), &self.sum_sha256()[..12])
    }

    /// The linker flags: no symbol table, and the version, since a module build knows nothing of tags.
    #[must_use]
    pub(crate) fn ldflags(&self) -> String {
        let version = self.version();
        let mut flags = "-s -w".to_owned();
        for variable in self.version_variables {
            flags += &format!(" -X {variable}={version}");
        }
        let Version { major, minor, .. } = Version::find(version).unwrap_or_default();
        for package in self.kubernetes_version_packages {
            flags += &format!(" -X {package}.gitVersion={version}");
            flags += &format!(" -X {package}.gitMajor={major}");
            flags += &format!(" -X {package}.gitMinor={minor}");
        }
        flags
    }

    /// Arguments of `go build` that do not depend on the machine; recorded, so that a change of them rebuilds.
    #[must_use]
    pub(crate) fn build_args(&self) -> Vec<String> {
        vec![
            "-trimpath".to_owned(),
            "-buildvcs=false".to_owned(),
            format!("-ldflags={}", self.ldflags()),
        ]
    }

    /// Whether Kueue's CRDs and webhook configurations are kept with it.
    pub(crate) fn has_manifests(&self) -> bool {
        self.name == "kueue"
    }
}

/// The module that a component is built of.
pub(crate) fn of(component: Component) -> Option<&'static Pin> {
    PINS.iter().find(|pin| Some(pin.name) == component.module())
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The version of `module` among the requirements of a go.mod.
fn required_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().map(str::trim).find_map(|line| {
        let requirement = line.strip_prefix("require ").unwrap_or(line);
        let mut words = requirement.split_whitespace();
        (words.next() == Some(module)).then(|| words.next())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packages that `go get -tool` wrote into a go.mod.
    fn tools(go_mod: &str) -> Vec<&str> {
        let mut in_block = false;
        let mut found = Vec::new();
        for line in go_mod.lines() {
            match line.trim() {
                "tool (" => in_block = true,
                ")" => in_block = false,
                tool if in_block => found.push(tool),
                line => found.extend(line.strip_prefix("tool ")),
            }
        }
        found
    }

    #[test]
    fn what_is_built_is_what_go_mod_pins() {
        for pin in &PINS {
            let packages: Vec<_> = pin.programs.iter().map(|(package, _)| *package).collect();
            assert_eq!(packages, tools(pin.go_mod), "{}", pin.name);
            assert!(Version::find(pin.version()).is_some(), "{}", pin.name);
            assert!(pin.go_needed() > Version::default(), "{}", pin.name);
            let sum = format!("{} {} h1:", pin.module, pin.version());
            assert!(pin.go_sum.contains(&sum), "{}", pin.name);
        }
    }

    #[test]
    fn every_component_that_is_built_is_built_of_its_module() {
        let built = |pin: &Pin| pin.programs.iter().map(|(_, program)| *program).collect();
        for pin in &PINS {
            let mut programs: Vec<_> = built(pin);
            let mut expected: Vec<_> = Component::pinned()
                .filter(|c| of(*c).is_some_and(|of| of.name == pin.name))
                .map(Component::program)
                .collect();
            programs.sort_unstable();
            expected.sort_unstable();
            assert_eq!(programs, expected, "{}", pin.name);
        }
        assert!(Component::pinned().all(|c| of(c).is_some()));
    }

    #[test]
    fn kubernetes_is_told_its_version_in_both_packages() {
        let pin = &PINS[1];
        let Version { major, minor, .. } = Version::find(pin.version()).unwrap();
        let flags = pin.ldflags();
        for package in ["component-base", "client-go/pkg"] {
            for (variable, value) in [
                ("gitVersion", pin.version().to_owned()),
                ("gitMajor", major.to_string()),
                ("gitMinor", minor.to_string()),
            ] {
                let flag = format!("-X k8s.io/{package}/version.{variable}={value}");
                assert!(
                    flags.split(" -X ").any(|f| format!("-X {f}") == flag),
                    "{flag} not in {flags}"
                );
            }
        }
    }

    #[test]
    fn a_module_is_found_in_any_form_of_require() {
        let block = "require (\n\tk8s.io/api v0.1.0\n\tk8s.io/kubernetes v1.2.3 // indirect\n)\n";
        assert_eq!(required_version(block, "k8s.io/kubernetes"), Some("v1.2.3"));
        let single = "require k8s.io/kubernetes v1.2.4\n";
        assert_eq!(
            required_version(single, "k8s.io/kubernetes"),
            Some("v1.2.4")
        );
        assert_eq!(required_version(block, "k8s.io/kube"), None);
    }
}
