//! A layer's file read entry by entry.
//!
//! In: a downloaded layer (tar; plain, gzip or zstd, told apart by its first bytes). Out: its entries one after the other,
//! and the check of what the whole decompresses to. It must never read past its limits, however the archive lies about
//! sizes: memory and time stay bounded by them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use sha2::{Digest, Sha256};
use tar::{Archive, Entry, EntryType};

use super::registry::{digest_of, lowest_cause};
use super::tree::{FileAt, Kind, entry_path};

/// What is read of an image at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes of all layers, decompressed.
    pub total_bytes: u64,
    /// Bytes of one entry; the scheduler has about 50 MB.
    pub entry_bytes: u64,
    /// Entries of all layers; a whole Linux distribution has fewer.
    pub entries: usize,
    /// Bytes of one entry's names and attributes.
    pub header_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total_bytes: 8 << 30,
            entry_bytes: 2 << 30,
            entries: 500_000,
            header_bytes: 1 << 20,
        }
    }
}

/// Why a layer cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Damaged or hostile.
    Bad(String),
    /// It decompresses to something else than the image says.
    Digest(String),
    /// The file that holds it cannot be read, or one that is taken out cannot be written.
    Io(PathBuf, String),
}

impl From<String> for Fault {
    fn from(problem: String) -> Self {
        Self::Bad(problem)
    }
}

/// What may still be read.
pub(super) struct Budget {
    limits: Limits,
    bytes: Rc<Cell<u64>>,
    entries: usize,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            bytes: Rc::new(Cell::new(limits.total_bytes)),
            entries: limits.entries,
        }
    }
}

/// A decompressed layer: hashes what is read and refuses to go past two limits, of the whole image and of one entry with
/// the header that follows it.
pub(super) struct Meter {
    inner: Box<dyn Read>,
    hash: Sha256,
    image: Rc<Cell<u64>>,
    entry: Rc<Cell<u64>>,
}

impl Read for Meter {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.image.get().min(self.entry.get());
        if left == 0 {
            return Err(io::Error::other(match self.image.get() {
                0 => "the layers decompress to too much",
                _ => "an entry's names are too long",
            }));
        }
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let read = self.inner.read(&mut buffer[..most])?;
        self.hash.update(&buffer[..read]);
        self.image.set(self.image.get() - read as u64);
        self.entry.set(self.entry.get() - read as u64);
        Ok(read)
    }
}

/// zstd of one frame, as image builders write it.
struct OneFrame<R: BufRead>(StreamingDecoder<R, FrameDecoder>);

impl<R: BufRead> Read for OneFrame<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if read == 0 && !buffer.is_empty() && !self.0.get_mut().fill_buf()?.is_empty() {
            return Err(io::Error::other("zstd in several frames is not supported"));
        }
        Ok(read)
    }
}

fn decompressed(file: File) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    Ok(match file.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(OneFrame(
            StreamingDecoder::new(file).map_err(io::Error::other)?,
        )),
        _ => Box::new(file),
    })
}

