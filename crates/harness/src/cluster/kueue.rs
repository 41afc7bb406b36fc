//! Kueue, installed from its own CRDs and webhook manifests and run as a host process.

use std::{
    fs,
    path::{Path, PathBuf},
};

use futures::{StreamExt, TryStreamExt, stream};
use http::{Request, header::CONTENT_TYPE};
use k8s_openapi::ByteString;
use kube::Client;
use serde_json::{Value, json};

use super::{
    ClusterError,
    certs::{self, Certificates},
    manifest,
    substrate::{self, write},
    supervisor::Program,
    system::option,
    wait::{PATIENCE, get, until},
};
use plan::{Component, KueuePlan, Programs, QuotaUnit};

/// Resource that a quota counted by memory names: MiB of card memory.
pub const TOTAL_GPUMEM: &str = "nvidia.com/total-gpumem";

/// Kueue's namespace. Its webhook certificate is for a Service there.
const NAMESPACE: &str = "kueue-system";

/// CRDs with a conversion webhook. Kueue's certificate rotator expects exactly these to have one.
const CONVERTED: [&str; 5] = [
    "localqueues",
    "clusterqueues",
    "cohorts",
    "workloads",
    "multikueueclusters",
];

/// What Kueue listens on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub webhook: u16,
    pub health: u16,
    pub metrics: u16,
}

/// Applies everything that Kueue needs before it starts, and says how to start it.
pub(super) async fn install(
    client: &Client,
    programs: &Programs,
    plan: &KueuePlan,
    ports: Ports,
    state: &Path,
    logs: &Path,
) -> Result<Program, ClusterError> {
    let certificates = certs::make(&substrate::pki(state))?;
    let ca = &certificates.ca_cert;
    let crds = read_crds(&programs.kueue_manifests, ports.webhook, ca)?;
    let webhooks = read_webhooks(&programs.kueue_manifests, ports.webhook, ca)?;
    let plurals: Vec<String> = crds.iter().map(|crd| crd.plural.clone()).collect();
    let crds = stream::iter(crds)
        .map(|crd| {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            post(client, path, "application/yaml", crd.text)
        })
        .buffer_unordered(4)
        .try_collect::<Vec<()>>();
    let objects = async {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE},
        });
        post_json(client, "/api/v1/namespaces", &namespace).await?;
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        post_json(client, &secrets, &secret(&certificates)).await?;
        for webhook in &webhooks {
            let kind = webhook["kind"].as_str().unwrap_or_default().to_lowercase();
            let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}s");
            post_json(client, &path, webhook).await?;
        }
        Ok(())
    };
    futures::try_join!(crds, objects)?;
    // Kueue's certificate rotator updates CRDs when it starts. While the API server is still writing their status, that is
    // a conflict, which costs seconds.
    until("Kueue's CRDs", PATIENCE, || served(client, &plurals)).await?;
    program(programs, plan, ports, &certificates, state, logs)
}

fn program(
    programs: &Programs,
    plan: &KueuePlan,
    ports: Ports,
    certificates: &Certificates,
    state: &Path,
    logs: &Path,
) -> Result<Program, ClusterError> {
    let cert_dir = state.join("kueue-certs");
    fs::create_dir_all(&cert_dir).map_err(ClusterError::file("create", &cert_dir))?;
    for (name, text) in [
        ("ca.crt", &certificates.ca_cert),
        ("tls.crt", &certificates.cert),
        ("tls.key", &certificates.key),
    ] {
        write(&cert_dir.join(name), text)?;
    }
    let local = |port: u16| json!(format!("127.0.0.1:{port}"));
    let mut config = manifest::parse(include_str!("../../../../manifests/kueue.yaml"));
    for (path, value) in [
        ("health/healthProbeBindAddress", local(ports.health)),
        ("metrics/bindAddress", local(ports.metrics)),
        ("webhook/port", json!(ports.webhook)),
        ("webhook/certDir", json!(cert_dir)),
        ("clientConnection/qps", json!(plan.limit.qps)),
        ("clientConnection/burst", json!(plan.limit.burst)),
        ("resources", resources(plan.quota_unit)),
    ] {
        manifest::set(&mut config, path, value);
    }
    let file = state.join("kueue.yaml");
    write(&file, &manifest::render(&[config]))?;
    Ok(Program {
        name: Component::Kueue.name().into(),
        path: super::program(programs, Component::Kueue)?,
        args: vec![option("--config", &file)],
        env: super::environment(state),
        log: logs.join("kueue.log"),
        stdout: None,
    })
}

