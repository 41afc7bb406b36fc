//! The folder of each cluster: its lock and its mark, and the removal of clusters whose owner is gone.
//!
//! The folder `<state root>/<id>` holds everything that a cluster keeps on disk. The command that brought the cluster up
//! owns it, and holds a lock on the file `lock` for as long as it lives, whatever ends it. The file `kept` marks a cluster
//! that stays up after its owner. Every process of a cluster has the folder's path in its environment. A folder with a free
//! lock and no mark is a leftover, and is removed with its processes. Nothing else is ever touched: a folder is a cluster's only
//! if it is no link, its name has the form of an id, this user owns it, and its lock says that headroom made it on this host (a
//! home may be on a file system that several hosts share). It holds keys with full rights, so only its owner can look into it.

use plan::Component;
use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::Write,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use nix::unistd::geteuid;

use super::{ClusterError, ports, proc, substrate};

const LOCK: &str = "lock";
const KEPT: &str = "kept";
const PORTS: &str = "ports";

/// Second line of a lock, after the owner's process id. The host's id follows.
const MARKER: &str = "a cluster of headroom on host";

/// The folder of a cluster that this process owns. Dropping it ends the cluster's processes and removes the folder.
#[derive(Debug)]
pub(super) struct StateDir {
    id: String,
    dir: PathBuf,
    lock: Option<File>,
}

/// What is known of a cluster on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterState {
    /// Name of the cluster, and of its folder.
    pub id: String,
    /// The cluster's folder.
    pub dir: PathBuf,
    /// Process id of the command that brought it up.
    pub owner_pid: Option<u32>,
    /// Whether that command still runs.
    pub live: bool,
    /// Whether it was left running on purpose.
    pub kept: bool,
    /// The kubeconfig, for kubectl.
    pub kubeconfig: PathBuf,
    /// Each component's process id, or `None` if it is dead. In a kept cluster, which has no supervisor, it stays dead.
    pub components: Vec<(String, Option<i32>)>,
}

impl ClusterState {
    /// The cluster and its components, in lines for a terminal.
    #[must_use]
    pub fn describe(&self) -> String {
        let what = match (self.kept, self.owner_pid) {
            (true, _) => "left running".to_owned(),
            (false, Some(pid)) => format!("in use by process {pid}"),
            (false, None) => "in use".to_owned(),
        };
        let (id, kubeconfig) = (&self.id, self.kubeconfig.display());
        let mut text = format!("{id} ({what})\n  export KUBECONFIG={kubeconfig}\n");
        for (name, pid) in &self.components {
            text += &match pid {
                Some(pid) => format!("  {name:<24} process {pid}\n"),
                None => format!(
                    "  {name:<24} DEAD (`headroom down {id} && headroom up` for a fresh one)\n"
                ),
            };
        }
        text
    }
}

impl StateDir {
    /// Makes a folder under `state_root` and takes its lock.
    pub fn create(state_root: &Path) -> Result<Self, ClusterError> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(state_root).map_err(ClusterError::file("create", state_root))?;
        // Processes are found by this path, so it must not depend on the working directory.
        let root = state_root
            .canonicalize()
            .map_err(ClusterError::file("open", state_root))?;
        let _guard = lock_root(&root)?;
        let pid = std::process::id();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        let id = format!("{now}-{pid}-{serial:03}");
        let dir = root.join(&id);
        let mut private = DirBuilder::new();
        let made = private.mode(0o700).create(&dir);
        made.map_err(ClusterError::file("create", &dir))?;
        let path = dir.join(LOCK);
        let mut lock = File::create(&path).map_err(ClusterError::file("create", &path))?;
        lock.try_lock()
            .map_err(std::io::Error::from)
            .and_then(|()| lock.write_all(format!("{pid}\n{MARKER} {}\n", host_id()).as_bytes()))
            .map_err(ClusterError::file("lock", &path))?;
        Ok(Self {
            id,
            dir,
            lock: Some(lock),
        })
    }

    /// Name of the cluster, and of its folder.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Finds ports that nothing listens on and that no other cluster under this state root has been given.
    pub fn ports(&self, wanted: usize) -> Result<Vec<u16>, ClusterError> {
        let root = self.dir.parent().unwrap_or(&self.dir);
        let _guard = lock_root(root)?;
        let taken: BTreeSet<u16> = folders(root)
            .iter()
            .filter_map(|dir| fs::read_to_string(dir.join(PORTS)).ok())
            .flat_map(|text| text.lines().flat_map(str::parse).collect::<Vec<u16>>())
            .collect();
        let ports = ports::find(wanted, &taken)?;
        let lines: String = ports.iter().map(|p| format!("{p}\n")).collect();
        let path = self.dir.join(PORTS);
        fs::write(&path, lines).map_err(ClusterError::file("write", &path))?;
        Ok(ports)
    }

    /// Ends the cluster's processes and empties its folder, for another try.
    pub fn reset(&self) {
        clear(&self.dir);
    }

    /// Marks the cluster as kept and gives up ownership.
    pub fn keep(mut self) -> Result<(), ClusterError> {
        let path = self.dir.join(KEPT);
        File::create(&path).map_err(ClusterError::file("create", &path))?;
        self.lock = None;
        Ok(())
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        if self.lock.is_some() {
            remove(&self.dir);
        }
    }
}

