use super::*;

async fn post(port: u16, path: &str, body: Value) -> Value {
    let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let target = kube::Client::try_from(config).unwrap();
    let body = body.to_string().into_bytes();
    let (_, bytes) = pass_on(&target, path, body).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

async fn extender() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = || async { axum::Json(json!({ "NodeNames": ["p1-a"] })) };
    let routes = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    port
}

#[tokio::test]
async fn a_pod_is_passed_on_as_often_as_allowed_and_every_answer_is_kept() {
    let tap = Tap::start().await.unwrap();
    tap.aim(extender().await).unwrap();
    let question = json!({ "Pod": { "metadata": { "namespace": "n", "name": "p" } }, "NodeNames": ["p1-a", "p1-b"] });
    tap.allow("n/p", 1);
    let first = post(tap.port(), "/filter", question.clone()).await;
    assert_eq!(first["NodeNames"][0], "p1-a");
    let second = post(tap.port(), "/filter", question).await;
    assert_eq!(second["Error"], HELD_BACK);
    let asked = tap.asked();
    assert_eq!(asked.len(), 1, "the extender never heard of the second");
    assert_eq!((asked[0].pod.as_str(), asked[0].nodes.len()), ("n/p", 2));
    assert!(asked[0].answer.is_some());
}

#[tokio::test]
async fn a_bind_waits_until_it_is_released() {
    let tap = Tap::start().await.unwrap();
    tap.aim(extender().await).unwrap();
    tap.hold("n/p");
    let port = tap.port();
    let bind = json!({ "PodNamespace": "n", "PodName": "p", "Node": "p1-a" });
    let waiting = tokio::spawn(async move { post(port, "/bind", bind).await });
    while !tap.is_waiting("n/p") {
        tokio::task::yield_now().await;
    }
    assert!(tap.asked().is_empty());
    tap.release(&["n/p".to_owned()]);
    waiting.await.unwrap();
    assert_eq!(tap.asked()[0].verb, Verb::Bind);
}
