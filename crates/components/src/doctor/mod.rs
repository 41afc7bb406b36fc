//! `headroom doctor`: what is missing, or will disturb a run, each with its remedy.
//!
//! Looks only: builds nothing, fixes nothing.

mod machine;
mod tools;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::error::ComponentsError;

/// What a check found.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// A run works, but slower, or disturbed.
    Warn,
    /// A run cannot work.
    Fail,
}

impl Verdict {
    /// [`Verdict::Ok`], unless something is `bad`.
    fn warn_if(bad: bool) -> Self {
        if bad { Self::Warn } else { Self::Ok }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was looked at, e.g. `Go`.
    pub name: String,
    /// What was found.
    pub verdict: Verdict,
    /// What was seen, with its number.
    pub detail: String,
    /// What to do about it; null if all is well.
    pub remedy: Option<String>,
}

impl Check {
    fn new(name: &str, verdict: Verdict, detail: impl Into<String>, remedy: &str) -> Self {
        Self {
            name: name.to_owned(),
            verdict,
            detail: detail.into(),
            remedy: (verdict != Verdict::Ok).then(|| remedy.to_owned()),
        }
    }

    fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Verdict::Ok, detail, "")
    }

    fn failed(name: &str, error: &ComponentsError) -> Self {
        let remedy = "as the message says";
        Self::new(name, Verdict::Fail, error.to_string(), remedy)
    }
}

/// Checks the cache in `cache` (or the default one), the tools and the machine; with `supplied`, the programs in that folder
/// instead of what builds them. Takes a few seconds: it reads every cached program to compare its checksum, and measures the
/// disk.
pub async fn doctor(cache: Option<&Path>, supplied: Option<&Path>) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut disk = std::env::temp_dir();
    match Cache::open(cache) {
        Ok(cache) => {
            checks.push(Check::ok("cache", cache.folder().display().to_string()));
            checks.extend(match supplied {
                Some(folder) => tools::checks_of_supplied(&cache, folder).await,
                None => tools::checks(&cache).await,
            });
            cache.folder().clone_into(&mut disk);
        }
        Err(error) => checks.push(Check::failed("cache", &error)),
    }
    checks.extend(machine::machine(&host::machine::fingerprint(&disk)));
    checks.extend(machine::surroundings());
    checks
}

#[cfg(test)]
fn verdict(checks: &[Check], name: &str) -> Verdict {
    checks
        .iter()
        .find(|check| check.name == name)
        .unwrap()
        .verdict
}
