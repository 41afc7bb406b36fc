//! Where components and clusters are kept.

use std::path::{Path, PathBuf};

use super::exit::Interrupted;
use super::signals;
use components::Cache;
use harness::cluster::{ClusterError, clear_leftovers};
use host::errln;
use host::usage::OrUsage as _;

/// Folder of live clusters' state in the cache.
const SESSIONS: &str = "sessions";

/// Where the user wants components and clusters to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `--cache`; `None`: the default one.
    pub cache: Option<PathBuf>,
    /// `--components`; `None`: they are built.
    pub components: Option<PathBuf>,
}

impl Place {
    /// Opens the cache, after removing the clusters of killed commands.
    ///
    /// # Errors
    /// The cache cannot be used.
    pub fn open(&self) -> anyhow::Result<Cache> {
        let cache = Cache::open(self.cache.as_deref()).or_usage()?;
        remove_killed(&Self::state_root(&cache))?;
        Ok(cache)
    }

    /// Removes the clusters of killed commands, if there is a cache.
    pub fn clear_leftovers(&self) {
        let folder = Cache::existing(self.cache.as_deref());
        if let Some(Err(error)) = folder.map(|folder| remove_killed(&folder.join(SESSIONS))) {
            errln!("headroom: cannot remove the clusters of killed commands: {error}");
        }
    }

    /// Folder of live clusters' state.
    pub fn state_root(cache: &Cache) -> PathBuf {
        cache.folder().join(SESSIONS)
    }

    /// The components. Missing ones are built first; Ctrl-C stops the build.
    ///
    /// # Errors
    /// Those of [`components::setup`]; [`Interrupted`] if a signal stopped it.
    pub async fn programs(&self, cache: &Cache) -> anyhow::Result<plan::Programs> {
        let mut report = components::printed();
        let made = components::setup(cache, self.components.as_deref(), &mut report);
        tokio::select! {
            made = made => made.or_usage(),
            () = signals::stop().cancelled() => Err(Interrupted.into()),
        }
    }
}

/// Removes the clusters of killed commands, and says which.
fn remove_killed(state_root: &Path) -> Result<(), ClusterError> {
    for id in clear_leftovers(state_root)? {
        errln!("removed the cluster of a killed command: {id}");
    }
    Ok(())
}
