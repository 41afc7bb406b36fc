//! Waits until something is ready.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use kube::Client;
use tokio::time::sleep;

use super::ClusterError;

/// How long each part may take to get ready. Usually it takes a few seconds, but on a busy machine much longer.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// Time between two checks.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// Calls `check` until it succeeds.
pub(super) async fn until<F: Future<Output = Result<(), String>>>(
    what: &str,
    patience: Duration,
    mut check: impl FnMut() -> F,
) -> Result<(), ClusterError> {
    let started = Instant::now();
    loop {
        let last = match check().await {
            Ok(()) => return Ok(()),
            Err(last) => last,
        };
        if started.elapsed() > patience {
            return Err(ClusterError::NotReady {
                what: what.to_owned(),
                secs: started.elapsed().as_secs(),
                last,
            });
        }
        sleep(POLL).await;
    }
}

/// The body of a server's answer to a GET of a path, or the error as text, which [`until`] shows.
pub(super) async fn get(client: &Client, path: &str) -> Result<String, String> {
    let request = http::Request::get(path)
        .body(vec![])
        .map_err(|e| e.to_string())?;
    client
        .request_text(request)
        .await
        .map_err(|e| e.to_string())
}
