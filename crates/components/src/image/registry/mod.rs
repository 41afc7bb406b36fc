//! Manifests and blobs over the OCI registry protocol.
//!
//! In: an image and a registry. Out: this machine's manifest, and blobs in files, each only after its digest was checked.
//! Pulls are anonymous: a registry that answers with a token challenge (Docker Hub does) is asked for a token for this
//! one repository, by the client library.

mod answers;
mod download;

use std::env;
use std::path::Path;

use oci_client::Reference;
use oci_client::RegistryOperation;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, ImageIndexEntry,
    OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageManifest, OciManifest,
};
use oci_client::secrets::RegistryAuth;
use serde::Deserialize;
use sha2::{Digest, Sha256};

pub(super) use answers::lowest_cause;

use super::error::ImageError;
use super::reference::{ImageRef, Registry, is_digest};
use crate::pins::hex;

/// Every kind of manifest that is understood.
const MANIFESTS: [&str; 4] = [
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
];

/// Docker builds no image with more layers.
const MAX_LAYERS: u64 = 127;
/// Compressed bytes of one image; those of GPU tools reach a few GB.
const MAX_IMAGE_BYTES: u64 = 4 << 30;
/// Bytes of an image's configuration; usual ones have a few thousand.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// A blob that a manifest names.
#[derive(Debug, Clone)]
pub(super) struct Blob {
    /// `sha256:…`
    pub digest: String,
    /// Bytes.
    pub size: u64,
}

/// What an image reference turned out to mean.
#[derive(Debug)]
pub(super) struct Resolved {
    /// Digest of what the reference names: an index or a manifest.
    pub digest: String,
    /// Digest of this machine's manifest.
    pub manifest_digest: String,
    /// The image's configuration.
    config: Blob,
    /// From the lowest to the uppermost.
    pub layers: Vec<Blob>,
}

/// What is used of an image's configuration.
#[derive(Debug)]
pub(super) struct Config {
    /// The `version` label. (HAMi's base image also sets `org.opencontainers.image.version`, to its own version.)
    pub version: Option<String>,
    /// Digest of each layer once decompressed.
    pub diff_ids: Vec<String>,
}

#[derive(Deserialize)]
struct RawConfig {
    architecture: String,
    os: String,
    config: Option<RawSettings>,
    rootfs: RawRootfs,
}

#[derive(Deserialize)]
struct RawSettings {
    #[serde(rename = "Labels")]
    labels: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct RawRootfs {
    diff_ids: Vec<String>,
}

/// Pulls one image from one registry.
pub(super) struct Puller {
    client: Client,
    reference: Reference,
    /// For messages.
    image: String,
    registry: Registry,
}

impl Puller {
    pub(super) fn new(image: &ImageRef, registry: &Registry) -> Result<Self, ImageError> {
        // The TLS library takes its cryptography from the process; an error means that one was already chosen.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let reference = image.at(registry);
        let client = Client::try_from(client_config(registry));
        Ok(Self {
            client: client.map_err(|e| ImageError::Registry {
                registry: registry.to_string(),
                image: image.to_string(),
                problem: format!("no HTTP client can be set up: {}", lowest_cause(&e)),
            })?,
            reference,
            image: image.to_string(),
            registry: registry.clone(),
        })
    }

    /// Asks what the image reference means on this machine.
    pub(super) async fn resolve(&self) -> Result<Resolved, ImageError> {
        // Alone and first, because the library swallows this step's errors when it does it by itself, and would wait for
        // the same time-out again.
        let hello = self.client.auth(
            &self.reference,
            &RegistryAuth::Anonymous,
            RegistryOperation::Pull,
        );
        tokio::time::timeout(self.registry.answer_timeout, hello)
            .await
            .map_err(|_| self.unreachable("no answer in time".to_owned()))?
            .map_err(|e| self.explain(e))?;
        let (body, digest) = self.manifest(&self.reference).await?;
        let index = match self.parse_manifest(&body)? {
            OciManifest::Image(manifest) => {
                return self.resolved(digest.clone(), digest, &manifest);
            }
            OciManifest::ImageIndex(index) => index,
        };
        let entry = self.choose(&index.manifests)?.digest.clone();
        let entry = self.reference.clone_with_digest(entry);
        let (body, manifest_digest) = self.manifest(&entry).await?;
        match self.parse_manifest(&body)? {
            OciManifest::Image(manifest) => self.resolved(digest, manifest_digest, &manifest),
            OciManifest::ImageIndex(_) => Err(self.says("an index inside an index")),
        }
    }

    /// The bytes of a manifest and their digest.
    async fn manifest(&self, reference: &Reference) -> Result<(Vec<u8>, String), ImageError> {
        let (body, _) = self
            .client
            .pull_manifest_raw(reference, &RegistryAuth::Anonymous, &MANIFESTS)
            .await
            .map_err(|e| self.explain(e))?;
        let found = digest_of(Sha256::new_with_prefix(&body));
        match reference.digest() {
            Some(expected) if expected != found => Err(ImageError::WrongDigest {
                what: format!("manifest of {}", self.image),
                expected: expected.to_owned(),
                found,
            }),
            _ => Ok((body.to_vec(), found)),
        }
    }

