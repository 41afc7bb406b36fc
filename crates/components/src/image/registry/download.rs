//! Blobs into files, going on where a connection was cut.

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use oci_client::client::BlobResponse;
use oci_client::errors::{DigestError, OciDistributionError};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use super::answers::lowest_cause;
use super::{Blob, Puller, digest_of};
use crate::image::error::ImageError;

/// Times in a row that a blob is asked for without a single new byte.
const MAX_FRUITLESS_TRIES: u32 = 4;
/// Times that a blob is asked for at all.
const MAX_TRIES: u32 = 40;

impl Puller {
    /// Downloads a blob to `path`, going on where the connection was cut.
    pub(in crate::image) async fn download(
        &self,
        blob: &Blob,
        path: &Path,
        received: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), ImageError> {
        let mut sink = Sink::create(path).await?;
        let mut why = "it ended early".to_owned();
        let mut fruitless = 0;
        for _ in 0..MAX_TRIES {
            let before = sink.bytes;
            match self.try_download(blob, &mut sink, received).await? {
                Attempt::Whole => break,
                Attempt::Cut(reason) => why = reason,
            }
            fruitless += 1;
            if sink.bytes > before {
                fruitless = 0;
            }
            if fruitless == MAX_FRUITLESS_TRIES {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100) * 4u32.pow(fruitless)).await;
        }
        sink.file.flush().await.map_err(ImageError::io(path))?;
        if sink.bytes < blob.size {
            return Err(ImageError::Cut {
                digest: blob.digest.clone(),
                received: sink.bytes,
                size: blob.size,
                why,
            });
        }
        let found = digest_of(sink.hash);
        if found != blob.digest {
            return Err(ImageError::WrongDigest {
                what: format!("blob of {}", self.image),
                expected: blob.digest.clone(),
                found,
            });
        }
        Ok(())
    }

    /// One request, from where the sink is to the end or the first fault.
    async fn try_download(
        &self,
        blob: &Blob,
        sink: &mut Sink<'_>,
        received: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Attempt, ImageError> {
        if sink.bytes == blob.size {
            return Ok(Attempt::Whole);
        }
        let (from, digest) = (&self.reference, &*blob.digest);
        let answer = self
            .client
            .pull_blob_stream_partial(from, digest, sink.bytes, None);
        let mut stream = match answer.await {
            Ok(BlobResponse::Partial(stream)) => stream,
            Ok(BlobResponse::Full(stream)) => {
                // The registry knows no ranges.
                if sink.bytes > 0 {
                    *sink = Sink::create(sink.path).await?;
                }
                stream
            }
            Err(e) => return self.blob_fault(&blob.digest, e),
        };
        while let Some(bytes) = stream.next().await {
            match bytes {
                Ok(bytes) => sink.write(&bytes, blob).await?,
                // The library checks whole answers by itself.
                Err(e) if is_digest_error(&e) => break,
                Err(e) => return Ok(Attempt::Cut(lowest_cause(&e))),
            }
            received(sink.bytes);
        }
        Ok(if sink.bytes == blob.size {
            Attempt::Whole
        } else {
            Attempt::Cut("it ended early".to_owned())
        })
    }

    /// Whether asking for a blob again can help.
    fn blob_fault(&self, digest: &str, e: OciDistributionError) -> Result<Attempt, ImageError> {
        match e {
            OciDistributionError::RequestError(e) => Ok(Attempt::Cut(lowest_cause(&e))),
            // 416: the registry has less than the manifest says.
            OciDistributionError::ServerError { code, .. } if matches!(code, 416 | 429 | 500..) => {
                Ok(Attempt::Cut(format!("HTTP status {code}")))
            }
            e => Err(match self.explain(e) {
                ImageError::NotFound { registry, image } => ImageError::MissingBlob {
                    registry,
                    image,
                    digest: digest.to_owned(),
                },
                other => other,
            }),
        }
    }
}

enum Attempt {
    Whole,
    Cut(String),
}

/// A file that is hashed while it is written.
struct Sink<'a> {
    file: tokio::fs::File,
    path: &'a Path,
    hash: Sha256,
    bytes: u64,
}

impl<'a> Sink<'a> {
    async fn create(path: &'a Path) -> Result<Self, ImageError> {
        let file = tokio::fs::File::create(path).await;
        Ok(Self {
            file: file.map_err(ImageError::io(path))?,
            path,
            hash: Sha256::new(),
            bytes: 0,
        })
    }

    async fn write(&mut self, bytes: &[u8], blob: &Blob) -> Result<(), ImageError> {
        self.bytes += bytes.len() as u64;
        if self.bytes > blob.size {
            return Err(ImageError::TooLarge {
                what: format!("blob {}", blob.digest),
                size: "more than it should be".to_owned(),
                limit: format!("{} bytes", blob.size),
            });
        }
        self.hash.update(bytes);
        let written = self.file.write_all(bytes).await;
        written.map_err(ImageError::io(self.path))
    }
}

fn is_digest_error(e: &std::io::Error) -> bool {
    e.get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<DigestError>)
}
