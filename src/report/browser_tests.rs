//! Reports in a real browser: nothing on its console, nothing fetched, nothing wider than the screen.
//!
//! A server in this test hands out the pages and is the browser's proxy, so that nothing the browser asks for by itself
//! leaves the machine. A probe page holds the report in frames of 400 and 1400 px and writes into itself how wide they are
//! and what they fetched.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::charts::synthetic::{Script, exit};

/// Names under which browsers of the Chromium family are installed.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let there = |name: &str| folders.iter().map(|f| f.join(name)).find(|p| p.is_file());
    BROWSERS.iter().find_map(|name| there(name))
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
        assert!(
            value.is_some(),
            "the browser gave no {name}
{text}
{log}"
        );
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

#[test]
fn a_report_is_clean_in_a_browser() {
    let Some(browser) = browser() else {
        outln!(
            "skipped: none of {} is on the PATH; apt-get install chromium",
            BROWSERS.join(", ")
        );
        return;
    };
    // That the probe can tell: a page with all three faults.
    let faulty = "<!doctype html><p style='width:2000px'>wide</p><img src='http://elsewhere.test/a.png'>\
                  <script>console.error('no')</script>";
    let seen = open(&browser, faulty);
    assert!(seen.overflows() && !seen.console.is_empty(), "{seen:?}");
    assert!(seen.fetched.contains("elsewhere.test"), "{seen:?}");

    let root = tempfile::tempdir().unwrap();
    let sessions = [
        Script {
            exits: vec![exit(
                30.0,
                "a cause that is rather long and never ends in_any_sensible_place_at_all",
            )],
            ..Script::default()
        },
        Script {
            folder: "rate",
            experiment: "rate-limit",
            builtin: true,
            repeats: 2,
            ..Script::default()
        },
    ]
    .map(|script| script.write(root.path()));
    let out = root.path().join("report.html");
    super::write(&sessions, &out).unwrap();
    let seen = open(&browser, &fs::read_to_string(&out).unwrap());
    assert_eq!(seen.widths.split(' ').count(), 2, "{seen:?}");
    assert!(
        !seen.overflows() && seen.console.is_empty() && seen.fetched.is_empty(),
        "{seen:?}"
    );
}
