//! Which HAMi is taken, with scripts that play the schedulers.

use super::*;
use crate::testing::script;
use host::usage::UserError as _;

struct Bed {
    folder: tempfile::TempDir,
    cache: Cache,
}

fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
    Bed { folder, cache }
}

impl Bed {
    async fn resolve(&self, choice: &str) -> Result<(Hami, String), ComponentsError> {
        // Nothing listens on port 1, as on a machine without network.
        let registry = "127.0.0.1:1".parse().unwrap();
        resolve_hami(&choice.parse().unwrap(), &registry, &self.cache, &|_| ()).await
    }

    async fn refusal(&self, path: &Path) -> String {
        let error = self.resolve(path.to_str().unwrap()).await.unwrap_err();
        assert!(error.is_usage());
        let text = error.to_string();
        assert!(
            !text.contains('\n') && text.starts_with("--hami "),
            "{text}"
        );
        text
    }

    fn cached(&self, name: &str, body: &str) {
        let folder = self.cache.hami_folder().join(name);
        fs::create_dir_all(&folder).unwrap();
        script(&folder.join("scheduler"), body);
    }
}

#[tokio::test]
async fn a_path_that_is_no_program_is_one_clear_usage_error() {
    let bed = bed();
    let at = |name: &str| bed.folder.path().join(name);
    assert!(
        bed.refusal(&at("bultin"))
            .await
            .contains("accepted: auto, builtin")
    );
    assert!(bed.refusal(bed.folder.path()).await.contains("a folder"));
    fs::write(at("notes.txt"), "HAMi is a scheduler").unwrap();
    assert!(
        bed.refusal(&at("notes.txt"))
            .await
            .contains("not a program")
    );
    fs::write(at("empty"), "").unwrap();
    assert!(bed.refusal(&at("empty")).await.contains("not a program"));
    fs::write(at("script"), "#!/bin/sh\n").unwrap();
    assert!(bed.refusal(&at("script")).await.contains("chmod +x"));
    script(&at("foreign"), "");
    fs::write(at("foreign"), b"\x7fELF, but cut short").unwrap();
    assert!(
        bed.refusal(&at("foreign"))
            .await
            .contains("cannot be started here")
    );
    script(
        &at("unlinked"),
        "echo 'error while loading shared libraries: libx.so' >&2; exit 127",
    );
    assert!(bed.refusal(&at("unlinked")).await.contains("libx.so"));
}

#[tokio::test]
async fn a_real_one_is_known_by_version_and_checksum() {
    let bed = bed();
    let path = script(
        &bed.folder.path().join("h"),
        r#"[ "$*" = version ] && echo "version:   v2.10.0""#,
    );
    let (hami, line) = bed.resolve(path.to_str().unwrap()).await.unwrap();
    assert_eq!(hami.source.source, HamiKind::Binary);
    assert_eq!(hami.source.version, "v2.10.0");
    assert_eq!(hami.source.sha256, sha256_of(&path).unwrap());
    assert!(hami.leading_args.is_empty());
    assert!(
        line.contains("real HAMi v2.10.0") && !line.contains('\n'),
        "{line}"
    );

    let silent = script(&bed.folder.path().join("silent"), "exit 1");
    let (hami, _) = bed.resolve(silent.to_str().unwrap()).await.unwrap();
    assert_eq!(hami.source.version, "unknown");
}

#[tokio::test]
async fn auto_takes_the_newest_in_the_cache_and_says_why() {
    let bed = bed();
    let (hami, line) = bed.resolve("auto").await.unwrap();
    assert_eq!(hami.source.source, HamiKind::Builtin);
    assert!(
        line.contains("not HAMi itself")
            && line.contains("no real one in")
            && line.contains("127.0.0.1:1"),
        "{line}"
    );

    bed.cached("a", "echo version: v2.9.0");
    bed.cached("b", "echo version: v2.10.0");
    bed.cached("v2.8.0", "exit 1");
    let broken = bed.cache.hami_folder().join("c/scheduler");
    fs::create_dir_all(broken.parent().unwrap()).unwrap();
    fs::write(&broken, "a download that failed").unwrap();
    let (hami, line) = bed.resolve("auto").await.unwrap();
    assert_eq!(hami.source.version, "v2.10.0");
    assert!(
        line.contains("newest of 3") && line.contains("c/scheduler: not a program"),
        "{line}"
    );
}

#[tokio::test]
async fn builtin_is_this_program_even_when_a_real_one_is_cached() {
    let bed = bed();
    bed.cached("v2.10.0", "echo version: v2.10.0");
    let (hami, _) = bed.resolve("builtin").await.unwrap();
    assert_eq!(hami.source.source, HamiKind::Builtin);
    assert_eq!(hami.program, std::env::current_exe().unwrap());
    assert_eq!(hami.leading_args, ["extender"]);
    assert_eq!(hami.source.version, env!("CARGO_PKG_VERSION"));
}
