//! Whole pictures from made-up sessions.

use super::synthetic::{Script, exit};
use super::*;

/// Where pictures are kept for a look at them; else in a folder that goes away.
const KEEP: &str = "HEADROOM_TEST_PICTURES";

fn drawn(script: &Script) -> Vec<(String, String)> {
    let root = tempfile::tempdir().unwrap();
    let session = script.write(root.path());
    let kept = std::env::var_os(KEEP).map(PathBuf::from);
    let out = kept.unwrap_or_else(|| root.path().join("plots"));
    let files = plot(&[session], &out).unwrap();
    files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "svg"))
        .map(|f| {
            let name = f.file_stem().unwrap().to_string_lossy().into_owned();
            let png = fs::read(f.with_extension("png")).unwrap();
            assert_eq!(&png[1..4], b"PNG");
            (name, fs::read_to_string(f).unwrap())
        })
        .collect()
}

#[test]
fn regimes_give_the_articles_pictures() {
    let all = drawn(&Script { exits: vec![exit(300.0, "leader election lost")], ..Script::default() });
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["cards-in-use", "makespan-and-cost", "bound-latency", "restarts-and-latency"];
    assert_eq!(names, expected.map(|n| format!("regimes-{n}")));
    for (name, svg) in &all {
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}");
        assert!(svg.contains("real HAMi"), "{name} says which HAMi ran");
    }
}
