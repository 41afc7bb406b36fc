//! The calls that a decision makes, in their order, against a fake API server that records them.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::api::lock;
use super::server::Extender;
use super::testing::{args, card_pod, eight_cards, node};
use super::wire::{BindArgs, FilterArgs};
use super::{cards, names};

#[derive(Default)]
struct Fake {
    calls: Vec<String>,
    node_lock: Option<String>,
    holder_exists: bool,
    refuse: Option<&'static str>,
    patched: Vec<Value>,
}

type Shared = Arc<Mutex<Fake>>;

async fn serve(State(fake): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = parts.uri.path().trim_start_matches("/api/v1/");
    let call = format!("{} {path}", parts.method);
    let mut fake = lock(&fake);
    if path.contains("/events") {
        return axum::Json(body).into_response();
    }
    fake.calls.push(call.clone());
    if fake.refuse == Some(call.as_str()) {
        return refusal(StatusCode::FORBIDDEN);
    }
    match call.as_str() {
        "PATCH nodes/gpu-00" => {
            let lock = &body["metadata"]["annotations"][names::NODE_LOCK];
            fake.node_lock = lock.as_str().map(str::to_owned);
            axum::Json(fake_node(&fake)).into_response()
        }
        "GET nodes/gpu-00" => axum::Json(fake_node(&fake)).into_response(),
        "GET namespaces/other/pods/holder" if !fake.holder_exists => refusal(StatusCode::NOT_FOUND),
        _ => {
            fake.patched.push(body);
            axum::Json(json!({ "metadata": { "name": "any" } })).into_response()
        }
    }
}

fn fake_node(fake: &Fake) -> Value {
    let mut annotations = json!({});
    if let Some(lock) = &fake.node_lock {
        annotations[names::NODE_LOCK] = json!(lock);
    }
    json!({ "metadata": { "name": "gpu-00", "resourceVersion": "7", "annotations": annotations } })
}

fn refusal(code: StatusCode) -> Response {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "refused",
        "code": code.as_u16() });
    (code, axum::Json(status)).into_response()
}

