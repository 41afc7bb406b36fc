//! Building what is missing: one component after the other, each put in place whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plan::Programs;

use super::cache::{Cache, Lock, remove};
use super::error::ComponentsError;
use super::go::Go;
use super::pins::{PINS, Pin};
use super::progress::{Progress, Step};
use super::stamp::{Stamp, StampFile};
use super::{supplied, version};

/// How often a running build reports.
const TICK: Duration = Duration::from_secs(1);

/// Free disk beside the build itself: stamps, logs, the file system's own reserve.
const SPARE_MIB: u64 = 200;

/// Someone to tell how it goes on.
pub(crate) type Report<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// Finds every component in the cache and builds those that are missing or not what they were; or, with `supplied`, takes the
/// programs in that folder.
///
/// Dropping the future interrupts it: compilers are killed, nothing half-made is left, and what Go has compiled so far is kept
/// for the next time. Two at once, also in two processes: the second waits for the first.
///
/// # Errors
/// See [`ComponentsError`]; usage errors come before anything is built.
pub async fn setup(
    cache: &Cache,
    supplied: Option<&Path>,
    report: Report<'_>,
) -> Result<Programs, ComponentsError> {
    if let Some(folder) = supplied {
        return supplied::find(cache, folder, report).await;
    }
    if missing(cache).is_empty() && !cache.build().exists() {
        return load(cache);
    }
    let lock = Lock::take(cache, |holder| report(Progress::Waiting { holder })).await?;
    lock.clear_leftovers()?;
    let pins = missing(cache);
    if !pins.is_empty() {
        build_all(cache, &lock, &pins, report).await?;
    }
    let build = cache.build();
    if build.exists() {
        report(Progress::Clearing);
    }
    // Gigabytes in many small files.
    tokio::task::spawn_blocking(move || remove(&build))
        .await
        .map_err(|error| ComponentsError::io(cache.build())(error.into()))??;
    load(cache)
}

/// What [`setup`] has to build, by name, and about how many seconds that takes on this machine.
#[must_use]
pub fn estimate(cache: &Cache) -> (Vec<&'static str>, u32) {
    // Measured on two cores; Go's build spreads well over a few more, its linker does not.
    let cores =
        std::thread::available_parallelism().map_or(2, |n| u32::try_from(n.get()).unwrap_or(2));
    let pins = missing(cache);
    let secs: u32 = pins.iter().map(|pin| pin.typical_secs).sum();
    let names = pins.iter().map(|pin| pin.name).collect();
    (names, secs * 2 / cores.clamp(1, 8))
}

/// The pinned modules of which the cache has no valid build.
pub(crate) fn missing(cache: &Cache) -> Vec<&'static Pin> {
    let pins = PINS.iter();
    pins.filter(|pin| stamp_of(cache, pin).is_none()).collect()
}

fn folder_of(cache: &Cache, pin: &Pin) -> PathBuf {
    cache.component(pin.name, &pin.key())
}

fn stamp_of(cache: &Cache, pin: &Pin) -> Option<Stamp> {
    Stamp::read_valid(&folder_of(cache, pin), &pin.build_args())
}

/// The first file of the cached builds whose content is not what was built; reads them all.
pub(crate) fn corrupt_file(cache: &Cache) -> Option<PathBuf> {
    PINS.iter()
        .find_map(|pin| stamp_of(cache, pin)?.corrupt_file(&folder_of(cache, pin)))
}

fn load(cache: &Cache) -> Result<Programs, ComponentsError> {
    let stamps = PINS.iter().map(|pin| {
        let folder = folder_of(cache, pin);
        // Just checked or built: gone only if somebody empties the cache at this moment.
        let stamp = stamp_of(cache, pin).ok_or_else(|| ComponentsError::Cache {
            path: folder.clone(),
            problem: "it changes while it is being used; try again".to_owned(),
        })?;
        Ok((folder, stamp))
    });
    let stamps: Vec<_> = stamps.collect::<Result<_, ComponentsError>>()?;
    let with_manifests = PINS.iter().find(|pin| pin.has_manifests());
    let manifests = with_manifests.map(|pin| folder_of(cache, pin).join("manifests"));
    super::collect(&stamps, manifests.unwrap_or_default())
}

async fn build_all(
    cache: &Cache,
    lock: &Lock,
    pins: &[&'static Pin],
    report: Report<'_>,
) -> Result<(), ComponentsError> {
    let go = Go::find(cache, pins).await?;
    check_disk(cache, SPARE_MIB + go.disk_mib(cache, pins).await)?;
    for folder in ["build/tmp", "build/gocache", "build/work", "logs"] {
        let folder = cache.folder().join(folder);
        fs::create_dir_all(&folder).map_err(ComponentsError::io(&folder))?;
    }
    let half_made = HalfMade(cache);
    for (index, pin) in pins.iter().enumerate() {
        let step = Step {
            name: pin.name,
            version: pin.version(),
            number: index + 1,
            of: pins.len(),
            typical_secs: pin.typical_secs,
        };
        let start = Instant::now();
        report(Progress::Started(step));
        build_one(cache, lock, &go, pin, &mut || {
            report(Progress::Running(step, start.elapsed()));
        })
        .await?;
        report(Progress::Finished(step, start.elapsed()));
    }
    drop(half_made);
    Ok(())
}

/// Removes what is half-made however a build ends. After its own last use, so that no compiler is left writing there.
struct HalfMade<'a>(&'a Cache);

