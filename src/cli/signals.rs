//! Ctrl-C and SIGTERM: they ask every part to end in order.

use host::errln;
use std::sync::OnceLock;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled when the command should stop. The first call, inside the runtime, installs the handlers.
pub fn stop() -> &'static CancellationToken {
    static STOP: OnceLock<CancellationToken> = OnceLock::new();
    STOP.get_or_init(|| {
        let stop = CancellationToken::new();
        for kind in [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::quit(),
        ] {
            let stop = stop.clone();
            match signal(kind) {
                Ok(mut signals) => {
                    tokio::spawn(async move {
                        while signals.recv().await.is_some() {
                            if !stop.is_cancelled() {
                                errln!("stopping: ending everything that was started");
                            }
                            stop.cancel();
                        }
                    });
                }
                Err(error) => errln!("headroom: signals are not handled: {error}"),
            }
        }
        stop
    })
}
