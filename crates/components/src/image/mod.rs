//! HAMi's scheduler out of its published image, without a container engine.
//!
//! In: which image ([`ImageRef`]), which registry ([`Registry`]), a cache folder. Out: a program ready to start
//! ([`FetchedHami`]). It must never write outside the cache folder, leave half a file in it, or use a byte whose digest
//! was not checked.
//!
//! - `reference`: what `--hami image[:TAG|@DIGEST]` and `--registry HOST` say, and the pin in `components/hami-image.json`
//! - `registry`: manifests and blobs over the registry protocol, resumed when a connection is cut
//! - `layers`: a layer read entry by entry, within limits
//! - `tree`: the image's files over all layers, whiteouts applied, links followed inside the image only
//! - `elf`: what a program needs to run
//! - `unpack`: the program and its libraries taken out
//! - `store`: the cache, keyed by digest
//! - `error`: everything that can go wrong, each as one line for the user
//!
//! A program that needs libraries is always started through the image's own loader with the image's own libraries
//! (`ld-linux-x86-64.so.2 --library-path DIR scheduler`), also where the host's would do: every machine then runs the
//! same code, and a host with an older C library, or none in the usual place, makes no difference. The program still sees
//! its own path as its first argument, hence the usual user agent.

mod elf;
mod error;
mod layers;
mod reference;
mod registry;
mod store;
mod tree;
mod unpack;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::ImageError;
pub use reference::{ImageRef, Registry};

use registry::{Puller, Resolved};
use store::{Lock, Store};
use unpack::LayerFile;

/// A scheduler taken out of an image, verified, in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedHami {
    /// Digest to pin: of the index if the image is for several architectures, else of the manifest.
    pub digest: String,
    /// Digest of this architecture's manifest.
    pub manifest_digest: String,
    /// What the image's own `version` label says, if it has one.
    pub version: Option<String>,
    /// What to start: the image's loader, or the scheduler itself if it is linked statically.
    pub program: PathBuf,
    /// Arguments that come before HAMi's own: empty, or the library path and the scheduler.
    pub leading_args: Vec<OsString>,
    /// The scheduler itself.
    pub scheduler: PathBuf,
    /// SHA-256 of the scheduler, in hexadecimal.
    pub sha256: String,
    /// Said when the registry could not be asked and an earlier answer for the tag was taken: why.
    pub stale: Option<String>,
}

/// What a fetch is doing, for a progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Another process is fetching into the same cache; its result will be used.
    Waiting,
    /// A layer is being received.
    Layer {
        /// Which one, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// Bytes of the whole image received so far.
        received_bytes: u64,
        /// Bytes of the whole image, compressed.
        total_bytes: u64,
    },
    /// Everything is here; the program is being taken out.
    Unpacking,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting for another fetch of HAMi's image"),
            Self::Layer {
                number,
                of,
                received_bytes,
                total_bytes,
            } => write!(
                f,
                "receiving HAMi's image: layer {number} of {of}, {} of {} MB",
                received_bytes / 1_000_000,
                total_bytes / 1_000_000
            ),
            Self::Unpacking => f.write_str("taking the scheduler out of HAMi's image"),
        }
    }
}

/// Fetches the scheduler of `reference` into `cache`, or finds it there.
///
/// A digest that is in the cache is taken without asking; a tag is always asked for, because tags move, and only when
/// nobody answers is the earlier answer taken (see [`FetchedHami::stale`]). Safe to run in several processes at once and
/// to drop at any point.
///
/// # Errors
/// [`ImageError`] names what failed and what to do; nothing is left in the cache.
pub async fn fetch_scheduler(
    reference: &ImageRef,
    registry: &Registry,
    cache: &Path,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<FetchedHami, ImageError> {
    let store = Store::new(cache);
    if reference.digest().is_some()
        && let Some(found) = store.lookup(reference, registry)
    {
        return Ok(found);
    }
    let puller = Puller::new(reference, registry)?;
    let resolved = match puller.resolve().await {
        Ok(resolved) => resolved,
        Err(why) => {
            let known = why
                .is_unreachable()
                .then(|| store.lookup(reference, registry));
            let mut found = known.flatten().ok_or_else(|| why.clone())?;
            found.stale = Some(why.to_string());
            return Ok(found);
        }
    };
    let lock = wait_for_lock(&store, progress).await?;
    let stored = || store.load(&resolved.digest, &resolved.manifest_digest);
    if stored().is_none() {
        pull_into(&store, &lock, &puller, &resolved, progress).await?;
    }
    store.remember(&lock, reference, registry, &resolved)?;
    stored().ok_or_else(|| ImageError::Vanished {
        folder: cache.to_owned(),
    })
}

/// Takes the cache's lock, however long its holder needs.
async fn wait_for_lock(
    store: &Store,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Lock, ImageError> {
    // A poll, because a blocking lock could not be given up when the caller is interrupted.
    const POLL: Duration = Duration::from_millis(100);
    let mut said = false;
    loop {
        if let Some(lock) = store.try_lock()? {
            return Ok(lock);
        }
        if !said {
            progress(Progress::Waiting);
            said = true;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Downloads and unpacks into a temporary folder, which becomes the cache's entry only when complete.
async fn pull_into(
    store: &Store,
    lock: &Lock,
    puller: &Puller,
    resolved: &Resolved,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<(), ImageError> {
    let partial = store.partial(lock)?;
    let config_file = partial.path().join("config");
    let config = puller.config(resolved, &config_file).await?;
    let of = resolved.layers.len();
    let total_bytes = resolved.layers.iter().map(|layer| layer.size).sum();
    let mut done_bytes = 0;
    let mut layers = Vec::with_capacity(of);
    for (index, (layer, diff_id)) in resolved.layers.iter().zip(&config.diff_ids).enumerate() {
        let path = partial.path().join(format!("layer-{index}"));
        let received = |received| {
            progress(Progress::Layer {
                number: index + 1,
                of,
                received_bytes: done_bytes + received,
                total_bytes,
            });
        };
        puller.download(layer, &path, &received).await?;
        done_bytes += layer.size;
        layers.push(LayerFile {
            path,
            digest: layer.digest.clone(),
            diff_id: diff_id.clone(),
        });
    }
    progress(Progress::Unpacking);
    let entry = partial.path().join("entry");
    let target = entry.clone();
    let taken = tokio::task::spawn_blocking(move || unpack::take_out(&layers, &target)).await;
    let taken = taken.map_err(|panic| ImageError::Internal(panic.to_string()))??;
    store.keep(lock, &entry, resolved, config.version, taken)
}
