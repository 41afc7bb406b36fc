use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::*;

/// A process that would outlive the test by far, marked as the cluster's, and ended with the test.
struct Sleeper(Child);

impl Sleeper {
    fn of(dir: &Path) -> Self {
        Self::running(Command::new("sleep").arg("600"), dir)
    }

    fn running(command: &mut Command, dir: &Path) -> Self {
        let child = command
            .env(proc::SESSION_ENV, dir)
            .env(proc::COMPONENT_ENV, plan::Component::Kueue.name())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    /// Whether it still runs. The removal of a cluster reaps its processes, so that there may be no child to ask for.
    fn is_alive(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|status| status.is_none())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        if self.is_alive() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// What a `kill -9` of the owner leaves: the folder and the processes, without the lock.
fn abandon(mut state: StateDir) -> PathBuf {
    state.lock = None;
    state.dir.clone()
}

#[test]
fn what_a_killed_owner_left_is_cleared_and_nothing_else_is_touched() {
    let root = tempfile::tempdir().unwrap();
    let live = StateDir::create(root.path()).unwrap();
    let kept = StateDir::create(root.path()).unwrap();
    let (live_dir, kept_dir) = (live.dir().to_owned(), kept.dir().to_owned());
    kept.keep().unwrap();
    let dead_dir = abandon(StateDir::create(root.path()).unwrap());
    let mut of_live = Sleeper::of(&live_dir);
    let mut of_kept = Sleeper::of(&kept_dir);
    let mut of_dead = Sleeper::of(&dead_dir);
    // A folder whose name begins like a leftover's is not that leftover.
    let mut of_other = Sleeper::of(&dead_dir.with_file_name("other"));

    let cleared = clear_leftovers(root.path()).unwrap();

    assert_eq!(cleared, [dead_dir.file_name().unwrap().to_str().unwrap()]);
    assert!(!dead_dir.exists() && live_dir.exists() && kept_dir.exists());
    assert!(!of_dead.is_alive());
    assert!(of_live.is_alive() && of_kept.is_alive() && of_other.is_alive());
}

#[test]
fn a_dropped_folder_takes_even_a_stubborn_process_with_it() {
    let root = tempfile::tempdir().unwrap();
    let state = StateDir::create(root.path()).unwrap();
    let dir = state.dir().to_owned();
    fs::create_dir(dir.join("etcd")).unwrap();
    let script = "trap '' TERM; touch ready; while :; do sleep 1; done";
    let mut command = Command::new("sh");
    let mut stubborn = Sleeper::running(command.args(["-c", script]).current_dir(&dir), &dir);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !dir.join("ready").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }

    drop(state);

    assert!(!dir.exists());
    assert!(!stubborn.is_alive());
    assert!(proc::owned(&dir).is_empty());
}

#[test]
fn the_list_tells_live_from_kept_and_dead_components_from_running_ones() {
    let root = tempfile::tempdir().unwrap();
    let live = StateDir::create(root.path()).unwrap();
    let kept = StateDir::create(root.path()).unwrap();
    let kueue = Sleeper::of(kept.dir());
    kept.keep().unwrap();

    let states = list(root.path()).unwrap();

    let seen: Vec<_> = states.iter().map(|s| (s.live, s.kept)).collect();
    assert_eq!(seen, [(true, false), (false, true)]);
    assert_eq!(states[0].owner_pid, Some(std::process::id()));
    let running: Vec<_> = states[1]
        .components
        .iter()
        .filter_map(|(name, pid)| Some((name.as_str(), (*pid)?)))
        .collect();
    assert_eq!(running, [("kueue", kueue.0.id().cast_signed())]);
    drop(live);
}

#[test]
fn down_takes_kept_clusters_and_refuses_live_ones() {
    let root = tempfile::tempdir().unwrap();
    let live = StateDir::create(root.path()).unwrap();
    let kept = StateDir::create(root.path()).unwrap();
    let kept_id = kept.id().to_owned();
    let mut of_kept = Sleeper::of(kept.dir());
    kept.keep().unwrap();

    assert!(matches!(
        down(root.path(), Some(live.id())),
        Err(ClusterError::InUse { pid, .. }) if pid == std::process::id()
    ));
    assert!(matches!(
        down(root.path(), Some("no-such")),
        Err(ClusterError::Unknown { .. })
    ));
    assert_eq!(down(root.path(), None).unwrap(), [kept_id]);
    assert!(!of_kept.is_alive());
    assert_eq!(list(root.path()).unwrap().len(), 1);
}

#[test]
fn two_clusters_are_never_given_the_same_port() {
    let root = tempfile::tempdir().unwrap();
    let one = StateDir::create(root.path()).unwrap();
    let two = StateDir::create(root.path()).unwrap();
    let mut all = BTreeSet::new();
    let mut given = 0;
    for state in [&one, &two] {
        let ports = state.ports(500).unwrap();
        given += ports.len();
        all.extend(ports);
    }
    assert_eq!(all.len(), given);
}

/// A folder under `root` that looks like an abandoned cluster's, but for what `change` does to it.
fn alike(root: &Path, change: impl Fn(&Path)) -> PathBuf {
    let dir = abandon(StateDir::create(root).unwrap());
    fs::write(dir.join("precious"), "data").unwrap();
    change(&dir);
    dir
}

#[test]
fn what_is_not_proven_to_be_a_cluster_s_own_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = |dir: &Path| dir.join("precious").exists();
    // Another's folder, linked to under the name of a cluster. Its lock was made in all honesty.
    let linked = alike(elsewhere.path(), |_| {});
    let link = root.path().join("20260101T000000-1-000");
    std::os::unix::fs::symlink(&linked, &link).unwrap();
    let on_another_host = alike(root.path(), |dir| {
        fs::write(dir.join(LOCK), format!("1\n{MARKER} 0000\n")).unwrap();
    });
    let without_marker = alike(root.path(), |dir| fs::write(dir.join(LOCK), "1").unwrap());
    let by_another_name = root.path().join("thesis");
    fs::rename(alike(root.path(), |_| {}), &by_another_name).unwrap();
    let own = alike(root.path(), |_| {});

    let cleared = clear_leftovers(root.path()).unwrap();

    assert_eq!(cleared, [own.file_name().unwrap().to_str().unwrap()]);
    assert!(!own.exists() && link.is_symlink());
    for dir in [&linked, &on_another_host, &without_marker, &by_another_name] {
        assert!(precious(dir), "{}", dir.display());
    }
    assert_eq!(list(root.path()).unwrap(), []);
}

#[test]
fn nobody_else_can_look_into_a_cluster_s_folder() {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    let root = tempfile::tempdir().unwrap();
    let state = StateDir::create(root.path()).unwrap();
    fs::write(state.dir().join("kubeconfig"), "full rights").unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mode = state.dir().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // Only root can try it as somebody else.
    if geteuid().is_root() {
        let mut cat = Command::new("cat");
        let read = cat
            .arg(state.dir().join("kubeconfig"))
            .uid(65534)
            .gid(65534)
            .output()
            .unwrap();
        assert!(!read.status.success() && read.stdout.is_empty());
    }
}

#[test]
fn an_id_has_one_form() {
    assert!(is_id("20260101T000000-4711-000"));
    for other in [
        "thesis",
        "20260101T000000-4711",
        "20260101-4711-000",
        "20260101T000000-x-000",
        "..",
        "",
    ] {
        assert!(!is_id(other), "{other}");
    }
}