/// Removes the clusters whose owner is gone and that are not marked as kept. Returns their ids.
///
/// # Errors
///
/// The state root cannot be read.
pub fn clear_leftovers(state_root: &Path) -> Result<Vec<String>, ClusterError> {
    let states = list(state_root)?;
    let mut cleared = vec![];
    for state in states.iter().filter(|s| !s.live && !s.kept) {
        // The lock decides, since the list may be out of date.
        let Some(_lock) = take_lock(&state.dir) else {
            continue;
        };
        if !state.dir.join(KEPT).exists() {
            remove(&state.dir);
            cleared.push(state.id.clone());
        }
    }
    Ok(cleared)
}

/// Every cluster under the state root, oldest first.
///
/// # Errors
///
/// The state root cannot be read.
pub fn list(state_root: &Path) -> Result<Vec<ClusterState>, ClusterError> {
    let Ok(root) = state_root.canonicalize() else {
        return Ok(vec![]);
    };
    let _guard = lock_root(&root)?;
    Ok(folders(&root).into_iter().map(inspect).collect())
}

/// Takes down one cluster, or every kept one. Returns the ids of the clusters that are gone.
///
/// # Errors
///
/// There is no such cluster, or a running command owns it.
pub fn down(state_root: &Path, id: Option<&str>) -> Result<Vec<String>, ClusterError> {
    let states = list(state_root)?;
    let chosen: Vec<_> = match id {
        Some(id) => states.iter().filter(|s| s.id == id).collect(),
        None => states.iter().filter(|s| s.kept && !s.live).collect(),
    };
    if let (Some(id), true) = (id, chosen.is_empty()) {
        return Err(ClusterError::Unknown { id: id.into() });
    }
    for state in &chosen {
        let Some(_lock) = take_lock(&state.dir) else {
            return Err(ClusterError::InUse {
                id: state.id.clone(),
                pid: state.owner_pid.unwrap_or_default(),
            });
        };
        remove(&state.dir);
    }
    Ok(chosen.iter().map(|s| s.id.clone()).collect())
}

fn inspect(dir: PathBuf) -> ClusterState {
    let lock = dir.join(LOCK);
    // A shared lock: it fails against the owner's exclusive lock, but not against another process that looks.
    let live = File::open(&lock)
        .is_ok_and(|f| matches!(f.try_lock_shared(), Err(TryLockError::WouldBlock)));
    let owned = proc::owned(&dir);
    let pid_of = |name: &str| owned.iter().find(|(_, n)| *n == name).map(|(&pid, _)| pid);
    let id = dir.file_name().unwrap_or_default();
    ClusterState {
        id: id.to_string_lossy().into_owned(),
        owner_pid: fs::read_to_string(&lock)
            .ok()
            .and_then(|text| text.lines().next()?.parse().ok()),
        live,
        kept: dir.join(KEPT).exists(),
        kubeconfig: substrate::kubeconfig(&dir),
        components: Component::substrate()
            .chain(Component::system())
            .map(|c| (c.name().to_owned(), pid_of(c.name())))
            .collect(),
        dir,
    }
}

/// The clusters' folders under the state root, by name, which begins with the time.
fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut dirs: Vec<PathBuf> = paths.filter(|path| is_own(path)).collect();
    dirs.sort();
    dirs
}

/// Whether a folder is proven to be a cluster's of this user on this host.
fn is_own(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str());
    // Of the link itself, not of what it points to.
    let of_user = |path: &Path, is_kind: fn(&fs::Metadata) -> bool| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| is_kind(&found) && found.uid() == geteuid().as_raw())
    };
    let lock = dir.join(LOCK);
    let marked = || {
        let text = fs::read_to_string(&lock).unwrap_or_default();
        text.lines().nth(1) == Some(&format!("{MARKER} {}", host_id()))
    };
    name.is_some_and(is_id)
        && of_user(dir, fs::Metadata::is_dir)
        && of_user(&lock, fs::Metadata::is_file)
        && marked()
}

/// Whether a name has the form of an id: `20260101T000000-<process id>-<number>`.
fn is_id(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match parts[..] {
        [time, pid, serial] => {
            let time = time.split_once('T');
            time.is_some_and(|(day, second)| {
                (day.len(), second.len()) == (8, 6) && digits(day) && digits(second)
            }) && digits(pid)
                && digits(serial)
        }
        _ => false,
    }
}

/// What tells this host from others that see the same files: systemd's machine id, or where there is none the kernel's id of
/// this boot.
fn host_id() -> String {
    let read = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let id = read("/etc/machine-id").filter(|id| !id.is_empty());
    let id = id.or_else(|| read("/proc/sys/kernel/random/boot_id"));
    id.unwrap_or_else(|| "unknown".into())
}

/// The lock of a cluster's folder, if nobody holds it.
fn take_lock(dir: &Path) -> Option<File> {
    // For writing: on NFS nothing else can be locked.
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .open(dir.join(LOCK))
        .ok()?;
    lock.try_lock().ok()?;
    Some(lock)
}

/// Held while clusters are made, listed or given ports, so that nobody sees a folder that is half made.
fn lock_root(root: &Path) -> Result<File, ClusterError> {
    let path = root.join(".lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(ClusterError::file("open", &path))?;
    file.lock().map_err(ClusterError::file("lock", &path))?;
    Ok(file)
}

/// Ends the folder's processes, and empties it but for the lock.
fn clear(dir: &Path) {
    proc::kill_owned(dir);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name() != LOCK {
            let path = entry.path();
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

fn remove(dir: &Path) {
    // The lock file goes last: a removal that is cut short leaves a folder that still counts as a leftover.
    clear(dir);
    if let Err(error) = fs::remove_dir_all(dir) {
        tracing::warn!("cannot remove {}: {error}", dir.display());
    }
}

#[cfg(test)]
mod tests;
