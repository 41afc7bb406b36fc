//! Lets runs start together: the clock of none starts before the clusters of all are ready.

use futures::future::join_all;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// One run's place at the start line. A run that fails drops it, and the others do not wait for it any longer.
#[derive(Debug)]
pub struct StartLine {
    arrived: oneshot::Sender<()>,
    all: CancellationToken,
}

impl StartLine {
    /// Places for so many runs.
    pub fn places(runs: usize) -> Vec<Self> {
        let all = CancellationToken::new();
        let (places, arrivals): (Vec<_>, Vec<_>) = (0..runs)
            .map(|_| {
                let (arrived, arrival) = oneshot::channel();
                let all = all.clone();
                (Self { arrived, all }, arrival)
            })
            .unzip();
        tokio::spawn(async move {
            // One that was dropped arrived as well: nobody waits for it.
            join_all(arrivals).await;
            all.cancel();
        });
        places
    }

    /// Waits until all others are here or have failed.
    pub async fn cross(self) {
        let Self { arrived, all } = self;
        drop(arrived);
        all.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn nobody_starts_before_the_last_and_a_failed_run_keeps_nobody() {
        StartLine::places(1).remove(0).cross().await;
        let mut places = StartLine::places(3);
        let (first, second, third) = (places.remove(0), places.remove(0), places.remove(0));
        let first = tokio::spawn(first.cross());
        let second = tokio::spawn(second.cross());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(!first.is_finished() && !second.is_finished());
        drop(third);
        first.await.unwrap();
        assert!(second.map(|done| done.is_ok()).await);
    }
}
