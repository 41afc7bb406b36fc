//! The scheduler and everything it needs to run, taken out of downloaded layers.
//!
//! In: the layers' files. Out: a folder with `scheduler` and, if it is linked dynamically, `lib/` with the image's loader
//! and libraries. The names of the files written are the scheduler's fixed one and checked library names, never paths
//! from the image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tar::Entry;

use super::elf::{self, Needs};
use super::error::ImageError;
use super::layers::{self, Budget, Fault, Limits, Meter};
use super::reference::PIN;
use super::tree::{FileAt, Tree};
use crate::pins::hex;

/// Name of the scheduler in the folder.
pub(super) const SCHEDULER: &str = "scheduler";
/// Name of the folder of the loader and the libraries.
pub(super) const LIBRARIES: &str = "lib";
/// Libraries taken at most; HAMi's scheduler needs the C library and the loader.
const MAX_LIBRARIES: usize = 200;

/// A downloaded layer.
#[derive(Debug)]
pub(super) struct LayerFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its digest, for messages.
    pub digest: String,
    /// Digest of what it decompresses to.
    pub diff_id: String,
}

/// What was taken out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Name of the loader below [`LIBRARIES`], if there is one.
    pub loader: Option<String>,
    /// SHA-256 in hexadecimal of each file, by path below the folder.
    pub files: BTreeMap<String, String>,
}

/// Takes the scheduler and what it needs out of `layers` into the new folder `target`.
pub(super) fn take_out(layers: &[LayerFile], target: &Path) -> Result<Taken, ImageError> {
    let mut tree = Tree::default();
    let mut budget = Budget::new(Limits::default());
    for (index, layer) in layers.iter().enumerate() {
        layers::entries(index, &layer.path, &layer.diff_id, &mut budget)
            .and_then(|entries| Ok(tree.add_layer(entries)?))
            .map_err(|fault| explain(layer, fault))?;
    }
    let libraries = target.join(LIBRARIES);
    fs::create_dir_all(&libraries).map_err(ImageError::io(&libraries))?;
    Taking {
        tree,
        layers,
        target,
        taken: Taken::default(),
    }
    .all()
}

struct Taking<'a> {
    tree: Tree,
    layers: &'a [LayerFile],
    target: &'a Path,
    taken: Taken,
}

