//! Which image and which registry: the texts of `--hami image…` and `--registry`, and the pin they default to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use oci_client::Reference;
use serde::Deserialize;

use super::error::ImageError;

/// The registry where `projecthami/hami` is published, by the name that OCI tools give it.
const DOCKER_HUB: &str = "docker.io";

/// What `components/hami-image.json` pins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    /// The image's name, without registry.
    pub repository: String,
    /// The tag that `--hami image` means.
    pub tag: String,
    /// The digest that the tag must have, if it is known.
    pub digest: Option<String>,
    /// Where the scheduler is in the image.
    pub program: String,
}

/// The pin, read once.
pub(super) static PIN: LazyLock<Pin> = LazyLock::new(|| {
    // A test parses the embedded file, so a build with a broken one does not pass.
    serde_json::from_str(include_str!("../../../../components/hami-image.json"))
        .expect("the embedded pin is valid")
});

/// A HAMi image: by tag, by digest, or by both, where the digest decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRef {
    tag: Option<String>,
    digest: Option<String>,
}

impl Default for ImageRef {
    /// The pinned image.
    fn default() -> Self {
        Self::tagged(PIN.tag.clone())
    }
}

impl ImageRef {
    /// By tag; the pinned tag brings its pinned digest along.
    fn tagged(tag: String) -> Self {
        Self {
            digest: PIN.digest.clone().filter(|_| tag == PIN.tag),
            tag: Some(tag),
        }
    }

    /// The tag, if one was given.
    #[must_use]
    pub(crate) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest (`sha256:` and 64 hexadecimal digits), if one was given or is pinned.
    #[must_use]
    pub(crate) fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// As the registry client names it.
    pub(super) fn at(&self, registry: &Registry) -> Reference {
        let host = registry.host.clone();
        let repository = format!("{}{}", registry.prefix, PIN.repository);
        let tag = self.tag.as_ref().unwrap_or(&PIN.tag);
        match &self.digest {
            Some(digest) => Reference::with_digest(host, repository, digest.clone()),
            None => Reference::with_tag(host, repository, tag.clone()),
        }
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&PIN.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for ImageRef {
    type Err = ImageError;

    /// Parses `image`, `image:TAG`, `image@sha256:DIGEST` or `image:TAG@sha256:DIGEST`.
    fn from_str(text: &str) -> Result<Self, ImageError> {
        let bad = |problem| ImageError::BadReference {
            text: text.to_owned(),
            problem,
        };
        let rest = text.strip_prefix("image");
        let rest = rest.ok_or_else(|| bad("does not start with image"))?;
        let (before, digest) = match rest.split_once('@') {
            Some((before, digest)) => (before, Some(digest)),
            None => (rest, None),
        };
        let tag = before.strip_prefix(':');
        if tag.is_none() && !before.is_empty() {
            return Err(bad("neither : nor @ follows image"));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(bad("that is no tag"));
        }
        if digest.is_some_and(|digest| !is_digest(digest)) {
            let problem = "a digest is sha256: and 64 lower-case hexadecimal digits";
            return Err(bad(problem));
        }
        Ok(match (tag, digest) {
            (None, None) => Self::default(),
            (Some(tag), None) => Self::tagged(tag.to_owned()),
            (tag, Some(digest)) => Self {
                tag: tag.map(str::to_owned),
                digest: Some(digest.to_owned()),
            },
        })
    }
}

/// A tag as the distribution specification has it.
fn is_tag(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() <= 128
        && text.starts_with(word)
        && text.chars().all(|c| word(c) || c == '.' || c == '-')
}

/// A digest of the one algorithm that registries use.
pub(super) fn is_digest(text: &str) -> bool {
    let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let hex = text.strip_prefix("sha256:");
    hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(is_digit))
}

/// Where to pull from, and how long to wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// `host` or `host:port`.
    pub(super) host: String,
    /// Put before the image's name; empty, or ends with a slash.
    prefix: String,
    pub(super) plain_http: bool,
    pub(super) connect_timeout: Duration,
    pub(super) answer_timeout: Duration,
}

impl Default for Registry {
    /// Where the image is published.
    fn default() -> Self {
        Self {
            host: DOCKER_HUB.to_owned(),
            prefix: String::new(),
            plain_http: false,
            connect_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(15),
        }
    }
}

