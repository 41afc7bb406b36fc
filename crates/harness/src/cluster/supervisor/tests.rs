use std::{ffi::OsStr, path::Path, process::Command};

use super::*;

fn program(dir: &Path, program: impl AsRef<OsStr>, args: &[&str]) -> Program {
    Program {
        name: "it".into(),
        path: program.as_ref().into(),
        args: args.iter().map(OsString::from).collect(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        log: dir.join("it.log"),
        stdout: None,
    }
}

/// Looks until there is something to see; far longer than any machine needs.
fn eventually<T>(look: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "it did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

fn pid_other_than(supervisor: &Supervisor, not: i32) -> Option<i32> {
    let components = supervisor.components();
    components
        .into_iter()
        .map(|(_, pid)| pid)
        .find(|&pid| pid != not)
}

#[test]
fn a_failing_program_is_restarted_at_once_and_then_held_back() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::new();
    let script = "echo x >> runs; wc -l < runs; exit 3";
    let script = format!("cd {} && {script}", dir.path().display());
    supervisor.run(program(dir.path(), "sh", &["-c", &script]));
    let exits = eventually(|| Some(supervisor.exits()).filter(|e| e.len() >= 2));
    let seen: Vec<_> = exits
        .iter()
        .map(|e| {
            (
                e.cause,
                e.code,
                e.restart_delay_secs,
                e.last_lines.join(" "),
            )
        })
        .collect();
    // Each exit quotes only what that incarnation wrote.
    let exit = |delay: f64, line: &str| (Cause::Failed, Some(3), Some(delay), line.to_owned());
    assert_eq!(seen, [exit(0.0, "1"), exit(10.0, "2")]);
    supervisor.stop();
    assert_eq!(
        supervisor.exits().len(),
        2,
        "stopping ends the waiting, too"
    );
}

#[test]
fn a_killed_program_runs_again_and_its_end_is_on_record() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::new();
    supervisor.run(program(dir.path(), "sleep", &["600"]));
    let first = eventually(|| pid_other_than(&supervisor, 0));
    proc::signal(first, Signal::SIGKILL);
    let second = eventually(|| pid_other_than(&supervisor, first));
    supervisor.stop();
    assert!(
        process::usage(second.unsigned_abs()).is_none(),
        "it is gone and reaped"
    );
    let told = |e: &Exit| (e.pid, e.cause, e.signal.clone());
    let want = [
        (first, Cause::Killed, Some("SIGKILL".into())),
        (second, Cause::Stopped, Some("SIGTERM".into())),
    ];
    assert_eq!(
        supervisor.exits().iter().map(told).collect::<Vec<_>>(),
        want
    );
}

#[test]
fn a_program_that_is_not_there_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::new();
    supervisor.run(program(dir.path(), dir.path().join("none"), &[]));
    let exits = eventually(|| Some(supervisor.exits()).filter(|e| !e.is_empty()));
    assert_eq!(exits[0].cause, Cause::NotStarted);
    assert!(exits[0].last_lines[0].contains("No such file"));
}

#[test]
fn an_adopted_process_is_watched_but_not_restarted() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::new();
    #[allow(clippy::zombie_processes)] // the supervisor waits for it, which is what is tested
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = child.id().cast_signed();
    supervisor.adopt("etcd", pid, dir.path().join("etcd.log"));
    proc::signal(pid, Signal::SIGKILL);
    let exits = eventually(|| Some(supervisor.exits()).filter(|e| !e.is_empty()));
    assert_eq!(
        (exits[0].cause, exits[0].restart_delay_secs),
        (Cause::Killed, None)
    );
    assert!(supervisor.components().is_empty());
}

#[test]
fn a_dismissed_program_stays_away_and_leaves_its_name_to_another() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::new();
    supervisor.run(program(dir.path(), "sleep", &["600"]));
    let first = eventually(|| pid_other_than(&supervisor, 0));
    supervisor.dismiss("it");
    assert_eq!(supervisor.components(), []);
    supervisor.run(program(dir.path(), "sleep", &["600"]));
    let second = eventually(|| pid_other_than(&supervisor, first));
    assert!(proc::is_running(second) && !proc::is_running(first));
    let causes: Vec<_> = supervisor.exits().iter().map(|e| e.cause).collect();
    assert_eq!(causes, [Cause::Stopped]);
    supervisor.stop();
}

#[test]
fn a_program_that_waits_for_its_next_start_can_be_dismissed() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::new();
    supervisor.run(program(dir.path(), "false", &[]));
    // After the second exit it waits for 10 s.
    eventually(|| Some(supervisor.exits()).filter(|e| e.len() >= 2));
    supervisor.dismiss("it");
    assert_eq!(supervisor.exits().len(), 2);
    assert!(supervisor.shared.lock().kept.is_empty());
}
