//! `headroom doctor`: what is missing, or will disturb a run, each with its remedy.
//!
//! Looks only: builds nothing, fixes nothing.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache::{Cache, find_on_path};
use super::error::ComponentsError;
use super::go::Go;
use super::hami::{HamiChoice, resolve_hami};
use super::pins::{PINS, Pin};
use super::setup::{corrupt_file, free_mib, missing};
use crate::machine::{self, Fingerprint};
use crate::run_folder::HamiKind;

/// etcd's own guidance: 99 % of its log's writes should be on the disk within 10 ms.
const SLOW_SYNC_MS: f64 = 10.0;

/// Free memory below which a run will swap or be killed, MiB: control plane, Kueue and HAMi use just under 1 GiB.
const NEEDED_MEMORY_MIB: u64 = 1024;

/// Free memory below which the page cache becomes short, MiB.
const AMPLE_MEMORY_MIB: u64 = 2048;

/// Free disk below which a run may not end well, MiB: a session's etcd, audit logs and records.
const NEEDED_DISK_MIB: u64 = 1024;

/// Load per core at which latencies are no longer the system's own: half of each core is taken.
const BUSY_LOAD: f64 = 0.5;

/// Open files that kube-apiserver and etcd need with some hundred watches, with room.
const NEEDED_FILES: u64 = 4096;

/// inotify instances: each component that watches its certificates or configuration takes one.
const NEEDED_INOTIFY: u64 = 64;

/// Programs of a control plane: another one that runs beside ours disturbs it.
const CONTROL_PLANE: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller"];

/// What a check found.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// A run works, but slower, or disturbed.
    Warn,
    /// A run cannot work.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was looked at, e.g. `Go`.
    pub name: String,
    /// What was found.
    pub verdict: Verdict,
    /// What was seen, with its figure.
    pub detail: String,
    /// What to do about it; empty if there is nothing to do.
    pub remedy: String,
}

impl Check {
    fn new(name: &str, verdict: Verdict, detail: impl Into<String>, remedy: &str) -> Self {
        Self {
            name: name.to_owned(),
            verdict,
            detail: detail.into(),
            remedy: if verdict == Verdict::Ok {
                String::new()
            } else {
                remedy.to_owned()
            },
        }
    }

    fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Verdict::Ok, detail, "")
    }

    fn failed(name: &str, error: &ComponentsError) -> Self {
        Self::new(
            name,
            Verdict::Fail,
            error.to_string(),
            "as the message says",
        )
    }
}

/// Checks the cache in `cache` (or the default one), the tools and the machine. Takes a few seconds: it reads every cached
/// program to compare its checksum, and measures the disk.
pub async fn doctor(cache: Option<&Path>) -> Vec<Check> {
    let mut checks = Vec::new();
    match Cache::open(cache) {
        Ok(cache) => {
            checks.push(Check::ok("cache", cache.folder().display().to_string()));
            checks.extend(tools(&cache).await);
            checks.extend(machine_checks(&machine::fingerprint(cache.folder())));
        }
        Err(error) => {
            checks.push(Check::failed("cache", &error));
            checks.extend(machine_checks(&machine::fingerprint(&std::env::temp_dir())));
        }
    }
    checks.extend([open_files(), inotify(), loopback(), other_control_planes()]);
    checks
}

/// Checks of what [`super::setup`] needs and made.
pub(crate) async fn tools(cache: &Cache) -> Vec<Check> {
    let absent = missing(cache);
    vec![
        components(cache, &absent).await,
        go(cache, &absent).await,
        c_compiler(cache),
        disk(cache, &absent).await,
        hami(cache).await,
    ]
}

