//! Finds a cluster's processes through /proc, and ends them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::Pid,
};

/// Environment variable that marks every process of a cluster. Its value is the cluster's folder.
pub const SESSION_ENV: &str = "HEADROOM_SESSION";

/// Environment variable that names a supervised component.
pub(super) const COMPONENT_ENV: &str = "HEADROOM_COMPONENT";

/// How long a process may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Processes whose environment says that they belong to the cluster in `dir`, each with its component's name.
///
/// Zombies have no environment and are not listed.
pub(super) fn owned(dir: &Path) -> BTreeMap<i32, String> {
    let mark = [SESSION_ENV.as_bytes(), b"=", dir.as_os_str().as_bytes()].concat();
    let own = std::process::id().cast_signed();
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok())
        .filter(|&pid| pid != own)
        .filter_map(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let vars = || environ.split(|&b| b == 0);
            vars().any(|v| v == mark).then(|| {
                let named = vars()
                    .find_map(|v| v.strip_prefix(COMPONENT_ENV.as_bytes())?.strip_prefix(b"="))
                    .map(|v| String::from_utf8_lossy(v).into_owned());
                (pid, named.unwrap_or_else(|| program_name(pid)))
            })
        })
        .collect()
}

/// File name of a process's first argument.
fn program_name(pid: i32) -> String {
    let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = cmdline.split(|&b| b == 0).next().unwrap_or_default();
    let name = Path::new(OsStr::from_bytes(first)).file_name();
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// Ends every process of the cluster in `dir`: SIGTERM, a moment of grace, SIGKILL. Returns when none is left.
pub(super) fn kill_owned(dir: &Path) {
    let mut first_seen = BTreeSet::new();
    let deadline = Instant::now() + GRACE;
    loop {
        // Listed anew each time, because a process may have started another one meanwhile.
        let alive = owned(dir);
        if alive.is_empty() {
            break;
        }
        let late = Instant::now() >= deadline;
        for &pid in alive.keys() {
            if late {
                signal(pid, Signal::SIGKILL);
            } else if first_seen.insert(pid) {
                signal(pid, Signal::SIGTERM);
                // A paused process does not see SIGTERM before it continues.
                signal(pid, Signal::SIGCONT);
            }
        }
        sleep(Duration::from_millis(20));
    }
    let deadline = Instant::now() + GRACE;
    for &pid in &first_seen {
        // A dying process loses its environment a moment before it is gone.
        while is_running(pid) && Instant::now() < deadline {
            sleep(Duration::from_millis(1));
        }
        // Reaps processes that became children of this one when their parent exited. For others it returns ECHILD.
        let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
    }
}

/// Sends a signal. A process that is gone is no error.
pub(super) fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Whether a process exists and is not a zombie.
pub(super) fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| Some(!stat.rsplit_once(')')?.1.trim_start().starts_with('Z')))
        .unwrap_or(false)
}
