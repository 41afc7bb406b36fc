//! What the end-to-end tests share: the program, the cache of components, and checks that nothing is left behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use components::{Cache, Hami};
use harness::bench::Bench;
use plan::{HamiKind, HamiSource, Host, Order, Overrides};

/// How long a test waits for something that takes seconds on an idle machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// The program under test.
pub const HEADROOM: &str = env!("CARGO_BIN_EXE_headroom");

/// As many control planes at a time as two cores carry: a short run of one leaves them idle most of the time.
const AT_ONCE: u32 = 2;

static RUNNING: (Mutex<u32>, Condvar) = (Mutex::new(0), Condvar::new());

/// The right to run one of them, until it is dropped.
pub struct Turn(());

/// Waits for the right to run a control plane.
pub fn turn() -> Turn {
    let (count, ended) = &RUNNING;
    let running = count.lock().unwrap_or_else(PoisonError::into_inner);
    let mut running = ended
        .wait_while(running, |running| *running >= AT_ONCE)
        .unwrap_or_else(PoisonError::into_inner);
    *running += 1;
    Turn(())
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (count, ended) = &RUNNING;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ended.notify_one();
    }
}

/// A cache whose components are built, but whose clusters are the test's own.
pub struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    /// Builds the components into the user's cache if they are not there, and makes a cache that shares them.
    pub fn new() -> Self {
        let shared = components();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = folder.path().join("cache");
        std::fs::create_dir(&cache).expect("a cache folder");
        for entry in std::fs::read_dir(shared).expect("the cache").flatten() {
            let name = entry.file_name();
            if name != "sessions" && name != "up-logs" {
                std::os::unix::fs::symlink(entry.path(), cache.join(name)).expect("a link");
            }
        }
        Self { folder }
    }

    /// A scratch folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What `headroom bench NAME --compress N --hami builtin --out DIR` would do, to be done in this process.
    pub async fn session(&self, name: &str, compress: f64, out: &Path) -> (Bench, Order) {
        host::terminal::catch();
        let cache = Cache::open(Some(&self.path().join("cache"))).expect("a cache");
        let found = components::setup(&cache, None, &mut |_| {}).await;
        let hami = Hami {
            source: HamiSource {
                source: HamiKind::Builtin,
                version: "test".into(),
                sha256: String::new(),
            },
            program: HEADROOM.into(),
            leading_args: vec!["extender".into()],
            agent: "headroom-extender".into(),
        };
        let bench = Bench {
            programs: hami.among(found.expect("the components")),
            hami: hami.source,
            state_root: self.sessions(),
        };
        let experiment = plan::load(name).expect("an experiment");
        let overrides = Overrides {
            compress: Some(compress),
            ..Overrides::default()
        };
        let plans = plan::plans(&experiment, &overrides).expect("plans");
        let order = Order {
            expect: experiment.expected(&plans, &overrides),
            plans,
            experiment: experiment.name,
            host: Host {
                out: Some(out.to_owned()),
                ..Host::default()
            },
            command: Vec::new(),
            resume: false,
        };
        (bench, order)
    }

    /// Folder of live clusters' state.
    pub fn sessions(&self) -> PathBuf {
        self.path().join("cache/sessions")
    }

    /// `headroom` with these arguments, on this bed's cache, in its scratch folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(HEADROOM);
        command
            .args(args)
            .arg("--cache")
            .arg(self.path().join("cache"))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("headroom starts")
    }

    /// Starts it, with its messages in `messages`.
    pub fn start(&self, args: &[&str], messages: &str) -> Running {
        let log = self.path().join(messages);
        let file = std::fs::File::create(&log).expect("a log file");
        let child = self
            .command(args)
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("headroom starts");
        Running { child, log }
    }

    /// Process ids of everything that clusters of this bed run.
    pub fn processes(&self) -> Vec<i32> {
        let mark = format!(
            "HEADROOM_SESSION={}/",
            self.path().canonicalize().unwrap().display()
        );
        std::fs::read_dir("/proc")
            .expect("/proc")
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &i32| {
                let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environ
                    .split(|&b| b == 0)
                    .any(|v| v.starts_with(mark.as_bytes()))
            })
            .collect()
    }

    /// Names of the clusters that have a folder.
    pub fn cluster_folders(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.sessions());
        let dirs = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter(|e| e.path().is_dir());
        dirs.map(|e| e.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// Fails the test if a process or a cluster's folder is left.
    pub fn assert_nothing_left(&self) {
        assert_eq!(self.processes(), Vec::<i32>::new(), "processes are left");
        assert_eq!(
            self.cluster_folders(),
            Vec::<String>::new(),
            "folders are left"
        );
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // A failed test must not leave a control plane on the machine.
        for pid in self.processes() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }
}

/// A command that is under way. It is killed when dropped.
pub struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// What it has said so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it has said `text`.
    pub fn until(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.said().contains(text) {
            let ended = self.child.try_wait().expect("a child");
            assert!(
                ended.is_none(),
                "it ended before it said {text:?}: {}",
                self.said()
            );
            assert!(
                Instant::now() < deadline,
                "it never said {text:?}: {}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .expect("kill")
                .success()
        );
    }

    /// Waits for its end; its exit code.
    pub fn code(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it does not end: {}", self.said());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says something that is to be seen even if the test passes; what `println!` writes then is not.
pub fn say(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Text of a command's standard error.
pub fn messages(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The cache the components are in: `HEADROOM_CACHE` or the user's own, as for any command. They are built into it the
/// first time, which takes minutes.
fn components() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        // How a build goes on is seen; that all is ready need not be.
        let status = Command::new(HEADROOM)
            .arg("setup")
            .stdout(Stdio::null())
            .status()
            .expect("headroom starts");
        assert!(status.success(), "headroom setup failed");
        let named = std::env::var_os("HEADROOM_CACHE").map(PathBuf::from);
        let xdg = std::env::var_os("XDG_CACHE_HOME").map(|dir| PathBuf::from(dir).join("headroom"));
        let home = std::env::var_os("HOME").map(|dir| PathBuf::from(dir).join(".cache/headroom"));
        named.or(xdg).or(home).expect("setup has found a cache")
    })
}
