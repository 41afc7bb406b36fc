//! `--components DIR` with scripts that play the programs.

use super::*;
use crate::testing::{crd_files, script, webhook_file};
use crate::{Verdict, doctor};
use host::usage::UserError as _;
use plan::{Component, Program};

struct Bed {
    folder: tempfile::TempDir,
    cache: Cache,
}

const RELEASE: &str = "apiVersion: v1\nkind: Namespace\n---\napiVersion: a/v1\nkind: CustomResourceDefinition\nmetadata:\n  \
                       name: one\n---\nkind: CustomResourceDefinition\nmetadata:\n  name: two\n---\nkind: Deployment\nspec:\n  \
                       kind: CustomResourceDefinition\n---\nkind: MutatingWebhookConfiguration\n---\nkind: \
                       ValidatingWebhookConfiguration\n";

/// A folder with every program, each of which notes that it was run and says the pinned version.
fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
    let bed = Bed { folder, cache };
    fs::create_dir(bed.dir()).unwrap();
    for pin in &PINS {
        for (_, name) in pin.programs {
            bed.program(name, pin.version());
        }
    }
    fs::write(bed.dir().join("manifests.yaml"), RELEASE).unwrap();
    bed
}

impl Bed {
    fn dir(&self) -> PathBuf {
        self.folder.path().join("dir")
    }

    fn program(&self, name: &str, version: &str) {
        let body = format!(
            "echo {name} >> {}\necho {name} {version}\n# mod\tsigs.k8s.io/kueue\t{version}\t",
            self.folder.path().join("asked").display()
        );
        script(&self.dir().join(name), &body);
    }

    fn asked(&self) -> usize {
        let asked = fs::read_to_string(self.folder.path().join("asked"));
        asked.unwrap_or_default().lines().count()
    }

    async fn find(&self) -> Result<(Programs, Vec<String>), ComponentsError> {
        let mut news = Vec::new();
        let mut report = |progress: Progress| news.push(progress.to_string());
        let found = find(&self.cache, &self.dir(), &mut report).await?;
        Ok((found, news))
    }

    async fn refusal(&self) -> String {
        let error = self.find().await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_usage() && !text.contains('\n'), "{text}");
        text
    }
}

#[tokio::test]
async fn doctor_looks_at_the_supplied_programs_and_needs_no_go() {
    let bed = bed();
    let look = async || {
        let found = doctor(Some(bed.cache.folder()), Some(&bed.dir())).await;
        assert!(found.iter().all(|check| check.name != "Go"));
        found.into_iter().find(|c| c.name == "components").unwrap()
    };
    assert_eq!(look().await.verdict, Verdict::Ok);
    bed.program("kwok", "v0.1.0");
    let other = look().await;
    assert_eq!(other.verdict, Verdict::Warn);
    assert!(other.detail.contains("kwok"), "{other:?}");
    fs::remove_file(bed.dir().join("etcd")).unwrap();
    assert_eq!(look().await.verdict, Verdict::Fail);
}

#[tokio::test]
async fn all_missing_files_are_named_in_one_error() {
    let bed = bed();
    for name in ["etcd", "kueue", "manifests.yaml"] {
        fs::remove_file(bed.dir().join(name)).unwrap();
    }
    let text = bed.refusal().await;
    for missing in [
        "etcd",
        "kueue or manager",
        "Kueue's manifests (kueue-manifests/",
    ] {
        assert!(text.contains(missing), "{text}");
    }
    assert!(!text.contains("kwok"), "{text}");

    fs::remove_dir_all(bed.dir()).unwrap();
    assert!(bed.refusal().await.contains("No such file"));
}

#[tokio::test]
async fn a_file_that_is_no_program_is_named() {
    let bed = bed();
    fs::write(bed.dir().join("kwok"), "not a program").unwrap();
    assert!(
        bed.refusal()
            .await
            .contains("kwok is not usable: not a program")
    );
    fs::write(bed.dir().join("kwok"), b"\x7fELF cut short").unwrap();
    assert!(
        bed.refusal()
            .await
            .contains("kwok is not usable: it cannot be started here")
    );
}

#[tokio::test]
async fn another_version_is_warned_about_and_recorded() {
    let bed = bed();
    let (found, news) = bed.find().await.unwrap();
    assert!(news.is_empty(), "{news:?}");
    let supplied = |p: &Program| p.path.starts_with(bed.dir().canonicalize().unwrap());
    assert!(found.of.values().all(supplied));

    bed.program("etcd", "3.5.0");
    fs::remove_file(bed.dir().join("kueue")).unwrap();
    bed.program("manager", "v0.18.1");
    bed.program("kwok", "");
    let (found, news) = bed.find().await.unwrap();
    assert_eq!(found.of[&Component::Etcd].version, "v3.5.0");
    assert_eq!(found.of[&Component::Kueue].version, "v0.18.1");
    assert_eq!(found.agents()["manager"], "kueue");
    assert_eq!(found.of[&Component::Kwok].version, "unknown");
    assert_eq!(news.len(), 3, "{news:?}");
    assert!(news[0].contains("etcd is v3.5.0"), "{news:?}");
}

#[tokio::test]
async fn programs_are_asked_and_read_again_only_when_something_changed() {
    let bed = bed();
    let (first, _) = bed.find().await.unwrap();
    let asked = bed.asked();
    assert_eq!(asked, 6, "each but Kueue's manager, which cannot be asked");
    assert_eq!(bed.find().await.unwrap().0, first);
    assert_eq!(bed.asked(), asked);
    bed.program("kwokctl", "v9.9.9");
    assert_eq!(
        bed.find().await.unwrap().0.of[&Component::Kwokctl].version,
        "v9.9.9"
    );
    assert!(bed.asked() > asked);
}

#[tokio::test]
async fn kueues_release_file_is_taken_apart_into_crds_and_webhooks() {
    let bed = bed();
    let (found, _) = bed.find().await.unwrap();
    let crds: Vec<_> = crd_files(&found)
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    assert_eq!(crds.len(), 2);
    assert!(crds[0].contains("name: one") && crds[1].contains("name: two"));
    let webhooks = fs::read_to_string(webhook_file(&found)).unwrap();
    assert!(webhooks.contains("Mutating") && webhooks.contains("Validating"));
    assert!(!webhooks.contains("Deployment"));

    // A folder laid out as Kueue's own sources goes before the release file.
    let folder = bed.dir().join("kueue-manifests");
    fs::create_dir_all(folder.join("crd/bases")).unwrap();
    fs::create_dir_all(folder.join("webhook")).unwrap();
    fs::write(folder.join("crd/bases/x.yaml"), "").unwrap();
    fs::write(folder.join("webhook/manifests.yaml"), "").unwrap();
    let (found, _) = bed.find().await.unwrap();
    assert_eq!(found.kueue_manifests, folder.canonicalize().unwrap());

    fs::remove_dir_all(folder).unwrap();
    fs::write(bed.dir().join("manifests.yaml"), "kind: Namespace\n").unwrap();
    assert!(bed.refusal().await.contains("no CRD"));
}
