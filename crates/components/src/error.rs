//! What can go wrong while finding, building or checking programs.

use std::io;
use std::path::PathBuf;

/// Why a program could not be found, built or used. Each message is meant for the user as it stands.
#[derive(Debug, thiserror::Error)]
pub enum ComponentsError {
    /// No folder was named and none can be derived.
    #[error("no cache folder: neither XDG_CACHE_HOME nor HOME is set; name one with --cache DIR")]
    NoCacheFolder,
    /// The cache folder cannot be used.
    #[error("cache folder {}: {problem}; name another one with --cache DIR", path.display())]
    Cache {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no Go compiler on `PATH`.
    #[error(
        "Go is not on PATH and components must be built: install Go {needed} or newer (https://go.dev/dl/), or name a \
         folder of ready binaries with --components DIR"
    )]
    NoGo {
        /// Oldest Go that builds every component.
        needed: String,
    },
    /// The Go compiler is older than a component's `go` directive.
    #[error(
        "Go {found} ({}) is too old: {needed} or newer is needed (https://go.dev/dl/), or name a folder of ready \
         binaries with --components DIR",
        path.display()
    )]
    GoTooOld {
        /// What `go version` says.
        found: String,
        /// Oldest Go that builds every component.
        needed: String,
        /// The `go` that was asked.
        path: PathBuf,
    },
    /// `go version` did not answer with a version.
    #[error("{} does not work as a Go compiler: {problem}", path.display())]
    BadGo {
        /// The `go` that was asked.
        path: PathBuf,
        /// What happened.
        problem: String,
    },
    /// The build would not fit on the disk.
    #[error(
        "cache folder {}: building needs {needed_mib} MiB of free disk, {free_mib} MiB are free; free some, or name \
         another folder with --cache DIR",
        path.display()
    )]
    DiskFull {
        /// The folder.
        path: PathBuf,
        /// What the build needs at its peak, in MiB.
        needed_mib: u64,
        /// What is free, in MiB.
        free_mib: u64,
    },
    /// The Go module proxy could not be reached.
    #[error(
        "{component}: Go cannot download its modules ({detail}); connect to the network, set GOPROXY to a mirror, or \
         name a folder of ready binaries with --components DIR (whole output: {})",
        log.display()
    )]
    Offline {
        /// The component that was being built.
        component: &'static str,
        /// The line in which Go says so.
        detail: String,
        /// Go's whole output.
        log: PathBuf,
    },
    /// `go build` failed.
    #[error("{component}: go build failed (whole output: {}); its last lines:\n{tail}", log.display())]
    Build {
        /// The component that was being built.
        component: &'static str,
        /// The last lines of Go's output.
        tail: String,
        /// Go's whole output.
        log: PathBuf,
    },
    /// What was built is not what was asked for.
    #[error("{program} was built but reports version {found} instead of {pinned}")]
    WrongBuild {
        /// The program.
        program: String,
        /// The version it reports.
        found: String,
        /// The version that go.mod names.
        pinned: String,
    },
    /// `--components DIR` lacks files.
    #[error("--components {}: missing {}", folder.display(), missing.join(", "))]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// Every file that was looked for in vain, with the names it may have.
        missing: Vec<String>,
    },
    /// A file in `--components DIR` is no program for this machine.
    #[error("--components: {} is not usable: {problem}", path.display())]
    BadSupplied {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// `--hami` names something that is no program.
    #[error("--hami {choice}: {problem}")]
    Hami {
        /// What the option says.
        choice: String,
        /// What is wrong with it.
        problem: String,
    },
    /// HAMi's image cannot be had.
    #[error("--hami image: {0}")]
    Image(#[from] super::image::ImageError),
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl host::usage::UserError for ComponentsError {
    /// True when the user's input or machine is at fault and nothing was started.
    fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Offline { .. }
                | Self::Image(_)
                | Self::Build { .. }
                | Self::WrongBuild { .. }
                | Self::Io { .. }
        )
    }
}

impl ComponentsError {
    /// For `map_err`: names the file that an operation failed on.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
