//! Set-up with a Go compiler that compiles nothing.

use std::sync::{Arc, Mutex};

use super::*;
use crate::child;
use crate::testing::FakeGo;
use host::usage::UserError as _;
use plan::Component;

/// Something done to a cache.
type Damage<'a> = Box<dyn Fn() + 'a>;

async fn quiet(go: &FakeGo) -> Result<Programs, ComponentsError> {
    setup(&go.cache, None, &mut |_| {}).await
}

fn exists(go: &FakeGo, path: &str) -> bool {
    go.cache.folder().join(path).exists()
}

/// Nothing half-made may be left, whatever happened.
fn assert_nothing_half_made(go: &FakeGo) {
    for path in ["build/work", "build/tmp", "build/builder"] {
        assert!(!exists(go, path), "{path} was left");
    }
    for pin in &PINS {
        let folder = folder_of(&go.cache, pin);
        assert!(
            !folder.exists() || stamp_of(&go.cache, pin).is_some(),
            "{} is half-made",
            folder.display()
        );
    }
}

/// Waits for something that another task or process does.
async fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn builds_each_module_once_and_keeps_only_what_runs_need() {
    let go = FakeGo::new("go1.99.0", "");
    let mut news = Vec::new();
    let components = setup(&go.cache, None, &mut |progress| news.push(progress))
        .await
        .unwrap();

    assert_eq!(go.builds().len(), PINS.len());
    assert_eq!(components.of.len(), 7);
    assert_eq!(crate::mismatches(&components), [""; 0]);
    for program in components.of.values() {
        assert_eq!(
            program.sha256,
            crate::stamp::sha256_of(&program.path).unwrap()
        );
    }
    // Two CRDs and the webhook configurations.
    let manifests = supplied::manifest_files(&components.kueue_manifests);
    assert_eq!(manifests.unwrap().len(), 3);
    assert!(
        !components
            .kueue_manifests
            .join("crd/kustomization.yaml")
            .exists()
    );
    assert!(!exists(&go, "build"), "the build cache was left");

    let lines: Vec<_> = news.iter().map(ToString::to_string).collect();
    assert!(
        lines[0].starts_with("building etcd v") && lines[0].contains("(1 of 4"),
        "{lines:?}"
    );
    let [.., built, removing] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert!(built.starts_with("built kueue v"), "{lines:?}");
    assert_eq!(removing, "removing the build cache");

    let env = fs::read_to_string(go.folder.path().join("env")).unwrap();
    for set in [
        "CGO_ENABLED=0",
        "GOFLAGS=-mod=readonly",
        "GOTOOLCHAIN=local",
        "GOWORK=off",
    ] {
        assert!(env.lines().any(|line| line == set), "{set} not in {env}");
    }
    let private = format!("GOCACHE={}/build/gocache", go.cache.folder().display());
    assert!(env.lines().any(|line| line == private), "{env}");
}

#[tokio::test]
async fn a_second_set_up_asks_nothing_of_go() {
    let go = FakeGo::new("go1.99.0", "");
    let first = quiet(&go).await.unwrap();
    // Not even its version: the machine of a warm cache needs no Go.
    fs::remove_file(go.folder.path().join("bin/go")).unwrap();
    let without = go.cache.clone().with_path("");
    let second = setup(&without, None, &mut |progress| panic!("{progress}"))
        .await
        .unwrap();
    assert_eq!(first, second);
    assert!(estimate(&without).0.is_empty());
}

