//! Starts one process, waits for its end, and reads what it used.

use std::{
    fs::OpenOptions,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::wait::{Id, WaitPidFlag, WaitStatus, waitid},
    unistd::Pid,
};

use super::{Program, proc};
use host::process;

/// CPU time of a process that has not been reaped yet, seconds.
pub(super) fn cpu_secs(pid: i32) -> f64 {
    process::usage(pid.unsigned_abs()).map_or(0.0, |usage| usage.cpu_secs)
}

/// Starts a program. Its output is appended to its log.
pub(super) fn start(program: &Program) -> std::io::Result<std::process::Child> {
    let open = |path: &Path| OpenOptions::new().create(true).append(true).open(path);
    let stdout = program.stdout.as_ref().unwrap_or(&program.log);
    Command::new(&program.path)
        .args(&program.args)
        .env_clear()
        .envs(program.env.iter().map(|(k, v)| (k, v)))
        .env(proc::COMPONENT_ENV, &program.name)
        .stdin(Stdio::null())
        .stdout(open(stdout)?)
        .stderr(open(&program.log)?)
        // In a process group of its own, so that Ctrl-C reaches only the harness, which stops the components in order.
        .process_group(0)
        .spawn()
}

/// Waits until a process has ended. If possible it is not reaped yet, so that /proc still has its CPU time. Only child
/// processes have a status.
pub(super) fn wait_for(pid: i32) -> Option<ExitStatus> {
    loop {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(Pid::from_raw(pid)), flags) {
            Ok(WaitStatus::Exited(_, code)) => return Some(ExitStatus::from_raw(code << 8)),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                return Some(ExitStatus::from_raw(signal as i32));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => break,
        }
    }
    // Not a child of this process: only its disappearance can be seen.
    while proc::is_running(pid) {
        thread::sleep(Duration::from_millis(100));
    }
    None
}
