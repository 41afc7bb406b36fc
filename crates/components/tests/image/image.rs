//! Images made by hand and pushed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::{Reference, RegistryOperation, secrets::RegistryAuth};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

/// The image's name in every registry.
pub const NAME: &str = "projecthami/hami";

/// This machine's architecture as images name it.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// An architecture that this machine is not.
pub fn other_architecture() -> &'static str {
    if architecture() == "amd64" {
        "arm64"
    } else {
        "amd64"
    }
}

/// A layer under construction.
pub struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    pub fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    /// A file; its path is written as it is, however hostile.
    pub fn file(self, path: &str, data: &[u8]) -> Self {
        self.entry(EntryType::Regular, path, "", data)
    }

    pub fn symlink(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, path, target, b"")
    }

    pub fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Link, path, target, b"")
    }

    fn entry(mut self, kind: EntryType, path: &str, target: &str, data: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        // Past the library's own methods, which refuse hostile names.
        let fields = header.as_gnu_mut().unwrap();
        fields.name[..path.len()].copy_from_slice(path.as_bytes());
        fields.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(data.len() as u64);
        header.set_cksum();
        self.0.append(&header, data).unwrap();
        self
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

/// A pushed manifest or index.
#[derive(Clone)]
pub struct Pushed {
    pub digest: String,
    pub size: usize,
    /// Digests of the layers.
    pub layers: Vec<String>,
}

/// Everything of an image that a registry would serve.
pub struct Image {
    pub manifest: Vec<u8>,
    /// The configuration, then the layers.
    pub blobs: Vec<Vec<u8>>,
}

impl Image {
    pub fn new(layers: Vec<Layer>, architecture: &str) -> Self {
        let plain: Vec<Vec<u8>> = layers.into_iter().map(Layer::bytes).collect();
        let config = json!({
            "architecture": architecture, "os": "linux",
            "config": {"Labels": {"version": "v2.10.0", "org.opencontainers.image.version": "22.04"}},
            "rootfs": {"type": "layers", "diff_ids": plain.iter().map(|l| digest(l)).collect::<Vec<_>>()},
        });
        let layers: Vec<Vec<u8>> = plain.iter().map(|layer| gzip(layer)).collect();
        Self::with_config(&config, layers)
    }

    /// From a configuration and compressed layers that need not belong together.
    pub fn with_config(config: &Value, layers: Vec<Vec<u8>>) -> Self {
        let config = config.to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
                "digest": digest(&config), "size": config.len()},
            "layers": layers.iter().map(|layer| json!({
                "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                "digest": digest(layer), "size": layer.len()})).collect::<Vec<_>>(),
        });
        let mut blobs = vec![config];
        blobs.extend(layers);
        Self {
            manifest: manifest.to_string().into_bytes(),
            blobs,
        }
    }

    pub async fn push(&self, registry: &str, tag: &str) -> Pushed {
        let (client, reference) = pusher(registry, tag).await;
        for blob in &self.blobs {
            client
                .push_blob(&reference, blob.clone(), &digest(blob))
                .await
                .unwrap();
        }
        let kind = "application/vnd.docker.distribution.manifest.v2+json";
        let layers = self.blobs[1..].iter().map(|b| digest(b)).collect();
        push_manifest(&client, &reference, self.manifest.clone(), kind, layers).await
    }
}

/// Pushes an index over pushed manifests, each with its `(os, architecture)`.
pub async fn push_index(registry: &str, tag: &str, of: &[(&Pushed, &str, &str)]) -> Pushed {
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": of.iter().map(|(pushed, os, architecture)| json!({
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "digest": pushed.digest, "size": pushed.size,
            "platform": {"os": os, "architecture": architecture}})).collect::<Vec<_>>(),
    });
    let (client, reference) = pusher(registry, tag).await;
    let kind = "application/vnd.oci.image.index.v1+json";
    push_manifest(
        &client,
        &reference,
        index.to_string().into_bytes(),
        kind,
        Vec::new(),
    )
    .await
}

async fn push_manifest(
    client: &Client,
    reference: &Reference,
    body: Vec<u8>,
    kind: &str,
    layers: Vec<String>,
) -> Pushed {
    let pushed = Pushed {
        digest: digest(&body),
        size: body.len(),
        layers,
    };
    client
        .push_manifest_raw(reference, body, kind.parse().unwrap())
        .await
        .unwrap();
    pushed
}

