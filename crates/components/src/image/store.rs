//! The cache of fetched schedulers.
//!
//! ```text
//! CACHE/sha256-<digest of the manifest>/scheduler, lib/…, image.json
//! CACHE/refs.json      what each tag and index digest meant when it was asked for
//! CACHE/lock           held while something is put in
//! CACHE/.partial-…     a fetch under way; one left by a killed process goes at the next fetch
//! ```
//!
//! An entry appears by one rename when it is complete, and is used only if all its files still have their digests.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::FetchedHami;
use super::error::ImageError;
use super::reference::{ImageRef, PIN, Registry};
use super::registry::Resolved;
use super::unpack::{LIBRARIES, SCHEDULER, Taken};
use crate::stamp::sha256_of;

const RECORD: &str = "image.json";
const REFS: &str = "refs.json";
const PARTIAL: &str = ".partial-";

/// What an entry of the cache holds.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    version: Option<String>,
    loader: Option<String>,
    files: BTreeMap<String, String>,
}

/// What a tag or digest meant.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Meaning {
    digest: String,
    manifest_digest: String,
}

/// The cache folder.
pub(super) struct Store {
    folder: PathBuf,
}

/// Proof that this process alone changes the cache; ends when dropped.
pub(super) struct Lock {
    _file: File,
}

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    fn entry(&self, manifest_digest: &str) -> PathBuf {
        self.folder.join(manifest_digest.replace(':', "-"))
    }

    /// The intact entry for `reference`, without asking the registry.
    pub(super) fn lookup(&self, reference: &ImageRef, registry: &Registry) -> Option<FetchedHami> {
        let meaning = self.refs().remove(&key(reference, registry))?;
        self.load(&meaning.digest, &meaning.manifest_digest)
    }

    /// The intact entry of a manifest.
    pub(super) fn load(&self, digest: &str, manifest_digest: &str) -> Option<FetchedHami> {
        let entry = self.entry(manifest_digest);
        let record: Record = serde_json::from_slice(&fs::read(entry.join(RECORD)).ok()?).ok()?;
        let sha256 = record.files.get(SCHEDULER)?.clone();
        let intact = |(path, sha256): (&String, &String)| {
            sha256_of(&entry.join(path)).is_ok_and(|found| found == *sha256)
        };
        if !record.files.iter().all(intact) {
            return None;
        }
        let scheduler = entry.join(SCHEDULER);
        let libraries = entry.join(LIBRARIES);
        let (mut program, mut leading_args) = (scheduler.clone(), Vec::new());
        if let Some(loader) = &record.loader {
            program = libraries.join(loader);
            let path = scheduler.clone();
            leading_args = vec!["--library-path".into(), libraries.into(), path.into()];
        }
        Some(FetchedHami {
            digest: digest.to_owned(),
            manifest_digest: manifest_digest.to_owned(),
            version: record.version,
            program,
            leading_args,
            scheduler,
            sha256,
            stale: None,
        })
    }

    /// The lock, unless another process has it.
    pub(super) fn try_lock(&self) -> Result<Option<Lock>, ImageError> {
        fs::create_dir_all(&self.folder).map_err(ImageError::io(&self.folder))?;
        let path = self.folder.join("lock");
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(ImageError::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(ImageError::io(&path)(e)),
        }
    }

    /// A folder for a fetch, on the cache's own file system; removed when dropped. Clears what killed processes left.
    pub(super) fn partial(&self, _lock: &Lock) -> Result<TempDir, ImageError> {
        let listed = fs::read_dir(&self.folder).map_err(ImageError::io(&self.folder))?;
        for left in listed.flatten() {
            let name = left.file_name();
            if name.as_encoded_bytes().starts_with(PARTIAL.as_bytes()) {
                fs::remove_dir_all(left.path()).map_err(ImageError::io(left.path()))?;
            }
        }
        tempfile::Builder::new()
            .prefix(PARTIAL)
            .tempdir_in(&self.folder)
            .map_err(ImageError::io(&self.folder))
    }

    /// Makes the finished folder `complete` the entry of its manifest; replaces one that is not intact.
    pub(super) fn keep(
        &self,
        _lock: &Lock,
        complete: &Path,
        resolved: &Resolved,
        version: Option<String>,
        taken: Taken,
    ) -> Result<(), ImageError> {
        let record = Record {
            version,
            loader: taken.loader,
            files: taken.files,
        };
        write_json(&complete.join(RECORD), &record)?;
        let entry = self.entry(&resolved.manifest_digest);
        if let Err(e) = fs::remove_dir_all(&entry)
            && e.kind() != io::ErrorKind::NotFound
        {
            return Err(ImageError::io(&entry)(e));
        }
        fs::rename(complete, &entry).map_err(ImageError::io(&entry))
    }

    /// Notes what `reference` means, for look-ups without network.
    pub(super) fn remember(
        &self,
        _lock: &Lock,
        reference: &ImageRef,
        registry: &Registry,
        resolved: &Resolved,
    ) -> Result<(), ImageError> {
        let meaning = Meaning {
            digest: resolved.digest.clone(),
            manifest_digest: resolved.manifest_digest.clone(),
        };
        let mut refs = self.refs();
        refs.insert(resolved.digest.clone(), meaning.clone());
        refs.insert(key(reference, registry), meaning);
        let path = self.folder.join(REFS);
        let new = self.folder.join(format!("{REFS}.new"));
        write_json(&new, &refs)?;
        fs::rename(&new, &path).map_err(ImageError::io(&path))
    }

    /// What is noted; unreadable notes are no notes, as they can be had again.
    fn refs(&self) -> BTreeMap<String, Meaning> {
        let bytes = fs::read(self.folder.join(REFS)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

/// A digest means the same everywhere, a tag only in its registry.
fn key(reference: &ImageRef, registry: &Registry) -> String {
    let tag = reference.tag().unwrap_or(&PIN.tag);
    let tagged = || format!("{registry}/{}:{tag}", PIN.repository);
    reference.digest().map_or_else(tagged, str::to_owned)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ImageError> {
    let text = serde_json::to_vec_pretty(value).map_err(|e| ImageError::Internal(e.to_string()))?;
    fs::write(path, text).map_err(ImageError::io(path))
}
