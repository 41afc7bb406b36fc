//! What can go wrong with an image, each as one line that a user can act on.

use std::io;
use std::path::PathBuf;

/// Why HAMi's scheduler could not be taken out of an image. Each message is meant for the user as it stands.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ImageError {
    /// `--hami image…` is not understood.
    #[error("--hami {text}: {problem}; write image, image:TAG or image@sha256:DIGEST")]
    BadReference {
        /// What the option says.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// `--registry` is not understood.
    #[error(
        "--registry {text}: {problem}; write HOST[:PORT][/PREFIX], with http:// before it for one without TLS"
    )]
    BadRegistry {
        /// What the option says.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Nobody answers.
    #[error("registry {registry} cannot be reached: {why}")]
    Unreachable {
        /// The registry.
        registry: String,
        /// The lowest cause.
        why: String,
    },
    /// The registry wants credentials, which this program does not have, or refuses.
    #[error(
        "{image}: registry {registry} refuses an anonymous pull: {why}; name a mirror with --registry HOST"
    )]
    Denied {
        /// The registry.
        registry: String,
        /// The image.
        image: String,
        /// What the registry said.
        why: String,
    },
    /// There is no such image.
    #[error("{image}: registry {registry} has no such image")]
    NotFound {
        /// The registry.
        registry: String,
        /// The image.
        image: String,
    },
    /// The registry's answer is an error or makes no sense.
    #[error("{image}: registry {registry}: {problem}")]
    Registry {
        /// The registry.
        registry: String,
        /// The image.
        image: String,
        /// What it said.
        problem: String,
    },
    /// The image exists, for other machines.
    #[error("{image} is for {found}, this machine is {wanted}")]
    WrongPlatform {
        /// The image.
        image: String,
        /// This machine, as os/architecture.
        wanted: String,
        /// What the image is for.
        found: String,
    },
    /// Bytes are not those that were promised.
    #[error(
        "{what}: digest is {found} instead of {expected}: what was received is not what was published"
    )]
    WrongDigest {
        /// What was read.
        what: String,
        /// The promised digest.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// The image names a blob that the registry lacks.
    #[error("{image}: registry {registry} lacks blob {digest}, which the image names")]
    MissingBlob {
        /// The registry.
        registry: String,
        /// The image.
        image: String,
        /// The blob.
        digest: String,
    },
    /// The connection was cut again and again.
    #[error(
        "blob {digest}: connection cut after {received} of {size} bytes, also when resumed: {why}"
    )]
    Cut {
        /// The blob.
        digest: String,
        /// Bytes received.
        received: u64,
        /// Bytes promised.
        size: u64,
        /// The last cause.
        why: String,
    },
    /// The image goes past one of the limits on what is read.
    #[error("{what} is too large: {size}, at most {limit} is read")]
    TooLarge {
        /// What is.
        what: String,
        /// How large, with its unit.
        size: String,
        /// The limit, with its unit.
        limit: String,
    },
    /// A layer is damaged or hostile.
    #[error("layer {digest}: {problem}")]
    Layer {
        /// The layer.
        digest: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The image lacks what is to be taken out.
    #[error("{path}, looked for in the image: {problem}")]
    Content {
        /// The path inside the image.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file operation failed.
    #[error("{}: {why}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        why: String,
    },
    /// What was just put into the cache is not there or not intact.
    #[error("{}: what was just stored here cannot be read back; is something else clearing it?", folder.display())]
    Vanished {
        /// The cache folder.
        folder: PathBuf,
    },
    /// A fault of this program.
    #[error("internal error while reading the image: {0}")]
    Internal(String),
}

impl ImageError {
    /// True when nobody answered, as on a machine without network.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// For `map_err`: names the file that an operation failed on.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| {
            let why = source.to_string();
            Self::Io { path, why }
        }
    }
}