async fn components(cache: &Cache, absent: &[&Pin]) -> Check {
    const NAME: &str = "components";
    let owned = cache.clone();
    let corrupt = tokio::task::spawn_blocking(move || corrupt_file(&owned)).await;
    if let Ok(Some(file)) = corrupt {
        let detail = format!("{} is not what was built", file.display());
        return Check::new(
            NAME,
            Verdict::Fail,
            detail,
            "remove it and run `headroom setup`",
        );
    }
    let list = |pins: &mut dyn Iterator<Item = &Pin>| {
        pins.map(|pin| format!("{} {}", pin.name, pin.version()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if absent.is_empty() {
        return Check::ok(
            NAME,
            format!("all built and intact: {}", list(&mut PINS.iter())),
        );
    }
    let secs: u32 = absent.iter().map(|pin| pin.typical_secs).sum();
    let detail = format!("not built yet: {}", list(&mut absent.iter().copied()));
    let remedy = format!(
        "`headroom setup` builds them (about {secs} s on two cores), or the first `headroom bench` does"
    );
    Check::new(NAME, Verdict::Warn, detail, &remedy)
}

async fn go(cache: &Cache, absent: &[&Pin]) -> Check {
    const NAME: &str = "Go";
    let all: Vec<_> = PINS.iter().collect();
    match Go::find(cache, &all).await {
        Ok(go) => Check::ok(NAME, go.version),
        Err(error) if absent.is_empty() => Check::ok(
            NAME,
            format!("not needed, all components are built ({error})"),
        ),
        Err(error) => Check::failed(NAME, &error),
    }
}

fn c_compiler(cache: &Cache) -> Check {
    const NAME: &str = "C compiler";
    match find_on_path("cc", cache.search_path()) {
        Some(path) => Check::ok(NAME, path.display().to_string()),
        None => Check::new(
            NAME,
            Verdict::Warn,
            "no cc on PATH; components are built without one",
            "needed only to build headroom itself: install gcc or clang",
        ),
    }
}

async fn disk(cache: &Cache, absent: &[&Pin]) -> Check {
    const NAME: &str = "free disk";
    let mut needed = NEEDED_DISK_MIB;
    needed += absent.iter().map(|pin| pin.build_mib).sum::<u64>();
    if let Ok(go) = Go::find(cache, absent).await {
        for pin in absent {
            if !go.has_module(cache, pin).await {
                needed += pin.download_mib;
            }
        }
    }
    match free_mib(cache.folder()) {
        Ok(free) => Check::new(
            NAME,
            if free < needed {
                Verdict::Fail
            } else {
                Verdict::Ok
            },
            format!("{free} MiB free, {needed} MiB needed"),
            "free some, or name another folder with --cache DIR",
        ),
        Err(error) => Check::failed(NAME, &error),
    }
}

async fn hami(cache: &Cache) -> Check {
    match resolve_hami(&HamiChoice::Auto, cache).await {
        Ok((hami, line)) => Check::new(
            "HAMi",
            if hami.source.source == HamiKind::Builtin {
                Verdict::Warn
            } else {
                Verdict::Ok
            },
            line.trim_start_matches("HAMi: "),
            "to measure HAMi itself, name its scheduler with --hami PATH or put it into the cache as hami/VERSION/scheduler",
        ),
        Err(error) => Check::failed("HAMi", &error),
    }
}

/// Checks of the machine's size and state.
fn machine_checks(machine: &Fingerprint) -> Vec<Check> {
    let mut checks = vec![
        Check::new(
            "CPU",
            if machine.cores < 2 {
                Verdict::Warn
            } else {
                Verdict::Ok
            },
            format!("{} × {}", machine.cores, machine.cpu),
            "use a machine with two cores or more: on one, harness and control plane wait for each other",
        ),
        Check::new(
            "memory",
            match machine.available_mib {
                free if free < NEEDED_MEMORY_MIB => Verdict::Fail,
                free if free < AMPLE_MEMORY_MIB => Verdict::Warn,
                _ => Verdict::Ok,
            },
            format!(
                "{} MiB available of {}",
                machine.available_mib, machine.memory_mib
            ),
            "end other programs: a control plane with Kueue and HAMi takes about 1 GiB",
        ),
    ];
    checks.extend(machine.load.map(|[load, ..]| {
        let busy = load > BUSY_LOAD * f64::from(machine.cores);
        Check::new(
            "load",
            if busy { Verdict::Warn } else { Verdict::Ok },
            format!("{load:.2} on {} cores over the last minute", machine.cores),
            "wait, or end what is running: latencies would be the machine's, not the system's",
        )
    }));
    checks.push(match &machine.disk {
        Some(disk) => {
            // With fewer samples than a percentile needs, the disk is slow beyond doubt: the slowest stands for it.
            let p99 = disk.p99_ms.unwrap_or(disk.max_ms);
            Check::new(
                "disk sync",
                if p99 > SLOW_SYNC_MS { Verdict::Warn } else { Verdict::Ok },
                format!("p50 {:.1} ms, p99 {p99:.1} ms ({} writes)", disk.p50_ms, disk.writes),
                "use a faster disk (--cache DIR, --out DIR): etcd wants 99 % within 10 ms, or Leases are lost",
            )
        }
        None => Check::new("disk sync", Verdict::Warn, "could not be measured", "see the check of the cache"),
    });
    checks
}

fn open_files() -> Check {
    let limit = fs::read_to_string("/proc/self/limits")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("Max open files"))?;
            // Soft and hard; Go programs raise the soft one to the hard one by themselves.
            line.split_whitespace().nth(1)?.parse().ok()
        });
    limit_check(
        "open files",
        limit,
        NEEDED_FILES,
        "raise it with `ulimit -Hn` or in limits.conf",
    )
}

fn inotify() -> Check {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances")
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let remedy = "raise it: sysctl fs.inotify.max_user_instances=512";
    limit_check("inotify instances", limit, NEEDED_INOTIFY, remedy)
}

/// A limit that is `unlimited` or cannot be read does not hinder.
fn limit_check(name: &str, limit: Option<u64>, needed: u64, remedy: &str) -> Check {
    let detail = limit.map_or("no limit".to_owned(), |limit| format!("{limit} allowed"));
    let short = limit.is_some_and(|limit| limit < needed);
    let verdict = if short { Verdict::Warn } else { Verdict::Ok };
    Check::new(
        name,
        verdict,
        detail,
        &format!("{remedy} (at least {needed})"),
    )
}

