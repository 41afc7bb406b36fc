//! The Go compiler: which one, whether it is new enough, running it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use duct::Expression;

use super::cache::{Cache, Lock, find_on_path};
use super::child::{ChildGroup, printed, run};
use super::error::ComponentsError;
use super::pins::Pin;
use super::version::{self, Answer, Version};

/// Lines of Go's output that an error shows.
const TAIL_LINES: usize = 12;

/// How Go says that a download failed, as opposed to a program that does not compile.
const OFFLINE_SIGNS: [&str; 4] = [
    "Get \"http",
    "dial tcp",
    ": reading http",
    "lookup disabled by GOPROXY=off",
];

/// A Go compiler that is new enough.
#[derive(Debug, Clone)]
pub(crate) struct Go {
    program: PathBuf,
    /// What `go version` printed.
    pub version: String,
}

impl Go {
    /// Finds `go` on the cache's `PATH` and checks that it can build all of `pins`.
    pub(crate) async fn find(cache: &Cache, pins: &[&Pin]) -> Result<Self, ComponentsError> {
        let needed = pins.iter().map(|pin| pin.go_needed()).max();
        let needed = needed.unwrap_or_default();
        let Some(program) = find_on_path("go", cache.search_path()) else {
            return Err(ComponentsError::NoGo {
                needed: needed.to_string(),
            });
        };
        let bad = |problem: String| ComponentsError::BadGo {
            path: program.clone(),
            problem,
        };
        let answer = version::ask(&program, "version", cache.search_path()).await;
        let output = match answer.map_err(|error| bad(error.to_string()))? {
            Answer::Said(output) => output,
            Answer::Failed { output, .. } => return Err(bad(tail(&output, 1))),
            Answer::StillRunning => return Err(bad("`go version` does not end".to_owned())),
        };
        let version = output.trim();
        let version = version.strip_prefix("go version ").unwrap_or(version);
        match Version::find(version) {
            None => Err(bad(format!("`go version` says {version:?}"))),
            Some(found) if found < needed => Err(ComponentsError::GoTooOld {
                found: version.to_owned(),
                needed: needed.to_string(),
                path: program,
            }),
            Some(_) => Ok(Self {
                version: version.to_owned(),
                program,
            }),
        }
    }

