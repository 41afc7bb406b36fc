//! The files of an image over all its layers, in memory.
//!
//! In: each layer's entries, lowest layer first. Out: for a path inside the image, which entry of which layer is there.
//! Nothing here touches the disk, so no path, however hostile, can lead to a file outside the image.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Symbolic links followed in one look-up; Linux follows as many.
const MAX_LINKS: usize = 40;
/// Marks the removal of what a lower layer has under the rest of the name.
const WHITEOUT: &[u8] = b".wh.";
/// Hides everything that lower layers have in the folder.
const OPAQUE: &[u8] = b".wh..wh..opq";

/// Where the bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileAt {
    /// Index of the layer.
    pub layer: usize,
    /// Index of the entry in the layer.
    pub entry: usize,
    /// Bytes.
    pub size: u64,
}

/// One entry of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File(FileAt),
    Symlink(PathBuf),
    /// Another name for a file of this or a lower layer.
    HardLink(PathBuf),
    /// A device or a pipe.
    Other,
}

/// The tree, by path without leading slash. Folders may be missing where something stands below them.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<PathBuf, Kind>,
}

/// The path of an entry, relative to the image's root.
///
/// # Errors
/// What is hostile about it.
pub(super) fn entry_path(path: &Path) -> Result<PathBuf, String> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            Component::ParentDir => return Err(format!("entry {} leads upwards", path.display())),
            Component::RootDir | Component::Prefix(_) => {
                return Err(format!("entry {} is an absolute path", path.display()));
            }
        }
    }
    Ok(clean)
}

impl Tree {
    /// Puts a layer on top: first its whiteouts, which mean lower layers only, then its entries.
    pub(super) fn add_layer(&mut self, entries: Vec<(PathBuf, Kind)>) -> Result<(), String> {
        for (path, _) in &entries {
            self.apply_whiteout(path)?;
        }
        for (path, kind) in entries {
            if !is_whiteout(&path) {
                self.add(&path, kind)?;
            }
        }
        Ok(())
    }

    fn apply_whiteout(&mut self, path: &Path) -> Result<(), String> {
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            return Ok(());
        };
        if name.as_bytes() == OPAQUE {
            let folder = self.walk(folder, true)?;
            self.remove(&folder, false);
        } else if let Some(hidden) = name.as_bytes().strip_prefix(WHITEOUT) {
            // Names that start with the prefix twice are a union file system's own notes.
            if hidden.starts_with(WHITEOUT) {
                return Ok(());
            }
            if matches!(hidden, b"" | b"." | b"..") {
                return Err(format!("whiteout {} removes no file", path.display()));
            }
            let folder = self.walk(folder, true)?;
            self.remove(&folder.join(OsStr::from_bytes(hidden)), true);
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, mut kind: Kind) -> Result<(), String> {
        let place = self.walk(path, false)?;
        if place.as_os_str().is_empty() {
            return Ok(()); // the root itself
        }
        if let Kind::HardLink(target) = kind {
            let target = target.strip_prefix("/").unwrap_or(&target);
            let at = self.walk(&entry_path(target)?, false)?;
            let found = self.nodes.get(&at);
            let Some(file @ (Kind::File(_) | Kind::Symlink(_) | Kind::Other)) = found else {
                let (path, target) = (path.display(), target.display());
                return Err(format!("{path} is a hard link to no file: {target}"));
            };
            kind = file.clone();
        }
        // What is below a folder stays only if a folder comes in its place.
        let old = self.nodes.get(&place);
        if kind != Kind::Folder || old.is_some_and(|old| *old != Kind::Folder) {
            self.remove(&place, true);
        }
        self.nodes.insert(place, kind);
        Ok(())
    }

    /// Removes what is below `top`, and `top` too if asked.
    fn remove(&mut self, top: &Path, itself: bool) {
        let from = self.nodes.range(top.to_owned()..).map(|(path, _)| path);
        let below = from.take_while(|path| path.starts_with(top));
        let doomed: Vec<PathBuf> = below.filter(|it| itself || *it != top).cloned().collect();
        for path in doomed {
            self.nodes.remove(&path);
        }
    }