fn loopback() -> Check {
    match TcpListener::bind(("127.0.0.1", 0)) {
        Ok(_) => Check::ok("loopback", "127.0.0.1 has free ports"),
        Err(error) => Check::new(
            "loopback",
            Verdict::Fail,
            format!("no port can be opened on 127.0.0.1: {error}"),
            "bring the loopback interface up: ip link set lo up",
        ),
    }
}

fn other_control_planes() -> Check {
    const NAME: &str = "other control planes";
    let running: Vec<_> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("comm")).ok())
        // The kernel cuts a name after 15 bytes.
        .filter(|name| {
            CONTROL_PLANE
                .iter()
                .any(|part| name.trim().starts_with(part))
        })
        .map(|name| name.trim().to_owned())
        .collect();
    if running.is_empty() {
        return Check::ok(NAME, "none running");
    }
    Check::new(
        NAME,
        Verdict::Warn,
        format!("running: {}", running.join(", ")),
        "end them before measuring (`headroom status` shows kept clusters, `headroom down` ends one)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::setup;
    use crate::components::testing::FakeGo;

    fn verdict(checks: &[Check], name: &str) -> Verdict {
        checks
            .iter()
            .find(|check| check.name == name)
            .unwrap()
            .verdict
    }

    #[tokio::test]
    async fn a_fresh_machine_is_told_what_to_do_and_a_ready_one_is_not() {
        let go = FakeGo::new("go1.99.0", "");
        let checks = tools(&go.cache).await;
        assert_eq!(verdict(&checks, "components"), Verdict::Warn);
        assert_eq!(verdict(&checks, "Go"), Verdict::Ok);
        for check in &checks {
            assert_eq!(
                check.remedy.is_empty(),
                check.verdict == Verdict::Ok,
                "{check:?}"
            );
        }

        go.set_go("go1.2", "");
        assert_eq!(verdict(&tools(&go.cache).await, "Go"), Verdict::Fail);

        go.set_go("go1.99.0", "");
        setup(&go.cache, None, &mut |_| {}).await.unwrap();
        go.set_go("go1.2", "");
        let checks = tools(&go.cache).await;
        assert_eq!(verdict(&checks, "components"), Verdict::Ok);
        assert_eq!(
            verdict(&checks, "Go"),
            Verdict::Ok,
            "Go is not needed once all is built"
        );
    }

    #[tokio::test]
    async fn a_program_changed_behind_the_stamp_is_found() {
        let go = FakeGo::new("go1.99.0", "");
        let built = setup(&go.cache, None, &mut |_| {}).await.unwrap();
        let path = &built.kwok.path;
        let modified = fs::metadata(path).unwrap().modified().unwrap();
        let mut content = fs::read(path).unwrap();
        let last = content.len() - 2;
        content[last] ^= 1;
        fs::write(path, content).unwrap();
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(modified)
            .unwrap();
        let checks = tools(&go.cache).await;
        let check = checks
            .iter()
            .find(|check| check.name == "components")
            .unwrap();
        assert_eq!(check.verdict, Verdict::Fail);
        assert!(check.detail.contains("kwok"), "{check:?}");
    }

    #[test]
    fn a_small_busy_machine_with_a_slow_disk_is_warned_about() {
        let good = Fingerprint {
            cpu: "a CPU".to_owned(),
            cores: 4,
            memory_mib: 8192,
            available_mib: 6000,
            kernel: String::new(),
            os: String::new(),
            load: Some([0.4, 0.0, 0.0]),
            disk: Some(machine::DiskSync {
                writes: 100,
                p50_ms: 0.5,
                p99_ms: Some(2.0),
                max_ms: 4.0,
            }),
        };
        assert!(
            machine_checks(&good)
                .iter()
                .all(|check| check.verdict == Verdict::Ok)
        );
        let bad = Fingerprint {
            cores: 1,
            available_mib: 700,
            load: Some([3.0, 0.0, 0.0]),
            disk: Some(machine::DiskSync {
                writes: 20,
                p50_ms: 90.0,
                p99_ms: None,
                max_ms: 300.0,
            }),
            ..good
        };
        let checks = machine_checks(&bad);
        assert_eq!(verdict(&checks, "CPU"), Verdict::Warn);
        assert_eq!(verdict(&checks, "memory"), Verdict::Fail);
        assert_eq!(verdict(&checks, "load"), Verdict::Warn);
        assert_eq!(verdict(&checks, "disk sync"), Verdict::Warn);
    }

    #[test]
    fn limits_are_compared_and_no_limit_is_fine() {
        assert_eq!(
            limit_check("x", Some(1024), 4096, "raise").verdict,
            Verdict::Warn
        );
        assert_eq!(
            limit_check("x", Some(4096), 4096, "raise").verdict,
            Verdict::Ok
        );
        assert_eq!(limit_check("x", None, 4096, "raise").verdict, Verdict::Ok);
    }
}
