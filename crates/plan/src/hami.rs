//! Which HAMi ran. Every header, table and file names it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which HAMi scheduler ran in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HamiSource {
    /// `binary`, `image` or `builtin`.
    pub source: HamiKind,
    /// The version it reports; `unknown` if it reports none.
    pub version: String,
    /// SHA-256 of the program, hex.
    pub sha256: String,
}

impl HamiSource {
    /// One line for headers and tables.
    #[must_use]
    pub fn label(&self) -> String {
        let short = self.sha256.get(..12).unwrap_or(&self.sha256);
        match self.source {
            HamiKind::Binary => format!("real HAMi {} (binary, sha256 {short})", self.version),
            HamiKind::Image => format!("real HAMi {} (image, sha256 {short})", self.version),
            HamiKind::Builtin => {
                format!(
                    "built-in HAMi-compatible extender {} (not HAMi itself)",
                    self.version
                )
            }
        }
    }
}

/// Where the HAMi scheduler came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HamiKind {
    /// A real HAMi scheduler binary.
    Binary,
    /// A real HAMi scheduler out of its published image.
    Image,
    /// The built-in HAMi-compatible extender.
    Builtin,
}
