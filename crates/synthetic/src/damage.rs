//! Damage to a session's files.

use std::path::Path;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

/// Does damage to a session's files, another for each `seed`: numbers, words and whole fields of its JSON, lines of its
/// records and series.
pub fn damage(session: &Path, seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut files = vec![session.join("summary.json")];
    for run in std::fs::read_dir(session)
        .unwrap()
        .flatten()
        .filter(|e| e.path().is_dir())
    {
        files.extend(
            ["run.json", "jobs.jsonl", "usage.csv", "restarts.jsonl"]
                .map(|name| run.path().join(name)),
        );
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<String> = if file.extension().is_some_and(|e| e == "json") {
            vec![warped(&text, &mut random)]
        } else {
            let some = |line: &str| match random.random_range(0..20) {
                0 => warped(line, &mut random),
                1 => line.replace('1', "-"),
                2 => String::new(),
                _ => line.to_owned(),
            };
            text.lines().map(some).collect()
        };
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    }
}

/// A JSON text with some of its values replaced by hostile ones of the same type; other text as it is.
fn warped(text: &str, random: &mut SmallRng) -> String {
    fn walk(value: &mut serde_json::Value, random: &mut SmallRng) {
        const NUMBERS: [f64; 7] = [-1.0, 0.0, 1e-300, 1e15, 1e300, -1e300, 0.5];
        const WORDS: [&str; 5] = [
            "",
            "<script>alert(1)</script>",
            "a\u{0}\u{1b}[31m\nb",
            "../../etc",
            "é\u{202e}漢",
        ];
        match value {
            serde_json::Value::Number(_) if random.random_ratio(1, 12) => {
                let number = NUMBERS[random.random_range(0..NUMBERS.len())];
                *value = if value.is_u64() {
                    json!(random.random_range(0..=u32::MAX))
                } else {
                    json!(number)
                };
            }
            serde_json::Value::String(_) if random.random_ratio(1, 40) => {
                *value = json!(WORDS[random.random_range(0..WORDS.len())]);
            }
            serde_json::Value::Array(items) => {
                if random.random_ratio(1, 40) {
                    items.clear();
                }
                for value in items {
                    walk(value, random);
                }
            }
            serde_json::Value::Object(fields) => {
                for (_, value) in fields.iter_mut().filter(|(k, _)| *k != "schema") {
                    walk(value, random);
                }
            }
            _ => {}
        }
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(mut value) => {
            walk(&mut value, random);
            value.to_string()
        }
        Err(_) => text.to_owned(),
    }
}
