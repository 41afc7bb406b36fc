//! What the tests of this module share: scripts that play programs, and a Go compiler that compiles nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use plan::Programs;

use super::cache::Cache;
use super::supplied;

/// Writes an executable shell script.
pub(crate) fn script(path: &Path, body: &str) -> PathBuf {
    // Written under another name and moved: a file that a forked sibling test still holds open for writing cannot be
    // executed ("text file busy").
    let temporary = path.with_extension("new");
    let text = format!("#!/bin/sh\n{body}\n");
    let status = std::process::Command::new("sh")
        .args([
            "-c",
            r#"printf %s "$1" > "$2" && chmod 755 "$2" && mv "$2" "$3""#,
            "sh",
            &text,
        ])
        .arg(&temporary)
        .arg(path)
        .status()
        .unwrap();
    assert!(status.success());
    assert!(fs::metadata(path).unwrap().permissions().mode() & 0o100 != 0);
    path.to_owned()
}

/// A cache whose `PATH` leads to a fake `go`, which notes each call.
pub(crate) struct FakeGo {
    pub folder: tempfile::TempDir,
    pub cache: Cache,
}

impl FakeGo {
    /// A `go` of this version whose `build` runs `hook` first (with `$out` and `$packages` set) and then writes scripts that
    /// report the version of the module's go.mod.
    pub(crate) fn new(version: &str, hook: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        let source = folder.path().join("module/config/components");
        for made in [&bin, &source.join("crd/bases"), &source.join("webhook")] {
            fs::create_dir_all(made).unwrap();
        }
        for (file, text) in [
            ("crd/bases/a.yaml", "kind: CustomResourceDefinition\n"),
            ("crd/bases/b.yaml", "kind: CustomResourceDefinition\n"),
            ("crd/kustomization.yaml", "resources: []\n"),
            (
                "webhook/manifests.yaml",
                "kind: MutatingWebhookConfiguration\n",
            ),
        ] {
            fs::write(source.join(file), text).unwrap();
        }
        let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
        let tools = std::env::var("PATH").unwrap();
        let fake = Self {
            cache: cache.with_path(format!("{}:{tools}", bin.display())),
            folder,
        };
        fake.set_go(version, hook);
        fake
    }

    /// Replaces the `go`.
    pub(crate) fn set_go(&self, version: &str, hook: &str) {
        let root = self.folder.path().display();
        script(
            &self.folder.path().join("bin/go"),
            &format!(
                r#"
case $1 in
version) echo "go version {version} linux/amd64"; exit ;;
env) echo {root}/modcache; exit ;;
list) echo {root}/module; exit ;;
esac
out= packages= previous=
for word; do
  [ "$previous" = -o ] && out=$word
  case $word in build|-*) ;; *) [ "$previous" = -o ] || packages="$packages $word" ;; esac
  previous=$word
done
echo "$packages" >> {root}/builds
env | grep -E '^(GO|CGO)' | sort > {root}/env
{hook}
[ -d "$out" ] && folder=$out || folder=$(dirname "$out")
for package in $packages; do
  [ -d "$out" ] && file=$folder/$(basename "$package") || file=$out
  version=$(awk -v p="$package" 'NF >= 2 && $2 ~ /^v/ && index(p "/", $1 "/") == 1 {{ print $2 }}' go.mod | tail -1)
  printf '#!/bin/sh\necho %s\n# mod\tsigs.k8s.io/kueue\t%s\t\n' "$version" "$version" > "$file"
  chmod 755 "$file"
done
"#
            ),
        );
    }

    /// The packages of each `go build` so far.
    pub(crate) fn builds(&self) -> Vec<String> {
        fs::read_to_string(self.folder.path().join("builds"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// Kueue's CRD files, sorted.
pub fn crd_files(programs: &Programs) -> Vec<PathBuf> {
    let files = supplied::manifest_files(&programs.kueue_manifests).unwrap();
    let crds = files.iter().filter(|file| file.starts_with(supplied::CRDS));
    crds.map(|file| programs.kueue_manifests.join(file))
        .collect()
}

/// The file with Kueue's webhook configurations.
pub fn webhook_file(programs: &Programs) -> PathBuf {
    programs.kueue_manifests.join(supplied::WEBHOOKS)
}
