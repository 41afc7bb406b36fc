//! Fetches that succeed, some of them against odds.

use std::collections::BTreeSet;
use std::sync::Mutex;

use headroom_components::image::{ImageError, Progress, fetch_scheduler};

use super::image::{
    self, Image, Layer, Programs, architecture, digest, other_architecture, push_index,
};
use super::proxy::Proxy;
use super::registry::TestRegistry;
use super::{Sandbox, at, names, run};

pub async fn what_is_fetched_runs_with_the_images_own_libraries() {
    let registry = TestRegistry::start();
    let pushed = image::sound().push(&registry.address, "v2.10.0").await;
    let sandbox = Sandbox::new();
    let seen = Mutex::new(Vec::new());
    let fetched = fetch_scheduler(
        &"image:v2.10.0".parse().unwrap(),
        &at(&registry.address),
        &sandbox.cache(),
        &|progress| seen.lock().unwrap().push(progress),
    )
    .await
    .unwrap();

    // Its library exists nowhere on this machine; its own name comes first, as if started directly.
    assert_eq!(
        run(&fetched),
        format!(
            "answer 42 from {} --flag value",
            fetched.scheduler.display()
        )
    );
    assert_eq!(
        format!("sha256:{}", fetched.sha256),
        digest(&Programs::get().scheduler)
    );
    assert_eq!(fetched.version.as_deref(), Some("v2.10.0"));
    assert_eq!(fetched.digest, pushed.digest);
    assert_eq!(fetched.stale, None);

    // Nothing else was taken out.
    let entry = pushed.digest.replace(':', "-");
    assert_eq!(
        sandbox.names(),
        [entry.clone(), "refs.json".to_owned()].into()
    );
    let loader = fetched.program.file_name().unwrap().to_str().unwrap();
    let libraries: BTreeSet<String> = ["libanswer.so.1", "libc.so.6", loader]
        .map(str::to_owned)
        .into();
    assert_eq!(names(&sandbox.cache().join(&entry).join("lib")), libraries);

    let seen = seen.into_inner().unwrap();
    assert!(seen.iter().any(|p| matches!(p,
        Progress::Layer { number: 3, of: 3, received_bytes, total_bytes } if received_bytes == total_bytes)));
    assert_eq!(seen.last(), Some(&Progress::Unpacking));
}

pub async fn of_several_architectures_this_machines_is_taken() {
    let registry = TestRegistry::start();
    let address = &registry.address;
    let right = image::sound().push(address, "right").await;
    let wrong = Image::new(vec![Layer::new()], other_architecture())
        .push(address, "wrong")
        .await;
    let notes = Image::new(vec![Layer::new().file("note", b"")], "unknown")
        .push(address, "notes")
        .await;
    let index = push_index(
        address,
        "v2.10.0",
        &[
            (&notes, "unknown", "unknown"),
            (&wrong, "linux", other_architecture()),
            (&right, "linux", architecture()),
        ],
    )
    .await;
    let sandbox = Sandbox::new();
    let fetched = sandbox.fetch("image", address).await.unwrap();
    assert_eq!(
        (fetched.digest, fetched.manifest_digest),
        (index.digest.clone(), right.digest)
    );

    // By the digest that was recorded, also when the registry is gone and whatever the registry.
    drop(registry);
    let by_digest = format!("image@{}", index.digest);
    let again = sandbox.fetch(&by_digest, "127.0.0.1:1").await.unwrap();
    assert_eq!((again.digest, again.stale), (index.digest, None));
    assert!(run(&sandbox.fetch(&by_digest, "127.0.0.1:1").await.unwrap()).starts_with("answer 42"));
}

pub async fn a_cut_connection_is_resumed_where_it_was_cut() {
    let registry = TestRegistry::start();
    let pushed = image::sound().push(&registry.address, "v2.10.0").await;
    let largest = std::fs::metadata(registry.blob_file(&pushed.layers[0]))
        .unwrap()
        .len();
    let cut = 200_000;
    assert!(
        largest > 3 * cut as u64,
        "the layer is too small to be cut several times"
    );
    let proxy = Proxy::cutting_after(&registry.address, cut).await;
    let sandbox = Sandbox::new();
    let fetched = sandbox.fetch("image", &proxy.address).await.unwrap();
    assert!(run(&fetched).starts_with("answer 42"));

    let layer: Vec<_> = proxy
        .requests()
        .into_iter()
        .filter(|r| r.contains(&pushed.layers[0]))
        .collect();
    let offsets: Vec<u64> = layer
        .iter()
        .filter_map(|head| {
            head.split_once("range: bytes=")?
                .1
                .split('-')
                .next()?
                .parse()
                .ok()
        })
        .collect();
    assert!(
        offsets.len() > 3 && offsets.is_sorted_by(|a, b| a < b),
        "no resumption: {offsets:?}"
    );
}

