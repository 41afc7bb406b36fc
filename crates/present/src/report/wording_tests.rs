//! What `show` and the report say of a session: no more than its runs tell, and in the same words.

use super::*;
use crate::charts::charts;
use plan::metric::{self, CATALOGUE, MetricKey, Scope};
use plan::{DataPlane, DataPlanePlan, Plan};
use results::metrics::{Amount, Values};
use results::run_folder::{
    Claim, FailedRun, RestartRow, Session, SessionWriter, Soak, SoakHour, Summary, files,
};
use synthetic::{Script, play};

/// What is shown of a session whose summary is changed before: on the terminal, and as HTML.
fn told(script: &Script, edit: impl Fn(&Path, &mut Summary)) -> [String; 2] {
    let root = tempfile::tempdir().unwrap();
    let session = script.write(root.path());
    let mut summary = Session::load(&session).unwrap().summary;
    edit(&session, &mut summary);
    rewrite(&session, &summary);
    let out = root.path().join("report.html");
    write(std::slice::from_ref(&session), &out).unwrap();
    [show(&session).unwrap(), fs::read_to_string(out).unwrap()]
}

fn rewrite(session: &Path, summary: &Summary) {
    let text = serde_json::to_string(summary).unwrap();
    fs::write(session.join(files::SUMMARY), text).unwrap();
}

