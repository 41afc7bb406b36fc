//! `--components DIR` with scripts that play the programs.

use super::*;
use crate::testing::script;
use crate::{Verdict, doctor};
use host::usage::UserError as _;
use plan::{Component, Program};

struct Bed {
    folder: tempfile::TempDir,
    cache: Cache,
}

/// Kueue's release file on a small scale: what kustomize makes of two CRDs, of both webhook configurations, and of objects that
/// are not taken, one of which holds a CRD's text.
const RELEASE: [&str; 6] = [
    "apiVersion: v1
kind: Namespace
metadata:
  labels:
    control-plane: controller-manager
  name: kueue-system
",
    r#"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: workloads.kueue.x-k8s.io
spec:
  conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        service:
          name: kueue-webhook-service
          namespace: kueue-system
          path: /convert
      conversionReviewVersions:
      - v1
  group: kueue.x-k8s.io
  names:
    kind: Workload
    plural: workloads
  versions:
  - name: v1beta2
    schema:
      openAPIV3Schema:
        description: |-
          A list of rules, e.g.:

          ---
          kind: Namespace
          ---

          and what "on", 'off' and # stand for: all of it longer than the eighty columns at which lines are folded.
        properties:
          "on":
            default: "0"
            enum:
            - "yes"
            - "1e3"
            - ""
            maximum: 9007199254740993
            pattern: ^([a-z]:\s*)?$
"#,
    "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: topologies.kueue.x-k8s.io
spec:
  group: kueue.x-k8s.io
  names:
    kind: Topology
    plural: topologies
",
    "apiVersion: v1
data:
  crd.yaml: |
    kind: CustomResourceDefinition
    ---
    kind: CustomResourceDefinition
kind: ConfigMap
metadata:
  name: kueue-manager-config
",
    "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: kueue-mutating-webhook-configuration
webhooks:
- name: mjob.kb.io
",
    "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: kueue-validating-webhook-configuration
webhooks:
- name: vjob.kb.io
",
];

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
    fs::write(bed.dir().join("manifests.yaml"), RELEASE.join("---\n")).unwrap();
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

/// The objects in a folder made of a release file, by the file they are in.
fn read(folder: &Path) -> Vec<(PathBuf, Vec<Value>)> {
    let files = manifest_files(folder).unwrap();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        (file, serde_saphyr::from_multiple(&text).unwrap())
    };
    files.into_iter().map(read).collect()
}

#[test]
fn kueues_release_file_is_taken_apart_however_its_documents_are_set_off() {
    let folder = tempfile::tempdir().unwrap();
    let (file, into) = (folder.path().join("manifests.yaml"), folder.path());
    let take_apart = |text: &str| {
        let _ = fs::remove_dir_all(into.join("crd"));
        fs::write(&file, text).unwrap();
        split_release_file(&file, into).unwrap();
        read(into)
    };
    let plain = RELEASE.join("---\n");

    let [topologies, workloads, webhooks] = &take_apart(&plain)[..] else {
        panic!("a CRD too many or too few");
    };
    // By these names the CRDs' reader knows what they define.
    let at = |name: &str| Path::new(CRDS).join(name);
    assert_eq!(topologies.0, at("kueue.x-k8s.io_topologies.yaml"));
    assert_eq!(workloads.0, at("kueue.x-k8s.io_workloads.yaml"));
    // As in Kueue's sources, where kustomize has added neither conversion nor prefix.
    let mut workload: Value = serde_saphyr::from_str(RELEASE[1]).unwrap();
    workload["spec"]
        .as_object_mut()
        .unwrap()
        .remove("conversion");
    assert_eq!(workloads.1, [workload]);
    let names: Vec<_> = webhooks.1.iter().map(|w| &w["metadata"]["name"]).collect();
    assert_eq!(
        names,
        [
            "mutating-webhook-configuration",
            "validating-webhook-configuration"
        ]
    );
    // There the reader puts the conversion in.
    let text = fs::read_to_string(into.join(&workloads.0)).unwrap();
    assert_eq!(text.matches("\nspec:\n").count(), 1, "{text}");

    let documents = plain.split_inclusive('\n');
    let trailing = |line: &str| match line {
        "---\n" => "---  \t\n".to_owned(),
        _ => line.to_owned(),
    };
    for (variant, text) in [
        ("marker first", format!("---\n{plain}")),
        (
            "comments first",
            format!("# Kueue\n\n# v0.17.0\n---\n{plain}"),
        ),
        ("comments, no marker", format!("# Kueue\n{plain}")),
        ("commented markers", RELEASE.join("--- # next\n")),
        ("comments between", RELEASE.join("---\n# next\n\n")),
        ("trailing whitespace", documents.map(trailing).collect()),
        ("CRLF", plain.replace('\n', "\r\n")),
        ("empty documents", RELEASE.join("---\n---\n# none\n---\n")),
        ("a byte order mark", format!("\u{feff}{plain}")),
        ("marked ends", RELEASE.join("...\n---\n") + "...\n"),
        ("marker last", format!("{plain}---\n")),
        ("no last newline", plain.trim_end().to_owned()),
        ("directives", format!("%YAML 1.2\n---\n{plain}")),
    ] {
        let [a, b, c] = &take_apart(&text)[..] else {
            panic!("{variant}");
        };
        assert_eq!([a, b, c], [topologies, workloads, webhooks], "{variant}");
    }
}

#[tokio::test]
async fn a_release_file_is_used_if_there_is_no_folder_and_refused_if_it_is_none() {
    let bed = bed();
    let (found, _) = bed.find().await.unwrap();
    assert_eq!(manifest_files(&found.kueue_manifests).unwrap().len(), 3);

    // A folder laid out as Kueue's own sources goes before the release file.
    let folder = bed.dir().join("kueue-manifests");
    fs::create_dir_all(folder.join("crd/bases")).unwrap();
    fs::create_dir_all(folder.join("webhook")).unwrap();
    fs::write(folder.join("crd/bases/x.yaml"), "").unwrap();
    fs::write(folder.join("webhook/manifests.yaml"), "").unwrap();
    let (found, _) = bed.find().await.unwrap();
    assert_eq!(found.kueue_manifests, folder.canonicalize().unwrap());
    fs::remove_dir_all(folder).unwrap();

    for (text, problem) in [
        ("kind: Namespace\n".to_owned(), "no CRD"),
        ("kind: [\n".to_owned(), "manifests.yaml is not usable"),
        (
            RELEASE.join("---\n").replace("topologies.k", "../k"),
            "a CRD is named",
        ),
        (
            RELEASE.join("---\n").replace("topologies.k", "k/"),
            "a CRD is named",
        ),
    ] {
        fs::write(bed.dir().join("manifests.yaml"), text).unwrap();
        let refusal = bed.refusal().await;
        assert!(refusal.contains(problem), "{refusal}");
    }
}
