//! Where experiments and timelines come from: embedded by name, or a file by path.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::PlanError;

/// Larger files are refused: the largest embedded one has 5 kB.
const MOST_BYTES: u64 = 1 << 20;

macro_rules! embedded {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../manifests/", $folder, "/", $name, ".yaml")))),*]
    };
}

/// The embedded experiments, in the order they are listed.
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

/// The folder at which paths in a source start: a file's own. An embedded one starts where the command runs.
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

/// Reads a text file, refusing what cannot be one.
fn read(path: &Path) -> Result<String, PlanError> {
    let refuse = |why: String| PlanError::Read {
        path: path.to_owned(),
        why,
    };
    let io = |err: std::io::Error| refuse(err.to_string());
    // Opening a pipe that nobody writes to would wait for ever.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(refuse("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(io)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refuse("it is larger than 1 MiB".to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|err| {
        let valid = err.utf8_error().valid_up_to();
        refuse(format!("it is not text (byte {valid} is not UTF-8)"))
    })?;
    if text.contains('\0') {
        return Err(refuse("it is not text (it has a NUL byte)".to_owned()));
    }
    if text.trim().is_empty() {
        return Err(refuse("it is empty".to_owned()));
    }
    Ok(text)
}
