//! The tap between kube-scheduler and the extender. It passes on every question, and records questions and answers.
//!
//! In: kube-scheduler's HTTP requests. Out: the extender's own answers, unchanged. Only if a scenario asks for it, the tap delays
//! a bind, or refuses a further attempt of a pod, which then does not reach the extender.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// The answer to kube-scheduler for a pod that may have no further attempt for now.
const HELD_BACK: &str = "headroom conformance: no further try of this pod for now";

/// Which of the extender's two questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Which nodes a pod fits.
    Filter,
    /// Bind a pod to a node.
    Bind,
}

/// A question that reached the extender.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Which question.
    pub verb: Verb,
    /// `namespace/name` of the pod.
    pub pod: String,
    /// The nodes asked about; for a bind, the node to bind to.
    pub nodes: Vec<String>,
    /// The extender's answer, once there is one.
    pub answer: Option<Value>,
}

#[derive(Default)]
struct Book {
    target: Option<kube::Client>,
    asked: Vec<Asked>,
    /// Attempts left, by pod. A pod without an entry has none.
    tries: HashMap<String, u32>,
    /// Pods whose binds are delayed.
    held: HashSet<String>,
    /// Pods whose bind is waiting now.
    waiting: HashSet<String>,
}

/// A running tap. It ends with the runtime.
#[derive(Clone)]
pub struct Tap {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    book: Mutex<Book>,
    released: Notify,
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes a question on. Returns the answer's status and body.
async fn pass_on(
    target: &kube::Client,
    path: &str,
    body: Vec<u8>,
) -> Result<(u16, Vec<u8>), String> {
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(kube::client::Body::from(body))
        .map_err(|error| error.to_string())?;
    let response = target.send(request).await;
    let response = response.map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await;
    Ok((status, bytes.map_err(|error| error.to_string())?.to_vec()))
}

impl Tap {
    /// Starts listening on a free port of the loopback interface.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("found no port to listen on")?;
        let port = listener
            .local_addr()
            .context("a listener without address")?
            .port();
        let shared = Arc::new(Shared::default());
        let routes = Router::new().fallback(ask).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { port, shared })
    }

    /// The port that kube-scheduler must ask.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends questions to the extender at this port from now on, and forgets everything before.
    ///
    /// # Errors
    /// Never in practice: the address is well formed.
    pub fn aim(&self, port: u16) -> anyhow::Result<()> {
        let mut config = kube::Config::new(format!("http://127.0.0.1:{port}").parse()?);
        config.proxy_url = None;
        config.default_retry = false;
        *self.shared.book() = Book {
            target: Some(kube::Client::try_from(config)?),
            ..Book::default()
        };
        Ok(())
    }

    /// Allows a pod this many more attempts.
    pub fn allow(&self, pod: &str, tries: u32) {
        *self.shared.book().tries.entry(pod.to_owned()).or_default() += tries;
    }

    /// How many attempts a pod has left.
    #[must_use]
    pub fn tries_left(&self, pod: &str) -> u32 {
        self.shared.book().tries.get(pod).copied().unwrap_or(0)
    }

    /// Delays a pod's binds.
    pub fn hold(&self, pod: &str) {
        self.shared.book().held.insert(pod.to_owned());
    }

    /// Releases the binds of these pods.
    pub fn release(&self, pods: &[String]) {
        let mut book = self.shared.book();
        for pod in pods {
            book.held.remove(pod);
        }
        drop(book);
        self.shared.released.notify_waiters();
    }

    /// Whether a bind of a pod is waiting now.
    #[must_use]
    pub fn is_waiting(&self, pod: &str) -> bool {
        self.shared.book().waiting.contains(pod)
    }

    /// Allows no pod a further attempt, and delays no bind.
    pub fn close(&self) {
        let mut book = self.shared.book();
        book.tries.clear();
        book.held.clear();
        drop(book);
        self.shared.released.notify_waiters();
    }

    /// All questions so far, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.book().asked.clone()
    }
}

async fn ask(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let Ok(body) = to_bytes(request.into_body(), usize::MAX).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = read(&path, &question);
    if asked.verb == Verb::Bind {
        wait_for_release(&shared, &asked.pod).await;
    }
    let pod = asked.pod.clone();
    let (number, target) = {
        let mut book = shared.book();
        if asked.verb == Verb::Filter {
            match book.tries.get_mut(&asked.pod) {
                Some(left) if *left > 0 => *left -= 1,
                _ => return axum::Json(json!({ "Error": HELD_BACK })).into_response(),
            }
        }
        book.asked.push(asked);
        (book.asked.len() - 1, book.target.clone())
    };
    let Some(target) = target else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let (status, answer) = match pass_on(&target, &path, body.to_vec()).await {
        Ok(answer) => answer,
        Err(error) => (502, json!({ "Error": error }).to_string().into_bytes()),
    };
    let said = serde_json::from_slice(&answer)
        .unwrap_or_else(|_| json!({ "Error": format!("status {status}") }));
    // A late answer must not come into the book of a later play.
    if let Some(asked) = shared.book().asked.get_mut(number)
        && asked.pod == pod
    {
        asked.answer = Some(said);
    }
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let kind = [(http::header::CONTENT_TYPE, "application/json")];
    (status, kind, Body::from(answer)).into_response()
}

fn read(path: &str, question: &Value) -> Asked {
    let text = |pointer: &str| {
        let value = question.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let bind = path.ends_with("/bind");
    let (namespace, name, nodes) = if bind {
        (text("/PodNamespace"), text("/PodName"), vec![text("/Node")])
    } else {
        let names = question.get("NodeNames").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        (
            text("/Pod/metadata/namespace"),
            text("/Pod/metadata/name"),
            names.map(str::to_owned).collect(),
        )
    };
    Asked {
        verb: if bind { Verb::Bind } else { Verb::Filter },
        pod: format!("{namespace}/{name}"),
        nodes,
        answer: None,
    }
}

async fn wait_for_release(shared: &Shared, pod: &str) {
    loop {
        let released = shared.released.notified();
        tokio::pin!(released);
        // Listens before it looks: a release in between is not missed.
        released.as_mut().enable();
        {
            let mut book = shared.book();
            if !book.held.contains(pod) {
                book.waiting.remove(pod);
                return;
            }
            book.waiting.insert(pod.to_owned());
        }
        released.await;
    }
}

#[cfg(test)]
#[path = "tap_tests.rs"]
mod tests;
