//! Settings of an experiment file for the command that runs it: programs, folders, what is left behind.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the command, and not of what it measures. Each is also an option of `headroom bench`, which goes first. What
/// names a program, a registry or a folder is taken only with `--trust-host`: the file may be someone else's.
///
/// Paths are relative to the experiment file's folder. Each run's `run.json` has the merged settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// `--hami`: `auto`, `builtin`, `image` with `:TAG` or `@DIGEST`, or a program's path (with a `/`). Default: `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hami: Option<String>,
    /// `--registry`: registry to pull HAMi's image from. Default: the one where it is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// `--cache`: folder for built components, live clusters and HAMi binaries. Default: `~/.cache/headroom`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<PathBuf>,
    /// `--components`: use the programs found in this folder instead of building them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<PathBuf>,
    /// `--out`: folder of the session. Default: `runs/<UTC time>-<experiment>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
    /// `--keep`: leave the last run's cluster up.
    pub keep: bool,
}

impl Host {
    /// What of these settings names a program or a folder, by field: whoever wrote the file would decide what runs and where it
    /// is written.
    #[must_use]
    pub fn reaches(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let program = self
            .hami
            .clone()
            .filter(|hami| hami != "auto" && hami != "builtin");
        let all = [
            ("host.hami", program),
            ("host.registry", self.registry.clone()),
            ("host.components", path(&self.components)),
            ("host.cache", path(&self.cache)),
            ("host.out", path(&self.out)),
        ];
        all.into_iter()
            .filter_map(|(field, value)| Some((field, value?)))
            .collect()
    }

    /// These settings, and those of `other` for what is not set here.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            hami: self.hami.or_else(|| other.hami.clone()),
            registry: self.registry.or_else(|| other.registry.clone()),
            cache: self.cache.or_else(|| other.cache.clone()),
            components: self.components.or_else(|| other.components.clone()),
            out: self.out.or_else(|| other.out.clone()),
            keep: self.keep || other.keep,
        }
    }

    /// The same with every path relative to `folder`.
    pub(super) fn beside(self, folder: &Path) -> Self {
        let at = |path: PathBuf| folder.join(path);
        let hami = self.hami.map(|hami| {
            if hami.contains('/') {
                at(hami.into()).to_string_lossy().into_owned()
            } else {
                hami
            }
        });
        Self {
            hami,
            cache: self.cache.map(at),
            components: self.components.map(at),
            out: self.out.map(at),
            ..self
        }
    }
}
