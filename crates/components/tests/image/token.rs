//! A registry as Docker Hub is: anonymous tokens from another place, blobs by redirection from a third.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use super::image::{self, digest};
use super::{Sandbox, run};

struct Hub {
    image: image::Image,
    /// Where tokens are to be had.
    realm: String,
    /// Where blobs are.
    blobs: String,
    queries: Mutex<Vec<String>>,
}

async fn token(State(hub): State<Arc<Hub>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    hub.queries.lock().unwrap().push(query.to_owned());
    axum::Json(serde_json::json!({"token": "for-you", "expires_in": 300})).into_response()
}

async fn serve(State(hub): State<Arc<Hub>>, request: Request) -> Response {
    let authorised = request
        .headers()
        .get(header::AUTHORIZATION)
        .is_some_and(|v| v == "Bearer for-you");
    if !authorised {
        let challenge = format!(r#"Bearer realm="{}",service="registry.test""#, hub.realm);
        return (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, challenge)],
            "{}",
        )
            .into_response();
    }
    let path = request.uri().path();
    if path.ends_with("/manifests/v2.10.0") {
        let kind = "application/vnd.docker.distribution.manifest.v2+json";
        return ([(header::CONTENT_TYPE, kind)], hub.image.manifest.clone()).into_response();
    }
    match path.split_once("/blobs/") {
        Some((_, digest)) => {
            let place = format!("{}/{digest}", hub.blobs);
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, place)]).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn blob(State(hub): State<Arc<Hub>>, request: Request) -> Response {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return (StatusCode::BAD_REQUEST, "the token went to another host").into_response();
    }
    let wanted = request.uri().path().trim_start_matches('/');
    match hub.image.blobs.iter().find(|blob| digest(blob) == wanted) {
        Some(blob) => blob.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub async fn anonymous_tokens_and_redirected_blobs_as_docker_hub_has_them() {
    let bind = || async { TcpListener::bind("127.0.0.1:0").await.unwrap() };
    let (front, tokens, store) = (bind().await, bind().await, bind().await);
    let url = |l: &TcpListener| format!("http://{}", l.local_addr().unwrap());
    let address = front.local_addr().unwrap().to_string();
    let hub = Arc::new(Hub {
        image: image::sound(),
        realm: format!("{}/token", url(&tokens)),
        blobs: url(&store),
        queries: Mutex::default(),
    });
    let app = |router: Router<Arc<Hub>>| router.with_state(Arc::clone(&hub));
    let (a, b, c) = (
        app(Router::new().fallback(get(serve))),
        app(Router::new().route("/token", get(token))),
        app(Router::new().fallback(get(blob))),
    );
    tokio::spawn(async move { axum::serve(front, a).await });
    tokio::spawn(async move { axum::serve(tokens, b).await });
    tokio::spawn(async move { axum::serve(store, c).await });

    let sandbox = Sandbox::new();
    let fetched = sandbox.fetch("image:v2.10.0", &address).await.unwrap();
    assert!(run(&fetched).starts_with("answer 42"));
    // One token, for this repository alone, serves the whole pull.
    let asked = "scope=repository%3Aprojecthami%2Fhami%3Apull&service=registry.test";
    assert_eq!(*hub.queries.lock().unwrap(), [asked]);
}