async fn pusher(registry: &str, tag: &str) -> (Client, Reference) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Pushing to a registry with TLS is not what is tested, so it may have any certificate.
    let (protocol, registry) = match registry.strip_prefix("https://") {
        Some(registry) => (ClientProtocol::Https, registry),
        None => (ClientProtocol::Http, registry),
    };
    let config = ClientConfig {
        protocol,
        accept_invalid_certificates: true,
        // Any proxy at all keeps the client from looking for one in the environment.
        http_proxy: Some("http://127.0.0.1:9".to_owned()),
        no_proxy: Some("127.0.0.1".to_owned()),
        ..ClientConfig::default()
    };
    let client = Client::try_from(config).unwrap();
    let reference = Reference::with_tag(registry.to_owned(), NAME.to_owned(), tag.to_owned());
    client
        .auth(
            &reference,
            &RegistryAuth::Anonymous,
            RegistryOperation::Push,
        )
        .await
        .unwrap();
    (client, reference)
}

pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold("sha256:".to_owned(), |text, byte| {
            text + &format!("{byte:02x}")
        })
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// The programs that images are made of.
pub struct Programs {
    /// Needs libanswer.so.1 and the C library; prints what `answer()` returns, its name and its arguments.
    pub scheduler: Vec<u8>,
    /// Path of its loader.
    pub loader_path: String,
    pub loader: Vec<u8>,
    pub libc: Vec<u8>,
    pub libanswer: Vec<u8>,
}

impl Programs {
    /// Compiled once.
    pub fn get() -> &'static Self {
        static PROGRAMS: OnceLock<Programs> = OnceLock::new();
        PROGRAMS.get_or_init(compile)
    }
}

const SCHEDULER_C: &str = r#"
#include <stdio.h>
int answer(void);
int main(int argc, char **argv) {
    printf("answer %d from %s", answer(), argv[0]);
    for (int i = 1; i < argc; i++) printf(" %s", argv[i]);
    return 0;
}
"#;

fn compile() -> Programs {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("answer.c", "int answer(void) { return 42; }\n");
    write("scheduler.c", SCHEDULER_C);
    let cc = |arguments: &[&str]| {
        let output = Command::new("cc")
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    cc(&[
        "-shared",
        "-fPIC",
        "-Wl,-soname,libanswer.so.1",
        "-o",
        "libanswer.so.1",
        "answer.c",
    ]);
    cc(&["-o", "scheduler", "scheduler.c", "libanswer.so.1"]);
    let read = |path: &Path| std::fs::read(path).unwrap();
    let scheduler = read(&folder.path().join("scheduler"));
    let loader_path = interpreter(&scheduler);
    Programs {
        loader: read(Path::new(&loader_path)),
        libc: read(&PathBuf::from(cc(&["-print-file-name=libc.so.6"]))),
        libanswer: read(&folder.path().join("libanswer.so.1")),
        scheduler,
        loader_path,
    }
}

fn interpreter(program: &[u8]) -> String {
    use object::read::elf::{ElfFile64, ProgramHeader};
    let elf = ElfFile64::<object::Endianness>::parse(program).unwrap();
    let found = elf
        .elf_program_headers()
        .iter()
        .find_map(|segment| segment.interpreter(elf.endian(), elf.data()).unwrap());
    String::from_utf8(found.unwrap().to_vec()).unwrap()
}

/// The folder of libraries in the image.
pub fn library_folder() -> String {
    format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH)
}

/// The lowest layer: loader and C library where Debian and Ubuntu have them, behind the same links.
pub fn base_layer() -> Layer {
    let programs = Programs::get();
    let folder = library_folder();
    let loader = Path::new(&programs.loader_path);
    let name = loader.file_name().unwrap().to_str().unwrap();
    let top = loader
        .parent()
        .unwrap()
        .to_str()
        .unwrap()
        .trim_start_matches('/');
    let mut layer = Layer::new();
    if top != "lib" {
        layer = layer.symlink(top, &format!("usr/{top}"));
    }
    let up = format!("../lib/{}-linux-gnu/{name}", std::env::consts::ARCH);
    layer
        .symlink("lib", "usr/lib")
        .file(&format!("{folder}/{name}"), &programs.loader)
        .file(&format!("{folder}/libc.so.6"), &programs.libc)
        .symlink(&format!("usr/{top}/{name}"), &up)
}

/// The library that only the image has.
pub fn library_layer() -> Layer {
    Layer::new().file(
        &format!("{}/libanswer.so.1", library_folder()),
        &Programs::get().libanswer,
    )
}

pub fn scheduler_layer() -> Layer {
    Layer::new().file("k8s-vgpu/bin/scheduler", &Programs::get().scheduler)
}

/// A sound image.
pub fn sound() -> Image {
    Image::new(
        vec![base_layer(), library_layer(), scheduler_layer()],
        architecture(),
    )
}