pub async fn whiteouts_of_upper_layers_hide_lower_files() {
    let registry = TestRegistry::start();
    let folder = image::library_folder();
    let junk = b"not a program";
    let layers = vec![
        image::base_layer().file("k8s-vgpu/bin/scheduler", junk),
        Layer::new().file(&format!("{folder}/libanswer.so.1"), junk),
        Layer::new()
            .file("k8s-vgpu/bin/.wh.scheduler", b"")
            .file(&format!("{folder}/.wh.libanswer.so.1"), b""),
        image::library_layer(),
        image::scheduler_layer(),
    ];
    Image::new(layers, architecture())
        .push(&registry.address, "v2.10.0")
        .await;
    let sandbox = Sandbox::new();
    assert!(
        run(&sandbox.fetch("image", &registry.address).await.unwrap()).starts_with("answer 42")
    );

    // Hidden for good: by name, by an opaque folder, by the removal of a folder above.
    for whiteout in [
        "k8s-vgpu/bin/.wh.scheduler",
        "k8s-vgpu/bin/.wh..wh..opq",
        ".wh.k8s-vgpu",
    ] {
        let layers = vec![
            image::base_layer(),
            image::scheduler_layer(),
            Layer::new().file(whiteout, b""),
        ];
        Image::new(layers, architecture())
            .push(&registry.address, "hidden")
            .await;
        let problem = sandbox
            .fetch("image:hidden", &registry.address)
            .await
            .unwrap_err();
        assert!(
            problem.to_string().contains("is not there"),
            "{whiteout}: {problem}"
        );
    }
}

pub async fn links_inside_the_image_are_followed() {
    let registry = TestRegistry::start();
    let layers = vec![
        image::base_layer(),
        image::library_layer(),
        Layer::new().file("opt/hami/real", &Programs::get().scheduler),
        // Upper layers refer to files of lower ones.
        Layer::new()
            .symlink("k8s-vgpu", "/opt/hami")
            .hard_link("opt/hami/other", "opt/hami/real"),
        Layer::new().symlink("k8s-vgpu/bin/scheduler", "../other"),
    ];
    Image::new(layers, architecture())
        .push(&registry.address, "v2.10.0")
        .await;
    let sandbox = Sandbox::new();
    let fetched = sandbox.fetch("image", &registry.address).await.unwrap();
    assert!(run(&fetched).starts_with("answer 42"));
}

pub async fn a_tag_is_asked_again_and_answered_from_the_cache_only_when_nobody_answers() {
    let registry = TestRegistry::start();
    let address = registry.address.clone();
    let first = image::sound().push(&address, "v2.10.0").await;
    let sandbox = Sandbox::new();
    let fetched = sandbox.fetch("image", &address).await.unwrap();
    assert_eq!(fetched.digest, first.digest);

    // The tag moves.
    let layers = vec![
        image::base_layer(),
        image::scheduler_layer(),
        image::library_layer(),
    ];
    let second = Image::new(layers, architecture())
        .push(&address, "v2.10.0")
        .await;
    assert_eq!(
        sandbox.fetch("image", &address).await.unwrap().digest,
        second.digest
    );

    drop(registry);
    let stale = sandbox.fetch("image", &address).await.unwrap();
    assert_eq!(stale.digest, second.digest);
    assert!(
        stale
            .stale
            .is_some_and(|why| why.contains("cannot be reached"))
    );
    // Another registry's tag is another tag.
    let elsewhere = sandbox.fetch("image", "127.0.0.1:1").await.unwrap_err();
    assert!(elsewhere.is_unreachable());
}

pub async fn two_fetches_at_once_download_once() {
    let registry = TestRegistry::start();
    let pushed = image::sound().push(&registry.address, "v2.10.0").await;
    let proxy = Proxy::cutting_after(&registry.address, usize::MAX).await;
    let sandbox = Sandbox::new();
    let (one, two) = tokio::join!(
        sandbox.fetch("image", &proxy.address),
        sandbox.fetch("image", &proxy.address)
    );
    assert_eq!(one.unwrap(), two.unwrap());
    let requests = proxy.requests();
    for layer in &pushed.layers {
        assert_eq!(
            requests.iter().filter(|r| r.contains(layer)).count(),
            1,
            "{requests:?}"
        );
    }
}

pub async fn what_a_killed_fetch_left_is_cleared_and_a_damaged_entry_replaced() {
    let registry = TestRegistry::start();
    image::sound().push(&registry.address, "v2.10.0").await;
    let sandbox = Sandbox::new();
    let left = sandbox.cache().join(".partial-left");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("layer-0"), "half").unwrap();
    let fetched = sandbox.fetch("image", &registry.address).await.unwrap();
    assert!(!left.exists());

    std::fs::write(&fetched.scheduler, "damaged").unwrap();
    assert_eq!(
        sandbox.fetch("image", &registry.address).await.unwrap(),
        fetched
    );
    assert!(run(&fetched).starts_with("answer 42"));
}

pub async fn an_interrupted_fetch_leaves_nothing() {
    let registry = TestRegistry::start();
    image::sound().push(&registry.address, "v2.10.0").await;
    let sandbox = Sandbox::new();
    let (started, wait) = tokio::sync::oneshot::channel();
    let started = Mutex::new(Some(started));
    let (image, registry_at, cache) = (
        "image".parse().unwrap(),
        at(&registry.address),
        sandbox.cache(),
    );
    let progress = move |_| {
        if let Some(started) = started.lock().unwrap().take() {
            let _ = started.send(());
        }
    };
    tokio::select! {
        biased;
        Ok(()) = wait => {}
        done = fetch_scheduler(&image, &registry_at, &cache, &progress) => {
            panic!("the fetch ended before it could be interrupted: {:?}", done.map_err(|e: ImageError| e.to_string()));
        }
    }
    sandbox.assert_empty();
}