/// What a quota counts. Kueue does not admit a Job that asks for a resource which is neither in the ClusterQueue nor excluded
/// here. Resources are excluded by prefix, before any transformation.
fn resources(unit: QuotaUnit) -> Value {
    let gpumem = |multiply: bool| {
        let mut t = json!({
            "input": "nvidia.com/gpumem",
            "strategy": "Replace",
            "outputs": {TOTAL_GPUMEM: "1"},
        });
        if multiply {
            t["multiplyBy"] = json!("nvidia.com/gpu");
        }
        t
    };
    // Maps cards to nothing. They cannot be excluded by prefix, since gpumem has the same prefix.
    let no_cards = json!({"input": "nvidia.com/gpu", "strategy": "Replace", "outputs": {}});
    let transformations = match unit {
        QuotaUnit::Cards => {
            return json!({
                "excludeResourcePrefixes": ["nvidia.com/gpumem", "nvidia.com/gpucores"],
            });
        }
        QuotaUnit::Memory => vec![gpumem(true), no_cards],
        QuotaUnit::MemoryRaw => vec![gpumem(false), no_cards],
        QuotaUnit::Both => vec![gpumem(true)],
    };
    json!({
        "excludeResourcePrefixes": ["nvidia.com/gpucores"],
        "transformations": transformations,
    })
}

fn secret(certificates: &Certificates) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "kueue-webhook-server-cert", "namespace": NAMESPACE},
        "stringData": {
            "ca.crt": certificates.ca_cert,
            "ca.key": certificates.ca_key,
            "tls.crt": certificates.cert,
            "tls.key": certificates.key,
        },
    })
}

/// How kube-apiserver reaches Kueue: by address, because this cluster has no Services.
fn client_config(port: u16, path: &str, ca: &str) -> Value {
    json!({
        "url": format!("https://127.0.0.1:{port}{path}"),
        "caBundle": ByteString(ca.as_bytes().to_vec()),
    })
}

/// A CRD as text. The largest has 19,000 lines; parsing it only to write it again would cost memory and time.
struct Crd {
    plural: String,
    text: String,
}

/// The CRDs. The largest comes first, because it takes the API server longest.
fn read_crds(manifests: &Path, port: u16, ca: &str) -> Result<Vec<Crd>, ClusterError> {
    let dir = manifests.join("crd").join("bases");
    let mut files: Vec<PathBuf> = fs::read_dir(&dir)
        .map_err(ClusterError::file("read", &dir))?
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort_by_key(|f| std::cmp::Reverse(f.metadata().map_or(0, |m| m.len())));
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": client_config(port, "/convert", ca),
            "conversionReviewVersions": ["v1"],
        },
    });
    files
        .iter()
        .map(|file| {
            let unexpected = |detail: &str| ClusterError::Unexpected {
                what: file.display().to_string(),
                detail: detail.to_owned(),
            };
            let mut text = fs::read_to_string(file).map_err(ClusterError::file("read", file))?;
            // So named by their generator, and by what takes a release file apart (`components::supplied`).
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let (_, plural) = stem
                .split_once('_')
                .ok_or_else(|| unexpected("its name is not `<group>_<plural>.yaml`"))?;
            let plural = plural.to_owned();
            if CONVERTED.contains(&plural.as_str()) {
                // The generator writes the top-level `spec` on a line of its own.
                let (head, spec) = text
                    .split_once("\nspec:\n")
                    .ok_or_else(|| unexpected("it has no top-level `spec:`"))?;
                text = format!("{head}\nspec:\n  conversion: {conversion}\n{spec}");
            }
            Ok(Crd { plural, text })
        })
        .collect()
}