impl Drop for HalfMade<'_> {
    fn drop(&mut self) {
        for folder in ["work", "tmp", "builder"] {
            // The next set-up clears what cannot be removed now.
            let _ = remove(&self.0.build().join(folder));
        }
    }
}

/// Fails if the cache's disk has less than this free.
pub(crate) fn check_disk(cache: &Cache, needed_mib: u64) -> Result<(), ComponentsError> {
    let mut free = free_mib(cache.folder())?;
    if free < needed_mib {
        // An interrupted set-up left its build cache: worth less than the room it takes.
        remove(&cache.build().join("gocache"))?;
        free = free_mib(cache.folder())?;
    }
    if free < needed_mib {
        return Err(ComponentsError::DiskFull {
            path: cache.folder().to_owned(),
            needed_mib,
            free_mib: free,
        });
    }
    Ok(())
}

/// Free disk for this user where `folder` is, MiB.
pub(crate) fn free_mib(folder: &Path) -> Result<u64, ComponentsError> {
    let stat = nix::sys::statvfs::statvfs(folder)
        .map_err(|error| ComponentsError::io(folder)(error.into()))?;
    Ok(stat.blocks_available() * stat.fragment_size() / (1 << 20))
}

/// Builds one component; `tick` is called each second.
async fn build_one(
    cache: &Cache,
    lock: &Lock,
    go: &Go,
    pin: &'static Pin,
    tick: &mut (dyn FnMut() + Send),
) -> Result<(), ComponentsError> {
    let work = cache.build().join("work").join(pin.name);
    let (module, out) = (work.join("module"), work.join("out"));
    for folder in [&module, &out] {
        fs::create_dir_all(folder).map_err(ComponentsError::io(folder))?;
    }
    for (file, text) in [("go.mod", pin.go_mod), ("go.sum", pin.go_sum)] {
        let file = module.join(file);
        fs::write(&file, text).map_err(ComponentsError::io(&file))?;
    }

    let work_done = async {
        go.build(cache, lock, pin, &module, &out).await?;
        if pin.has_manifests() {
            let source = go.module_folder(cache, pin, &module).await?;
            copy_manifests(&source, &out.join("manifests"))?;
        }
        check_versions(cache, pin, &out).await
    };
    tokio::pin!(work_done);
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
    loop {
        tokio::select! {
            result = &mut work_done => break result?,
            _ = ticks.tick() => tick(),
        }
    }

    let stamped = out.clone();
    let compiler = go.version.clone();
    tokio::task::spawn_blocking(move || stamp(pin, compiler, &stamped))
        .await
        .map_err(|error| ComponentsError::io(&out)(error.into()))?
        .map_err(ComponentsError::io(&out))?;

    let place = folder_of(cache, pin);
    let parent = cache.folder().join("components").join(pin.name);
    fs::create_dir_all(&parent).map_err(ComponentsError::io(&parent))?;
    if place.exists() {
        // A run in progress goes on with the programs it has open.
        fs::rename(&place, work.join("replaced")).map_err(ComponentsError::io(&place))?;
    }
    fs::rename(&out, &place).map_err(ComponentsError::io(&place))
}

/// Fails unless each program says the version that go.mod names: a wrong linker flag must not go unnoticed.
async fn check_versions(cache: &Cache, pin: &Pin, out: &Path) -> Result<(), ComponentsError> {
    for (_, name) in pin.programs {
        let program = out.join(name);
        let found = version::of_program(name, &program, cache.search_path()).await;
        let found = found.map_err(ComponentsError::io(&program))?;
        if found != pin.version() {
            return Err(ComponentsError::WrongBuild {
                program: (*name).to_owned(),
                found,
                pinned: pin.version().to_owned(),
            });
        }
    }
    Ok(())
}

/// Copies Kueue's CRDs and webhook configurations out of its module, so that later runs need no Go.
fn copy_manifests(module: &Path, manifests: &Path) -> Result<(), ComponentsError> {
    let source = module.join("config/components");
    for file in supplied::manifest_files(&source).map_err(ComponentsError::io(&source))? {
        let (from, to) = (source.join(&file), manifests.join(&file));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(ComponentsError::io(folder))?;
        }
        // Not fs::copy: Go's module cache is read-only, and its permissions would come along.
        let text = fs::read(&from).map_err(ComponentsError::io(&from))?;
        fs::write(&to, text).map_err(ComponentsError::io(&to))?;
    }
    Ok(())
}

fn stamp(pin: &Pin, go: String, out: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    for (_, name) in pin.programs {
        files.push(StampFile::of(out, Path::new(name), name, pin.version())?);
    }
    if pin.has_manifests() {
        let manifests = Path::new("manifests");
        for file in supplied::manifest_files(&out.join(manifests))? {
            files.push(StampFile::of(out, &manifests.join(file), "", "")?);
        }
    }
    Stamp {
        recipe: pin.build_args(),
        go,
        files,
    }
    .write(out)
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
