//! Folders as crashes, full disks, other programs and later versions leave them.

use std::fs::OpenOptions;
use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::fixtures;
use crate::fixtures::full;
use crate::fixtures::{done, plan, team};
use crate::run_folder::{Ordered, ReopenError, RunWriter, SessionWriter};

fn info() -> RunInfo {
    fixtures::info(&plan(vec![team("shared", 40, true)]))
}

fn exit() -> ComponentExit {
    ComponentExit {
        secs: 12.0,
        component: "kube-scheduler".into(),
        pid: 7,
        cause: "lost its Lease".into(),
        uptime_secs: 10.0,
        cpu_secs: 1.0,
        peak_rss_mib: 50.0,
        restarted: true,
    }
}

fn usage(secs: f64) -> UsageRow {
    UsageRow {
        secs,
        tenant: "shared".into(),
        quota_cards: None,
        admitted_cards: 8,
        bound_cards: 8,
        running_cards: 0,
        pending_jobs: 3,
        borrowed_cards: 0.0,
        lent_cards: 2.5,
    }
}

/// A run in the middle of its work, as a kill -9 leaves it after a flush.
fn killed_run(dir: &Path) -> RunWriter {
    let run = RunWriter::create(dir, &info()).unwrap();
    run.job(&done("shared", "a", 8, 1.0, 6.0));
    run.usage(&usage(1.0));
    run.component(&ComponentRow {
        secs: 1.0,
        component: "headroom".into(),
        pid: 1,
        cpu_secs: 0.5,
        rss_mib: 20.0,
    });
    run.exit(&exit());
    run.flush();
    run
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

#[test]
fn a_killed_run_reads_back_as_far_as_it_went() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    killed_run(&folder);
    let run = Run::load(&folder).unwrap();
    assert_eq!(run.info, info());
    assert_eq!(run.records, [done("shared", "a", 8, 1.0, 6.0)]);
    assert_eq!(run.usage, [usage(1.0)]);
    assert_eq!(run.components.len(), 1);
    assert_eq!(run.exits, [exit()]);
    assert_eq!((run.calls, run.notes), (None, Vec::new()));
}

#[test]
fn a_half_written_last_line_is_left_out_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    killed_run(&folder);
    append(&folder.join(files::JOBS), b"{\"tenant\":\"sha");
    append(&folder.join(files::USAGE), b"2.000,shared,40,8");
    let run = Run::load(&folder).unwrap();
    assert_eq!((run.records.len(), run.usage.len()), (1, 1));
    assert_eq!(run.notes.len(), 2);
    assert!(run.notes[0].contains("jobs.jsonl"), "{:?}", run.notes);
}

#[test]
fn damaged_records_are_an_error_and_another_damaged_file_costs_what_it_tells() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    killed_run(&folder);
    append(
        &folder.join(files::USAGE),
        b"2.000,shared,40,many,0,0,0,0,0\n",
    );
    let run = Run::load(&folder).unwrap();
    assert_eq!((run.records.len(), run.usage.len()), (1, 0));
    let note = &run.notes[0];
    for part in ["usage.csv", "line 3", "admitted_cards", "left out"] {
        assert!(note.contains(part), "{part} is not in {note}");
    }
    append(&folder.join(files::JOBS), b"\xff\xfe\n");
    let error = Run::load(&folder).unwrap_err().to_string();
    assert!(
        error.contains("jobs.jsonl") && error.contains("line 2"),
        "{error}"
    );
}

fn gzip(path: &Path, cut: usize) {
    let zipped = fs::File::create(gzipped(path)).unwrap();
    let mut zip = flate2::write::GzEncoder::new(zipped, flate2::Compression::best());
    zip.write_all(&fs::read(path).unwrap()).unwrap();
    let zipped = zip.finish().unwrap();
    zipped
        .set_len(zipped.metadata().unwrap().len() - cut as u64)
        .unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn files_that_were_gzipped_read_as_if_they_were_not() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    killed_run(&folder);
    let plain = Run::load(&folder).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            gzip(&path, 0);
        }
    }
    assert!(!folder.join(files::JOBS).exists());
    assert_eq!(Run::load(&folder).unwrap(), plain);
}