/// Whether the API server serves the resources of all CRDs.
async fn served(client: &Client, plurals: &[String]) -> Result<(), String> {
    let text = get(client, "/apis/kueue.x-k8s.io/v1beta2").await?;
    let list: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let resources = list["resources"].as_array().cloned().unwrap_or_default();
    let missing = plurals
        .iter()
        .find(|plural| !resources.iter().any(|r| r["name"] == plural.as_str()));
    missing.map_or(Ok(()), |plural| Err(format!("{plural} is not served yet")))
}

/// The two webhook configurations, with the webhooks for Kueue's own objects and for Jobs.
fn read_webhooks(manifests: &Path, port: u16, ca: &str) -> Result<Vec<Value>, ClusterError> {
    let file = manifests.join("webhook").join("manifests.yaml");
    let text = fs::read_to_string(&file).map_err(ClusterError::file("read", &file))?;
    let unexpected = |detail: String| ClusterError::Unexpected {
        what: file.display().to_string(),
        detail,
    };
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).map_err(|e| unexpected(e.to_string()))?;
    for document in &mut documents {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        document["metadata"]["name"] = json!(format!("kueue-{name}"));
        let webhooks = document["webhooks"]
            .as_array_mut()
            .ok_or_else(|| unexpected("a document without webhooks".into()))?;
        webhooks.retain(is_wanted);
        if webhooks.is_empty() {
            return Err(unexpected("no webhook for Kueue's own objects".into()));
        }
        for webhook in webhooks {
            let path = webhook["clientConfig"]["service"]["path"].as_str();
            webhook["clientConfig"] = client_config(port, path.unwrap_or_default(), ca);
        }
    }
    Ok(documents)
}

/// The other webhooks are for frameworks that are not installed here, or for bare pods, which Kueue does not manage.
fn is_wanted(webhook: &Value) -> bool {
    let all = |rule: &Value, field: &str, accept: &dyn Fn(&str) -> bool| {
        rule[field]
            .as_array()
            .is_some_and(|v| v.iter().all(|s| s.as_str().is_some_and(accept)))
    };
    webhook["rules"].as_array().is_some_and(|rules| {
        rules.iter().all(|rule| {
            all(rule, "apiGroups", &|g| g == "kueue.x-k8s.io")
                || all(rule, "apiGroups", &|g| g == "batch")
                    && all(rule, "resources", &|r| r == "jobs")
        })
    })
}

async fn post_json(client: &Client, path: &str, object: &Value) -> Result<(), ClusterError> {
    post(client, path, "application/json", object.to_string()).await
}

async fn post(
    client: &Client,
    path: &str,
    content_type: &str,
    body: String,
) -> Result<(), ClusterError> {
    let request = Request::post(path)
        .header(CONTENT_TYPE, content_type)
        .body(body.into_bytes())
        .map_err(|e| ClusterError::Unexpected {
            what: format!("request to {path}"),
            detail: e.to_string(),
        })?;
    let answer = client.request_text(request).await;
    let failed = ClusterError::api(format!("create an object at {path}"));
    answer.map(drop).map_err(failed)
}

/// Whether Kueue's webhooks answer. A dry run calls the mutating and the validating one for a ClusterQueue.
pub(super) async fn admits(client: &Client) -> Result<(), ClusterError> {
    let queue = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "headroom-probe"},
        "spec": {"namespaceSelector": {}},
    });
    let path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?dryRun=All";
    post_json(client, path, &queue).await
}