async fn bench(fake: Fake) -> (Extender, Shared) {
    let fake = Arc::new(Mutex::new(fake));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let routes = Router::new().fallback(serve).with_state(fake.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let config = kube::Config::new(url.parse().unwrap());
    let extender = Extender::new(&args(&["--kube-qps=-1"]).unwrap(), config).unwrap();
    let node = node("gpu-00", &eight_cards("gpu-00"));
    lock(&extender.accounts)
        .nodes
        .insert("gpu-00".to_owned(), cards::of_node(&node).unwrap());
    extender.nodes.put("/gpu-00".to_owned(), node);
    let pod = card_pod(&json!({ "nvidia.com/gpu": "1" }));
    extender.pods.put("team/job".to_owned(), Arc::new(pod));
    (extender, fake)
}

fn question() -> BindArgs {
    BindArgs {
        pod_name: "job".to_owned(),
        pod_namespace: "team".to_owned(),
        pod_uid: "u1".to_owned(),
        node: "gpu-00".to_owned(),
    }
}

const READ: &str = "GET nodes/gpu-00";
const WRITE: &str = "PATCH nodes/gpu-00";
const HOLDER: &str = "GET namespaces/other/pods/holder";
const PHASE: &str = "PATCH namespaces/team/pods/job";
const BIND: &str = "POST namespaces/team/pods/job/binding";

#[allow(clippy::unnecessary_wraps)] // the shape that its callers pass on
fn held(at: &str) -> Option<String> {
    Some(format!("{at},other,holder"))
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

#[tokio::test]
async fn a_free_node_costs_three_reads_and_a_write() {
    let (extender, fake) = bench(Fake::default()).await;
    assert_eq!(extender.bind(question()).await.error, "");
    assert_eq!(lock(&fake).calls, [READ, READ, READ, WRITE, PHASE, BIND]);
    assert!(
        lock(&fake)
            .node_lock
            .as_deref()
            .unwrap()
            .ends_with(",team,job")
    );
    assert_eq!(
        lock(&fake).patched[0]["metadata"]["annotations"][names::BIND_PHASE],
        "allocating"
    );
}

#[tokio::test]
async fn a_locked_node_costs_five_reads() {
    let fake = Fake {
        node_lock: held(&now()),
        holder_exists: true,
        ..Fake::default()
    };
    let (extender, fake) = bench(fake).await;
    assert!(
        extender
            .bind(question())
            .await
            .error
            .contains("node lock contention")
    );
    assert_eq!(lock(&fake).calls, [READ, HOLDER, READ, READ, READ]);
}

#[tokio::test]
async fn a_lock_is_taken_over_when_its_pod_is_gone_or_it_is_old() {
    let take_over = [READ, READ, WRITE, READ, READ, WRITE, PHASE, BIND];
    for (at, lookup) in [
        (now(), vec![READ, HOLDER]),
        ("2026-01-01T00:00:00Z".to_owned(), vec![READ]),
    ] {
        let (extender, fake) = bench(Fake {
            node_lock: held(&at),
            ..Fake::default()
        })
        .await;
        assert_eq!(extender.bind(question()).await.error, "");
        assert_eq!(lock(&fake).calls, [lookup, take_over.to_vec()].concat());
    }
}

#[tokio::test]
async fn a_refused_binding_gives_the_lock_back_and_keeps_the_cards() {
    let (extender, fake) = bench(Fake {
        refuse: Some(BIND),
        ..Fake::default()
    })
    .await;
    let pod = card_pod(&json!({ "nvidia.com/gpu": "1" }));
    let filtered = FilterArgs {
        pod: Some(pod),
        nodes: None,
        node_names: Some(vec!["gpu-00".to_owned()]),
    };
    assert_eq!(
        extender.filter(filtered).await.node_names.unwrap(),
        ["gpu-00"]
    );
    assert_eq!(extender.bind(question()).await.error, "refused");
    let calls = [
        PHASE, READ, READ, READ, WRITE, PHASE, BIND, READ, READ, READ, WRITE,
    ];
    assert_eq!(lock(&fake).calls, calls);
    assert_eq!(lock(&fake).node_lock, None);
    assert_eq!(lock(&extender.accounts).reservations().count(), 1);
}

#[tokio::test]
async fn a_decision_is_one_write_and_none_reserves_nothing() {
    let (extender, fake) = bench(Fake::default()).await;
    let ask = |nodes: &[&str]| FilterArgs {
        pod: Some(card_pod(&json!({ "nvidia.com/gpu": "1" }))),
        nodes: None,
        node_names: Some(nodes.iter().map(|name| (*name).to_owned()).collect()),
    };
    let answer = extender.filter(ask(&["gpu-00", "cpu-00"])).await;
    assert_eq!(answer.node_names.unwrap(), ["gpu-00"]);
    assert_eq!(lock(&fake).calls, [PHASE]);
    let annotations = lock(&fake).patched[0]["metadata"]["annotations"].clone();
    assert_eq!(
        annotations[names::ALLOCATED],
        "gpu-00-gpu-7,NVIDIA,24564,0:;"
    );
    assert_eq!(lock(&extender.accounts).reservations().count(), 1);

    let answer = extender.filter(ask(&["cpu-00"])).await;
    assert_eq!(answer.failed_nodes.unwrap()["cpu-00"], "node unregistered");
    assert_eq!(lock(&fake).calls.len(), 1);
    assert_eq!(
        lock(&extender.accounts).reservations().count(),
        0,
        "the earlier attempt's card is free again"
    );

    lock(&fake).refuse = Some(PHASE);
    assert_eq!(extender.filter(ask(&["gpu-00"])).await.error, "refused");
    assert_eq!(lock(&extender.accounts).reservations().count(), 0);
}