#[tokio::test]
async fn what_is_damaged_is_built_again_and_nothing_else() {
    let go = FakeGo::new("go1.99.0", "");
    let built = quiet(&go).await.unwrap();
    let place =
        |name: &str| folder_of(&go.cache, PINS.iter().find(|pin| pin.name == name).unwrap());
    let path = |component| &built.of[&component].path;
    let recipe = place("kubernetes").join("stamp.json");
    let damages: [(&str, Damage); 7] = [
        (
            "kwok",
            Box::new(|| fs::write(path(Component::Kwok), "#!/bin/sh\n").unwrap()),
        ),
        (
            "kwok",
            Box::new(|| {
                let text = fs::read_to_string(path(Component::Kwokctl)).unwrap();
                fs::write(path(Component::Kwokctl), text.replace("echo", "true")).unwrap();
            }),
        ),
        (
            "etcd",
            Box::new(|| fs::remove_file(path(Component::Etcd)).unwrap()),
        ),
        (
            "kueue",
            Box::new(|| fs::remove_file(built.kueue_manifests.join(supplied::WEBHOOKS)).unwrap()),
        ),
        (
            "kubernetes",
            Box::new(|| {
                let stamp = fs::read_to_string(&recipe)
                    .unwrap()
                    .replace("-trimpath", "-race");
                fs::write(&recipe, stamp).unwrap();
            }),
        ),
        (
            "kwok",
            Box::new(|| fs::write(place("kwok").join("stamp.json"), "{ cut sho").unwrap()),
        ),
        (
            "etcd",
            Box::new(|| {
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(path(Component::Etcd), fs::Permissions::from_mode(0o644))
                    .unwrap();
            }),
        ),
    ];
    for (name, damage) in damages {
        let before = go.builds().len();
        damage();
        let rebuilt = quiet(&go).await.unwrap();
        let builds = go.builds();
        assert_eq!(builds.len(), before + 1, "damage to {name}");
        assert!(
            builds[before].contains(&format!("/{name}")),
            "damage to {name}: {builds:?}"
        );
        assert_eq!(rebuilt, built);
        assert_nothing_half_made(&go);
    }
}

#[tokio::test]
async fn a_cache_that_was_copied_elsewhere_is_used_as_it_is() {
    let go = FakeGo::new("go1.99.0", "");
    let built = quiet(&go).await.unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for binary in built.of.values() {
        let file = fs::File::options().write(true).open(&binary.path).unwrap();
        file.set_modified(time).unwrap();
    }
    assert_eq!(quiet(&go).await.unwrap(), built);
    assert_eq!(go.builds().len(), PINS.len());
    // Read once, not each time.
    let stamp = Stamp::read(&folder_of(&go.cache, &PINS[0])).unwrap();
    assert_eq!(stamp.files[0].mtime_ns, 1_000_000_000 * 1_000_000_000);
}

#[tokio::test]
async fn of_two_at_once_the_second_waits_says_so_and_builds_nothing() {
    // The first is held at etcd until the second has said that it waits.
    let go = FakeGo::new(
        "go1.99.0",
        "while [ ! -e ../../../../go_on ]; do sleep 0.01; done",
    );
    let waited = Arc::new(Mutex::new(Vec::new()));
    let (first, second) = tokio::join!(quiet(&go), async {
        until(|| !go.builds().is_empty()).await;
        setup(&go.cache, None, &mut |progress| {
            waited.lock().unwrap().push(progress);
            fs::write(go.cache.folder().join("go_on"), "").unwrap();
        })
        .await
    });
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(go.builds().len(), PINS.len());
    let holder = Some(std::process::id());
    assert_eq!(*waited.lock().unwrap(), [Progress::Waiting { holder }]);
}

#[tokio::test]
async fn an_interrupted_set_up_leaves_no_process_and_nothing_half_made_and_goes_on_later() {
    let stuck = r#"case $packages in *kwok*) echo half > "$out/kwok"; sleep 600 & echo $$ $! > ../../../../stuck; wait ;; esac"#;
    let go = FakeGo::new("go1.99.0", stuck);
    let note = go.cache.folder().join("stuck");
    let pids = || -> Option<Vec<i32>> {
        let text = fs::read_to_string(&note).ok()?;
        let pids: Vec<_> = text
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect();
        (pids.len() == 2).then_some(pids)
    };
    tokio::select! {
        _ = quiet(&go) => panic!("the build should not have ended"),
        () = until(|| pids().is_some()) => {}
    }
    for pid in pids().unwrap() {
        assert!(!child::runs(pid), "{pid} still runs");
    }
    assert_nothing_half_made(&go);
    assert!(
        exists(&go, "build/gocache"),
        "what Go has compiled is worth keeping"
    );
    assert_eq!(estimate(&go.cache).0, ["kwok", "kueue"]);

    go.set_go("go1.99.0", "");
    quiet(&go).await.unwrap();
    assert_eq!(go.builds().len(), PINS.len() + 1);
    assert!(!exists(&go, "build"));
}