#[test]
fn a_gzipped_file_that_is_cut_or_is_none_is_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    killed_run(&folder);
    let jobs = folder.join(files::JOBS);
    gzip(&jobs, 12);
    let error = Run::load(&folder).unwrap_err().to_string();
    assert!(
        error.contains("jobs.jsonl.gz") && error.contains("can't be unpacked"),
        "{error}"
    );
    fs::write(gzipped(&jobs), b"{}\n").unwrap();
    let error = Run::load(&folder).unwrap_err().to_string();
    assert!(error.contains("can't be unpacked"), "{error}");
}

#[test]
fn a_pipe_or_a_device_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    killed_run(&folder);
    std::fs::remove_file(folder.join(files::JOBS)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join(files::JOBS)).unwrap();
    let error = Run::load(&folder).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

#[test]
fn the_final_records_replace_those_appended_and_the_last_of_each_holds() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    let run = killed_run(&folder);
    let again = done("shared", "a", 8, 1.0, 9.0);
    run.job(&again);
    run.flush();
    assert_eq!(
        Run::load(&folder).unwrap().records,
        std::slice::from_ref(&again)
    );
    let other = done("shared", "b", 8, 2.0, 7.0);
    run.records(&[again.clone(), other.clone()]).unwrap();
    assert_eq!(Run::load(&folder).unwrap().records, [again, other]);
}

#[test]
fn a_session_reads_back_by_folder_or_by_file() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("session");
    let session = SessionWriter::create(&folder, &full()).unwrap();
    session.run("default-1", &info()).unwrap();
    let read = Session::load(&folder).unwrap();
    assert_eq!(read.summary, full());
    assert_eq!(Session::load(&folder.join(files::SUMMARY)).unwrap(), read);
    assert_eq!(read.run("default-1").unwrap().info, info());
    // A second session must not be written over it.
    assert!(SessionWriter::create(&folder, &full()).is_err());
}

#[test]
fn what_is_no_session_gets_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let summary = dir.path().join(files::SUMMARY);
    let error = |path: &Path| Session::load(path).unwrap_err().to_string();

    let missing = error(&dir.path().join("gone"));
    assert!(missing.contains("does not exist"), "{missing}");
    let foreign = error(dir.path());
    assert!(foreign.contains("no session of headroom"), "{foreign}");

    let mut future = serde_json::to_value(full()).unwrap();
    future["schema"] = (SCHEMA + 1).into();
    future["runs"] = "reshaped".into();
    let cases: [(&[u8], &str); 5] = [
        (b"", "damaged"),
        (b"\x7fELF\x00\x01", "damaged"),
        (b"{\"schema\":1,\"experiment\":\"reg", "damaged"),
        (b"{\"name\":\"other\"}", "no schema number"),
        (
            &serde_json::to_vec(&future).unwrap(),
            "use a newer headroom",
        ),
    ];
    for (content, says) in cases {
        fs::write(&summary, content).unwrap();
        let line = error(dir.path());
        assert!(line.contains(says), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    // A folder in place of the file.
    fs::remove_file(&summary).unwrap();
    fs::create_dir(&summary).unwrap();
    let line = error(dir.path());
    assert!(line.contains("can't read"), "{line}");
}

#[test]
fn a_folder_that_went_away_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("default-1");
    let run = killed_run(&folder);
    fs::remove_dir_all(&folder).unwrap();
    let error = run.records(&[]).unwrap_err();
    assert!(error.to_string().contains("jobs.jsonl"), "{error}");
    assert!(!error.disk_full());
}

