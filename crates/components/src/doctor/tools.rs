//! Checks of what a set-up needs and of what it made.

use std::path::Path;

use super::{Check, Verdict};
use crate::cache::{Cache, find_on_path};
use crate::go::Go;
use crate::hami::in_cache;
use crate::pins::{PINS, Pin};
use crate::setup::{corrupt_file, free_mib, missing, setup};

/// Free disk below which a run may not end well, MiB: a session's etcd, audit logs and records.
const NEEDED_DISK_MIB: u64 = 1024;

/// Checks of the components, and of what [`setup`](crate::setup) needs to build them.
pub(super) async fn checks(cache: &Cache) -> Vec<Check> {
    let absent = missing(cache);
    vec![
        components(cache, &absent).await,
        go(cache, &absent).await,
        c_compiler(cache),
        disk(cache, &absent).await,
        hami(cache).await,
    ]
}

/// Checks of programs that were built elsewhere: then nothing is needed to build any.
pub(super) async fn checks_of_supplied(cache: &Cache, folder: &Path) -> Vec<Check> {
    vec![
        supplied(cache, folder).await,
        disk(cache, &[]).await,
        hami(cache).await,
    ]
}

async fn supplied(cache: &Cache, folder: &Path) -> Check {
    const NAME: &str = "components";
    match setup(cache, Some(folder), &mut |_| {}).await {
        Ok(found) => {
            let others = crate::mismatches(&found);
            if others.is_empty() {
                let detail = format!("all in {}, the pinned versions", folder.display());
                return Check::ok(NAME, detail);
            }
            let remedy =
                "a run records what it used; compare it only with runs of the same versions";
            Check::new(NAME, Verdict::Warn, others.join("; "), remedy)
        }
        Err(error) => Check::failed(NAME, &error),
    }
}

async fn components(cache: &Cache, absent: &[&Pin]) -> Check {
    const NAME: &str = "components";
    let owned = cache.clone();
    let corrupt = tokio::task::spawn_blocking(move || corrupt_file(&owned)).await;
    if let Ok(Some(file)) = corrupt {
        let detail = format!("{} is not what was built", file.display());
        let remedy = "remove it and run `headroom setup`";
        return Check::new(NAME, Verdict::Fail, detail, remedy);
    }
    let list = |pins: &[&Pin]| {
        let named = pins
            .iter()
            .map(|it| format!("{} {}", it.name, it.version()));
        named.collect::<Vec<_>>().join(", ")
    };
    if absent.is_empty() {
        let all: Vec<_> = PINS.iter().collect();
        return Check::ok(NAME, format!("all built and intact: {}", list(&all)));
    }
    let secs: u32 = absent.iter().map(|pin| pin.typical_secs).sum();
    let detail = format!("not built yet: {}", list(absent));
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
        Err(error) if absent.is_empty() => {
            let detail = format!("not needed, all components are built ({error})");
            Check::ok(NAME, detail)
        }
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
    needed += match Go::find(cache, absent).await {
        Ok(go) => go.disk_mib(cache, absent).await,
        Err(_) => absent.iter().map(|pin| pin.build_mib).sum(),
    };
    match free_mib(cache.folder()) {
        Ok(free) => {
            let short = free < needed;
            let verdict = if short { Verdict::Fail } else { Verdict::Ok };
            let detail = format!("{free} MiB free, {needed} MiB needed");
            let remedy = "free some, or name another folder with --cache DIR";
            Check::new(NAME, verdict, detail, remedy)
        }
        Err(error) => Check::failed(NAME, &error),
    }
}

async fn hami(cache: &Cache) -> Check {
    let (found, ignored) = in_cache(cache).await;
    let (verdict, detail) = match found {
        Some((_, line)) => (Verdict::Ok, line.trim_start_matches("HAMi: ").to_owned()),
        None => (
            Verdict::Warn,
            "no real HAMi in the cache; its image is pulled if it can be, else the built-in extender stands in".to_owned(),
        ),
    };
    Check::new(
        "HAMi",
        verdict,
        detail + &ignored,
        "to measure HAMi itself, name its scheduler with --hami PATH or put it into the cache as hami/VERSION/scheduler",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::doctor::verdict;
    use crate::testing::FakeGo;

    #[tokio::test]
    async fn a_fresh_machine_is_told_what_to_do_and_a_ready_one_is_not() {
        let go = FakeGo::new("go1.99.0", "");
        let found = checks(&go.cache).await;
        assert_eq!(verdict(&found, "components"), Verdict::Warn);
        assert_eq!(verdict(&found, "Go"), Verdict::Ok);
        for check in &found {
            assert_eq!(
                check.remedy.is_none(),
                check.verdict == Verdict::Ok,
                "{check:?}"
            );
        }

        go.set_go("go1.2", "");
        assert_eq!(verdict(&checks(&go.cache).await, "Go"), Verdict::Fail);

        go.set_go("go1.99.0", "");
        setup(&go.cache, None, &mut |_| {}).await.unwrap();
        go.set_go("go1.2", "");
        let found = checks(&go.cache).await;
        assert_eq!(verdict(&found, "components"), Verdict::Ok);
        assert_eq!(
            verdict(&found, "Go"),
            Verdict::Ok,
            "Go is not needed once all is built"
        );
    }

    #[tokio::test]
    async fn a_program_changed_behind_the_stamp_is_found() {
        let go = FakeGo::new("go1.99.0", "");
        let built = setup(&go.cache, None, &mut |_| {}).await.unwrap();
        let path = &built.of[&plan::Component::Kwok].path;
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
        let found = checks(&go.cache).await;
        let check = found
            .iter()
            .find(|check| check.name == "components")
            .unwrap();
        assert_eq!(check.verdict, Verdict::Fail);
        assert!(check.detail.contains("kwok"), "{check:?}");
    }
}