    fn parse_manifest(&self, body: &[u8]) -> Result<OciManifest, ImageError> {
        serde_json::from_slice(body)
            .map_err(|e| self.says(&format!("what it sends is no manifest: {e}")))
    }

    /// The index's entry for this machine.
    fn choose<'a>(
        &self,
        entries: &'a [ImageIndexEntry],
    ) -> Result<&'a ImageIndexEntry, ImageError> {
        let platform = |entry: &ImageIndexEntry| {
            let platform = entry.platform.as_ref();
            platform.map(|p| format!("{}/{}", p.os, p.architecture))
        };
        let wanted = this_platform();
        let is_wanted = |entry: &&ImageIndexEntry| platform(entry).as_ref() == Some(&wanted);
        if let Some(entry) = entries.iter().find(is_wanted) {
            return Ok(entry);
        }
        let mut found: Vec<_> = entries.iter().filter_map(platform).collect();
        // Build attestations stand in the index as images for an unknown platform.
        found.retain(|platform| !platform.starts_with("unknown"));
        found.dedup();
        if found.is_empty() {
            found.push("no platform".to_owned());
        }
        Err(self.wrong_platform(found.join(", ")))
    }

    fn wrong_platform(&self, found: String) -> ImageError {
        ImageError::WrongPlatform {
            image: self.image.clone(),
            wanted: this_platform(),
            found,
        }
    }

    /// Checks what a manifest says before anything is downloaded.
    fn resolved(
        &self,
        digest: String,
        manifest_digest: String,
        manifest: &OciImageManifest,
    ) -> Result<Resolved, ImageError> {
        let layers = manifest.layers.iter().map(|layer| self.blob(layer));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        let config = self.blob(&manifest.config)?;
        let sizes = layers.iter().map(|layer| layer.size);
        let total = sizes.fold(0, u64::saturating_add);
        for (what, size, limit, unit) in [
            ("number of layers", layers.len() as u64, MAX_LAYERS, ""),
            ("all layers", total, MAX_IMAGE_BYTES, " bytes"),
            ("configuration", config.size, MAX_CONFIG_BYTES, " bytes"),
        ] {
            if size > limit {
                return Err(ImageError::TooLarge {
                    what: format!("{}, {what}", self.image),
                    size: format!("{size}{unit}"),
                    limit: format!("{limit}{unit}"),
                });
            }
        }
        Ok(Resolved {
            digest,
            manifest_digest,
            config,
            layers,
        })
    }

    fn blob(&self, descriptor: &OciDescriptor) -> Result<Blob, ImageError> {
        let size = u64::try_from(descriptor.size)
            .map_err(|_| self.says(&format!("a blob of {} bytes", descriptor.size)))?;
        let digest = descriptor.digest.clone();
        if !is_digest(&digest) {
            return Err(self.says(&format!("a digest that is no SHA-256: {digest}")));
        }
        Ok(Blob { digest, size })
    }

    /// The image's configuration, downloaded to `path`; refuses one for another platform.
    pub(super) async fn config(
        &self,
        resolved: &Resolved,
        path: &Path,
    ) -> Result<Config, ImageError> {
        self.download(&resolved.config, path, &|_| ()).await?;
        let bytes = tokio::fs::read(path).await.map_err(ImageError::io(path))?;
        let raw: RawConfig = serde_json::from_slice(&bytes)
            .map_err(|e| self.says(&format!("the image's configuration is not understood: {e}")))?;
        let found = format!("{}/{}", raw.os, raw.architecture);
        if found != this_platform() {
            return Err(self.wrong_platform(found));
        }
        let diff_ids = raw.rootfs.diff_ids;
        let (of, with) = (resolved.layers.len(), diff_ids.len());
        if of != with {
            return Err(self.says(&format!("{of} layers with {with} content digests")));
        }
        let mut labels = raw.config.and_then(|it| it.labels).unwrap_or_default();
        let version = labels.remove("version").filter(|v| !v.is_empty());
        Ok(Config { version, diff_ids })
    }
}

/// This machine as images name it.
fn this_platform() -> String {
    let architecture = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", env::consts::OS)
}

fn client_config(registry: &Registry) -> ClientConfig {
    let set = |names: &[&str]| {
        let mut values = names.iter().flat_map(env::var);
        values.find(|value| !value.is_empty())
    };
    // The library would find these variables by itself, but would then send loopback through the proxy too.
    let mut no_proxy = "localhost,127.0.0.0/8,::1".to_owned();
    if let Some(more) = set(&["NO_PROXY", "no_proxy"]) {
        no_proxy += &format!(",{more}");
    }
    ClientConfig {
        protocol: if registry.plain_http {
            ClientProtocol::Http
        } else {
            ClientProtocol::Https
        },
        connect_timeout: Some(registry.connect_timeout),
        read_timeout: Some(registry.answer_timeout),
        user_agent: concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")),
        https_proxy: set(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
        http_proxy: set(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
        no_proxy: Some(no_proxy),
        ..ClientConfig::default()
    }
}

/// The text form of a finished hash.
pub(super) fn digest_of(hash: Sha256) -> String {
    format!("sha256:{}", hex(&hash.finalize()))
}
