//! Checks that a command does not write what it reads.

use std::path::{Path, PathBuf};

use host::usage::Usage;

use super::files;

/// Checks the files to be written, each named by its option: none may be read, be in a session that is read, or be written
/// twice.
///
/// # Errors
/// Names the first file that fails the check.
pub fn apart(outputs: &[(&str, Option<&Path>)], inputs: &[PathBuf]) -> Result<(), Usage> {
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    for (option, file) in outputs.iter().filter_map(|(o, file)| Some((*o, (*file)?))) {
        let own = real(file);
        let no = |why: String| {
            let file = file.display();
            Err(Usage::new(format!(
                "{option} {file}: {why}; name another file"
            )))
        };
        if let Some(input) = inputs
            .iter()
            .map(|i| folder(i))
            .find(|i| own.starts_with(real(i)))
        {
            return no(if input.is_dir() {
                let session = input.display();
                format!("it would be in the session {session}")
            } else {
                "the command reads it".to_owned()
            });
        }
        if let Some((other, _)) = taken.iter().find(|(_, path)| *path == own) {
            return no(format!("{other} names the same file"));
        }
        taken.push((option, own));
    }
    Ok(())
}

/// A session's folder. It may be named by its summary.
fn folder(session: &Path) -> &Path {
    match session
        .parent()
        .filter(|_| session.ends_with(files::SUMMARY))
    {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => session,
    }
}

/// The real path, also if nothing is there yet.
fn real(path: &Path) -> PathBuf {
    let through_parent = || {
        let parent = match path.parent()? {
            parent if parent.as_os_str().is_empty() => Path::new("."),
            parent => parent,
        };
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize()
        .ok()
        .or_else(through_parent)
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_read_is_written() {
        let root = tempfile::tempdir().unwrap();
        let (session, other) = (root.path().join("a"), root.path().join("ab"));
        for folder in [&session, &other] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("summary.json"), "{}").unwrap();
        }
        let symlink = root.path().join("elsewhere.json");
        std::os::unix::fs::symlink(session.join("summary.json"), &symlink).unwrap();
        let apart = |out: &Path, input: &Path| {
            apart(&[("--json", Some(out))], &[input.to_owned()]).map_err(|e| e.to_string())
        };
        for out in [
            session.join("summary.json"),
            session.join("new.json"),
            other.join("../a/x.json"),
            symlink,
        ] {
            let line = apart(&out, &session).unwrap_err();
            assert!(
                line.starts_with("--json ") && line.contains("session"),
                "{line}"
            );
            assert!(apart(&out, &session.join("summary.json")).is_err());
        }
        assert!(apart(&other.join("x.json"), &session).is_ok());
        assert!(apart(&root.path().join("x.json"), &session).is_ok());
        let file = root.path().join("power.json");
        std::fs::write(&file, "").unwrap();
        assert!(apart(&file, &file).is_err());
        let both = [("--json", Some(&*file)), ("--markdown", Some(&*file))];
        assert!(
            super::apart(&both, &[])
                .unwrap_err()
                .to_string()
                .contains("the same")
        );
    }
}