proptest! {
    /// A file cut off anywhere is read up to there or named in one line; a changed byte never makes the reader panic.
    #[test]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a place in a small file
    fn no_damage_makes_the_reader_panic(
        file in 0_usize..5, cut in 0.0..1.0, change in proptest::option::of((0.0..1.0, any::<u8>()))
    ) {
        let names = [files::RUN, files::JOBS, files::USAGE, files::COMPONENTS, files::RESTARTS];
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("default-1");
        killed_run(&folder);
        let path = folder.join(names[file]);
        let mut bytes = fs::read(&path).unwrap();
        let place = |part: f64, len: usize| ((part * len as f64) as usize).min(len.saturating_sub(1));
        if let Some((part, byte)) = change {
            let at = place(part, bytes.len());
            bytes[at] = byte;
        } else {
            bytes.truncate(place(cut, bytes.len()));
        }
        fs::write(&path, &bytes).unwrap();
        match Run::load(&folder) {
            Ok(run) => prop_assert!(run.records.len() <= 1 && run.usage.len() <= 1),
            Err(error) => {
                let line = error.to_string();
                prop_assert!(line.contains(names[file]) && line.lines().count() == 1, "{}", line);
                // Only run.json is of no use in part.
                prop_assert!(change.is_some() || names[file] == files::RUN, "{}", line);
            }
        }
    }
}

#[test]
fn a_clearer_s_decisions_are_read_as_far_as_they_go_and_missed_where_there_should_be_some() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("clearer-1");
    let mut info = info();
    info.plan.clearer = serde_json::from_str(r#"{"evicts": ["vision"]}"#).unwrap();
    RunWriter::create(&folder, &info).unwrap();
    let run = Run::load(&folder).unwrap();
    assert!(run.decisions.is_empty());
    assert_eq!(run.notes, ["clearer.jsonl is missing"]);
    assert!(decisions(&folder.join(files::DECISIONS)).is_err());

    let line = r#"{"time":"2026-01-01T00:00:00Z","event":"leading","identity":"me"}"#;
    std::fs::write(folder.join(files::DECISIONS), format!("{line}\n{{\"time\"")).unwrap();
    let run = Run::load(&folder).unwrap();
    assert_eq!(run.decisions.len(), 1);
    assert_eq!(run.decisions[0].event, "leading");
    assert!(run.notes[0].contains("clearer.jsonl"), "{:?}", run.notes);
    assert_eq!(
        decisions(&folder.join(files::DECISIONS)).unwrap(),
        run.decisions
    );
}

#[test]
fn a_session_is_continued_by_one_headroom_at_a_time_and_a_run_done_again_stays_beside() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("session");
    let mut session = SessionWriter::create(&folder, &full()).unwrap();
    assert!(matches!(
        SessionWriter::reopen(&folder),
        Err(ReopenError::Write(_))
    ));
    let order = plan::Order {
        experiment: "regimes".into(),
        expect: plan::expect::Expect::default(),
        plans: vec![plan(vec![team("shared", 40, true)])],
        host: plan::Host::default(),
        command: Vec::new(),
        resume: false,
    };
    session.order(&Ordered::new(&order)).unwrap();
    let refused = SessionWriter::reopen(&folder).unwrap_err().to_string();
    assert!(refused.contains("still running"), "{refused}");
    session.run("default-1", &info()).unwrap();
    drop(session);

    let session = SessionWriter::reopen(&folder).unwrap();
    let recorded = crate::run_folder::ordered::read(&folder).unwrap();
    assert_eq!(Ordered::new(&order).differences(&recorded), [""; 0]);
    for again in ["default-1.aside-1", "default-1.aside-2"] {
        assert!(session.run("default-1", &info()).is_err());
        session.set_aside("default-1").unwrap();
        session.run("default-1", &info()).unwrap();
        assert!(Run::load(&folder.join(again)).is_ok());
    }
    session.set_aside("never-there").unwrap();
}
