//! The programs that make the control plane: found, built, verified, cached.
//!
//! In: the pins under `components/` (embedded), a cache folder, `--components` and `--hami`. Out: paths with versions and
//! checksums ([`Programs`], [`Hami`]), and what is missing or will disturb a run ([`doctor`]). Never starts a component other
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

use plan::{Component, Program, Programs};

pub use cache::Cache;
pub use doctor::{Check, Verdict, doctor};
pub use error::ComponentsError;
pub use hami::{Hami, HamiChoice, resolve_hami};
pub use progress::{Progress, printed};
pub use setup::{estimate, setup};

use stamp::Stamp;

/// A line for each program whose version is not the pinned one.
pub(crate) fn mismatches(programs: &Programs) -> Vec<String> {
    let of = programs.of.iter();
    of.filter_map(|(component, program)| {
        let pinned = pins::of(*component)?.version();
        let Program { path, version, .. } = program;
        (version != pinned).then(|| {
            let (name, path) = (component.program(), path.display());
            format!("{name} is {version} ({path}), not the pinned {pinned}")
        })
    })
    .collect()
}

/// Puts together what the stamps of some folders describe: everything but HAMi.
pub(crate) fn collect(
    stamps: &[(PathBuf, Stamp)],
    kueue_manifests: PathBuf,
) -> Result<Programs, ComponentsError> {
    let program = |component: Component| {
        let mut files = stamps
            .iter()
            .flat_map(|(folder, stamp)| stamp.files.iter().map(move |file| (folder, file)));
        let Some((folder, file)) = files.find(|(_, file)| file.program == component.program())
        else {
            let first = stamps.first().map(|(folder, _)| folder.clone());
            return Err(ComponentsError::Missing {
                folder: first.unwrap_or_default(),
                missing: vec![component.program().to_owned()],
            });
        };
        // Kueue calls itself what its file is called, and its image calls that `manager`.
        let agent = (component == Component::Kueue).then(|| hami::file_name(&file.path));
        let program = Program {
            path: folder.join(&file.path),
            version: file.version.clone(),
            sha256: file.sha256.clone(),
            agent,
        };
        Ok((component, program))
    };
    Ok(Programs {
        of: Component::pinned().map(program).collect::<Result<_, _>>()?,
        kueue_manifests,
        ..Programs::default()
    })
}
