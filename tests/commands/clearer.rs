//! The node clearer where there is no cluster to be had, as a program.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{HEADROOM, messages};

/// How long something that takes a moment is waited for before it is called hanging.
const PATIENCE: Duration = Duration::from_mins(1);

/// A kubeconfig for an API server at that port.
fn kubeconfig(folder: &Path, port: u16) -> PathBuf {
    let path = folder.join("kubeconfig");
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{{"name": "c", "cluster": {{"server": "http://127.0.0.1:{port}"}}}}],
            "users": [{{"name": "u", "user": {{}}}}],
            "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}]}}"#
    );
    std::fs::write(&path, text).expect("a kubeconfig");
    path
}

fn clearer(kubeconfig: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(HEADROOM);
    command
        .args(["clearer", "--scope", "gpu=on", "--allow", "vision"])
        .args(more)
        .env("KUBECONFIG", kubeconfig)
        .env_remove("HEADROOM_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Sends a signal and returns the exit code.
fn ended_by(mut child: Child, signal: Signal) -> Option<i32> {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(pid, signal).expect("it still runs");
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return status.code();
        }
        if begun.elapsed() > PATIENCE {
            child.kill().expect("it still runs");
            panic!("{signal} is not heard");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_first_signal_ends_it_while_the_api_server_is_dead_and_it_says_once_what_it_waits_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A port at which nobody listens: it was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|l| l.local_addr())
        .expect("a free port")
        .port();
    let config = kubeconfig(folder.path(), port);
    for (signal, more, code) in [
        (Signal::SIGTERM, &[][..], 0),
        (Signal::SIGINT, &[], 0),
        (Signal::SIGTERM, &["--put-back-all"], 130),
    ] {
        let mut child = clearer(&config, more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("headroom starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let first = said
            .next()
            .expect("it says what it waits for")
            .expect("text");
        assert!(
            first.contains(&format!("http://127.0.0.1:{port}")),
            "{first}"
        );
        // Its watches try again about each second at first.
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(ended_by(child, signal), Some(code), "{more:?}");
        let rest: Vec<String> = said.map_while(Result::ok).collect();
        assert_eq!(rest, Vec::<String>::new());
    }
}

#[test]
fn a_standard_error_that_cannot_be_written_is_no_reason_to_die() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("its address").port();
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let child = clearer(&kubeconfig(folder.path(), port), &[])
        .stderr(full)
        .spawn()
        .expect("headroom starts");
    // Hung up on so often, its watches have complained.
    for _ in 0..8 {
        drop(server.accept().expect("it calls"));
    }
    assert_eq!(ended_by(child, Signal::SIGTERM), Some(0));
}

#[test]
fn a_kubeconfig_that_is_none_is_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kubeconfig");
    for garbage in [
        "\u{1}\u{2}: [",
        "a: [1, 2\nb: }\n",
        "hello",
        "clusters: 7\n",
        "",
    ] {
        std::fs::write(&path, garbage).expect("a file");
        let output = clearer(&path, &[]).output().expect("headroom starts");
        let text = messages(&output);
        assert_eq!(output.status.code(), Some(1), "{garbage:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{garbage:?}: {text}");
        assert!(text.contains(&path.display().to_string()), "{text}");
    }
}
