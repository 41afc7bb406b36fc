//! `--hami`: which HAMi scheduler a session runs, real or built-in, and why.
//!
//! Whatever the source, what comes out is a [`Hami`].

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::cache::{Cache, is_executable, looks_like_a_program};
use super::error::ComponentsError;
use super::image::{self, ImageError, ImageRef, Registry};
use super::stamp::sha256_of;
use super::version::{self, Answer, UNKNOWN, Version};
use plan::{Component, HamiKind, HamiSource, Program, Programs};

/// Exit code of a program whose shared libraries are not there (the dynamic loader's).
const LOADER_FAILED: i32 = 127;

/// What `--hami` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HamiChoice {
    /// A real HAMi scheduler if the cache has one, else the published image's, else the built-in extender.
    #[default]
    Auto,
    /// The built-in HAMi-compatible extender.
    Builtin,
    /// The real HAMi scheduler in this file.
    Path(PathBuf),
    /// The real HAMi scheduler out of this image.
    Image(ImageRef),
}

impl FromStr for HamiChoice {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let after_image = text.strip_prefix("image");
        Ok(match text {
            "auto" => Self::Auto,
            "builtin" => Self::Builtin,
            _ if after_image
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@'])) =>
            {
                Self::Image(text.parse()?)
            }
            path => Self::Path(path.into()),
        })
    }
}

impl fmt::Display for HamiChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Builtin => f.write_str("builtin"),
            Self::Path(path) => path.display().fmt(f),
            Self::Image(image) => write!(f, "image {image}"),
        }
    }
}

/// A HAMi scheduler, ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hami {
    /// What it is, for every header, table and file.
    pub source: HamiSource,
    /// The program, absolute.
    pub program: PathBuf,
    /// Arguments that come before HAMi's own flags.
    pub leading_args: Vec<OsString>,
    /// What it calls itself in the API server's audit log.
    pub agent: String,
}

impl Hami {
    /// The programs with this one as their HAMi.
    #[must_use]
    pub fn among(&self, mut programs: Programs) -> Programs {
        let program = Program {
            path: self.program.clone(),
            version: self.source.version.clone(),
            sha256: self.source.sha256.clone(),
            agent: Some(self.agent.clone()),
        };
        programs.of.insert(Component::Hami, program);
        programs.hami_args.clone_from(&self.leading_args);
        programs
    }
}

/// Finds the HAMi scheduler that `choice` asks for, and says in one line which it is and why. An image is pulled from
/// `registry`; `progress` hears how that goes on.
///
/// # Errors
/// A usage error when a path that was named is no program for this machine; why an image that was named cannot be had.
pub async fn resolve_hami(
    choice: &HamiChoice,
    registry: &Registry,
    cache: &Cache,
    progress: &(dyn Fn(image::Progress) + Send + Sync),
) -> Result<(Hami, String), ComponentsError> {
    match choice {
        HamiChoice::Builtin => {
            let hami = builtin()?;
            let line = format!("HAMi: {} (--hami builtin)", hami.source.label());
            Ok((hami, line))
        }
        HamiChoice::Path(path) => {
            let problem = |problem| ComponentsError::Hami {
                choice: choice.to_string(),
                problem,
            };
            let hami = real(path, cache).await.map_err(problem)?;
            let line = format!("HAMi: {}, {}", hami.source.label(), hami.program.display());
            Ok((hami, line))
        }
        HamiChoice::Image(reference) => Ok(pulled(reference, registry, cache, progress).await?),
        HamiChoice::Auto => {
            let (found, ignored) = in_cache(cache).await;
            if let Some((hami, line)) = found {
                return Ok((hami, line + &ignored));
            }
            let why = match pulled(&ImageRef::default(), registry, cache, progress).await {
                Ok(found) => return Ok(found),
                Err(error) => error.to_string(),
            };
            let hami = builtin()?;
            let line = format!(
                "HAMi: {}, because there is no real one in {}/*/scheduler and its image cannot be had: {why}{ignored}",
                hami.source.label(),
                cache.hami_folder().display(),
            );
            Ok((hami, line))
        }
    }
}

/// The newest real scheduler among those in the cache with a line about it, and what is wrong with the others.
pub(super) async fn in_cache(cache: &Cache) -> (Option<(Hami, String)>, String) {
    let mut usable = Vec::new();
    let mut ignored = String::new();
    for path in candidates(cache) {
        match real(&path, cache).await {
            Ok(hami) => usable.push((version_of(&hami, &path), hami)),
            Err(problem) => {
                ignored += &format!("; ignored {}: {problem}", path.display());
            }
        }
    }
    let of = usable.len();
    let newest = usable.into_iter().max_by_key(|(version, _)| *version);
    let found = newest.map(|(_, hami)| {
        let which = if of > 1 {
            format!("the newest of {of} in the cache")
        } else {
            "found in the cache".to_owned()
        };
        let line = format!("HAMi: {}, {which}", hami.source.label());
        (hami, line)
    });
    (found, ignored)
}