    /// The file at a path of the image, links followed.
    ///
    /// # Errors
    /// What is there instead.
    pub(super) fn file(&self, path: &Path) -> Result<FileAt, String> {
        let place = self.walk(path, true)?;
        match self.nodes.get(&place) {
            Some(Kind::File(at)) => Ok(*at),
            Some(_) => Err("is no regular file".to_owned()),
            None => Err("is not there".to_owned()),
        }
    }

    /// The path without symbolic links in it, and without one at its end if `follow_last`. Parts that are not there stay.
    fn walk(&self, path: &Path, follow_last: bool) -> Result<PathBuf, String> {
        let mut ahead: VecDeque<OsString> = parts(path).collect();
        let mut place = PathBuf::new();
        let mut links = 0;
        while let Some(part) = ahead.pop_front() {
            if part == ".." {
                if !place.pop() {
                    return Err(format!("{}: a link leads out of the image", path.display()));
                }
                continue;
            }
            place.push(part);
            if ahead.is_empty() && !follow_last {
                break;
            }
            if let Some(Kind::Symlink(target)) = self.nodes.get(&place) {
                links += 1;
                if links > MAX_LINKS {
                    let path = path.display();
                    return Err(format!("{path}: more than {MAX_LINKS} links to follow"));
                }
                if target.is_absolute() {
                    place.clear();
                } else {
                    place.pop();
                }
                for part in parts(target).rev() {
                    ahead.push_front(part);
                }
            }
        }
        Ok(place)
    }
}

fn is_whiteout(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| name.as_bytes().starts_with(WHITEOUT))
}

