//! HAMi's scheduler out of an image, against a real registry (distribution's) on loopback.
//!
//! Each test starts a registry of its own, pushes an image made here, and fetches it. The image's scheduler is a small
//! program compiled here that needs a library which only the image has, so that running it proves that the right files
//! were taken out and that the image's own loader finds them.

mod environment;
mod fetches;
mod image;
mod proxy;
mod refusals;
mod registry;
mod token;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headroom_components::image::{FetchedHami, ImageError, ImageRef, Registry, fetch_scheduler};
use tempfile::TempDir;

/// A folder with nothing in it but the cache, so that whatever is written beside the cache shows.
struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Names in the cache, without the lock.
    fn names(&self) -> BTreeSet<String> {
        assert!(
            names(self.folder.path()).is_subset(&["cache".to_owned()].into()),
            "written beside the cache"
        );
        let mut names = names(&self.cache());
        names.remove("lock");
        names
    }

    #[track_caller]
    fn assert_empty(&self) {
        assert_eq!(self.names(), BTreeSet::new(), "left in the cache");
    }

    async fn fetch(&self, image: &str, registry: &str) -> Result<FetchedHami, ImageError> {
        self.fetch_from(image, &at(registry)).await
    }

    async fn fetch_from(
        &self,
        image: &str,
        registry: &Registry,
    ) -> Result<FetchedHami, ImageError> {
        let image: ImageRef = image.parse().unwrap();
        fetch_scheduler(&image, registry, &self.cache(), &|_| ()).await
    }
}

/// The registry at an address, with time-outs that only a test machine under heavy load comes near.
fn at(address: &str) -> Registry {
    let registry: Registry = address.parse().unwrap();
    registry.with_timeouts(Duration::from_mins(1), Duration::from_mins(2))
}

fn names(folder: &Path) -> BTreeSet<String> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect(),
        Err(_) => BTreeSet::new(),
    }
}

/// What the fetched scheduler prints when it is started as the harness would start it.
#[track_caller]
fn run(fetched: &FetchedHami) -> String {
    let output = std::process::Command::new(&fetched.program)
        .args(&fetched.leading_args)
        .args(["--flag", "value"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
