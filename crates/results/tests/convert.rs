//! Brings the recorded examples up to the schema of today. It measures nothing anew: what an example had keeps its value,
//! and metrics that came in since are computed from its records.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use headroom_results::judge::{self, Judged};
use headroom_results::metrics::Source;
use headroom_results::run_folder::summary::SCHEMA;
use headroom_results::run_folder::{
    Calls, CsvRow as _, Percentile, Session, Spread, Summary, UsageRow, upgrade,
};
use plan::expect::Expect;
use plan::metric::Phase;
use serde_json::Value;

/// Set to any value, it makes this write the examples; else they are only read.
const UPDATE: &str = "UPDATE_EXAMPLES";

#[test]
fn the_examples_are_of_today_s_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs/examples");
    let update = std::env::var_os(UPDATE).is_some();
    let mut sessions = 0;
    for entry in root.read_dir().unwrap() {
        let dir = entry.unwrap().path();
        if !dir.join("summary.json").exists() {
            continue;
        }
        sessions += 1;
        if update {
            convert(&dir);
        }
        let summary: Value = json(&fs::read(dir.join("summary.json")).unwrap());
        assert_eq!(
            summary["schema"],
            SCHEMA,
            "{} is of an older schema: run {UPDATE}=1 cargo test -p headroom-results --test convert",
            dir.display()
        );
    }
    assert_eq!(sessions, 9);
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn convert(dir: &Path) {
    let path = dir.join("summary.json");
    let mut value = json(&fs::read(&path).unwrap());
    upgrade::summary(&mut value);
    let session = Session {
        dir: dir.to_owned(),
        summary: serde_json::from_value(value.clone()).unwrap(),
    };
    let read = serde_json::to_value(&session.summary).unwrap();
    assert_eq!(read, value, "nothing is lost, nothing made up");
    let mut summary: Summary = session.summary.clone();
    let mut judged = Vec::new();
    for run in &summary.runs {
        folder(&dir.join(&run.folder));
        if run.came_to_its_end() {
            let read = session.run(&run.folder).unwrap();
            let mut run = run.clone();
            // As they were before they were rounded.
            run.calls_per_pod = read.calls.as_ref().map(per_pod).unwrap_or_default();
            judged.push(Judged::new(&Source::of(&run, &read)));
        }
    }
    for again in judge::arms(&Expect::default(), &judged) {
        let arm = summary
            .arms
            .iter_mut()
            .find(|a| a.name == again.name)
            .unwrap();
        let had = |key: &String| arm.metrics.get(key).copied();
        let metrics: BTreeMap<String, Spread> = again
            .metrics
            .iter()
            .map(|(key, new)| (key.clone(), had(key).unwrap_or_else(|| rounded(*new))))
            .collect();
        for key in arm.metrics.keys() {
            assert!(metrics.contains_key(key), "{}: {key}", again.name);
        }
        arm.metrics = metrics;
    }
    let mut text = serde_json::to_vec(&summary).unwrap();
    text.push(b'\n');
    fs::write(path, text).unwrap();
}

/// Calls for each bound pod, from the counts.
#[allow(clippy::cast_precision_loss)] // counts of calls
fn per_pod(calls: &Calls) -> BTreeMap<String, BTreeMap<String, f64>> {
    let of = |counts: &BTreeMap<String, u64>| {
        let each = counts.iter();
        each.map(|(what, n)| (what.clone(), *n as f64 / calls.bound_pods as f64))
            .collect()
    };
    let counts = calls.total.iter().filter(|_| calls.bound_pods > 0);
    counts
        .map(|(name, counts)| (name.clone(), of(counts)))
        .collect()
}

/// To the six decimals that the examples keep.
fn rounded(spread: Spread) -> Spread {
    let one = |secs: f64| (secs * 1e6).round() / 1e6;
    let of = |value| match value {
        Percentile::Secs(secs) => Percentile::Secs(one(secs)),
        Percentile::Over { over } => Percentile::Over { over: one(over) },
        Percentile::TooFew => Percentile::TooFew,
    };
    Spread {
        median: of(spread.median),
        min: of(spread.min),
        max: of(spread.max),
    }
}

/// A run's own files.
fn folder(dir: &Path) {
    rewrite(&dir.join("run.json.gz"), |text| {
        let mut value = json(text.as_bytes());
        upgrade::run(&mut value);
        serde_json::to_string(&value).unwrap() + "\n"
    });
    rewrite(&dir.join("usage.csv.gz"), |text| {
        let (_, rows) = text.split_once('\n').unwrap();
        format!("{}\n{rows}", UsageRow::HEADER)
    });
    rewrite(&dir.join("latency.hlog.gz"), |text| {
        let lines = text.lines().map(|line| match line.strip_prefix("Tag=") {
            Some(tagged) => format!("Tag={}\n", tag(tagged)),
            None => format!("{line}\n"),
        });
        lines.collect()
    });
}

/// A line of the log after `Tag=`, with today's name of the phase.
fn tag(line: &str) -> String {
    let (tag, rest) = line.split_once(',').unwrap();
    // `team/class/phase[/censored]`
    let parts = tag.split('/').enumerate();
    let parts = parts.map(|(i, part)| match Phase::by_name(part) {
        Some(phase) if i == 2 => phase.name(),
        _ => part,
    });
    format!("{},{rest}", parts.collect::<Vec<_>>().join("/"))
}

/// Replaces a gzipped file, if its text changes.
fn rewrite(path: &Path, new: impl Fn(&str) -> String) {
    let mut text = String::new();
    let mut unpacked = MultiGzDecoder::new(fs::File::open(path).unwrap());
    unpacked.read_to_string(&mut text).unwrap();
    let changed = new(&text);
    if changed == text {
        return;
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(changed.as_bytes()).unwrap();
    fs::write(path, packed.finish().unwrap()).unwrap();
}