impl Registry {
    /// Other time-outs than the usual ones: to connect (5 s), and to get an answer or the next bytes (15 s).
    #[must_use]
    pub fn with_timeouts(self, connect: Duration, answer: Duration) -> Self {
        Self {
            connect_timeout: connect,
            answer_timeout: answer,
            ..self
        }
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = format!("{}/{}", self.host, self.prefix);
        f.write_str(at.trim_end_matches('/'))
    }
}

impl FromStr for Registry {
    type Err = ImageError;

    /// Parses `[http://|https://]HOST[:PORT][/PREFIX]`. Without a scheme TLS is used, except on loopback.
    fn from_str(text: &str) -> Result<Self, ImageError> {
        let bad = |problem| ImageError::BadRegistry {
            text: text.to_owned(),
            problem,
        };
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, text),
        };
        let rest = rest.trim_end_matches('/');
        let (host, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let authority: http::uri::Authority = host.parse().map_err(|_| bad("that is no host"))?;
        if host.contains('@') {
            return Err(bad("credentials are not supported"));
        }
        if authority.port().is_some() != host_has_port(host) {
            return Err(bad("that is no port"));
        }
        let path = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/".contains(c);
        if !prefix.chars().all(path) || prefix.split('/').any(|part| part == "." || part == "..") {
            return Err(bad("the prefix holds characters that no repository has"));
        }
        let plain_http = match scheme {
            Some("http") => true,
            Some("https") => false,
            Some(_) => return Err(bad("only http:// and https:// are known")),
            None => is_loopback(authority.host()),
        };
        let mut prefix = prefix.to_owned();
        if !prefix.is_empty() {
            prefix.push('/');
        }
        Ok(Self {
            host: host.to_owned(),
            prefix,
            plain_http,
            ..Self::default()
        })
    }
}

/// True when a colon follows the host, behind the brackets of an IPv6 address.
fn host_has_port(host: &str) -> bool {
    host.rsplit(']').next().unwrap_or(host).contains(':')
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn image(text: &str) -> String {
        text.parse::<ImageRef>()
            .map_or_else(|e| e.to_string(), |image| image.to_string())
    }

    #[test]
    fn tag_and_digest_are_told_apart() {
        assert_eq!(image("image"), ImageRef::default().to_string());
        assert_eq!(image("image:v2.9.0"), "projecthami/hami:v2.9.0");
        assert_eq!(
            image(&format!("image@{DIGEST}")),
            format!("projecthami/hami@{DIGEST}")
        );
        assert_eq!(
            image(&format!("image:v1@{DIGEST}")),
            format!("projecthami/hami:v1@{DIGEST}")
        );
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for text in [
            "",
            "img",
            "imagev2",
            "image:",
            "image:-x",
            "image:a/b",
            "image@",
            "image@sha256:12",
            "image:a:b",
        ] {
            assert!(
                text.parse::<ImageRef>()
                    .is_err_and(|e| matches!(e, ImageError::BadReference { .. })),
                "{text:?} was accepted"
            );
        }
    }

    #[test]
    fn registries_use_tls_except_on_loopback_or_when_said() {
        let plain = |text: &str| text.parse::<Registry>().map(|r| r.plain_http).ok();
        for text in [
            "mirror.example",
            "mirror.example:5000/hub",
            "https://127.0.0.1:5000",
            "10.0.0.1:5000",
        ] {
            assert_eq!(plain(text), Some(false), "{text}");
        }
        for text in [
            "127.0.0.1:5000",
            "localhost:5000",
            "[::1]:5000",
            "http://mirror.example",
        ] {
            assert_eq!(plain(text), Some(true), "{text}");
        }
        for text in [
            "",
            "ftp://x",
            "a b",
            "user@host",
            "host:port",
            "host/a/../b",
            "host/A?b",
            "host:",
        ] {
            assert_eq!(plain(text), None, "{text:?} was accepted");
        }
    }

    #[test]
    fn a_mirror_s_prefix_goes_before_the_name() {
        let mirror: Registry = "mirror.example/hub".parse().unwrap();
        let reference = "image:v1".parse::<ImageRef>().unwrap().at(&mirror);
        assert_eq!(reference.whole(), "mirror.example/hub/projecthami/hami:v1");
        assert_eq!(reference.resolve_registry(), "mirror.example");
    }
}
