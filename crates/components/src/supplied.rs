//! `--components DIR`: programs that were built elsewhere.
//!
//! `DIR` holds `etcd`, `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `kwok`, `kwokctl`, and `kueue` (or
//! `manager`, as Kueue's image names it). Kueue's CRDs and webhook configurations lie in one of [`MANIFEST_FOLDERS`], laid
//! out as in Kueue's own `config/components`, or in one of [`MANIFEST_FILES`], which is the file of Kueue's releases.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plan::Programs;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::cache::{Cache, Lock, is_executable, looks_like_a_program, remove};
use super::error::ComponentsError;
use super::pins::{PINS, hex};
use super::progress::Progress;
use super::setup::Report;
use super::stamp::{Stamp, StampFile};
use super::version;

/// Folders below `DIR` that may hold `crd/bases/*.yaml` and `webhook/manifests.yaml`.
pub(crate) const MANIFEST_FOLDERS: [&str; 3] =
    ["kueue-manifests", "manifests", "config/components"];

/// Files in `DIR` that may be Kueue's release manifest, all objects in one file.
pub(crate) const MANIFEST_FILES: [&str; 2] = ["kueue-manifests.yaml", "manifests.yaml"];

/// Where the webhook configurations are within a folder of manifests.
pub(crate) const WEBHOOKS: &str = "webhook/manifests.yaml";

/// Where the CRDs are within a folder of manifests.
pub(crate) const CRDS: &str = "crd/bases";

/// Names under which a program is looked for.
fn names(program: &'static str) -> Vec<&'static str> {
    match program {
        "kueue" => vec!["kueue", "manager"],
        other => vec![other],
    }
}

/// The CRD files and the webhook file of a folder of manifests, relative to it, sorted.
///
/// # Errors
/// If there is no such folder, no CRD or no webhook file.
pub(crate) fn manifest_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder.join(CRDS))? {
        let name = PathBuf::from(entry?.file_name());
        if name.extension() == Some("yaml".as_ref()) {
            files.push(Path::new(CRDS).join(name));
        }
    }
    if files.is_empty() || !folder.join(WEBHOOKS).is_file() {
        let problem = format!("Kueue's {CRDS}/*.yaml or {WEBHOOKS} is not there");
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    files.push(WEBHOOKS.into());
    files.sort();
    Ok(files)
}

/// Where Kueue's manifests were found.
enum Manifests {
    Folder(PathBuf),
    ReleaseFile(PathBuf),
}

impl Manifests {
    fn find(folder: &Path) -> Option<Self> {
        let folders = MANIFEST_FOLDERS.map(|name| folder.join(name));
        if let Some(found) = folders.into_iter().find(|at| manifest_files(at).is_ok()) {
            return Some(Self::Folder(found));
        }
        let mut files = MANIFEST_FILES.iter().map(|name| folder.join(name));
        files.find(|at| at.is_file()).map(Self::ReleaseFile)
    }
}

/// What was found in the folder, before anything is run.
struct Found {
    folder: PathBuf,
    programs: Vec<(&'static str, PathBuf)>,
    manifests: Manifests,
}

impl Found {
    fn look(folder: &Path) -> Result<Self, ComponentsError> {
        let unusable = |path: &Path, problem: String| ComponentsError::BadSupplied {
            path: path.to_owned(),
            problem,
        };
        let folder = folder
            .canonicalize()
            .map_err(|error| unusable(folder, error.to_string()))?;
        if !folder.is_dir() {
            return Err(unusable(&folder, "not a folder".to_owned()));
        }
        let (mut programs, mut missing) = (Vec::new(), Vec::new());
        for (_, program) in PINS.iter().flat_map(|pin| pin.programs) {
            let names = names(program);
            let mut paths = names.iter().map(|name| folder.join(name));
            match paths.find(|path| path.is_file()) {
                Some(path) => programs.push((*program, path)),
                None => missing.push(names.join(" or ")),
            }
        }
        let manifests = Manifests::find(&folder);
        if manifests.is_none() {
            missing.push(format!(
                "Kueue's manifests ({}/{{{CRDS}/*.yaml,{WEBHOOKS}}} or its release's {})",
                MANIFEST_FOLDERS[0], MANIFEST_FILES[1]
            ));
        }
        let Some(manifests) = manifests.filter(|_| missing.is_empty()) else {
            return Err(ComponentsError::Missing { folder, missing });
        };
        for (_, path) in &programs {
            if !is_executable(path) {
                return Err(unusable(path, "not executable (chmod +x)".to_owned()));
            }
            if !looks_like_a_program(path).map_err(|error| unusable(path, error.to_string()))? {
                return Err(unusable(path, "not a program".to_owned()));
            }
        }
        Ok(Self {
            folder,
            programs,
            manifests,
        })
    }