/// The scheduler out of an image, fetched or found in the cache, with a line about it.
async fn pulled(
    reference: &ImageRef,
    registry: &Registry,
    cache: &Cache,
    progress: &(dyn Fn(image::Progress) + Send + Sync),
) -> Result<(Hami, String), ImageError> {
    let folder = cache.folder().join("images");
    let fetched = image::fetch_scheduler(reference, registry, &folder, progress).await?;
    let tag = || reference.tag().map(str::to_owned);
    let version = fetched.version.or_else(tag);
    let hami = Hami {
        source: HamiSource {
            source: HamiKind::Image,
            version: version.unwrap_or_else(|| UNKNOWN.to_owned()),
            sha256: fetched.sha256,
        },
        agent: file_name(&fetched.scheduler),
        program: fetched.program,
        leading_args: fetched.leading_args,
    };
    let stale = fetched.stale.map_or_else(String::new, |why| {
        format!("; the registry could not be asked again: {why}")
    });
    let (label, digest) = (hami.source.label(), fetched.digest);
    let line = format!("HAMi: {label}, {reference}, digest {digest}{stale}");
    Ok((hami, line))
}

pub(crate) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Every `hami/<any name>/scheduler` in the cache, sorted.
fn candidates(cache: &Cache) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.hami_folder()).into_iter().flatten();
    let programs = entries.flatten().map(|it| it.path().join("scheduler"));
    let mut found: Vec<_> = programs.filter(|path| path.exists()).collect();
    found.sort();
    found
}

/// The version by which the newest is chosen: the reported one, else the one in its folder's name.
fn version_of(hami: &Hami, path: &Path) -> Option<Version> {
    Version::find(&hami.source.version)
        .or_else(|| Version::find(path.parent()?.file_name()?.to_str()?))
}

/// The built-in extender: this very program, with a subcommand.
fn builtin() -> Result<Hami, ComponentsError> {
    let problem = |problem: String| ComponentsError::Hami {
        choice: "builtin".to_owned(),
        problem,
    };
    let program = std::env::current_exe()
        .map_err(|error| problem(format!("cannot find headroom's own program: {error}")))?;
    let sha256 = sha256_of(&program).map_err(|error| {
        problem(format!(
            "headroom's own program {} was replaced or removed while it runs ({error}); start it again",
            program.display()
        ))
    })?;
    Ok(Hami {
        source: HamiSource {
            source: HamiKind::Builtin,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sha256,
        },
        program,
        leading_args: vec!["extender".into()],
        agent: interface::EXTENDER_AGENT.to_owned(),
    })
}

/// The real scheduler in a file; the error says what is wrong with the file.
async fn real(path: &Path, cache: &Cache) -> Result<Hami, String> {
    let Ok(program) = path.canonicalize() else {
        return Err(
            "no such file (accepted: auto, builtin, or the path of a HAMi scheduler)".to_owned(),
        );
    };
    if program.is_dir() {
        return Err("a folder, not a program (name the file, e.g. scheduler, in it)".to_owned());
    }
    if !looks_like_a_program(&program).map_err(|error| error.to_string())? {
        return Err("not a program (neither an ELF file nor a script)".to_owned());
    }
    if !is_executable(&program) {
        return Err("not executable (chmod +x)".to_owned());
    }
    // One that prints no version is used all the same; its checksum tells which it was.
    let version = match version::ask(&program, "version", cache.search_path()).await {
        Ok(Answer::Said(output)) => version::reported(&output),
        Ok(Answer::Failed {
            code: Some(LOADER_FAILED),
            output,
        }) => {
            let last = output.trim().lines().last();
            let why = last.unwrap_or("a shared library is missing");
            return Err(format!("it cannot be started here: {why}"));
        }
        Ok(Answer::Failed { .. } | Answer::StillRunning) => None,
        Err(error) => {
            return Err(format!(
                "it cannot be started here ({error}): built for another machine, or its loader or interpreter is missing"
            ));
        }
    };
    let file = program.clone();
    let sha256 = tokio::task::spawn_blocking(move || sha256_of(&file)).await;
    let sha256 = sha256.map_err(std::io::Error::other).flatten();
    Ok(Hami {
        source: HamiSource {
            source: HamiKind::Binary,
            version: version.unwrap_or_else(|| UNKNOWN.to_owned()),
            sha256: sha256.map_err(|error| error.to_string())?,
        },
        agent: file_name(&program),
        program,
        leading_args: Vec::new(),
    })
}

#[cfg(test)]
#[path = "hami_tests.rs"]
mod tests;
