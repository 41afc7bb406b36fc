//! Finds experiments and timelines: embedded ones by name, files by path.

use std::path::Path;

use super::error::PlanError;
use host::text_file;

/// Larger files are refused: the largest embedded one has 5 kB.
const MOST_MIB: u64 = 1;

macro_rules! embedded {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../manifests/", $folder, "/", $name, ".yaml")))),*]
    };
}

/// The embedded experiments, in their order.
pub(super) const EXPERIMENTS: &[(&str, &str)] = embedded!("experiments": "regimes", "rate-limit", "placement", "quota-unit", "preemption", "drain-race", "occupied", "burst", "restarts");

/// The embedded timelines.
pub(super) const TIMELINES: &[(&str, &str)] =
    embedded!("timelines": "autoresearch", "autoresearch-closed-loop");

/// Name and text of an experiment.
pub(super) fn experiment(name_or_path: &str) -> Result<(String, String), PlanError> {
    find("experiment", EXPERIMENTS, name_or_path)
}

/// Name and text of a timeline.
pub(super) fn timeline(name_or_path: &str) -> Result<(String, String), PlanError> {
    find("timeline", TIMELINES, name_or_path)
}

/// True for what names a file, false for the name of an embedded one.
pub(super) fn is_path(name_or_path: &str) -> bool {
    name_or_path.contains('/')
        || Path::new(name_or_path)
            .extension()
            .is_some_and(|e| e == "yaml" || e == "yml")
}

/// The folder to which a source's paths are relative: a file's own folder. For an embedded one it is where the command runs.
pub(super) fn folder(source: &str) -> &Path {
    let folder = is_path(source).then(|| Path::new(source).parent());
    folder.flatten().unwrap_or(Path::new(""))
}

fn find(
    kind: &'static str,
    embedded: &[(&str, &str)],
    name_or_path: &str,
) -> Result<(String, String), PlanError> {
    if is_path(name_or_path) {
        let text = read(Path::new(name_or_path))?;
        return Ok((name_or_path.to_owned(), text));
    }
    embedded
        .iter()
        .find(|(name, _)| *name == name_or_path)
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .ok_or_else(|| {
            PlanError::unknown(kind, name_or_path, embedded.iter().map(|(name, _)| *name))
        })
}

fn read(path: &Path) -> Result<String, PlanError> {
    text_file::read(path, MOST_MIB).map_err(|why| PlanError::Read {
        path: path.to_owned(),
        why,
    })
}
