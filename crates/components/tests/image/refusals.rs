//! Fetches that must fail: each with a clear error, nothing in the cache, nothing beside it.

use headroom_components::image::{ImageError, Registry};
use serde_json::json;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::image::{
    self, Image, Layer, Programs, architecture, digest, gzip, other_architecture, push_index,
};
use super::proxy::Proxy;
use super::registry::TestRegistry;
use super::{Sandbox, at};

/// Fetches `image` and hands back the error, after a look at what was left.
async fn refused(image: &str, registry: &str) -> ImageError {
    refused_by(image, &at(registry)).await
}

async fn refused_by(image: &str, registry: &Registry) -> ImageError {
    let sandbox = Sandbox::new();
    let error = sandbox
        .fetch_from(image, registry)
        .await
        .expect_err("was fetched");
    sandbox.assert_empty();
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

#[track_caller]
fn assert_says(error: &ImageError, expected: &str) {
    assert!(error.to_string().contains(expected), "{error}");
}

pub async fn other_machines_images() {
    let registry = TestRegistry::start();
    let address = &registry.address;
    let other = other_architecture();
    let single = Image::new(vec![image::scheduler_layer()], other)
        .push(address, "single")
        .await;
    let error = refused("image:single", address).await;
    assert_says(
        &error,
        &format!(
            "is for linux/{other}, this machine is linux/{}",
            architecture()
        ),
    );

    push_index(
        address,
        "index",
        &[
            (&single, "linux", other),
            (&single, "windows", architecture()),
        ],
    )
    .await;
    let error = refused("image:index", address).await;
    assert_says(
        &error,
        &format!("is for linux/{other}, windows/{}", architecture()),
    );

    // The image claims to be right, but its program is not.
    let mut program = Programs::get().scheduler.clone();
    program[18..20].copy_from_slice(&22u16.to_le_bytes()); // e_machine: S/390
    let layer = Layer::new().file("k8s-vgpu/bin/scheduler", &program);
    Image::new(vec![layer], architecture())
        .push(address, "liar")
        .await;
    assert_says(&refused("image:liar", address).await, "another machine");
}

pub async fn blobs_and_manifests_that_were_tampered_with() {
    let registry = TestRegistry::start();
    let address = &registry.address;
    let pushed = image::sound().push(address, "v2.10.0").await;
    let flip = |digest: &str| {
        let path = registry.blob_file(digest);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    };
    flip(&pushed.layers[1]);
    let error = refused("image", address).await;
    assert!(
        matches!(&error, ImageError::WrongDigest { expected, .. } if *expected == pushed.layers[1]),
        "{error}"
    );
    // Flipped back it is right again, so that it was the digest that counted.
    flip(&pushed.layers[1]);
    Sandbox::new().fetch("image", address).await.unwrap();

    let text = std::fs::read_to_string(registry.blob_file(&pushed.digest)).unwrap();
    let other = digest(b"another layer");
    std::fs::write(
        registry.blob_file(&pushed.digest),
        text.replace(&pushed.layers[1], &other),
    )
    .unwrap();
    for image in ["image".to_owned(), format!("image@{}", pushed.digest)] {
        let error = refused(&image, address).await;
        assert!(matches!(error, ImageError::WrongDigest { .. }), "{error}");
    }

    let wrong = format!("image@{}", digest(b"another manifest"));
    assert!(matches!(
        refused(&wrong, address).await,
        ImageError::NotFound { .. }
    ));
}

pub async fn a_layer_that_decompresses_to_something_else() {
    let registry = TestRegistry::start();
    let config = json!({"architecture": architecture(), "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [digest(b"what was promised")]}});
    Image::with_config(&config, vec![gzip(&[0; 1024])])
        .push(&registry.address, "v2.10.0")
        .await;
    let error = refused("image", &registry.address).await;
    assert!(matches!(error, ImageError::WrongDigest { .. }), "{error}");

    let config = json!({"architecture": architecture(), "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}});
    Image::with_config(&config, vec![gzip(&[0; 1024])])
        .push(&registry.address, "v2.10.0")
        .await;
    assert_says(
        &refused("image", &registry.address).await,
        "1 layers with 0 content digests",
    );
}

pub async fn images_that_are_not_there_or_not_whole() {
    let registry = TestRegistry::start();
    let address = &registry.address;
    let pushed = image::sound().push(address, "v2.10.0").await;
    assert!(matches!(
        refused("image:v0", address).await,
        ImageError::NotFound { .. }
    ));

    std::fs::remove_file(registry.blob_file(&pushed.layers[2])).unwrap();
    let error = refused("image", address).await;
    assert!(
        matches!(&error, ImageError::MissingBlob { digest, .. } if *digest == pushed.layers[2]),
        "{error}"
    );

    Image::new(vec![image::base_layer()], architecture())
        .push(address, "bare")
        .await;
    assert_says(
        &refused("image:bare", address).await,
        "/k8s-vgpu/bin/scheduler, looked for in the image: is not there",
    );

    Image::new(
        vec![image::base_layer(), image::scheduler_layer()],
        architecture(),
    )
    .push(address, "poor")
    .await;
    assert_says(
        &refused("image:poor", address).await,
        "libanswer.so.1, looked for in the image",
    );

    let script = Layer::new().file("k8s-vgpu/bin/scheduler", b"#!/bin/sh\n");
    Image::new(vec![script], architecture())
        .push(address, "script")
        .await;
    assert_says(
        &refused("image:script", address).await,
        "no 64-bit ELF program",
    );
}

pub async fn hostile_layers() {
    let registry = TestRegistry::start();
    let address = &registry.address;
    let up = "../../../../../../../..";
    let marker = format!("headroom-hostile-{}", std::process::id());
    let escaped = std::env::temp_dir().join(&marker);
    let outside = escaped.to_str().unwrap();
    let scheduler = &Programs::get().scheduler;
    let absolute = Layer::new().file(outside, scheduler);
    let upwards = Layer::new().file(&format!("k8s-vgpu/{up}{outside}"), scheduler);
    let link_up = Layer::new().symlink("k8s-vgpu/bin/scheduler", &format!("{up}{outside}"));
    let through = Layer::new()
        .symlink("k8s-vgpu", up)
        .file(&format!("k8s-vgpu{outside}"), scheduler);
    let hard = Layer::new().hard_link("k8s-vgpu/bin/scheduler", &format!("{up}/etc/passwd"));
    let hard_absolute = Layer::new().hard_link("k8s-vgpu/bin/scheduler", "/etc/passwd");
    let host_file = Layer::new().symlink("k8s-vgpu/bin/scheduler", "/etc/passwd");
    let circle = Layer::new().symlink("k8s-vgpu/bin", "../k8s-vgpu/bin");
    let whiteout = Layer::new().file("k8s-vgpu/.wh...", b"");
    let folder = Layer::new().file("k8s-vgpu/bin/scheduler/inside", b"");
    for (layer, expected) in [
        (absolute, "is an absolute path"),
        (upwards, "leads upwards"),
        (link_up, "leads out of the image"),
        (through, "leads out of the image"),
        (hard, "leads upwards"),
        (hard_absolute, "hard link to no file"),
        (host_file, "is not there"),
        (circle, "links to follow"),
        (whiteout, "removes no file"),
        (folder, "is not there"),
    ] {
        Image::new(vec![layer], architecture())
            .push(address, "hostile")
            .await;
        assert_says(&refused("image:hostile", address).await, expected);
        assert!(!escaped.exists(), "written outside: {expected}");
    }

    // A program that names a library by a path out of the folder.
    let mut program = scheduler.clone();
    let name = b"libanswer.so.1\0";
    let at = program.windows(name.len()).position(|w| w == name).unwrap();
    program[at..at + name.len()].copy_from_slice(b"../../../x.so.1");
    program[at + name.len() - 1] = 0;
    let layer = Layer::new().file("k8s-vgpu/bin/scheduler", &program);
    Image::new(vec![image::base_layer(), layer], architecture())
        .push(address, "hostile")
        .await;
    assert_says(
        &refused("image:hostile", address).await,
        "is no name of a library",
    );
}

pub async fn layers_of_absurd_size() {
    let registry = TestRegistry::start();
    let address = &registry.address;
    let mut header = tar::Header::new_gnu();
    header.set_path("k8s-vgpu/bin/scheduler").unwrap();
    header.set_size(1 << 50);
    header.set_cksum();
    let layer = header.as_bytes().to_vec();
    let config = json!({"architecture": architecture(), "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]}});
    Image::with_config(&config, vec![gzip(&layer)])
        .push(address, "v2.10.0")
        .await;
    assert_says(
        &refused("image", address).await,
        "claims 1125899906842624 bytes",
    );

    // The manifest understates the size of a layer.
    let sound = image::sound();
    let size = sound.blobs[1].len();
    let manifest = String::from_utf8(sound.manifest).unwrap();
    let small = manifest.replace(&format!("\"size\":{size}"), "\"size\":1000");
    assert_ne!(manifest, small);
    let image = Image {
        manifest: small.into_bytes(),
        blobs: sound.blobs,
    };
    image.push(address, "understated").await;
    assert_says(&refused("image:understated", address).await, "is too large");
    // And overstates it.
    let large = manifest.replace(
        &format!("\"size\":{size}"),
        &format!("\"size\":{}", 1u64 << 40),
    );
    let image = Image {
        manifest: large.into_bytes(),
        blobs: image.blobs,
    };
    image.push(address, "overstated").await;
    assert_says(
        &refused("image:overstated", address).await,
        "all layers is too large",
    );
}

pub async fn connections_that_are_always_cut() {
    let registry = TestRegistry::start();
    let pushed = image::sound().push(&registry.address, "v2.10.0").await;
    // Enough for manifest and configuration; then the store loses its largest part, so that no try gets further.
    let path = registry.blob_file(&pushed.layers[0]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..1000]).unwrap();
    let error = refused("image", &registry.address).await;
    assert!(
        matches!(error, ImageError::Cut { received: 1000, .. }),
        "{error}"
    );

    let proxy = Proxy::cutting_after(&registry.address, 10).await;
    assert!(refused("image", &proxy.address).await.is_unreachable());
}

pub async fn nobody_answers() {
    let short = |address: &str| {
        let registry: Registry = address.parse().unwrap();
        registry.with_timeouts(Duration::from_millis(300), Duration::from_millis(600))
    };
    // Refused.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = refused("image", &address).await;
    assert!(error.is_unreachable());
    assert_says(&error, "refused");

    // Accepted, then silence.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let error = refused_by("image", &short(&silent.local_addr().unwrap().to_string())).await;
    assert!(error.is_unreachable());
    assert_says(&error, "no answer in time");

    // A black hole: the queue of connections is full, so that the kernel answers no more.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let hole = socket.listen(1).unwrap();
    let address = hole.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        queue.push(stream);
        assert!(queue.len() < 100, "the queue does not fill");
    }
    let error = refused_by("image", &short(&address.to_string())).await;
    assert!(error.is_unreachable());

    // Something answers that is no registry.
    let page = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = page.local_addr().unwrap().to_string();
    let app = axum::Router::new().fallback(|| async { "<html>Sign in to the network</html>" });
    tokio::spawn(async move { axum::serve(page, app).await });
    assert_says(
        &refused("image", &address).await,
        "what it sends is no manifest",
    );
}
