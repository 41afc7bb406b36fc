//! The cache folder: where it is, whether it can be used, who is changing it.
//!
//! ```text
//! <cache>/components/<name>/<version>-<go.sum>/   programs, manifests/, stamp.json
//! <cache>/supplied/<folder>/                      what is known of a --components folder
//! <cache>/hami/<any name>/scheduler               real HAMi schedulers, for `--hami auto`
//! <cache>/build/                                  only while building: Go's build cache, half-made things
//! <cache>/logs/build-<name>.log                   Go's output of the last build
//! <cache>/lock                                    held while something above changes
//! ```

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::Pid;

use super::child;
use super::error::ComponentsError;

/// Written to find out whether the folder is writable and its disk not full. More than an inode's own space.
const PROBE_BYTES: usize = 64 * 1024;

/// How often a waiting command looks whether the lock is free.
const LOCK_POLL: Duration = Duration::from_millis(200);

/// A usable cache folder.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    path: OsString,
}

impl Cache {
    /// Opens the cache in `folder`, or in `$XDG_CACHE_HOME/headroom`, or in `~/.cache/headroom`, and creates it if need be.
    ///
    /// # Errors
    /// A usage error if it is not a folder, cannot be written, or its disk is full.
    pub fn open(folder: Option<&Path>) -> Result<Self, ComponentsError> {
        let folder = named_or_default(folder).ok_or(ComponentsError::NoCacheFolder)?;
        let unusable = |error: io::Error| ComponentsError::Cache {
            path: folder.clone(),
            problem: describe(&error),
        };
        fs::create_dir_all(&folder).map_err(unusable)?;
        let folder = folder.canonicalize().map_err(unusable)?;
        let blank = |b: &u8| b.is_ascii_whitespace();
        if folder.as_os_str().as_encoded_bytes().iter().any(blank) {
            return Err(ComponentsError::Cache {
                path: folder,
                problem: "kwokctl, which keeps clusters there, takes no path with a blank"
                    .to_owned(),
            });
        }
        probe(&folder).map_err(unusable)?;
        Ok(Self {
            folder,
            path: std::env::var_os("PATH").unwrap_or_default(),
        })
    }

    /// The folder that [`Cache::open`] would open, if it is there.
    #[must_use]
    pub fn existing(folder: Option<&Path>) -> Option<PathBuf> {
        named_or_default(folder).filter(|folder| folder.is_dir())
    }

    /// The same cache with another `PATH`, on which `go` is looked for.
    #[cfg(test)]
    pub(crate) fn with_path(mut self, path: impl Into<OsString>) -> Self {
        self.path = path.into();
        self
    }

    /// The folder, absolute.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where real HAMi schedulers are looked for: `<this>/<any name>/scheduler`.
    #[must_use]
    pub(crate) fn hami_folder(&self) -> PathBuf {
        self.folder.join("hami")
    }

    pub(crate) fn search_path(&self) -> &OsStr {
        &self.path
    }

    pub(crate) fn component(&self, name: &str, key: &str) -> PathBuf {
        self.folder.join("components").join(name).join(key)
    }

    pub(crate) fn supplied(&self, key: &str) -> PathBuf {
        self.folder.join("supplied").join(key)
    }

    pub(crate) fn build(&self) -> PathBuf {
        self.folder.join("build")
    }

    pub(crate) fn build_log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(format!("build-{name}.log"))
    }

    /// Clears what a killed set-up left behind, unless one is at work: compilers still running, half-made folders.
    /// Go's own build cache stays, so that the next set-up goes on where that one was.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn clear_leftovers(&self) -> Result<(), ComponentsError> {
        if !self.build().exists() {
            return Ok(());
        }
        match Lock::try_take(self)? {
            Some(lock) => lock.clear_leftovers(),
            None => Ok(()),
        }
    }
}

/// The right to change a cache. Released when dropped, also by the kernel when the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    build: PathBuf,
}

impl Lock {
    /// Waits for the lock; `waiting` is told once, with the holder's process id.
    pub(crate) async fn take(
        cache: &Cache,
        waiting: impl FnOnce(Option<u32>),
    ) -> Result<Self, ComponentsError> {
        if let Some(lock) = Self::try_take(cache)? {
            return Ok(lock);
        }
        let holder = fs::read_to_string(Self::file(cache)).ok();
        waiting(holder.and_then(|text| text.trim().parse().ok()));
        loop {
            tokio::time::sleep(LOCK_POLL).await;
            if let Some(lock) = Self::try_take(cache)? {
                return Ok(lock);
            }
        }
    }

