//! Reports in a real browser: nothing on its console, nothing fetched, nothing wider than the screen.
//!
//! A server in this test hands out the pages and is the browser's proxy, so that nothing the browser asks for by itself
//! leaves the machine. A probe page holds the report in frames of 400 and 1400 px and writes into itself how wide they are
//! and what they fetched.
//!
//! Where there is no browser the tests are shown as ignored, with the reason: a main of its own (libtest-mimic) can decide
//! that when it runs, which an attribute can't.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use libtest_mimic::{Arguments, Trial};
use present::report;
use serde_json::{Value, json};

/// Names under which browsers of the Chromium family are installed.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let find = |name: &str| folders.iter().map(|f| f.join(name)).find(|path| runs(path));
    BROWSERS.iter().find_map(|name| find(name))
}

/// Some distributions have a script under a browser's name that only says how to install it.
fn runs(program: &Path) -> bool {
    let mut version = Command::new(program);
    version.arg("--version").stdin(Stdio::null());
    version.output().is_ok_and(|output| output.status.success())
}

const PROBE: &str = r#"<!doctype html><title>probe</title>
<iframe src="page.html" style="width:400px;height:900px;border:0"></iframe>
<iframe src="page.html" style="width:1400px;height:900px;border:0"></iframe>
<script>
onload = () => {
  const pages = [...document.querySelectorAll("iframe")].map(f => f.contentWindow);
  document.body.dataset.widths = pages.map(w => {
    const page = w.document.documentElement;
    return page.clientWidth + ":" + page.scrollWidth;
  }).join(" ");
  document.body.dataset.fetched = pages.flatMap(w => w.performance.getEntriesByType("resource")).map(r => r.name).join(" ");
};
</script>"#;

/// What the browser made of a page.
#[derive(Debug)]
struct Seen {
    /// `room:needed` of each frame.
    widths: String,
    console: Vec<String>,
    /// What the pages asked for besides themselves.
    fetched: String,
}

fn open(browser: &Path, page: &str) -> Seen {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let page = page.to_owned();
    // It ends with the test's process; nothing waits for it.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let page = page.clone();
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                while lines
                    .next()
                    .and_then(Result::ok)
                    .is_some_and(|l| !l.is_empty())
                {}
                let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let (status, body) = match target.as_str() {
                    "http://report.test/probe.html" => ("200 OK", PROBE.to_owned()),
                    "http://report.test/page.html" => ("200 OK", page),
                    _ => ("404 Not Found", String::new()),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let mut stream = stream;
                let _ = stream
                    .write_all(head.as_bytes())
                    .and_then(|()| stream.write_all(body.as_bytes()));
            });
        }
    });
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--window-size=1500,2000",
            // Time passes as fast as pages load: nothing here waits for the clock.
            "--virtual-time-budget=20000",
            "--proxy-bypass-list=<-loopback>",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--proxy-server=http://{address}"))
        .args(["--dump-dom", "http://report.test/probe.html"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    let attribute = |name: &str| {
        let value = text
            .split(&format!("data-{name}=\""))
            .nth(1)
            .and_then(|t| t.split('"').next());
        let value = value.map(str::to_owned);
        assert!(value.is_some(), "the browser gave no {name}\n{text}\n{log}");
        value.unwrap_or_default()
    };
    Seen {
        widths: attribute("widths"),
        console: log
            .lines()
            .filter(|l| l.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
        fetched: attribute("fetched"),
    }
}

impl Seen {
    fn overflows(&self) -> bool {
        self.widths.split(' ').any(|frame| {
            let (room, needed) = frame.split_once(':').unwrap();
            needed.parse::<u32>().unwrap() > room.parse::<u32>().unwrap()
        })
    }
}

fn main() -> ExitCode {
    let browser = browser();
    let kind = match &browser {
        Some(_) => String::new(),
        None => format!("skipped: none of {} is on the PATH", BROWSERS.join(", ")),
    };
    let test = |name: &str, run: fn(&Path)| {
        let browser = browser.clone();
        let ignored = browser.is_none();
        let trial = Trial::test(name, move || {
            // Only where ignored tests were asked for, too: what can't be tested must not count as passed.
            run(&browser.ok_or("no browser: apt-get install chromium")?);
            Ok(())
        });
        trial.with_kind(&kind).with_ignored_flag(ignored)
    };
    let tests = vec![
        test("the_probe_can_tell", the_probe_can_tell),
        test(
            "a_report_on_every_example_is_clean",
            a_report_on_every_example_is_clean,
        ),
        test(
            "a_report_with_long_words_is_clean",
            a_report_with_long_words_is_clean,
        ),
    ];
    // Browsers beside each other would need more memory than a small machine has.
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, tests).exit_code()
}

/// A page with all three faults.
fn the_probe_can_tell(browser: &Path) {
    let faulty = "<!doctype html><p style='width:2000px'>wide</p><img src='http://elsewhere.test/a.png'>\
                  <script>console.error('no')</script>";
    let seen = open(browser, faulty);
    assert!(seen.overflows() && !seen.console.is_empty(), "{seen:?}");
    assert!(seen.fetched.contains("elsewhere.test"), "{seen:?}");
}

fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs/examples");
    let entries = fs::read_dir(root).unwrap().flatten().map(|e| e.path());
    let mut sessions: Vec<PathBuf> = entries.filter(|p| p.is_dir()).collect();
    sessions.sort();
    sessions
}

fn report_is_clean(browser: &Path, sessions: &[PathBuf]) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report.html");
    report::write(sessions, &out).unwrap();
    let seen = open(browser, &fs::read_to_string(&out).unwrap());
    assert_eq!(seen.widths.split(' ').count(), 2, "{seen:?}");
    assert!(
        !seen.overflows() && seen.console.is_empty() && seen.fetched.is_empty(),
        "{seen:?}"
    );
}

fn a_report_on_every_example_is_clean(browser: &Path) {
    let sessions = examples();
    assert!(!sessions.is_empty());
    report_is_clean(browser, &sessions);
}

/// Causes, names and commands that have no place to break.
fn a_report_with_long_words_is_clean(browser: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let from = examples().pop().unwrap();
    let text = fs::read_to_string(from.join("summary.json")).unwrap();
    let mut summary: Value = serde_json::from_str(&text).unwrap();
    let long = "a_cause_that_never_ends_in_any_sensible_place_".repeat(5);
    summary["command"] = json!(["headroom", "bench", long]);
    summary["meaning"] = json!(long);
    let run = &mut summary["runs"][0];
    let run_folder = run["folder"].as_str().unwrap().to_owned();
    run["disturbed"] = json!([{ "kind": long, "detail": long, "remedy": long }]);
    run["tenants"][0]["name"] = json!(long);
    run["restarts"] = json!({ long.clone(): 3 });
    fs::create_dir(folder.path().join(&run_folder)).unwrap();
    for entry in fs::read_dir(from.join(&run_folder)).unwrap().flatten() {
        let to = folder.path().join(&run_folder).join(entry.file_name());
        fs::copy(entry.path(), to).unwrap();
    }
    fs::write(folder.path().join("summary.json"), summary.to_string()).unwrap();
    report_is_clean(browser, &[folder.path().to_owned()]);
}