#[tokio::test]
async fn the_builder_is_noted_for_whoever_comes_after_a_kill() {
    let go = FakeGo::new("go1.99.0", "echo $$ > ../../../../pid; sleep 600");
    let read = |path: &str| fs::read_to_string(go.cache.folder().join(path)).unwrap_or_default();
    tokio::select! {
        _ = quiet(&go) => panic!("the build should not have ended"),
        () = until(|| {
            let (pid, noted) = (read("pid"), read("build/builder"));
            !pid.trim().is_empty() && noted.starts_with(&format!("{} ", pid.trim()))
        }) => {}
    }
}

#[tokio::test]
async fn an_unusable_go_is_one_clear_usage_error_before_anything_is_made() {
    let go = FakeGo::new("go1.22.1", "");
    let error = quiet(&go).await.unwrap_err();
    let needed = PINS.iter().map(Pin::go_needed).max().unwrap().to_string();
    assert!(matches!(error, ComponentsError::GoTooOld { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("go1.22.1") && text.contains(&needed) && text.contains("--components DIR"),
        "{text}"
    );

    let none = setup(&go.cache.clone().with_path(""), None, &mut |_| {})
        .await
        .unwrap_err();
    assert!(matches!(none, ComponentsError::NoGo { .. }), "{none}");

    crate::testing::script(&go.folder.path().join("bin/go"), "echo gotcha");
    let other = quiet(&go).await.unwrap_err();
    assert!(matches!(other, ComponentsError::BadGo { .. }), "{other}");

    for error in [error, none, other] {
        assert!(
            error.is_usage() && !error.to_string().contains('\n'),
            "{error}"
        );
    }
    assert!(go.builds().is_empty());
    assert!(!exists(&go, "build") && !exists(&go, "components"));
}

#[tokio::test]
async fn a_build_that_fails_shows_why_and_keeps_what_was_done() {
    let go = FakeGo::new(
        "go1.99.0",
        "case $packages in *kwok*) echo cannot compile this >&2; exit 1 ;; esac",
    );
    let error = quiet(&go).await.unwrap_err();
    assert!(!error.is_usage());
    let text = error.to_string();
    assert!(
        text.contains("kwok") && text.ends_with("cannot compile this"),
        "{text}"
    );
    assert!(exists(&go, "logs/build-kwok.log"));
    assert_eq!(estimate(&go.cache).0, ["kwok", "kueue"]);
    assert_nothing_half_made(&go);
}

#[tokio::test]
async fn a_program_that_was_not_told_its_version_is_not_cached() {
    // The fake reads the version from go.mod in its working folder.
    let go = FakeGo::new("go1.99.0", "cd /");
    let error = quiet(&go).await.unwrap_err();
    assert!(
        matches!(error, ComponentsError::WrongBuild { .. }),
        "{error}"
    );
    assert_eq!(estimate(&go.cache).0.len(), PINS.len());
    assert_nothing_half_made(&go);
}

#[test]
fn a_disk_without_room_is_a_usage_error_that_says_how_much_is_needed() {
    let go = FakeGo::new("go1.99.0", "");
    fs::create_dir_all(go.cache.build().join("gocache")).unwrap();
    check_disk(&go.cache, 1).unwrap();
    assert!(exists(&go, "build/gocache"));
    let error = check_disk(&go.cache, u64::MAX).unwrap_err();
    assert!(error.is_usage());
    assert!(
        error
            .to_string()
            .contains(&format!("needs {} MiB", u64::MAX)),
        "{error}"
    );
    assert!(
        !exists(&go, "build/gocache"),
        "an interrupted build's cache could have made room"
    );
}
