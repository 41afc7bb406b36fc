//! Distribution's registry: built once, started per test on a port of its own choosing.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// A running registry, stopped and removed when dropped.
pub struct TestRegistry {
    process: Child,
    folder: TempDir,
    /// `127.0.0.1:PORT`
    pub address: String,
}

impl TestRegistry {
    /// Starts an empty registry.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Starts one that speaks TLS only, with this certificate and key.
    pub fn start_tls(certificate: &Path, key: &Path) -> Self {
        let (certificate, key) = (certificate.display(), key.display());
        Self::start_with(&format!(
            ", tls: {{certificate: {certificate}, key: {key}}}"
        ))
    }

    fn start_with(http_settings: &str) -> Self {
        let program = built().unwrap_or_else(|why| panic!("no registry to test against: {why}"));
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.yml");
        let data = folder.path().join("data");
        std::fs::write(
            &config,
            format!(
                "version: 0.1\nlog: {{level: info, formatter: text}}\n\
                 storage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\n\
                 http: {{addr: '127.0.0.1:0'{http_settings}}}\n",
                data.display()
            ),
        )
        .unwrap();
        let mut process = Command::new(program)
            .arg("serve")
            .arg(&config)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        let address = loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("the registry ended at once: {}", seen.join("\n"));
            };
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.split(['"', ' ', ',']).next().unwrap().to_owned();
            }
            seen.push(line);
        };
        // Read on, or the registry would stop at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            folder,
            address,
        }
    }

    /// The file that holds a blob.
    pub fn blob_file(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap();
        let below = format!(
            "data/docker/registry/v2/blobs/sha256/{}/{hex}/data",
            &hex[..2]
        );
        self.folder.path().join(below)
    }
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, or why it cannot be built here.
pub fn built() -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref().map_err(Clone::clone)
}

/// Builds the pinned registry, unless an earlier run of the tests did.
fn build() -> Result<PathBuf, String> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/registry");
    let mut pinned = Vec::new();
    for name in ["main.go", "go.mod", "go.sum"] {
        pinned.extend(std::fs::read(module.join(name)).map_err(|e| e.to_string())?);
    }
    let key = &super::image::digest(&pinned)[7..19];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("registry-{key}"));
    if program.exists() {
        return Ok(program);
    }
    let work = tempfile::tempdir_in(folder).map_err(|e| e.to_string())?;
    let fresh = work.path().join("registry");
    let output = Command::new("go")
        .args([
            "build",
            "-mod=readonly",
            "-trimpath",
            "-ldflags",
            "-s -w",
            "-o",
        ])
        .arg(&fresh)
        .arg(".")
        .current_dir(&module)
        // Of its own, so that it goes when the build is done.
        .env("GOCACHE", work.path().join("go-build"))
        .output()
        .map_err(|e| format!("go cannot be run: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "go build: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    std::fs::rename(&fresh, &program).map_err(|e| e.to_string())?;
    Ok(program)
}