impl Taking<'_> {
    fn all(mut self) -> Result<Taken, ImageError> {
        let program = Path::new(&PIN.program);
        let at = self.tree.file(program).map_err(content(program))?;
        self.copy(&BTreeMap::from([(SCHEDULER.to_owned(), at)]))?;
        let needs = elf::needs(&self.target.join(SCHEDULER)).map_err(content(program))?;
        let mut round = Vec::new();
        if let Some(loader) = &needs.loader {
            let path = PathBuf::from(loader);
            let name = path.file_name().and_then(|name| name.to_str());
            let name = check_name(name.unwrap_or_default())?;
            self.taken.loader = Some(name.clone());
            round.push((name, path));
        }
        let mut known: BTreeSet<String> = round.iter().map(|(name, _)| name.clone()).collect();
        self.find(&needs, program, &mut known, &mut round)?;
        // Each round takes out what was found and looks at what that needs in turn.
        while !round.is_empty() {
            let mut wanted = BTreeMap::new();
            for (name, path) in &round {
                let at = self.tree.file(path).map_err(content(path))?;
                wanted.insert(format!("{LIBRARIES}/{name}"), at);
            }
            self.copy(&wanted)?;
            for (name, path) in std::mem::take(&mut round) {
                let library = self.target.join(LIBRARIES).join(name);
                let needs = elf::needs(&library).map_err(content(&path))?;
                self.find(&needs, &path, &mut known, &mut round)?;
            }
        }
        Ok(self.taken)
    }

    /// Adds to `found` the libraries that `needs` names and that are not `known` yet.
    fn find(
        &self,
        needs: &Needs,
        who: &Path,
        known: &mut BTreeSet<String>,
        found: &mut Vec<(String, PathBuf)>,
    ) -> Result<(), ImageError> {
        for name in &needs.libraries {
            if !known.insert(check_name(name)?) {
                continue;
            }
            if known.len() > MAX_LIBRARIES {
                return Err(ImageError::TooLarge {
                    what: "number of libraries that the scheduler needs".to_owned(),
                    size: known.len().to_string(),
                    limit: MAX_LIBRARIES.to_string(),
                });
            }
            let mut paths = folders(needs, who).map(|folder| folder.join(name));
            let Some(path) = paths.find(|path| self.tree.file(path).is_ok()) else {
                let who = who.display();
                return Err(content(name.as_ref())(format!(
                    "this library is needed by {who} and in none of the usual folders"
                )));
            };
            found.push((name.clone(), path));
        }
        Ok(())
    }

    /// Copies files of the image to paths below the target folder, one pass over each layer concerned.
    fn copy(&mut self, wanted: &BTreeMap<String, FileAt>) -> Result<(), ImageError> {
        let concerned: BTreeSet<usize> = wanted.values().map(|at| at.layer).collect();
        for index in concerned {
            let layer = &self.layers[index];
            let mut budget = Budget::new(Limits::default());
            let files = &mut self.taken.files;
            let take = |entry_index, entry: &mut Entry<'_, Meter>| {
                let here = |at: &FileAt| at.layer == index && at.entry == entry_index;
                let mut names = wanted
                    .iter()
                    .filter(|(_, at)| here(at))
                    .map(|(name, _)| name);
                let Some(first) = names.next() else {
                    return Ok(());
                };
                let sha256 = write_file(&self.target.join(first), entry)?;
                for other in names {
                    let (from, to) = (self.target.join(first), self.target.join(other));
                    fs::copy(&from, &to).map_err(|e| Fault::Io(to, e.to_string()))?;
                    files.insert(other.clone(), sha256.clone());
                }
                files.insert(first.clone(), sha256);
                Ok(())
            };
            layers::walk(&layer.path, &layer.diff_id, &mut budget, take)
                .map_err(|fault| explain(layer, fault))?;
        }
        Ok(())
    }
}

/// Writes a new executable file and returns its SHA-256.
fn write_file(path: &Path, from: &mut impl Read) -> Result<String, Fault> {
    let unwritable = |e: io::Error| Fault::Io(path.to_owned(), e.to_string());
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(path)
        .map_err(unwritable)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer);
        let read = read.map_err(|e| format!("is no intact archive: {e}"))?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..read]);
        file.write_all(&buffer[..read]).map_err(unwritable)?;
    }
}

/// Where a loader looks for libraries: the file's own folders, then the usual ones. (`/etc/ld.so.conf` is not read.)
fn folders(needs: &Needs, who: &Path) -> impl Iterator<Item = PathBuf> {
    let origin = who.parent().unwrap_or(Path::new("/")).display().to_string();
    let own = needs.folders.iter().map(move |folder| {
        let folder = folder.replace("${ORIGIN}", &origin);
        folder.replace("$ORIGIN", &origin)
    });
    let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
    let debian = [format!("/lib/{triplet}"), format!("/usr/lib/{triplet}")];
    let usual = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"].map(str::to_owned);
    own.chain(debian).chain(usual).map(PathBuf::from)
}

/// The name of a library, refused if it is a path.
fn check_name(name: &str) -> Result<String, ImageError> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        let problem = "is no name of a library".to_owned();
        return Err(content(format!("{name:?}").as_ref())(problem));
    }
    Ok(name.to_owned())
}

fn content(path: &Path) -> impl FnOnce(String) -> ImageError {
    let path = path.display().to_string();
    move |problem| ImageError::Content { path, problem }
}

fn explain(layer: &LayerFile, fault: Fault) -> ImageError {
    match fault {
        Fault::Bad(problem) => ImageError::Layer {
            digest: layer.digest.clone(),
            problem,
        },
        Fault::Digest(found) => ImageError::WrongDigest {
            what: format!("layer {}, decompressed", layer.digest),
            expected: layer.diff_id.clone(),
            found,
        },
        Fault::Io(path, why) => ImageError::Io { path, why },
    }
}