/// The names in a path; `..` stays, the leading slash goes.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(layer: usize, entry: usize) -> Kind {
        Kind::File(FileAt {
            layer,
            entry,
            size: 1,
        })
    }

    /// Builds a tree; each entry is `path`, `path/` for a folder, `path -> target` or `path => target` (hard link).
    fn tree(layers: &[&[&str]]) -> Result<Tree, String> {
        let mut tree = Tree::default();
        for (layer, entries) in layers.iter().enumerate() {
            let entries = entries.iter().enumerate().map(|(entry, text)| {
                let (path, kind) = if let Some((path, target)) = text.split_once(" -> ") {
                    (path, Kind::Symlink(target.into()))
                } else if let Some((path, target)) = text.split_once(" => ") {
                    (path, Kind::HardLink(target.into()))
                } else if let Some(path) = text.strip_suffix('/') {
                    (path, Kind::Folder)
                } else {
                    (*text, at(layer, entry))
                };
                Ok((entry_path(Path::new(path))?, kind))
            });
            tree.add_layer(entries.collect::<Result<_, String>>()?)?;
        }
        Ok(tree)
    }

    fn found(layers: &[&[&str]], path: &str) -> Result<(usize, usize), String> {
        tree(layers)?
            .file(Path::new(path))
            .map(|at| (at.layer, at.entry))
    }

    #[test]
    fn upper_layers_win_and_whiteouts_remove_lower_ones() {
        assert_eq!(found(&[&["a/b"], &["a/b"]], "/a/b"), Ok((1, 0)));
        assert_eq!(found(&[&["a/b", "a/c"], &["a/.wh.b"]], "/a/c"), Ok((0, 1)));
        assert!(found(&[&["a/b"], &["a/.wh.b"]], "/a/b").is_err());
        assert!(found(&[&["a/b/c"], &["a/.wh.b"]], "/a/b/c").is_err());
        assert!(found(&[&["a/b/c"], &[".wh.a"]], "/a/b/c").is_err());
        // A neighbour that merely starts alike stays.
        assert_eq!(
            found(&[&["a/b", "a/bc"], &["a/.wh.b"]], "/a/bc"),
            Ok((0, 1))
        );
    }

    #[test]
    fn whiteouts_spare_their_own_layer_in_whatever_order() {
        assert_eq!(found(&[&["a/b"], &["a/b", "a/.wh.b"]], "/a/b"), Ok((1, 0)));
        assert_eq!(
            found(&[&["a/b"], &["a/new", "a/.wh..wh..opq"]], "/a/new"),
            Ok((1, 0))
        );
        assert!(found(&[&["a/b", "a/c/d"], &["a/new", "a/.wh..wh..opq"]], "/a/c/d").is_err());
        assert_eq!(
            found(&[&["a/b"], &["a/.wh.b"], &["a/b"]], "/a/b"),
            Ok((2, 0))
        );
    }

    #[test]
    fn whiteouts_reach_through_linked_folders() {
        let base: &[&str] = &["usr/lib/x", "lib -> usr/lib"];
        assert!(found(&[base, &["lib/.wh.x"]], "/usr/lib/x").is_err());
        assert!(found(&[base, &["lib/.wh..wh..opq"]], "/usr/lib/x").is_err());
    }

    #[test]
    fn a_file_replaces_a_folder_and_the_other_way_round() {
        assert!(found(&[&["a/b"], &["a"]], "/a/b").is_err());
        assert_eq!(found(&[&["a"], &["a/", "a/b"]], "/a/b"), Ok((1, 1)));
        assert_eq!(found(&[&["a/b"], &["a/"]], "/a/b"), Ok((0, 0)));
    }

    #[test]
    fn links_are_followed_inside_the_image() {
        let usr: &[&str] = &[
            "usr/lib/x",
            "lib -> usr/lib",
            "lib64 -> /usr/lib",
            "usr/up -> ../lib/x",
        ];
        for path in ["/lib/x", "/lib64/x", "/usr/up", "lib/../lib/x"] {
            assert_eq!(found(&[usr], path), Ok((0, 0)), "{path}");
        }
        // Entries below a linked folder land where the link leads.
        assert_eq!(found(&[usr, &["lib/x"]], "/usr/lib/x"), Ok((1, 0)));
        // An absolute target is the image's, not the host's.
        assert_eq!(
            found(&[&["x -> /etc/passwd", "etc/passwd"]], "/x"),
            Ok((0, 1))
        );
        assert_eq!(
            found(&[&["x -> /etc/passwd"]], "/x"),
            Err("is not there".to_owned())
        );
    }

    #[test]
    fn hard_links_are_resolved_when_they_are_made() {
        assert_eq!(found(&[&["a", "b => a"]], "/b"), Ok((0, 0)));
        assert_eq!(found(&[&["a"], &["b => /a"], &[".wh.a"]], "/b"), Ok((0, 0)));
        assert!(
            found(&[&["b => nowhere"]], "/b")
                .unwrap_err()
                .contains("hard link to no file")
        );
        assert!(
            found(&[&["b => ../etc/passwd"]], "/b")
                .unwrap_err()
                .contains("leads upwards")
        );
    }

    #[test]
    fn ways_out_of_the_image_are_refused() {
        let refused = |entries: &[&str], path: &str, expected: &str| {
            let problem = found(&[entries], path).unwrap_err();
            assert!(problem.contains(expected), "{entries:?}: {problem}");
        };
        refused(&["/etc/passwd"], "/x", "absolute");
        refused(&["a/../../etc/passwd"], "/x", "upwards");
        refused(&["x -> ../../etc/passwd"], "/x", "out of the image");
        refused(&["d -> ../..", "d/evil"], "/x", "out of the image");
        let whiteout = found(&[&["d -> ../.."], &["d/.wh.evil"]], "/x");
        assert!(whiteout.unwrap_err().contains("out of the image"));
        refused(&["a -> b", "b -> a"], "/a", "links to follow");
        refused(&["a/.wh..."], "/a", "removes no file");
        refused(&["dev/null/"], "/dev/null", "no regular file");
    }
}
