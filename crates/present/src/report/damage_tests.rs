//! Damaged run folders: whatever was cut off, overwritten or lost, each command reads what is left or says in one line
//! what is wrong. It never panics.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;

use compare::{self, Options, metrics::Declared};
use results::run_folder::{Run, Session};
use synthetic::Script;

/// The files of a session and of one of its runs.
const FILES: [&str; 7] = [
    "summary.json",
    "RUN/run.json",
    "RUN/jobs.jsonl",
    "RUN/usage.csv",
    "RUN/restarts.jsonl",
    "RUN/calls.json",
    "RUN/components.csv",
];

/// Something that may have happened to a file.
#[derive(Debug, Clone)]
enum Harm {
    Lost,
    /// Cut off after this share of it.
    Cut(f64),
    /// A line put in at this share of it.
    Line(f64, Vec<u8>),
    /// Bytes overwritten from this share of it on.
    Bytes(f64, Vec<u8>),
    /// A folder in its place.
    Folder,
}

fn harm() -> impl Strategy<Value = Harm> {
    // What looks right to a parser of lines, JSON or CSV goes deeper than noise.
    const LIKELY: [&[u8]; 11] = [
        b"{}",
        b"[]",
        b"null",
        b"1e999",
        b"{\"secs\":-1e308}",
        b"1,a,b,c,d,e,f,g,h",
        b"NaN,shared,,1,1,1,1,0,0",
        b"1e308,shared,40,4294967295,1,1,1,inf,0",
        b"\xff\xfe\x00",
        b"\"\\ud800\"",
        b"[[[[[[[[[[[[[[[[",
    ];
    let at = 0.0..1.0;
    let junk = || vec(any::<u8>(), 1..40);
    let likely = proptest::sample::select(&LIKELY[..]).prop_map(<[u8]>::to_vec);
    prop_oneof![
        Just(Harm::Lost),
        Just(Harm::Folder),
        at.clone().prop_map(Harm::Cut),
        (at.clone(), prop_oneof![junk(), likely.clone()])
            .prop_map(|(at, line)| Harm::Line(at, line)),
        (at, prop_oneof![junk(), likely]).prop_map(|(at, bytes)| Harm::Bytes(at, bytes)),
    ]
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // a share of a length
fn place(share: f64, length: usize) -> usize {
    (share * length as f64) as usize
}

fn apply(file: &Path, harm: &Harm) {
    let Ok(mut bytes) = fs::read(file) else {
        return;
    };
    match harm {
        Harm::Lost => return fs::remove_file(file).unwrap(),
        Harm::Folder => {
            fs::remove_file(file).unwrap();
            return fs::create_dir(file).unwrap();
        }
        Harm::Cut(at) => bytes.truncate(place(*at, bytes.len())),
        Harm::Line(at, line) => {
            let from = place(*at, bytes.len());
            let start = bytes[from..]
                .iter()
                .position(|b| *b == b'\n')
                .map_or(bytes.len(), |i| from + i + 1);
            bytes.splice(start..start, line.iter().copied().chain([b'\n']));
        }
        Harm::Bytes(at, new) => {
            let from = place(*at, bytes.len());
            let to = (from + new.len()).min(bytes.len());
            bytes.splice(from..to, new.iter().copied());
        }
    }
    fs::write(file, bytes).unwrap();
}

/// Two undamaged sessions, written once.
static WHOLE: LazyLock<(tempfile::TempDir, [PathBuf; 2])> = LazyLock::new(|| {
    let root = tempfile::tempdir().unwrap();
    let session = |folder| {
        Script {
            folder,
            experiment: "quota-unit",
            ..Script::default()
        }
        .write(root.path())
    };
    let both = ["base", "new"].map(session);
    (root, both)
});

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn one_line(error: &impl ToString) {
    let line = error.to_string();
    assert!(
        !line.is_empty() && !line.contains('\n') && line.len() < 2000,
        "{line}"
    );
}

/// A damaged copy of the new session.
fn damaged(root: &Path, harms: &[(usize, Harm)]) -> PathBuf {
    let session = root.join("damaged");
    copy(&WHOLE.1[1], &session);
    let names = fs::read_dir(&session).unwrap().flatten();
    let folders = names.filter(|e| e.path().is_dir()).map(|e| e.file_name());
    let run = folders.min().unwrap().to_string_lossy().into_owned();
    for (file, harm) in harms {
        apply(&session.join(FILES[*file].replace("RUN", &run)), harm);
    }
    session
}

fn harms() -> impl Strategy<Value = Vec<(usize, Harm)>> {
    vec((0..FILES.len(), harm()), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_showing_and_comparing_never_panic(harms in harms()) {
        let root = tempfile::tempdir().unwrap();
        let session = damaged(root.path(), &harms);
        if let Err(error) = Session::load(&session) {
            one_line(&error);
        }
        for entry in fs::read_dir(&session).unwrap().flatten().filter(|e| e.path().is_dir()) {
            if let Err(error) = Run::load(&entry.path()) {
                one_line(&error);
            }
        }
        if let Err(error) = super::show(&session) {
            one_line(&error);
        }
        super::runs(root.path()).unwrap();
        let options = Options { disturbed: true, ..Options::default() };
        let declared = Declared::own().unwrap();
        for sides in [[&WHOLE.1[0], &session], [&session, &WHOLE.1[0]]] {
            let [base, new] = sides.map(|s| vec![s.clone()]);
            match compare::compare(&base, &new, &declared, &options) {
                Ok(found) => {
                    let text = super::compared::text(&found, super::compared::Style::Markdown);
                    assert!(!text.is_empty());
                    serde_json::to_string(&found).unwrap();
                }
                Err(error) => one_line(&error),
            }
        }
    }
}

proptest! {
    // Drawing takes a while.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reports_and_charts_never_panic(harms in harms()) {
        let root = tempfile::tempdir().unwrap();
        let session = damaged(root.path(), &harms);
        if let Err(error) = super::write(&[WHOLE.1[0].clone(), session], &root.path().join("report.html")) {
            one_line(&error);
        }
    }
}
