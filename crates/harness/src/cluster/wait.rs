//! Waiting until something is ready.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use kube::Client;
use tokio::time::sleep;

use super::ClusterError;

/// How long each part may take to get ready. Far above what is usual (a few seconds), for a machine under load.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// Time between two looks at something that is not ready yet.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// Looks again and again until `check` is content.
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

/// The body that a server sends for a path; the error as text, for [`until`] to show.
pub(super) async fn get(client: &Client, path: &str) -> Result<String, String> {
    let request = http::Request::get(path)
        .body(vec![])
        .map_err(|e| e.to_string())?;
    client
        .request_text(request)
        .await
        .map_err(|e| e.to_string())
}
