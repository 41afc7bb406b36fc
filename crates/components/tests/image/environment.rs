//! What the environment says: proxies and trusted certificates.
//!
//! A process cannot safely change its own environment, so each test runs this test program again, as [`child`], with
//! other variables.

use std::process::{Command, Output};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::TcpListener;

use super::image::{self, digest};
use super::registry::TestRegistry;
use super::{Sandbox, run};

/// Says which registry the child asks; with it this program is the child.
pub const REGISTRY: &str = "HEADROOM_TEST_REGISTRY";

pub async fn child(registry: String) {
    let outcome = match Sandbox::new().fetch("image", &registry).await {
        Ok(fetched) => run(&fetched),
        Err(error) => error.to_string(),
    };
    host::errln!("{outcome}");
}

async fn fetch_with(registry: &str, variables: &[(&str, &str)]) -> String {
    let mut command = tokio::process::Command::from(Command::new(std::env::current_exe().unwrap()));
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
        .env(REGISTRY, registry)
        .envs(variables.iter().copied());
    let Output { status, stderr, .. } = command.output().await.unwrap();
    assert!(status.success());
    String::from_utf8(stderr).unwrap()
}

pub async fn a_proxy_is_used_for_all_but_loopback() {
    // Stands for the proxy and for the registry behind it.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let image = Arc::new(image::sound());
    let serve = move |request: Request| async move {
        if request.uri().host() != Some("registry.invalid") {
            return StatusCode::IM_A_TEAPOT.into_response();
        }
        answer(&image, request.uri().path())
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(serve)).await });

    let outcome = fetch_with("http://registry.invalid", &[("HTTP_PROXY", &proxy)]).await;
    assert!(outcome.starts_with("answer 42"), "{outcome}");
    let outcome = fetch_with(
        "http://registry.invalid",
        &[("HTTP_PROXY", &proxy), ("NO_PROXY", ".invalid")],
    )
    .await;
    assert!(
        outcome.contains("registry registry.invalid cannot be reached"),
        "{outcome}"
    );

    let registry = TestRegistry::start();
    image::sound().push(&registry.address, "v2.10.0").await;
    let outcome = fetch_with(
        &registry.address,
        &[("HTTP_PROXY", &proxy), ("ALL_PROXY", &proxy)],
    )
    .await;
    assert!(outcome.starts_with("answer 42"), "{outcome}");
}

fn answer(image: &image::Image, path: &str) -> Response {
    if path.ends_with("/manifests/v2.10.0") {
        let kind = "application/vnd.docker.distribution.manifest.v2+json";
        return ([(header::CONTENT_TYPE, kind)], image.manifest.clone()).into_response();
    }
    match image
        .blobs
        .iter()
        .find(|blob| path.ends_with(&digest(blob)))
    {
        Some(blob) => blob.clone().into_response(),
        None => "{}".into_response(),
    }
}

pub async fn a_mirror_s_certificate_must_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let ca_key = KeyPair::generate().unwrap();
    let mut ca_params = CertificateParams::new(Vec::new()).unwrap();
    ca_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = ca_params.self_signed(&ca_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params
        .signed_by(&key, &Issuer::from_params(&ca_params, &ca_key))
        .unwrap();
    let trusted = file("ca.pem", ca.pem());
    let certificate = file("cert.pem", certificate.pem());
    let registry = TestRegistry::start_tls(&certificate, &file("key.pem", key.serialize_pem()));
    let address = format!("https://{}", registry.address);
    image::sound().push(&address, "v2.10.0").await;

    let outcome = fetch_with(&address, &[("SSL_CERT_FILE", trusted.to_str().unwrap())]).await;
    assert!(outcome.starts_with("answer 42"), "{outcome}");
    let outcome = fetch_with(&address, &[]).await;
    assert!(
        outcome.contains("cannot be reached: invalid peer certificate"),
        "{outcome}"
    );
}
