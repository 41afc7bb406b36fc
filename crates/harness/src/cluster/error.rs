//! What can go wrong between the command and a ready cluster.

use std::path::PathBuf;

/// Lines of a component's log that an error shows.
const TAIL_LINES: usize = 15;

/// Characters of such a line that an error shows.
const TAIL_COLUMNS: usize = 240;

/// The last lines that a component wrote, as one text. Long lines are cut: some components print a page in one line.
pub(super) fn tail_text(lines: &[String]) -> String {
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    if last.is_empty() {
        return "(it wrote nothing)".to_owned();
    }
    let cut = |line: &String| match line.char_indices().nth(TAIL_COLUMNS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.clone(),
    };
    last.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// Why a cluster did not come up, or could not be listed or removed. Each error is one line. If a component failed, the last
/// lines of its log follow.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The caller cancelled it.
    #[error("interrupted while the cluster came up")]
    Cancelled,
    /// A file or folder of the cluster could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, e.g. `write`.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// There are too few free ports.
    #[error("found no {wanted} free ports between {from} and {to}; stop what listens there")]
    NoPorts {
        /// How many were wanted.
        wanted: usize,
        /// Lowest port tried.
        from: u16,
        /// One above the highest port tried.
        to: u16,
    },
    /// A program could not be started.
    #[error("cannot start {component} ({}): {source}", program.display())]
    Start {
        /// Name of the component.
        component: String,
        /// Path of its program.
        program: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A component exited while the cluster came up.
    #[error("{component} {how} while the cluster came up; the last lines of {}:\n{tail}", log.display())]
    Died {
        /// Name of the component.
        component: String,
        /// How it ended, e.g. `exited with code 1`.
        how: String,
        /// Its log.
        log: PathBuf,
        /// Last lines of its log.
        tail: String,
    },
    /// Something did not get ready.
    #[error("{what} was not ready after {secs} s ({last})")]
    NotReady {
        /// What was waited for.
        what: String,
        /// How long, seconds.
        secs: u64,
        /// The last answer.
        last: String,
    },
    /// The API server refused something.
    #[error("kube-apiserver refused to {what}: {source}")]
    Api {
        /// What was asked.
        what: String,
        /// Its answer.
        source: Box<kube::Error>,
    },
    /// A kubeconfig, certificate or manifest is not as expected.
    #[error("{what}: {detail}")]
    Unexpected {
        /// What was looked at.
        what: String,
        /// What is wrong with it.
        detail: String,
    },
    /// `down` was asked to remove a cluster that a running command owns.
    #[error("cluster {id} belongs to a running headroom (pid {pid}); stop that command instead")]
    InUse {
        /// The cluster.
        id: String,
        /// Process id of its owner.
        pid: u32,
    },
    /// There is no such cluster.
    #[error("there is no cluster {id}; `headroom status` lists them")]
    Unknown {
        /// The cluster asked for.
        id: String,
    },
}

impl host::usage::UserError for ClusterError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }
}

impl ClusterError {
    /// Whether a part of the substrate gave up on an API server that was slow to answer, as on a busy machine. A kubelet
    /// would restart it; here nothing does.
    pub(super) fn is_impatience(&self) -> bool {
        matches!(self, Self::Died { tail, .. }
            if tail.contains("apiserver being healthy") || tail.contains("timed out waiting"))
    }

    /// Whether another program took a port that was free a moment ago. Then one more try is worth it.
    pub(super) fn is_port_clash(&self) -> bool {
        matches!(self, Self::Died { tail, .. } if tail.contains("address already in use"))
    }

    pub(super) fn file(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    pub(super) fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Api {
            what,
            source: Box::new(source),
        }
    }
}
