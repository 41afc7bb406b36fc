//! The node lock: one bind per node at a time, from the bind until the device plugin has handed over the cards.
//!
//! In: a node and a pod. Out: the annotation `hami.io/mutex.lock`, set or removed by the calls that HAMi makes. A free lock
//! takes three GETs and a PATCH, which are most of a bind's calls. A lock that has expired, or whose pod is gone, is taken
//! over. The pauses between tries are HAMi's own and happen only after a failed call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::api::{CallError, Calls, lock};
use super::names;
use super::request::annotation;

/// How often a change of the lock is tried, and the pauses after the first four tries: 100 ms, doubled each time, and
/// lengthened by up to a half at random (HAMi's values).
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_JITTER: f64 = 0.5;

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LockError {
    /// Another pod holds it.
    #[error("node {node} {how}: node lock contention")]
    Contended {
        /// The node.
        node: String,
        /// Whether that was seen at once, or only when the lock was set.
        how: String,
    },
    /// A call failed.
    #[error("{what} node lock of {node}: {error}")]
    Call {
        /// What was tried.
        what: &'static str,
        /// The node.
        node: String,
        /// The last call's error.
        error: CallError,
    },
    /// The annotation cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

impl LockError {
    /// Whether another pod holds the lock.
    pub(crate) fn is_contention(&self) -> bool {
        matches!(self, Self::Contended { .. })
    }
}

/// Reads a node; `what` names the attempt in the error.
async fn get(calls: &Calls, node: &str, what: &'static str) -> Result<Node, LockError> {
    let read = calls.get_node(node).await;
    read.map_err(|error| failed(what, node, error))
}

/// Writes or removes the lock; this fails if the node has changed since it was read.
async fn write(
    calls: &Calls,
    name: &str,
    what: &'static str,
    node: &Node,
    lock: Option<&str>,
) -> Result<(), LockError> {
    let patch = json!({ "metadata": {
        "annotations": { (names::NODE_LOCK): lock },
        "resourceVersion": node.metadata.resource_version,
    } });
    let written = calls.patch_node(name, &patch).await;
    written.map(drop).map_err(|error| failed(what, name, error))
}

/// A pod as the lock names it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Holder<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub pod: &'a str,
}

impl Holder<'_> {
    fn suffix(self) -> String {
        format!(",{},{}", self.namespace, self.pod)
    }
}

/// When the lock was taken, and by whom. The old form has no holder.
fn parse(text: &str) -> Result<(Timestamp, Option<Holder<'_>>), LockError> {
    let time = |stamp: &str| {
        let error = |_| LockError::Unreadable(format!("parsing time {stamp:?}: not RFC 3339"));
        stamp.parse::<Timestamp>().map_err(error)
    };
    match text.split(',').collect::<Vec<_>>().as_slice() {
        [at] => Ok((time(at)?, None)),
        [at, namespace, pod] => Ok((time(at)?, Some(Holder { namespace, pod }))),
        parts => Err(LockError::Unreadable(format!(
            "malformed lock annotation: expected 3 parts, got {} from {text}",
            parts.len()
        ))),
    }
}

/// A duration of whole seconds as Go writes it, e.g. `5m0s`.
fn go_duration(duration: Duration) -> String {
    let secs = duration.as_secs();
    match (secs / 3600, secs / 60 % 60, secs % 60) {
        (0, 0, secs) => format!("{secs}s"),
        (0, mins, secs) => format!("{mins}m{secs}s"),
        (hours, mins, secs) => format!("{hours}h{mins}m{secs}s"),
    }
}