    /// Takes the lock if nobody holds it.
    pub(crate) fn try_take(cache: &Cache) -> Result<Option<Self>, ComponentsError> {
        let path = Self::file(cache);
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(ComponentsError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {
                // Only for the message of whoever waits: the lock itself is the kernel's.
                let _ = file
                    .set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Some(Self {
                    file,
                    build: cache.build(),
                }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(ComponentsError::io(path)(error)),
        }
    }

    fn file(cache: &Cache) -> PathBuf {
        cache.folder.join("lock")
    }

    /// Notes the process group that is building, for whoever comes after a `kill -9` of this process.
    pub(crate) fn note_builder(&self, pid: i32) -> io::Result<()> {
        let ticks = child::start_ticks(pid).unwrap_or_default();
        fs::write(self.build.join("builder"), format!("{pid} {ticks}"))
    }

    /// See [`Cache::clear_leftovers`].
    pub(crate) fn clear_leftovers(&self) -> Result<(), ComponentsError> {
        let builder = self.build.join("builder");
        if let Some((pid, ticks)) = noted_builder(&builder) {
            // The start time tells the builder from an innocent process that was given its number later.
            if child::start_ticks(pid) == Some(ticks) {
                child::kill_group(Pid::from_raw(pid));
                child::await_gone(Pid::from_raw(pid));
            }
        }
        for half_made in [builder, self.build.join("work"), self.build.join("tmp")] {
            remove(&half_made)?;
        }
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that another thread is just starting shares it until it executes.
        let _ = self.file.unlock();
    }
}

fn noted_builder(file: &Path) -> Option<(i32, u64)> {
    let text = fs::read_to_string(file).ok()?;
    let (pid, ticks) = text.split_once(' ')?;
    Some((pid.parse().ok()?, ticks.parse().ok()?))
}

/// Removes a file or a folder with all that is in it; it may be absent.
pub(crate) fn remove(path: &Path) -> Result<(), ComponentsError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(ComponentsError::io(path)(error)),
        _ => Ok(()),
    }
}

fn named_or_default(folder: Option<&Path>) -> Option<PathBuf> {
    let named = folder.map(Path::to_owned);
    named.or_else(|| default_folder(|name| std::env::var_os(name)))
}

fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The XDG base directory specification: a relative path is to be ignored.
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".cache")))
        .map(|folder| folder.join("headroom"))
}

fn probe(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".probe-")
        .tempfile_in(folder)?;
    file.write_all(&vec![0x55; PROBE_BYTES])?;
    file.as_file().sync_data()?;
    let flags = statvfs(folder)?.flags();
    if flags.contains(FsFlags::ST_NOEXEC) {
        // Told now: a build of seven minutes would end with programs that cannot be started.
        return Err(io::Error::other("its file system is mounted noexec"));
    }
    Ok(())
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "its disk is full".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "its file system is read-only".to_owned(),
        ErrorKind::PermissionDenied => "no permission to write there".to_owned(),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "not a folder".to_owned(),
        _ => error.to_string(),
    }
}

/// The first executable file of that name on a `PATH`.
pub(crate) fn find_on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Whether this is a file that somebody may execute.
pub(crate) fn is_executable(file: &Path) -> bool {
    fs::metadata(file)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether a file begins as a program does: as an ELF file or as a script.
pub(crate) fn looks_like_a_program(file: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(file)?.take(4).read_to_end(&mut start)?;
    Ok(start.starts_with(b"\x7fELF") || start.starts_with(b"#!"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::ChildGroup;
    use host::usage::UserError as _;

    #[test]
    fn the_default_folder_follows_the_xdg_specification() {
        let find = |xdg: &str, home: &str| {
            default_folder(|name| {
                let value = if name == "HOME" { home } else { xdg };
                (!value.is_empty()).then(|| value.into())
            })
        };
        assert_eq!(find("/x", "/h"), Some("/x/headroom".into()));
        assert_eq!(find("", "/h"), Some("/h/.cache/headroom".into()));
        assert_eq!(find("relative", "/h"), Some("/h/.cache/headroom".into()));
        assert_eq!(find("", ""), None);
    }

    #[test]
    fn a_file_in_the_way_is_one_clear_usage_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_owned(), file.path().join("below")] {
            let error = Cache::open(Some(&path)).unwrap_err();
            assert!(error.is_usage());
            let text = error.to_string();
            assert!(
                text.contains("not a folder; name another one with --cache DIR"),
                "{text}"
            );
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn full_and_read_only_disks_are_named_as_such() {
        for (kind, text) in [
            (ErrorKind::StorageFull, "full"),
            (ErrorKind::ReadOnlyFilesystem, "read-only"),
            (ErrorKind::PermissionDenied, "permission"),
        ] {
            assert!(describe(&kind.into()).contains(text));
        }
    }

    #[test]
    fn opening_leaves_only_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&folder.path().join("a/b"))).unwrap();
        assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_a_killed_build_left_is_cleared_but_never_a_live_one() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        fs::create_dir_all(cache.build().join("work/kwok")).unwrap();
        fs::create_dir_all(cache.build().join("gocache")).unwrap();
        // A builder that outlived its set-up, and an unrelated process that has the number of one that did not.
        let orphan = ChildGroup::start(&duct::cmd("sleep", ["600"])).unwrap();
        let id = orphan.id();

        let lock = Lock::try_take(&cache).unwrap().unwrap();
        lock.note_builder(id).unwrap();
        cache.clear_leftovers().unwrap();
        assert!(
            child::runs(id) && cache.build().join("work/kwok").exists(),
            "a live build was cleared"
        );
        drop(lock);

        let ticks = child::start_ticks(id).unwrap();
        fs::write(cache.build().join("builder"), format!("{id} {}", ticks + 1)).unwrap();
        cache.clear_leftovers().unwrap();
        assert!(child::runs(id), "an unrelated process was killed");

        fs::write(cache.build().join("builder"), format!("{id} {ticks}")).unwrap();
        cache.clear_leftovers().unwrap();
        assert!(!child::runs(id));
        assert!(!cache.build().join("work").exists());
        assert!(cache.build().join("gocache").exists());
    }
}