    /// A `go` command in a component's module, with nothing of the user's settings that could change the result. Where modules
    /// come from (GOPROXY, GOMODCACHE and the like) stays the user's.
    fn command(
        &self,
        cache: &Cache,
        module: &Path,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Expression {
        duct::cmd(&self.program, args)
            .dir(module)
            .env("PATH", cache.search_path())
            .env("GOCACHE", cache.build().join("gocache"))
            .env("GOTMPDIR", cache.build().join("tmp"))
            .env("GOFLAGS", "-mod=readonly")
            // The compiler that was checked, not one that it would download.
            .env("GOTOOLCHAIN", "local")
            .env("GOWORK", "off")
            .env("GO111MODULE", "on")
            // None of the programs needs C: no C compiler or library can then make a difference.
            .env("CGO_ENABLED", "0")
            .env_remove("GOOS")
            .env_remove("GOARCH")
            .stdin_null()
    }

    /// Builds all programs of `pin` from its module in `module` into the folder `out`; Go's output goes to the build log.
    pub(crate) async fn build(
        &self,
        cache: &Cache,
        lock: &Lock,
        pin: &Pin,
        module: &Path,
        out: &Path,
    ) -> Result<(), ComponentsError> {
        let log = cache.build_log(pin.name);
        let file = File::create(&log).map_err(ComponentsError::io(&log))?;
        // One program: name it, since Go would name it after the package. Several: Go names them, into the folder.
        let target = match pin.programs {
            [(_, name)] => out.join(name),
            _ => out.to_owned(),
        };
        let mut args: Vec<OsString> = vec!["build".into()];
        args.extend(pin.build_args().into_iter().map(Into::into));
        args.extend(["-o".into(), target.into()]);
        args.extend(pin.programs.iter().map(|(package, _)| package.into()));
        let command = self.command(cache, module, args);
        let mut child = ChildGroup::start(&command.stderr_to_stdout().stdout_file(file))
            .map_err(ComponentsError::io(&self.program))?;
        lock.note_builder(child.id())
            .map_err(ComponentsError::io(cache.build()))?;
        let ended = child.wait().await;
        let ended = ended.map_err(ComponentsError::io(&self.program))?;
        if ended.status.success() {
            return Ok(());
        }
        let output = fs::read(&log).map_err(ComponentsError::io(&log))?;
        let output = String::from_utf8_lossy(&output);
        Err(failure(cache, pin.name, &output, log))
    }

    /// The folder in which a module's files lie.
    pub(crate) async fn module_folder(
        &self,
        cache: &Cache,
        pin: &Pin,
        module: &Path,
    ) -> Result<PathBuf, ComponentsError> {
        let command = self.command(cache, module, ["list", "-m", "-f", "{{.Dir}}", pin.module]);
        let output = run(&command).await;
        let output = output.map_err(ComponentsError::io(&self.program))?;
        let text = printed(&output);
        let folder = PathBuf::from(text.lines().next().unwrap_or_default());
        if output.status.success() && folder.is_dir() {
            return Ok(folder);
        }
        let log = cache.build_log(pin.name);
        fs::write(&log, &text).map_err(ComponentsError::io(&log))?;
        Err(failure(cache, pin.name, &text, log))
    }

    /// Disk that a build of these pins takes, MiB: with the downloads of those that are not in Go's module cache. An unknown
    /// one counts as absent.
    pub(crate) async fn disk_mib(&self, cache: &Cache, pins: &[&Pin]) -> u64 {
        let command = self.command(cache, cache.folder(), ["env", "GOMODCACHE"]);
        let folder = match run(&command).await {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).trim().to_owned()
            }
            _ => String::new(),
        };
        let of_pin = |pin: &&Pin| {
            let module = format!("{}@{}", pin.module, pin.version());
            let there = !folder.is_empty() && Path::new(&folder).join(module).is_dir();
            pin.build_mib + if there { 0 } else { pin.download_mib }
        };
        pins.iter().map(of_pin).sum()
    }
}

/// What Go's output means to the user.
fn failure(cache: &Cache, component: &'static str, output: &str, log: PathBuf) -> ComponentsError {
    if output.contains("no space left on device") {
        return ComponentsError::Cache {
            path: cache.folder().to_owned(),
            problem: format!("its disk became full while {component} was built"),
        };
    }
    let is_offline = |line: &&str| OFFLINE_SIGNS.iter().any(|sign| line.contains(sign));
    match output.lines().find(is_offline) {
        Some(line) => ComponentsError::Offline {
            component,
            detail: line.trim().to_owned(),
            log,
        },
        None => ComponentsError::Build {
            component,
            tail: tail(output, TAIL_LINES),
            log,
        },
    }
}

fn tail(output: &str, lines: usize) -> String {
    let all: Vec<_> = output.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(output: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        failure(&cache, "kwok", output, "some.log".into()).to_string()
    }

    #[test]
    fn a_failed_download_says_so_in_one_line() {
        let text = message(
            "go: downloading k8s.io/api v0.36.3\n\
             go: k8s.io/api@v0.36.3: Get \"https://proxy.example/x\": dial tcp: lookup proxy.example: no such host\n",
        );
        assert!(
            text.contains("--components DIR") && text.contains("no such host"),
            "{text}"
        );
        assert!(!text.contains('\n'), "{text}");
        let text = message("go: sigs.k8s.io/kwok@v0.8.0: module lookup disabled by GOPROXY=off\n");
        assert!(text.contains("--components DIR"), "{text}");
    }

    #[test]
    fn a_program_that_does_not_compile_shows_its_last_lines() {
        let broken: String = (0..40).fold(String::new(), |text, n| {
            text + &format!("x.go:{n}: undefined: y\n")
        });
        let text = message(&broken);
        assert!(
            text.contains("x.go:39") && !text.contains("x.go:5:") && text.contains("some.log"),
            "{text}"
        );
    }

    #[test]
    fn a_disk_that_fills_up_is_named_instead_of_a_compiler_error() {
        let text = message("x.go:3: y\nlink: write /c/build/tmp/a: no space left on device\n");
        assert!(text.contains("disk became full"), "{text}");
    }
}