/// Locks of all nodes.
#[derive(Debug)]
pub(crate) struct NodeLocks {
    timeout: Duration,
    // Within this process one caller at a time changes a node's lock.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl NodeLocks {
    /// `timeout` is the age at which a lock may be taken over.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            turns: Mutex::default(),
        }
    }

    /// Forgets a node that is gone.
    pub(crate) fn forget(&self, node: &str) {
        lock(&self.turns).remove(node);
    }

    fn turn(&self, node: &str) -> Arc<tokio::sync::Mutex<()>> {
        lock(&self.turns)
            .entry(node.to_owned())
            .or_default()
            .clone()
    }

    /// Takes a node's lock for a pod.
    ///
    /// # Errors
    /// Another pod holds it, or a call failed.
    pub(crate) async fn take(
        &self,
        calls: &Calls,
        name: &str,
        holder: Holder<'_>,
    ) -> Result<(), LockError> {
        let node = get(calls, name, "read").await?;
        let Some(text) = lock_text(&node) else {
            return self.set(calls, name, holder).await;
        };
        let (at, previous) = parse(text)?;
        let expired = Timestamp::now().duration_since(at).unsigned_abs() > self.timeout
            && at < Timestamp::now();
        let mut take_over = expired;
        if !expired && let Some(previous) = previous {
            if previous == holder {
                return Ok(());
            }
            if !previous.namespace.is_empty() && !previous.pod.is_empty() {
                match calls.get_pod(previous.namespace, previous.pod).await {
                    Ok(_) => {}
                    Err(error) if error.is_not_found() => take_over = true,
                    Err(error) => return Err(failed("look up the holder of the", name, error)),
                }
            }
        }
        if !take_over {
            return Err(LockError::Contended {
                node: name.to_owned(),
                how: format!("has been locked within {}", go_duration(self.timeout)),
            });
        }
        tracing::info!(node = name, lock = text, "taking over a node lock");
        self.release(calls, name, holder, true).await?;
        self.set(calls, name, holder).await
    }

    async fn set(&self, calls: &Calls, name: &str, holder: Holder<'_>) -> Result<(), LockError> {
        let contended = || LockError::Contended {
            node: name.to_owned(),
            how: "is locked".to_owned(),
        };
        let turn = self.turn(name);
        let _turn = turn.lock().await;
        if lock_text(&get(calls, name, "read").await?).is_some() {
            return Err(contended());
        }
        let owner = holder.suffix();
        retry(FIRST_PAUSE, || async {
            let node = get(calls, name, "set").await?;
            match lock_text(&node) {
                Some(text) if text.ends_with(&owner) => return Ok(()),
                Some(_) => return Err(contended()),
                None => {}
            }
            // To the second, as HAMi writes it.
            let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
            let text = format!("{now}{owner}");
            write(calls, name, "set", &node, Some(&text)).await
        })
        .await
    }

    /// Removes a node's lock if the pod holds it, or whoever holds it when `regardless`.
    ///
    /// # Errors
    /// A call failed.
    pub(crate) async fn release(
        &self,
        calls: &Calls,
        name: &str,
        holder: Holder<'_>,
        regardless: bool,
    ) -> Result<(), LockError> {
        let turn = self.turn(name);
        let _turn = turn.lock().await;
        let node = get(calls, name, "read").await?;
        let Some(text) = lock_text(&node) else {
            return Ok(());
        };
        let owner = holder.suffix();
        if !regardless && text.contains(',') && !text.ends_with(&owner) {
            return Ok(());
        }
        retry(FIRST_PAUSE, || async {
            let node = get(calls, name, "release").await?;
            let ours = lock_text(&node).is_some_and(|current| {
                if regardless || !current.contains(',') {
                    current == text
                } else {
                    current.ends_with(&owner)
                }
            });
            if !ours {
                return Ok(());
            }
            write(calls, name, "release", &node, None).await
        })
        .await
    }
}

fn failed(what: &'static str, node: &str, error: CallError) -> LockError {
    LockError::Call {
        what,
        node: node.to_owned(),
        error,
    }
}

fn lock_text(node: &Node) -> Option<&str> {
    annotation(&node.metadata, names::NODE_LOCK)
}

/// Tries again unless another pod holds the lock.
async fn retry<F>(mut pause: Duration, attempt: impl Fn() -> F) -> Result<(), LockError>
where
    F: Future<Output = Result<(), LockError>>,
{
    for _ in 1..TRIES {
        match attempt().await {
            Err(error) if !error.is_contention() => tracing::debug!("{error}; trying again"),
            done => return done,
        }
        let jitter = 1.0 + PAUSE_JITTER * rand::random::<f64>();
        tokio::time::sleep(pause.mul_f64(jitter)).await;
        pause *= 2;
    }
    attempt().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms_of_the_lock() {
        let (at, holder) = parse("2026-01-02T03:04:05+08:00,team,job-1").unwrap();
        assert_eq!(at, "2026-01-01T19:04:05Z".parse().unwrap());
        let holder = holder.unwrap();
        assert_eq!(
            (holder.namespace, holder.pod, holder.suffix().as_str()),
            ("team", "job-1", ",team,job-1")
        );
        assert!(parse("2026-01-02T03:04:05Z").unwrap().1.is_none());
        for torn in [
            "",
            "soon",
            "2026-01-02T03:04:05Z,team",
            "2026-01-02T03:04:05Z,a,b,c",
        ] {
            assert!(parse(torn).is_err(), "{torn}");
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let written = [5, 300, 3661].map(|secs| go_duration(Duration::from_secs(secs)));
        assert_eq!(written, ["5s", "5m0s", "1h1m1s"]);
    }

    #[tokio::test]
    async fn a_failing_change_is_tried_five_times_and_contention_once() {
        let tries = std::cell::Cell::new(0);
        let error = |contended: bool| {
            if contended {
                LockError::Contended {
                    node: "n".to_owned(),
                    how: "is locked".to_owned(),
                }
            } else {
                failed(
                    "set",
                    "n",
                    CallError {
                        message: "conflict".to_owned(),
                        code: Some(409),
                    },
                )
            }
        };
        for (contended, expected) in [(false, 5), (true, 1)] {
            tries.set(0);
            let outcome = retry(Duration::ZERO, || {
                tries.set(tries.get() + 1);
                std::future::ready(Err(error(contended)))
            })
            .await;
            assert!(outcome.is_err());
            assert_eq!(tries.get(), expected);
        }
    }
}
