//! What a registry's refusals and faults mean, in this module's terms.

use oci_client::errors::{DigestError, OciDistributionError, OciErrorCode};

use super::Puller;
use crate::image::error::ImageError;

impl Puller {
    pub(super) fn unreachable(&self, why: String) -> ImageError {
        ImageError::Unreachable {
            registry: self.registry.to_string(),
            why,
        }
    }

    pub(super) fn says(&self, problem: &str) -> ImageError {
        ImageError::Registry {
            registry: self.registry.to_string(),
            image: self.image.clone(),
            problem: problem.to_owned(),
        }
    }

    /// The library's error in this module's terms.
    pub(super) fn explain(&self, e: OciDistributionError) -> ImageError {
        let (registry, image) = (self.registry.to_string(), self.image.clone());
        match e {
            OciDistributionError::RequestError(e) if e.is_timeout() => {
                self.unreachable("no answer in time".to_owned())
            }
            OciDistributionError::RequestError(e) => self.unreachable(lowest_cause(&e)),
            OciDistributionError::AuthenticationFailure(why) => ImageError::Denied {
                registry,
                image,
                why: first_line(&why),
            },
            OciDistributionError::UnauthorizedError { .. } => ImageError::Denied {
                registry,
                image,
                why: "not authorised".to_owned(),
            },
            OciDistributionError::DigestError(DigestError::VerificationError {
                expected,
                actual,
            }) => ImageError::WrongDigest {
                what: format!("manifest of {image}"),
                expected,
                found: actual,
            },
            OciDistributionError::RegistryError { envelope, .. } => {
                let Some(first) = envelope.errors.first() else {
                    return self.says("an error without a reason");
                };
                let why = first_line(&first.message);
                match first.code {
                    OciErrorCode::ManifestUnknown
                    | OciErrorCode::NameUnknown
                    | OciErrorCode::NotFound
                    | OciErrorCode::BlobUnknown => ImageError::NotFound { registry, image },
                    OciErrorCode::Unauthorized | OciErrorCode::Denied => ImageError::Denied {
                        registry,
                        image,
                        why,
                    },
                    _ => self.says(&why),
                }
            }
            OciDistributionError::ServerError { code: 404, .. } => {
                ImageError::NotFound { registry, image }
            }
            OciDistributionError::ServerError { code, .. } => {
                self.says(&format!("HTTP status {code}"))
            }
            e => self.says(&first_line(&e.to_string())),
        }
    }
}

/// The end of an error's chain of sources, which names the cause rather than the circumstances.
pub(in crate::image) fn lowest_cause(e: &dyn std::error::Error) -> String {
    let mut lowest = e;
    while let Some(source) = lowest.source() {
        lowest = source;
    }
    first_line(&lowest.to_string())
}

/// Others' text in one line of bearable length.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(200).collect()
}
