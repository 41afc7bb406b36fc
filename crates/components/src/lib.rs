//! The programs that make the control plane: found, built, verified, cached.
//!
//! In: the pins under `components/` (embedded), a cache folder, `--components` and `--hami`. Out: paths with versions and
//! checksums ([`Components`], [`Hami`]), and what is missing or will disturb a run ([`doctor`]). Never starts a component other
//! than to ask its version, and never leaves a half-made file where a later command would take it for a whole one.

#![warn(unreachable_pub)]

mod cache;
mod child;
mod doctor;
mod error;
mod go;
mod hami;
pub mod image;
mod pins;
mod progress;
mod setup;
mod stamp;
mod supplied;
#[cfg(test)]
mod testing;
mod version;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cache::Cache;
pub use doctor::{Check, Verdict, doctor};
pub use error::ComponentsError;
pub use hami::{Hami, HamiChoice, resolve_hami};
pub use progress::{Progress, printed};
pub use setup::{estimate, setup};

use stamp::Stamp;

/// Where a program came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Built by [`setup`] from the pinned sources.
    Built,
    /// Found in the folder that `--components` names.
    Supplied,
}

/// A program of the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Binary {
    /// Name, e.g. `kube-apiserver`.
    pub name: String,
    /// Where it is, absolute.
    pub path: PathBuf,
    /// Version that it reports, e.g. `v1.36.3`; `unknown` if it reports none.
    pub version: String,
    /// Version that is pinned; differs only for a supplied program.
    pub pinned_version: String,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Every program and file that a control plane is made of, except HAMi.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Components {
    /// etcd.
    pub etcd: Binary,
    /// kube-apiserver.
    pub kube_apiserver: Binary,
    /// kube-controller-manager.
    pub kube_controller_manager: Binary,
    /// kube-scheduler.
    pub kube_scheduler: Binary,
    /// kwok, the controller.
    pub kwok: Binary,
    /// kwokctl.
    pub kwokctl: Binary,
    /// Kueue's manager.
    pub kueue: Binary,
    /// Folder with Kueue's `crd/bases/*.yaml` (CRDs) and `webhook/manifests.yaml` (webhook configurations).
    pub kueue_manifests: PathBuf,
}

impl Components {
    /// Every program, in the order in which they start.
    #[must_use]
    pub fn binaries(&self) -> [&Binary; 7] {
        [
            &self.etcd,
            &self.kube_apiserver,
            &self.kube_controller_manager,
            &self.kube_scheduler,
            &self.kwok,
            &self.kwokctl,
            &self.kueue,
        ]
    }

    /// A line for each program whose version is not the pinned one.
    #[must_use]
    pub(crate) fn mismatches(&self) -> Vec<String> {
        self.binaries()
            .iter()
            .filter(|binary| binary.version != binary.pinned_version)
            .map(
                |Binary {
                     name,
                     path,
                     version,
                     pinned_version,
                     ..
                 }| {
                    format!(
                        "{name} is {version} ({}), not the pinned {pinned_version}",
                        path.display()
                    )
                },
            )
            .collect()
    }

    /// Puts together what the stamps of some folders describe.
    fn collect(
        stamps: &[(PathBuf, Stamp)],
        origin: Origin,
        kueue_manifests: PathBuf,
    ) -> Result<Self, ComponentsError> {
        let binary = |name: &str| {
            let mut files = stamps
                .iter()
                .flat_map(|(folder, stamp)| stamp.files.iter().map(move |file| (folder, file)));
            let pin = pins::PINS
                .iter()
                .find(|pin| pin.programs.iter().any(|(_, program)| *program == name));
            match (files.find(|(_, file)| file.program == name), pin) {
                (Some((folder, file)), Some(pin)) => Ok(Binary {
                    name: name.to_owned(),
                    path: folder.join(&file.path),
                    version: file.version.clone(),
                    pinned_version: pin.version().to_owned(),
                    sha256: file.sha256.clone(),
                    origin,
                }),
                _ => Err(ComponentsError::Missing {
                    folder: stamps
                        .first()
                        .map(|(folder, _)| folder.clone())
                        .unwrap_or_default(),
                    missing: vec![name.to_owned()],
                }),
            }
        };
        Ok(Self {
            etcd: binary("etcd")?,
            kube_apiserver: binary("kube-apiserver")?,
            kube_controller_manager: binary("kube-controller-manager")?,
            kube_scheduler: binary("kube-scheduler")?,
            kwok: binary("kwok")?,
            kwokctl: binary("kwokctl")?,
            kueue: binary("kueue")?,
            kueue_manifests,
        })
    }
}
