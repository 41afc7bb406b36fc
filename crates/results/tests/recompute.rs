//! Every value of every recorded example, computed again from the run's records, must be the one in its summary, to the
//! last digit.
//!
//! The examples' summaries are rounded to six decimals, the end of the observation too, to which some values are
//! sensitive: what runs until the end with hundreds of cards. So each value is computed at the two ends of what was
//! rounded, and must lie between.

#![allow(clippy::print_stdout)] // what was compared, for who asks with --nocapture

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use headroom_results::judge::{self, Judged};
use headroom_results::metrics::Source;
use headroom_results::run_folder::{Calls, Cause, Run, RunSummary, Session};
use headroom_results::summarise::summarise;
use plan::Component;
use plan::Stall;
use serde_json::{Value, json};

/// Fields of a run's summary that its files do not tell, and why not.
const NOT_OF_RECORDS: [(&str, &str); 11] = [
    ("arm", "names the run; run.json has it"),
    ("repeat", "names the run; run.json has it"),
    ("folder", "names the run"),
    (
        "bring_up_secs",
        "stamps of the harness before the clock's start",
    ),
    ("wall_secs", "stamps of the harness around the run"),
    (
        "disturbed",
        "what the harness noticed of host and watches while it ran",
    ),
    (
        "storage",
        "percentiles are of etcd's own histogram, of which etcd.csv keeps each interval's percentiles",
    ),
    (
        "stalls",
        "when each stall really began is the harness's stamp; its exits are computed again",
    ),
    (
        "accuracy",
        "the audit log is not kept; missing_stamps is computed again",
    ),
    (
        "harness",
        "CPU, memory and ticks of the process; lateness of submissions is computed again",
    ),
    (
        "observed_secs",
        "the end of the observation is the harness's stamp; calls.json has the same one",
    ),
];

/// Fields of an arm's summary that are not computed again, and why not.
const NOT_OF_RUNS: [(&str, &str); 4] = [
    ("published", "from the experiment as it was when it ran"),
    ("claims_hold", "from the claims of the experiment as it was"),
    ("reason", "from the claims of the experiment as it was"),
    ("claims", "from the claims of the experiment as it was"),
];

fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs/examples");
    let folders = root.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut sessions: Vec<_> = folders
        .filter(|f| f.join("summary.json").exists())
        .collect();
    sessions.sort();
    sessions
}

/// Half of the last digit that the examples keep, and a hair for binary fractions.
const HALF: f64 = 0.5e-6 + 1e-9;

/// What a run's files say of its summary, if its observation ended at `end`.
fn again(summary: &RunSummary, run: &Run, end: f64) -> RunSummary {
    let plan = &run.info.plan;
    let limits = &run.info.client_limits;
    let calls = run.calls.as_ref().map(divided);
    let from = summarise(plan, &run.records, calls.as_ref(), limits, end);
    let mut again = RunSummary {
        tenants: from.tenants,
        bind_rate: from.bind_rate,
        calls_per_pod: from.calls_per_pod,
        unplaced: from.unplaced,
        idle_card_seconds: Some(from.idle_card_seconds),
        placements: Vec::new(),
        evictions: Vec::new(),
        bound_in_stalls: None,
        restarts: summary.restarts.keys().map(|c| (c.clone(), 0)).collect(),
        restart_causes: BTreeMap::new(),
        observed_secs: end,
        ..summary.clone()
    };
    again.accuracy.missing_stamps = from.missing_stamps;
    again.harness.late_submits = from.late_submits;
    again.harness.max_submit_lateness_ms = from.max_submit_lateness_ms;
    for exit in &run.exits {
        let cause = exit.cause.split(" (").next().unwrap();
        let supervised = Component::named(&exit.component).is_some_and(Component::is_supervised);
        if supervised && cause != Cause::Stopped.name() {
            *again.restarts.entry(exit.component.clone()).or_default() += 1;
            let causes = again.restart_causes.entry(exit.component.clone());
            *causes.or_default().entry(cause.to_owned()).or_default() += 1;
        }
    }
    let stalls: Vec<Stall> = summary
        .stalls
        .iter()
        .map(|s| Stall {
            at_secs: s.at_secs,
            secs: s.secs,
        })
        .collect();
    judge::stalls(&mut again, &stalls, &run.exits, &run.records);
    let zero = run.info.clock_started.as_ref().unwrap().parse().unwrap();
    if let Some(clearer) = &plan.clearer {
        again.placements = judge::placements(clearer, &run.records, &run.decisions, zero);
    }
    judge::who_pays(&mut again, &run.records, &run.decisions, zero);
    again
}