fn all_contain(texts: &[String], parts: &[&str]) {
    for text in texts {
        for part in parts {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}

fn none_contain(texts: &[String], parts: &[&str]) {
    for text in texts {
        for part in parts {
            assert!(!text.contains(part), "{part} is in {text}");
        }
    }
}

fn data_plane() -> DataPlanePlan {
    let phases = DataPlane {
        image_gb: 20.0,
        pull_secs: 2.0,
        cuda_init_secs: 0.02,
        model_load_secs: 1.5,
        shutdown_secs: 0.25,
        release_secs: 0.007,
        ..DataPlane::default()
    };
    DataPlanePlan {
        compressed_by: 120.0,
        classes: ["whole-card", "whole-machine"]
            .map(|class| (class.to_owned(), phases))
            .into(),
    }
}

fn with_a_data_plane(plan: &Plan, repeat: u64) -> play::Played {
    let mut played = play::play(plan, repeat);
    for record in &mut played.records {
        record.data_plane = Some(data_plane().of(&record.class));
        for attempt in &mut record.attempts {
            attempt.useful_secs = attempt.bind_secs().map(|at| at + 1.52);
        }
    }
    played
}

#[test]
fn a_played_data_plane_is_named_with_its_values_and_never_charged_to_the_control_plane() {
    let script = Script {
        edit: |plan| plan.data_plane = Some(data_plane()),
        play: with_a_data_plane,
        ..Script::default()
    };
    let texts = told(&script, |_, _| {});
    all_contain(
        &texts,
        &[
            "played, not measured: whole-card, whole-machine: image 20 GB pulled in 2 s, CUDA 20 ms, model 1.5 s, shutdown \
             250 ms, release 7 ms",
            "the control plane and the played data plane together cost",
            "whole-card: bind latency, p95",
            "whole-card: submit → useful work, p95",
            "whole-card: bound → useful work, p95",
            "1.52 s",
        ],
    );
    none_contain(&texts, &["the control plane cost"]);
    assert!(texts[1].contains("ideal, without a control or data plane"));

    let without = told(&Script::default(), |_, _| {});
    all_contain(&without, &["the control plane cost"]);
    none_contain(
        &without,
        &[
            "played, not measured: ",
            "bound → useful work, p",
            "no control or data",
        ],
    );
}

fn soak(session: &Path, summary: &mut Summary) {
    summary.soak = Some(Soak {
        asked_secs: 1200.0,
        took_secs: 1150.0,
        observed_secs: 900.0,
        restarts: [("kube-scheduler".to_owned(), 2)].into(),
        restarts_per_hour: Some(8.0),
        hours: vec![SoakHour {
            observed_secs: 900.0,
            restarts: 2,
        }],
    });
    let repeats = summary.runs.iter_mut();
    for run in repeats {
        let restarts = if run.repeat == 2 { 2 } else { 0 };
        run.restarts = [("kube-scheduler".to_owned(), restarts)].into();
    }
    let row = |secs, run_secs| RestartRow {
        secs,
        run: "default-2".into(),
        run_secs,
        component: "kube-scheduler".into(),
        cause: "lease-lost".into(),
        exit: "exited with code 1".into(),
        uptime_secs: 71.0,
    };
    let folder = session.with_file_name("rows");
    let rows = SessionWriter::create(&folder, summary).unwrap();
    rows.restarts(&[row(501.0, -3.0), row(777.0, 273.0)])
        .unwrap();
    let name = files::RESTARTS_OVER_TIME;
    fs::copy(folder.join(name), session.join(name)).unwrap();
}

#[test]
fn a_soak_says_what_restarted_by_component_by_hour_and_one_by_one() {
    let script = Script {
        repeats: 3,
        ..Script::default()
    };
    let texts = told(&script, soak);
    all_contain(
        &texts,
        &[
            "soak: 19 min 10 s of 20 min 00 s, 3 runs",
            "restarts while observed: 2 (kube-scheduler 2), 8.0 an hour",
            "observed, s",
            "777 s",
            "default-2, 273 s",
            "default-2, before its clock",
            "lease-lost",
        ],
    );
    assert!(texts[1].contains("Restarts over time"));

    let no_rows = told(&script, |session, summary| {
        soak(session, summary);
        fs::remove_file(session.join(files::RESTARTS_OVER_TIME)).unwrap();
    });
    all_contain(&no_rows, &["restarts.csv", "restarts while observed: 2"]);
    let none = told(&script, |_, _| {});
    none_contain(&none, &["soak: ", "Restarts over time"]);
}

/// One picture shows one run: its title says which, and what all of them came to.
#[test]
fn a_soaks_restart_chart_is_of_the_run_with_most_restarts_and_says_so() {
    let root = tempfile::tempdir().unwrap();
    let session = Script {
        repeats: 3,
        ..Script::default()
    }
    .write(root.path());
    let title = || {
        let material = Material::load(&session).unwrap();
        let all = charts(&material);
        let found = all.iter().find(|c| c.name().starts_with("restarts"));
        found.unwrap().title()
    };
    assert!(
        title().starts_with("repeat 1 of 3: No component"),
        "{}",
        title()
    );
    let mut summary = Session::load(&session).unwrap().summary;
    soak(&session, &mut summary);
    rewrite(&session, &summary);
    let start = "Soak: 2 restarts in 15 min 00 s observed; repeat 2 of 3: 2 restarts";
    assert!(title().starts_with(start), "{}", title());
}

#[test]
fn claims_of_an_own_experiment_are_no_published_claims_and_those_that_fail_are_named() {
    let own = |_: &Path, summary: &mut Summary| {
        summary.experiment = "my-own".into();
        for arm in &mut summary.arms {
            arm.published.clear();
            arm.claims_hold = Some(false);
            let claim = |claim: &str, holds| Claim {
                claim: claim.into(),
                holds,
                reason: format!("because of {claim}"),
                runs: Some(1),
                disturbed_runs: 0,
                control: None,
            };
            arm.claims = vec![
                claim("first", Some(true)),
                claim("second", Some(false)),
                claim("third", None),
            ];
        }
    };
    let texts = told(&Script::default(), own);
    all_contain(
        &texts,
        &[
            "Claims of the file: 1 of 2 hold, 1 not judged.",
            "Does not hold in arm fixed: second (because of second).",
            "Not judged in arm fixed: third (because of third).",
        ],
    );
    none_contain(&texts, &["published claims", "in arm fixed: first"]);
    assert!(texts[1].contains("Whether the claims of the file hold"));
    let published = told(&Script::default(), |_, _| {});
    assert!(published[1].contains("Whether the published claims hold again"));
}

#[test]
fn a_run_that_failed_is_a_finding_with_the_last_line_of_its_log_and_never_one_that_was_not_run() {
    let script = Script {
        experiment: "placement",
        ..Script::default()
    };
    let texts = told(&script, |_, summary| {
        summary.runs.retain(|run| run.arm != "binpack");
        summary.arms.retain(|arm| arm.name != "binpack");
        summary.failed.push(FailedRun {
            arm: "binpack".into(),
            repeat: 1,
            folder: "binpack-1".into(),
            error: "etcd exited while the cluster came up; the last lines of etcd.log:\nstarting\npanic: no disk".into(),
        });
    });
    all_contain(
        &texts,
        &["Arm binpack, repeat 1, failed: etcd exited while the cluster came up: panic: no disk."],
    );
    assert!(texts[1].contains("failed; see the findings"));
}

#[test]
fn requests_bound_are_out_of_those_asked_for_also_where_there_were_none() {
    let script = Script {
        experiment: "placement",
        play: |plan, repeat| {
            let mut played = play::play(plan, repeat);
            let machines = played.records.iter_mut();
            for record in machines.filter(|r| r.class == "whole-machine") {
                record.attempts.clear();
                record.finished_secs = None;
                record.outcome = results::run_folder::Outcome::Unfinished;
            }
            played
        },
        ..Script::default()
    };
    let [shown, html] = told(&script, |_, _| {});
    let row = |line: &&str| line.contains("whole-machine: requests bound");
    let row = shown.lines().find(row).unwrap();
    assert!(row.contains(" 0 of 5 "), "{row}");
    assert!(html.contains("0 of 5"));
}

/// The pictures and the sentences measure idle cards by the same thing, and name it.
#[test]
fn what_stood_idle_is_the_same_in_the_findings_and_on_the_picture() {
    let root = tempfile::tempdir().unwrap();
    let session = Script::default().write(root.path());
    let material = Material::load(&session).unwrap();
    let all = charts(&material);
    let title = all[0].title();
    let mut parts = title.split([',', ';']).filter(|part| part.contains(" % "));
    let (held, idle) = (parts.next().unwrap(), parts.next().unwrap());
    assert!(
        held.contains("(quota held)") && idle.contains("idle"),
        "{title}"
    );
    let found = findings::findings(&material);
    let found = found.iter().find(|f| f.contains("stood idle")).unwrap();
    assert!(
        found.contains(held) && found.contains(idle),
        "{title}: {found}"
    );
}

#[test]
fn the_limit_on_other_programs_stands_beside_those_of_the_harness() {
    let [_, html] = told(&Script::default(), |_, _| {});
    let limit = "more than 10 % of all cores";
    assert_eq!(
        html.matches(limit).count(),
        2,
        "in the glossary and below the table"
    );
}

/// A metric is a row of the catalogue and an extractor: nothing of the report names it.
#[test]
fn every_metric_of_the_catalogue_that_has_a_value_has_a_row() {
    let root = tempfile::tempdir().unwrap();
    let session = Script::default().write(root.path());
    let mut material = Material::load(&session).unwrap();
    let value = Amount::Over(90.0);
    let of = |row: &metric::Row| match row.scope {
        Scope::Run => MetricKey::run(row.metric),
        Scope::Team | Scope::TeamAndClass => MetricKey::team("shared", row.metric),
        Scope::Class => MetricKey::class("shared", "whole-card", row.metric),
        Scope::Component => MetricKey::component("hami", row.metric),
    };
    let all: Values = CATALOGUE.iter().map(|row| (of(row), value)).collect();
    material.runs[0].metrics.clone_from(&all);
    material.together.insert("fixed".into(), all);
    let tables = tables::tables(&material);
    for row in CATALOGUE.iter().filter(|row| row.id != "submitted_count") {
        let own = |r: &&tables::Row| r.key == of(row) && r.definition == row.definition;
        let found = tables[0].all.iter().find(own);
        let found = found.unwrap_or_else(|| panic!("{} has no row", row.id));
        assert!(
            found.measured.starts_with("> "),
            "{}: {}",
            row.id,
            found.measured
        );
    }
}

#[test]
fn the_list_of_sessions_shows_the_median_of_an_arms_runs() {
    let root = tempfile::tempdir().unwrap();
    let session = Script {
        repeats: 3,
        ..Script::default()
    }
    .write(root.path());
    let mut summary = Session::load(&session).unwrap().summary;
    for (run, secs) in summary.runs.iter_mut().zip([900.0, 100.0, 458.8]) {
        run.tenants[0].makespan_secs = Some(secs);
    }
    let team = summary.runs[0].tenants[0].name.clone();
    rewrite(&session, &summary);
    let listed = runs(root.path()).unwrap();
    assert!(listed.contains(&format!("{team} 458.8 s")), "{listed}");
}