/// Calls `visit` with each entry and its index, then checks the digest of all that was decompressed.
pub(super) fn walk(
    path: &Path,
    diff_id: &str,
    budget: &mut Budget,
    mut visit: impl FnMut(usize, &mut Entry<'_, Meter>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let unreadable = |e: io::Error| Fault::Io(path.to_owned(), e.to_string());
    let damaged = |e: io::Error| Fault::Bad(format!("is no intact archive: {}", lowest_cause(&e)));
    let file = File::open(path).map_err(unreadable)?;
    let entry_left = Rc::new(Cell::new(budget.limits.header_bytes));
    let meter = Meter {
        inner: decompressed(file).map_err(damaged)?,
        hash: Sha256::new(),
        image: Rc::clone(&budget.bytes),
        entry: Rc::clone(&entry_left),
    };
    let mut archive = Archive::new(meter);
    for (index, entry) in archive.entries().map_err(damaged)?.enumerate() {
        let mut entry = entry.map_err(damaged)?;
        let most = budget.limits.entries;
        let left = budget.entries.checked_sub(1);
        budget.entries = left.ok_or_else(|| format!("the image has more than {most} entries"))?;
        let (size, limit) = (entry.size(), budget.limits.entry_bytes);
        if size > limit {
            let name = entry.path().unwrap_or_default();
            let name = name.display();
            let problem = format!("entry {name} claims {size} bytes, at most {limit} are read");
            return Err(Fault::Bad(problem));
        }
        entry_left.set(size + budget.limits.header_bytes);
        visit(index, &mut entry)?;
    }
    let mut meter = archive.into_inner();
    meter.entry.set(u64::MAX);
    io::copy(&mut meter, &mut io::sink()).map_err(damaged)?;
    match digest_of(meter.hash) {
        found if found == diff_id => Ok(()),
        found => Err(Fault::Digest(found)),
    }
}

/// The entries of a layer as the tree wants them.
pub(super) fn entries(
    layer: usize,
    path: &Path,
    diff_id: &str,
    budget: &mut Budget,
) -> Result<Vec<(PathBuf, Kind)>, Fault> {
    let mut found = Vec::new();
    walk(path, diff_id, budget, |index, entry| {
        let bad = |e: io::Error| Fault::Bad(format!("an entry's name is not understood: {e}"));
        let kind = match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => Kind::File(FileAt {
                layer,
                entry: index,
                size: entry.size(),
            }),
            EntryType::Directory => Kind::Folder,
            EntryType::XGlobalHeader => return Ok(()),
            EntryType::GNUSparse => {
                return Err(Fault::Bad("sparse files are not supported".to_owned()));
            }
            kind @ (EntryType::Symlink | EntryType::Link) => {
                let target = entry.link_name().map_err(bad)?;
                let target = target.ok_or_else(|| "a link without target".to_owned())?;
                match kind {
                    EntryType::Symlink => Kind::Symlink(target.into_owned()),
                    _ => Kind::HardLink(target.into_owned()),
                }
            }
            _ => Kind::Other,
        };
        found.push((entry_path(&entry.path().map_err(bad)?)?, kind));
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Room for the small archives below and no more.
    const SMALL: Limits = Limits {
        total_bytes: 64 << 10,
        entry_bytes: 16 << 10,
        entries: 5,
        header_bytes: 4 << 10,
    };

    fn header(size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o644);
        header
    }

    /// An archive with a file of the given size for each name.
    fn archive(files: &[(&str, usize)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, size) in files {
            tar.append_data(&mut header(*size as u64), name, &*vec![b'x'; *size])
                .unwrap();
        }
        tar.into_inner().unwrap()
    }

    fn read(bytes: &[u8], diff_id_of: &[u8]) -> Result<Vec<(PathBuf, Kind)>, Fault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("layer");
        std::fs::write(&path, bytes).unwrap();
        let diff_id = digest_of(Sha256::new_with_prefix(diff_id_of));
        entries(0, &path, &diff_id, &mut Budget::new(SMALL))
    }

    fn problem(bytes: &[u8]) -> String {
        match read(bytes, bytes) {
            Err(Fault::Bad(problem)) => problem,
            other => panic!("not refused as bad: {other:?}"),
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn plain_gzip_and_zstd_read_alike() {
        let plain = archive(&[("a", 3000), ("b/c", 10)]);
        let expected = read(&plain, &plain).unwrap();
        assert_eq!(
            expected[1],
            (
                "b/c".into(),
                Kind::File(FileAt {
                    layer: 0,
                    entry: 1,
                    size: 10
                })
            )
        );
        let zstd =
            ruzstd::encoding::compress_to_vec(&*plain, ruzstd::encoding::CompressionLevel::Fastest);
        let (one, two) = plain.split_at(1000);
        let members = [gzip(one), gzip(two)].concat();
        for packed in [gzip(&plain), members, zstd.clone()] {
            assert_eq!(read(&packed, &plain).as_ref(), Ok(&expected));
        }
        let frames = [zstd.clone(), zstd].concat();
        assert!(problem(&frames).contains("several frames"));
    }

    #[test]
    fn what_decompresses_to_something_else_is_refused() {
        let plain = archive(&[("a", 10)]);
        assert!(matches!(
            read(&gzip(&plain), b"other"),
            Err(Fault::Digest(_))
        ));
        // Also what stands behind the archive's end counts.
        let longer = [plain.clone(), vec![1; 100]].concat();
        assert!(matches!(read(&longer, &plain), Err(Fault::Digest(_))));
    }

    #[test]
    fn sizes_that_lie_are_refused() {
        let mut huge = header(1 << 50);
        huge.set_path("huge").unwrap();
        huge.set_cksum();
        assert!(problem(huge.as_bytes()).contains("huge claims 1125899906842624 bytes"));

        let mut short = archive(&[("a", 5000)]);
        short.truncate(2048);
        assert!(problem(&short).contains("no intact archive"));
    }

    #[test]
    fn a_small_file_that_decompresses_to_too_much_is_refused() {
        let bomb = gzip(&archive(&[
            ("a", 16 << 10),
            ("b", 16 << 10),
            ("c", 16 << 10),
            ("d", 16 << 10),
        ]));
        assert!(bomb.len() < 2 << 10);
        assert!(problem(&bomb).contains("decompress to too much"));
    }

    #[test]
    fn too_many_entries_are_refused() {
        let many = archive(&[("a", 0), ("b", 0), ("c", 0), ("d", 0), ("e", 0), ("f", 0)]);
        assert!(problem(&many).contains("more than 5 entries"));
    }

    #[test]
    fn names_that_fill_the_memory_are_refused() {
        let long = "x/".repeat(8 << 10);
        assert!(problem(&archive(&[(&long, 0)])).contains("names are too long"));
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        assert!(
            problem(
                b"not an archive, but long enough to be looked at as if it were one"
                    .repeat(20)
                    .as_slice()
            )
            .contains("no intact archive")
        );
        assert!(problem(&[0x1f, 0x8b, 1, 2, 3]).contains("no intact archive"));
        assert!(problem(&[0x28, 0xb5, 0x2f, 0xfd, 0xff]).contains("no intact archive"));
    }
}
