//! HAMi's device file. In: the file's path. Out: the names and defaults of NVIDIA's resources.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

#[derive(Deserialize)]
struct DeviceFile {
    nvidia: Option<Nvidia>,
}

/// The `nvidia` block: resource names and defaults for what a container leaves out. Other keys of the block concern the
/// device plugin or the webhook.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Default)]
#[serde(default)]
pub(crate) struct Nvidia {
    /// Resource that counts cards.
    #[serde(rename = "resourceCountName")]
    pub count: String,
    /// Resource for MiB of a card's memory.
    #[serde(rename = "resourceMemoryName")]
    pub memory: String,
    /// Resource for percent of a card's memory.
    #[serde(rename = "resourceMemoryPercentageName")]
    pub memory_percent: String,
    /// Resource for percent of a card's cores.
    #[serde(rename = "resourceCoreName")]
    pub cores: String,
    /// Memory in MiB for a container that names none; 0 gives it the whole card.
    #[serde(rename = "defaultMemory")]
    pub default_mem_mib: i32,
    /// Percent of cores for a container that names none.
    #[serde(rename = "defaultCores")]
    pub default_cores: i32,
    /// Factor on the memory a container asks for; below 2 changes nothing.
    #[serde(rename = "memoryFactor")]
    pub memory_factor: i32,
}

/// Reads HAMi's device file.
///
/// # Errors
/// The file cannot be read, is no YAML, or has no `nvidia` block.
pub(crate) fn read(path: &Path) -> anyhow::Result<Nvidia> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read device config {}", path.display()))?;
    parse(&text).with_context(|| format!("device config {}", path.display()))
}

fn parse(text: &str) -> anyhow::Result<Nvidia> {
    let file: DeviceFile = serde_saphyr::from_str(text).context("is no HAMi device file")?;
    file.nvidia
        .filter(|nvidia| !nvidia.count.is_empty())
        .context("has no nvidia block with a resourceCountName; the built-in extender serves NVIDIA cards only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_nvidia_block_and_passes_over_the_rest() {
        let nvidia = parse(
            "nvidia:\n  resourceCountName: nvidia.com/gpu\n  resourceMemoryName: nvidia.com/gpumem\n  overwriteEnv: false\n  \
             memoryFactor: 2\n  migProfileAllowlist: []\nhygon:\n  resourceCountName: hygon.com/dcunum\n",
        )
        .unwrap();
        assert_eq!(nvidia.count, "nvidia.com/gpu");
        assert_eq!(nvidia.memory_factor, 2);
        assert_eq!(nvidia.default_mem_mib, 0);
    }

    #[test]
    fn a_file_without_nvidia_is_refused() {
        assert!(parse("hygon:\n  resourceCountName: hygon.com/dcunum\n").is_err());
        assert!(parse("nvidia:\n  resourceMemoryName: nvidia.com/gpumem\n").is_err());
    }
}