/// The same as JSON, without what its files do not tell.
fn of_run(from: &RunSummary, run: &Run) -> Value {
    let mut again = serde_json::to_value(from).unwrap();
    let again_fields = again.as_object_mut().unwrap();
    for (field, _) in NOT_OF_RECORDS {
        let kept = match field {
            "accuracy" => Some(json!({ "missing_stamps": from.accuracy.missing_stamps })),
            "harness" => Some(json!({
                "late_submits": from.harness.late_submits,
                "max_submit_lateness_ms": from.harness.max_submit_lateness_ms,
            })),
            // Its stamps are the summary's own; its exits are not.
            "stalls" => again_fields.get("stalls").cloned(),
            "observed_secs" => run.calls.as_ref().map(|calls| json!(calls.to_secs)),
            "arm" => Some(json!(run.info.plan.arm)),
            "repeat" => Some(json!(run.info.repeat)),
            _ => None,
        };
        match kept {
            Some(kept) => again_fields.insert(field.to_owned(), kept),
            None => again_fields.remove(field),
        };
    }
    again
}

/// Calls for each bound pod, from the counts.
#[allow(clippy::cast_precision_loss)] // counts of calls
fn divided(calls: &Calls) -> Calls {
    let per_pod = |counts: &BTreeMap<String, u64>| {
        let each = counts.iter();
        each.map(|(what, n)| (what.clone(), *n as f64 / calls.bound_pods as f64))
            .collect()
    };
    let mut again = calls.clone();
    again.per_bound_pod = match calls.bound_pods {
        0 => BTreeMap::new(),
        _ => calls
            .total
            .iter()
            .map(|(c, n)| (c.clone(), per_pod(n)))
            .collect(),
    };
    again
}

/// What the runs say of their arms, as JSON.
fn of_arms(summaries: &[RunSummary], runs: &[Run]) -> Vec<Value> {
    let ended = summaries.iter().zip(runs);
    let judged: Vec<Judged> = ended
        .filter(|(summary, _)| summary.came_to_its_end())
        .map(|(summary, run)| Judged::new(&Source::of(summary, run)))
        .collect();
    let arms = judge::arms(&plan::expect::Expect::default(), &judged);
    let of = |arm| {
        let mut fields = serde_json::to_value(arm).unwrap();
        for (field, _) in NOT_OF_RUNS {
            fields.as_object_mut().unwrap().remove(field);
        }
        fields
    };
    arms.into_iter().map(of).collect()
}

/// Compares what was computed again, at each end of what was rounded, with what stands there.
fn compare(again: [&Value; 3], there: &Value, at: &str, seen: &mut Seen) {
    let [_, middle, _] = again;
    match (middle, there) {
        (Value::Object(fields), Value::Object(there)) => {
            for key in fields.keys() {
                let at = format!("{at}/{key}");
                match there.get(key) {
                    Some(there) => compare(again.map(|v| &v[key]), there, &at, seen),
                    None => seen.wrong.push(format!("{at} is not in the summary")),
                }
            }
        }
        (Value::Array(items), Value::Array(there)) if items.len() == there.len() => {
            for (i, there) in there.iter().enumerate() {
                compare(again.map(|v| &v[i]), there, &format!("{at}/{i}"), seen);
            }
        }
        _ => {
            seen.values += 1;
            let same = match there.as_f64() {
                Some(there) => {
                    let ends = again.map(Value::as_f64);
                    let all: Vec<f64> = ends.into_iter().flatten().collect();
                    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    all.len() == 3 && there >= low - HALF && there <= high + HALF
                }
                None => middle == there,
            };
            if !same {
                let problem = format!("{at}: {middle}, and {there} in the summary");
                seen.wrong.push(problem);
            }
        }
    }
}

#[derive(Default)]
struct Seen {
    values: usize,
    wrong: Vec<String>,
}

/// What a session's files say of its summary, in the summary's own form, at each end of what was rounded.
fn of_session(session: &Session) -> [Value; 3] {
    let name = session.dir.display();
    let summaries = &session.summary.runs;
    let runs: Vec<Run> = summaries
        .iter()
        .map(|summary| {
            let run = session.run(&summary.folder).unwrap();
            // The examples leave it out: it is large, and nothing of a summary is from it.
            assert_eq!(run.notes, ["components.csv is missing"], "{name}");
            run
        })
        .collect();
    [-HALF, 0.0, HALF].map(|by| {
        let both = summaries.iter().zip(&runs);
        let again: Vec<RunSummary> = both
            .map(|(summary, run)| again(summary, run, summary.observed_secs + by))
            .collect();
        let of_runs: Vec<Value> = again.iter().zip(&runs).map(|(a, r)| of_run(a, r)).collect();
        json!({ "runs": of_runs, "arms": of_arms(&again, &runs) })
    })
}

