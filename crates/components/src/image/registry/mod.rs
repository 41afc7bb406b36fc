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

use answers::lowest_cause;

use super::error::ImageError;
use super::reference::{ImageRef, Registry, is_digest};

/// Every kind of manifest that is understood.
const MANIFESTS: [&str; 4] = [
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
];

/// Docker builds no image with more layers.
const MAX_LAYERS: usize = 127;
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
        let image = image.to_string();
        let client =
            Client::try_from(client_config(registry)).map_err(|e| ImageError::Registry {
                registry: registry.to_string(),
                image: image.clone(),
                problem: format!("no HTTP client can be set up: {}", lowest_cause(&e)),
            })?;
        Ok(Self {
            client,
            reference,
            image,
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
        match self.parse_manifest(&body)? {
            OciManifest::Image(manifest) => self.resolved(digest.clone(), digest, &manifest),
            OciManifest::ImageIndex(index) => {
                let entry = self.choose(&index.manifests)?;
                let (body, manifest_digest) = self
                    .manifest(&self.reference.clone_with_digest(entry.digest.clone()))
                    .await?;
                match self.parse_manifest(&body)? {
                    OciManifest::Image(manifest) => {
                        self.resolved(digest, manifest_digest, &manifest)
                    }
                    OciManifest::ImageIndex(_) => Err(self.says("an index inside an index")),
                }
            }
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
            entry
                .platform
                .as_ref()
                .map(|p| format!("{}/{}", p.os, p.architecture))
        };
        let wanted = this_platform();
        entries
            .iter()
            .find(|entry| platform(entry).as_deref() == Some(&*wanted))
            .ok_or_else(|| {
                let mut found: Vec<_> = entries
                    .iter()
                    .filter_map(platform)
                    // Build attestations stand in the index as images for an unknown platform.
                    .filter(|platform| !platform.starts_with("unknown"))
                    .collect();
                found.dedup();
                let found = if found.is_empty() {
                    "no platform".to_owned()
                } else {
                    found.join(", ")
                };
                ImageError::WrongPlatform {
                    image: self.image.clone(),
                    wanted,
                    found,
                }
            })
    }

    /// Checks what a manifest says before anything is downloaded.
    fn resolved(
        &self,
        digest: String,
        manifest_digest: String,
        manifest: &OciImageManifest,
    ) -> Result<Resolved, ImageError> {
        let layers = manifest
            .layers
            .iter()
            .map(|l| self.blob(l))
            .collect::<Result<Vec<_>, _>>()?;
        let config = self.blob(&manifest.config)?;
        let too_large = |what: &str, size: String, limit: String| {
            Err(ImageError::TooLarge {
                what: format!("{}, {what}", self.image),
                size,
                limit,
            })
        };
        if layers.len() > MAX_LAYERS {
            return too_large(
                "number of layers",
                layers.len().to_string(),
                MAX_LAYERS.to_string(),
            );
        }
        let total = layers
            .iter()
            .fold(0, |sum: u64, layer| sum.saturating_add(layer.size));
        if total > MAX_IMAGE_BYTES {
            return too_large(
                "all layers",
                format!("{total} bytes"),
                format!("{MAX_IMAGE_BYTES} bytes"),
            );
        }
        if config.size > MAX_CONFIG_BYTES {
            return too_large(
                "configuration",
                format!("{} bytes", config.size),
                format!("{MAX_CONFIG_BYTES} bytes"),
            );
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
        if !is_digest(&descriptor.digest) {
            return Err(self.says(&format!(
                "a digest that is no SHA-256: {}",
                descriptor.digest
            )));
        }
        Ok(Blob {
            digest: descriptor.digest.clone(),
            size,
        })
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
        let wanted = this_platform();
        if found != wanted {
            return Err(ImageError::WrongPlatform {
                image: self.image.clone(),
                wanted,
                found,
            });
        }
        let diff_ids = raw.rootfs.diff_ids;
        if diff_ids.len() != resolved.layers.len() {
            let problem = format!(
                "{} layers with {} content digests",
                resolved.layers.len(),
                diff_ids.len()
            );
            return Err(self.says(&problem));
        }
        let version = raw
            .config
            .and_then(|c| c.labels)
            .and_then(|mut labels| labels.remove("version"));
        Ok(Config {
            version: version.filter(|v| !v.is_empty()),
            diff_ids,
        })
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
        names
            .iter()
            .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    };
    // The library would find these variables by itself, but would then send loopback through the proxy too.
    let never_proxied = "localhost,127.0.0.0/8,::1";
    let no_proxy = match set(&["NO_PROXY", "no_proxy"]) {
        Some(more) => format!("{never_proxied},{more}"),
        None => never_proxied.to_owned(),
    };
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
    format!("sha256:{}", hex(hash))
}

/// A finished hash in hexadecimal.
pub(super) fn hex(hash: Sha256) -> String {
    use std::fmt::Write;
    hash.finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
            text
        })
}
