//! The HTTP side. In: kube-scheduler's requests. Out: the answers of [`super::filter`] and [`super::bind`] as JSON.
//!
//! A decision that has begun is completed even if the caller hangs up, as in a Go handler.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::register;
use super::server::Extender;
use super::wire::{BindResult, FilterResult};

/// A longer request is refused (HAMi's value).
const MAX_REQUEST_BYTES: usize = 1024 * 1024;

/// The routes that kube-scheduler and a kubelet use.
pub(crate) fn routes(extender: Arc<Extender>) -> Router {
    Router::new()
        .route("/filter", post(filter))
        .route("/bind", post(bind))
        .route("/webhook", post(webhook))
        .route("/healthz", get(|| async { StatusCode::OK }))
        .route("/readyz", get(|| async { StatusCode::OK }))
        .with_state(extender)
}

async fn read<T: DeserializeOwned>(body: Body) -> Result<T, String> {
    let bytes = to_bytes(body, MAX_REQUEST_BYTES)
        .await
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

fn answer<T: Serialize>(answer: T) -> Response {
    axum::Json(answer).into_response()
}

async fn filter(State(extender): State<Arc<Extender>>, body: Body) -> Response {
    let args = match read(body).await {
        Ok(args) => args,
        Err(error) => return answer(FilterResult::failed(error)),
    };
    // Dropped, and with it cancelled, when the caller hangs up.
    let hung_up = CancellationToken::new();
    let _guard = hung_up.clone().drop_guard();
    let decision = tokio::spawn(async move {
        if register::wait_synced(&extender, &hung_up).await {
            extender.filter(args).await
        } else {
            FilterResult::failed("the caller gave up before the nodes were registered")
        }
    });
    decision.await.map_or_else(|error| crashed(&error), answer)
}

async fn bind(State(extender): State<Arc<Extender>>, body: Body) -> Response {
    let args = match read(body).await {
        Ok(args) => args,
        Err(error) => return answer(BindResult { error }),
    };
    let bound = tokio::spawn(async move { extender.bind(args).await });
    bound.await.map_or_else(|error| crashed(&error), answer)
}

fn crashed(error: &tokio::task::JoinError) -> Response {
    tracing::error!("request: {error}");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

async fn webhook() -> Response {
    (
        StatusCode::NOT_IMPLEMENTED,
        "the built-in extender serves no admission webhook\n",
    )
        .into_response()
}