/// Fields that stand in a summary, were not computed again and are not named above.
fn forgotten(again: &Value, there: &Value, seen: &mut Seen) {
    let mut each = |list: &str, known: &[(&str, &str)], inner: &[&str]| {
        let all = again[list].as_array().unwrap().iter();
        for (again, there) in all.zip(there[list].as_array().unwrap()) {
            let named = |field: &String| known.iter().any(|(known, _)| known == field);
            for field in there.as_object().unwrap().keys() {
                if again.get(field).is_none() && !named(field) {
                    seen.wrong
                        .push(format!("{list}: {field} was not computed again"));
                }
            }
            let keys = inner.iter().flat_map(|of| {
                let keys = there[of].as_object().unwrap().keys();
                keys.map(move |key| (of, key))
            });
            for (of, key) in keys.filter(|(of, key)| again[of].get(key).is_none()) {
                seen.wrong
                    .push(format!("{list}: {of}/{key} was not computed again"));
            }
        }
    };
    each("runs", &NOT_OF_RECORDS, &["restarts", "calls_per_pod"]);
    each("arms", &NOT_OF_RUNS, &["metrics"]);
}

fn json_of(session: &Session) -> Value {
    let text = std::fs::read_to_string(session.dir.join("summary.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_value_of_every_example_is_what_its_records_say() {
    let mut seen = Seen::default();
    let mut of = Vec::new();
    for path in examples() {
        let before = seen.values;
        let session = Session::load(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let (again, there) = (of_session(&session), json_of(&session));
        compare(again.each_ref(), &there, &name, &mut seen);
        forgotten(&again[1], &there, &mut seen);
        of.push(format!("{name} {}", seen.values - before));
    }
    println!("{} values compared: {}", seen.values, of.join(", "));
    for (field, why) in NOT_OF_RECORDS.iter().chain(&NOT_OF_RUNS) {
        println!("not computed again: {field}: {why}");
    }
    let wrong = seen.wrong.join("\n");
    assert!(
        seen.wrong.is_empty(),
        "{} wrong:\n{wrong}",
        seen.wrong.len()
    );
    assert!(seen.values > 15_000, "only {} values", seen.values);
}

/// Where the numbers of a value are.
fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                numbers(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                numbers(item, &format!("{at}/{i}"), found);
            }
        }
        Value::Number(_) => found.push(at.to_owned()),
        _ => {}
    }
}

/// Changes the last digit that the examples keep of one number after the other.
#[test]
fn one_changed_digit_is_found() {
    let mut paths = examples().into_iter();
    let path = paths.find(|p| p.ends_with("preemption")).unwrap();
    let session = Session::load(&path).unwrap();
    let (again, mut there) = (of_session(&session), json_of(&session));
    let mut all = Vec::new();
    numbers(&again[1], "", &mut all);
    // One number in nine, so that it takes seconds.
    let tried: Vec<&String> = all.iter().step_by(9).collect();
    let mut missed = Vec::new();
    for pointer in &tried {
        let number = there.pointer_mut(pointer).unwrap();
        let was = number.clone();
        *number = match was.as_u64() {
            Some(whole) => json!(whole + 1),
            // More than one: the rounded digit itself may have been the upper or the lower neighbour.
            None => json!(was.as_f64().unwrap() + 1.1e-6),
        };
        let mut seen = Seen::default();
        compare(again.each_ref(), &there, "", &mut seen);
        *there.pointer_mut(pointer).unwrap() = was;
        match &seen.wrong[..] {
            [] => missed.push(pointer.as_str()),
            [one] => assert!(one.starts_with(&pointer.replace("~1", "/")), "{one}"),
            more => panic!("{more:?}"),
        }
    }
    // Sensitive to the rounded end: sums over all that ran until then, or waited.
    let sums = missed.iter().filter(|at| {
        let known = ["card_seconds", "idle_card"];
        known.iter().any(|word| at.contains(word))
    });
    println!("{} digits changed, {} not found", tried.len(), missed.len());
    assert_eq!(sums.count(), missed.len(), "{missed:#?}");
    assert!(
        tried.len() >= 250 && missed.len() * 20 < tried.len(),
        "{missed:#?}"
    );
}
