//! The page's files in the folder of the sessions: `page.md` for people, `page.json` for programs.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Page, SCHEMA};
use host::text_file;
use results::run_folder::{ReadError, files, replace};

/// A larger file is refused: the page over ten experiments has some 50 kB.
const MOST_MIB: u64 = 64;

/// The page could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct PageError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

impl Page {
    /// Writes the page into a folder, which is made if there is none.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), PageError> {
        let failed = |path: PathBuf| move |error| PageError { path, error };
        std::fs::create_dir_all(dir).map_err(failed(dir.to_owned()))?;
        let json = self.json().map_err(io::Error::from);
        for (name, text) in [(files::PAGE_TEXT, Ok(self.markdown())), (files::PAGE, json)] {
            let path = dir.join(name);
            let written = text.and_then(|text| replace(&path, text.as_bytes()));
            written.map_err(failed(path))?;
        }
        Ok(())
    }

    /// Whether a folder has a page over its sessions.
    #[must_use]
    pub fn is_in(dir: &Path) -> bool {
        dir.join(files::PAGE).is_file()
    }

    /// Reads the page from a folder.
    ///
    /// # Errors
    /// It is missing, damaged, or of another schema.
    pub fn read(dir: &Path) -> Result<Self, ReadError> {
        let path = dir.join(files::PAGE);
        let corrupt = |error: String| ReadError::Corrupt {
            path: path.clone(),
            error,
        };
        let text = text_file::read(&path, MOST_MIB).map_err(corrupt)?;
        let value: Value = serde_json::from_str(&text).map_err(|e| corrupt(e.to_string()))?;
        match value["schema"].as_u64() {
            Some(schema) if schema == u64::from(SCHEMA) => {
                serde_json::from_str(&text).map_err(|e| corrupt(e.to_string()))
            }
            schema => Err(corrupt(format!(
                "its schema is {}, this headroom reads {SCHEMA}",
                schema.map_or("not a number".to_owned(), |n| n.to_string())
            ))),
        }
    }
}
