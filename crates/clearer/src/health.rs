//! Two endpoints. /healthz is 200 while the Lease loop runs, /readyz once the watches have delivered the cluster.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::time::Instant;

/// The state behind both endpoints.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    ready: AtomicBool,
    /// Healthy until this instant; none before the first beat.
    until: Mutex<Option<Instant>>,
}

impl Health {
    /// Says that the watches have delivered.
    pub fn ready(&self) {
        self.0.ready.store(true, Ordering::Relaxed);
    }

    /// Says that the Lease loop runs. The next beat is due within twice `every`.
    pub fn beat(&self, every: Duration) {
        let until = Instant::now() + every * 2;
        *self.0.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    fn is_healthy(&self) -> bool {
        let until = *self.0.until.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the first beat the process is starting, and /readyz says so.
        until.is_none_or(|until| Instant::now() < until)
    }
}

/// Serves both endpoints in the background.
///
/// # Errors
///
/// The address cannot be bound.
pub async fn serve(address: SocketAddr, health: Health) -> anyhow::Result<()> {
    let answer = |ok: bool| ok.then_some(()).ok_or(StatusCode::SERVICE_UNAVAILABLE);
    let Health(state) = health.clone();
    let healthy = get(async move || answer(health.is_healthy()));
    let ready = get(async move || answer(state.ready.load(Ordering::Relaxed)));
    let app = Router::new()
        .route("/healthz", healthy)
        .route("/readyz", ready);
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address} (--health-bind)"))?;
    tokio::spawn(async move {
        if let Err(e) = axum::serve(listener, app).await {
            tracing::error!("health endpoint: {e}");
        }
    });
    Ok(())
}
