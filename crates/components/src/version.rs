//! Versions: as text in a program's output, as numbers to compare.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use super::child::{printed, run};

/// What a program is said to be when it reports no version.
pub(crate) const UNKNOWN: &str = "unknown";

/// How long a program may take to print its version. They need 0.3 s; a loaded machine or a cold disk more.
const PATIENCE: Duration = Duration::from_secs(20);

/// Three numbers of a version; anything behind them is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number, 0 if absent.
    pub patch: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// The first version in a text: two or three numbers joined by points, perhaps behind a `v` or `go`.
    #[must_use]
    pub(crate) fn find(text: &str) -> Option<Self> {
        Self::parse(version_word(text)?)
    }

    fn parse(word: &str) -> Option<Self> {
        let word = word.strip_prefix("go").unwrap_or(word);
        let word = word.strip_prefix('v').unwrap_or(word);
        let mut numbers = word.splitn(3, '.');
        let whole = |text: &str| text.parse().ok();
        // A suffix may follow, as in `1.27rc1` and `1.2.3-rc.1`; a further point makes it an address.
        let leading = |text: &str| {
            let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let fits = suffix.is_empty()
                || suffix.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '+'));
            fits.then(|| text[..text.len() - suffix.len()].parse().ok())?
        };
        let major = whole(numbers.next()?)?;
        let minor = numbers.next()?;
        Some(match numbers.next() {
            Some(patch) => Self {
                major,
                minor: whole(minor)?,
                patch: leading(patch)?,
            },
            None => Self {
                major,
                minor: leading(minor)?,
                patch: 0,
            },
        })
    }
}

/// The first word of a text that reads as a version.
fn version_word(text: &str) -> Option<&str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '(' | ')'))
        .find(|word| Version::parse(word).is_some())
}

/// The version in a program's output in the form `v1.2.3[-suffix]`.
#[must_use]
pub(crate) fn reported(output: &str) -> Option<String> {
    let word = version_word(output)?;
    let word = word.strip_prefix("go").unwrap_or(word);
    Some(format!("v{}", word.strip_prefix('v').unwrap_or(word)))
}

/// What became of a program that was asked for its version.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It ended with code 0 and printed this (standard output, then standard error).
    Said(String),
    /// It ended otherwise.
    Failed {
        /// Its exit code, if it was not killed by a signal.
        code: Option<i32>,
        /// What it printed.
        output: String,
    },
    /// It was still running after the time allowed, and was killed: it took no notice of the argument.
    StillRunning,
}

/// Runs a program with the argument by which it should print its version and leave.
///
/// The environment is empty but for `PATH`: a program that takes no notice of the argument and starts to work must not find
/// anybody's cluster.
///
/// # Errors
/// The operating system's, when the file is no program for this machine.
pub(crate) async fn ask(program: &Path, argument: &str, path: &OsStr) -> io::Result<Answer> {
    ask_for(program, argument, path, PATIENCE).await
}

pub(crate) async fn ask_for(
    program: &Path,
    argument: &str,
    path: &OsStr,
    patience: Duration,
) -> io::Result<Answer> {
    let command = duct::cmd(program, [argument])
        .full_env([("PATH", path)])
        .dir("/")
        .stdin_null();
    match tokio::time::timeout(patience, run(&command)).await {
        Err(_) => Ok(Answer::StillRunning),
        Ok(Err(error)) => Err(error),
        Ok(Ok(output)) if output.status.success() => Ok(Answer::Said(printed(&output))),
        Ok(Ok(output)) => Ok(Answer::Failed {
            code: output.status.code(),
            output: printed(&output),
        }),
    }
}

/// The version in a program's own output, or [`UNKNOWN`].
///
/// # Errors
/// The operating system's, when the file is no program for this machine.
pub(crate) async fn of_program(name: &str, program: &Path, path: &OsStr) -> io::Result<String> {
    // Kueue's manager has no option that prints it.
    let version = if name == "kueue" {
        let program = program.to_owned();
        tokio::task::spawn_blocking(move || in_kueue_binary(&program))
            .await
            .map_err(io::Error::other)??
    } else {
        match ask(program, "--version", path).await? {
            Answer::Said(output) => reported(&output),
            Answer::Failed { .. } | Answer::StillRunning => None,
        }
    };
    Ok(version.unwrap_or_else(|| UNKNOWN.to_owned()))
}

/// The version that Go's linker wrote into a Kueue manager: the `-X` flag of the project's release build, or else the module
/// line that is in every Go binary.
fn in_kueue_binary(program: &Path) -> io::Result<Option<String>> {
    const NEEDLES: [&str; 2] = [
        "sigs.k8s.io/kueue/pkg/version.GitVersion=",
        "mod\tsigs.k8s.io/kueue\t",
    ];
    /// Longer than any needle with its version, so that none is lost between two blocks.
    const OVERLAP: usize = 256;
    // The binary is ~90 MB: read in blocks, since the harness reports its own peak memory.
    let mut file = File::open(program)?;
    let mut window = Vec::new();
    let mut from_module_line = None;
    loop {
        let read = file.by_ref().take(1 << 20).read_to_end(&mut window)?;
        if let Some(version) = version_after(&window, NEEDLES[0]) {
            return Ok(Some(version));
        }
        from_module_line = from_module_line.or_else(|| version_after(&window, NEEDLES[1]));
        if read == 0 {
            return Ok(from_module_line);
        }
        window.drain(..window.len().saturating_sub(OVERLAP));
    }
}