    /// Every file whose change makes what is known of the folder stale.
    fn files(&self) -> io::Result<Vec<(&'static str, PathBuf)>> {
        let mut files = self.programs.clone();
        match &self.manifests {
            Manifests::ReleaseFile(file) => files.push(("", file.clone())),
            Manifests::Folder(folder) => {
                let below = manifest_files(folder)?.into_iter();
                files.extend(below.map(|file| ("", folder.join(file))));
            }
        }
        Ok(files)
    }
}

/// Takes the programs in `folder`, asks each for its version, and warns of those that are not the pinned ones.
///
/// What was found out is kept in the cache: reading half a gigabyte for checksums is not repeated while nothing changes.
pub(crate) async fn find(
    cache: &Cache,
    folder: &Path,
    report: Report<'_>,
) -> Result<Programs, ComponentsError> {
    let found = Found::look(folder)?;
    let files = found.files().map_err(ComponentsError::io(&found.folder))?;
    let key = hex(&Sha256::digest(found.folder.as_os_str().as_encoded_bytes()));
    let memory = cache.supplied(&key[..12]);
    // With the layout: earlier versions took the release file apart into files of other names.
    let recipe = vec![
        found.folder.display().to_string(),
        format!("{CRDS}/GROUP_PLURAL.yaml"),
    ];
    let known = || {
        Stamp::read_valid(&memory, &recipe).filter(|stamp| {
            let known = stamp.files.iter();
            known
                .map(|file| (file.program.as_str(), &file.path))
                .eq(files.iter().map(|(program, path)| (*program, path)))
        })
    };
    let split = memory.join("manifests");
    let stamp = if let Some(stamp) = known() {
        stamp
    } else {
        let _lock = Lock::take(cache, |holder| report(Progress::Waiting { holder })).await?;
        remove(&memory)?;
        fs::create_dir_all(&memory).map_err(ComponentsError::io(&memory))?;
        if let Manifests::ReleaseFile(file) = &found.manifests {
            split_release_file(file, &split)?;
        }
        let stamp = inspect(cache, recipe.clone(), files.clone()).await?;
        stamp.write(&memory).map_err(ComponentsError::io(&memory))?;
        stamp
    };
    let manifests = match found.manifests {
        Manifests::Folder(folder) => folder,
        Manifests::ReleaseFile(_) => split,
    };
    let components = super::collect(&[(found.folder, stamp)], manifests)?;
    for warning in super::mismatches(&components) {
        report(Progress::Warning(warning));
    }
    Ok(components)
}

async fn inspect(
    cache: &Cache,
    recipe: Vec<String>,
    files: Vec<(&'static str, PathBuf)>,
) -> Result<Stamp, ComponentsError> {
    let mut stamped = Vec::new();
    for (program, path) in files {
        let mut version = String::new();
        if !program.is_empty() {
            let found = version::of_program(program, &path, cache.search_path()).await;
            version = found.map_err(|error| ComponentsError::BadSupplied {
                path: path.clone(),
                problem: format!("it cannot be started here: {error}"),
            })?;
        }
        let file = path.clone();
        let looked = tokio::task::spawn_blocking(move || {
            StampFile::of(Path::new("/"), &file, program, &version)
        })
        .await
        .map_err(|error| ComponentsError::io(&path)(error.into()))?;
        stamped.push(looked.map_err(ComponentsError::io(&path))?);
    }
    Ok(Stamp {
        recipe,
        go: String::new(),
        files: stamped,
    })
}

/// Takes the CRDs and webhook configurations out of Kueue's release manifest, into the layout of its source folder, and undoes
/// what kustomize did to them on the way into the release: whoever reads the folder reads one thing.
fn split_release_file(file: &Path, into: &Path) -> Result<(), ComponentsError> {
    let unusable = |problem: &str| ComponentsError::BadSupplied {
        path: file.to_owned(),
        problem: problem.to_owned(),
    };
    let text = fs::read_to_string(file).map_err(|error| unusable(&error.to_string()))?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
        .map_err(|error| unusable(&error.without_snippet().to_string().replace('\n', " ")))?;
    let (mut crds, mut webhooks) = (Vec::new(), Vec::new());
    for mut document in documents {
        let name = document["metadata"]["name"].as_str();
        let name = name.unwrap_or_default().to_owned();
        match document["kind"].as_str() {
            Some("CustomResourceDefinition") => {
                // The API server takes no CRD of another name.
                let parts = name.split_once('.').filter(|_| !name.contains('/'));
                let (plural, group) = parts.ok_or_else(|| {
                    unusable(&format!("a CRD is named {name:?}, not PLURAL.GROUP"))
                })?;
                if let Some(spec) = document["spec"].as_object_mut() {
                    spec.remove("conversion");
                }
                let file = Path::new(CRDS).join(format!("{group}_{plural}.yaml"));
                crds.push((file, vec![document]));
            }
            Some("MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
                document["metadata"]["name"] = name.strip_prefix("kueue-").unwrap_or(&name).into();
                webhooks.push(document);
            }
            _ => {}
        }
    }
    if crds.is_empty() || webhooks.is_empty() {
        let problem = "it holds no CRD or no webhook configuration of Kueue";
        return Err(unusable(problem));
    }
    crds.push((WEBHOOKS.into(), webhooks));
    for (name, documents) in crds {
        let path = into.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(ComponentsError::io(folder))?;
        }
        let text = serde_saphyr::to_string_multiple(&documents)
            .map_err(|error| unusable(&error.to_string()))?;
        fs::write(&path, text).map_err(ComponentsError::io(&path))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "supplied_tests.rs"]
mod tests;