/// The version right behind some occurrence of `needle`.
fn version_after(binary: &[u8], needle: &str) -> Option<String> {
    memchr::memmem::find_iter(binary, needle).find_map(|start| {
        let rest = &binary[start + needle.len()..];
        let is_end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'\'' | b'"');
        let end = rest.iter().take(64).position(is_end)?;
        reported(std::str::from_utf8(&rest[..end]).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::script;

    #[tokio::test]
    async fn of_a_program_that_prints_without_end_only_the_beginning_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let body = "echo v1.2.3; head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2";
        let program = script(&folder.path().join("loud"), body);
        let path = std::env::var_os("PATH").unwrap();
        let Answer::Said(text) = ask(&program, "--version", &path).await.unwrap() else {
            panic!("it ends with code 0");
        };
        assert_eq!(text.len(), 2 * 64 * 1024);
        assert_eq!(
            reported(text.lines().next().unwrap()).as_deref(),
            Some("v1.2.3")
        );
    }

    #[test]
    fn versions_are_read_from_what_the_programs_print() {
        for (output, version) in [
            (
                "etcd Version: 3.6.13\nGit SHA: Not provided\nGo Version: go1.26.8\n",
                "v3.6.13",
            ),
            ("Kubernetes v1.36.3\n", "v1.36.3"),
            ("kwok version v0.8.0 go1.26.8 (linux/amd64)\n", "v0.8.0"),
            (
                "version:          v2.10.0\nrevision:         unknown\n",
                "v2.10.0",
            ),
            ("v1.2.3-rc.1+abc", "v1.2.3-rc.1+abc"),
        ] {
            assert_eq!(reported(output).as_deref(), Some(version), "{output}");
        }
        assert_eq!(
            reported("usage: frob [-x]; listening on 127.0.0.1:80, 10 workers"),
            None
        );
        assert_eq!(reported(""), None);
    }

    #[test]
    fn go_versions_compare_as_numbers() {
        let go = |text| Version::find(text).unwrap();
        assert!(go("go version go1.26.8 linux/amd64") > go("go 1.26.0"));
        assert!(go("go version go1.9 linux/amd64") < go("1.26.0"));
        assert_eq!(go("go version go1.27rc1 linux/amd64"), go("1.27.0"));
        assert!(go("go version devel go1.28-a1b2c3 linux/amd64") > go("1.27.5"));
    }

    #[test]
    fn a_kueue_manager_is_recognised_by_what_go_wrote_into_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let find = |before: usize, text: &str| {
            std::fs::write(file.path(), [&vec![0; before], text.as_bytes()].concat()).unwrap();
            in_kueue_binary(file.path()).unwrap()
        };
        let module = "mod\tsigs.k8s.io/kueue\tv0.17.0\th1:x\n";
        // Also across the border of two blocks.
        for before in [0, (1 << 20) - 30, (1 << 20) - 5, (1 << 20) + 1] {
            assert_eq!(find(before, module).as_deref(), Some("v0.17.0"), "{before}");
        }
        let ldflags = "mod\tsigs.k8s.io/kueue\t(devel)\t\n\
                       build\t-ldflags=\"-X 'sigs.k8s.io/kueue/pkg/version.GitVersion=v0.18.1' -s\"\n";
        assert_eq!(find(0, ldflags).as_deref(), Some("v0.18.1"));
        assert_eq!(find(0, "mod\tsigs.k8s.io/kueue-other\tv0.17.0\t"), None);
        assert_eq!(find(0, "mod\tsigs.k8s.io/kueue\t(devel)\t"), None);
    }

    #[tokio::test]
    async fn a_program_that_ignores_the_argument_is_stopped_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let child_pid = folder.path().join("pid");
        let program = script(
            &folder.path().join("server"),
            &format!("sleep 600 & echo $! > {}; wait", child_pid.display()),
        );
        let path = std::env::var_os("PATH").unwrap();
        let asked = ask_for(&program, "version", &path, Duration::from_millis(500)).await;
        assert!(matches!(asked, Ok(Answer::StillRunning)), "{asked:?}");
        let pid = std::fs::read_to_string(child_pid).unwrap();
        assert!(!crate::child::runs(pid.trim().parse().unwrap()));
    }

    #[tokio::test]
    async fn what_a_program_is_not_told_it_cannot_harm() {
        let folder = tempfile::tempdir().unwrap();
        let program = script(
            &folder.path().join("p"),
            "echo $# $1 ${KUBECONFIG-none} ${HOME-none}",
        );
        let path = std::env::var_os("PATH").unwrap();
        let Ok(Answer::Said(output)) = ask(&program, "version", &path).await else {
            panic!("it did not answer");
        };
        assert_eq!(output, "1 version none none\n");
    }
}
