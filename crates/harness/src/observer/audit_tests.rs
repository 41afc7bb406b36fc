//! Audit logs written by hand, in kube-apiserver's shape.

use super::*;
use results::fixtures::{done, waiting};

/// A log in a folder of its own, and a clock whose zero is at `zero`.
struct Log {
    dir: tempfile::TempDir,
    clock: Clock,
    zero: Timestamp,
    lines: Vec<String>,
}

impl Log {
    fn new() -> Self {
        let clock = Clock::new();
        let zero = clock.zero_wall();
        Self {
            dir: tempfile::tempdir().unwrap(),
            clock,
            zero,
            lines: Vec::new(),
        }
    }

    fn at(&self, secs: f64) -> String {
        let at = self.zero + jiff::SignedDuration::from_secs_f64(secs);
        format!("{at:.6}")
    }

    fn call(&mut self, at: f64, agent: &str, verb: &str, object: &str, code: u16) {
        self.stage(at, agent, verb, object, code, "ResponseComplete");
    }

    fn stage(&mut self, at: f64, agent: &str, verb: &str, object: &str, code: u16, stage: &str) {
        let at = self.at(at);
        let line = format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"x","stage":"{stage}","requestURI":"/livez?x=1","verb":"{verb}","user":{{"username":"u","groups":["g"]}},"sourceIPs":["127.0.0.1"],"userAgent":"{agent}","objectRef":{object},"responseStatus":{{"metadata":{{}},"code":{code}}},"requestReceivedTimestamp":"{at}","stageTimestamp":"{at}","annotations":{{"authorization.k8s.io/decision":"allow"}}}}"#
        );
        self.lines.push(line);
    }

    fn binding(&mut self, at: f64, pod: &str, code: u16) {
        let object = format!(
            r#"{{"resource":"pods","namespace":"shared","name":"{pod}","apiVersion":"v1","subresource":"binding"}}"#
        );
        self.call(
            at,
            "scheduler/v0.0.0 (linux/amd64)",
            "create",
            &object,
            code,
        );
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("audit.log")
    }

    fn join(&self, records: &mut [Record]) -> AuditFacts {
        let mut text = self.lines.join("\n");
        text.push('\n');
        fs::write(self.path(), text).unwrap();
        self.join_as_is(records)
    }

    fn join_as_is(&self, records: &mut [Record]) -> AuditFacts {
        let hami = BTreeMap::from([("scheduler".to_owned(), "hami".to_owned())]);
        join(&self.path(), &self.clock, 60.0, &hami, records).unwrap()
    }
}

const NODES: &str = r#"{"resource":"nodes","name":"gpu-00","apiVersion":"v1"}"#;

#[test]
fn the_first_successful_binding_s_receipt_is_the_bind_time_of_record() {
    let mut log = Log::new();
    log.binding(9.5, "a-x", 409);
    log.binding(9.75, "a-x", 201);
    log.binding(9.9, "a-x", 201);
    let mut records = [done("shared", "a", 8, 10.0, 20.0)];
    let metrics = log.join(&mut records);
    let bound = records[0].attempts[0].bind_secs().unwrap();
    assert!((bound - 9.75).abs() < 1e-5, "{bound}");
    let lag = metrics.watch_lag_ms.unwrap();
    assert!((lag.max - 250.0).abs() < 0.01, "{lag:?}");
    assert_eq!(metrics.unmatched_bindings, 0);
}

#[test]
fn what_stands_on_one_side_only_is_unmatched() {
    let mut log = Log::new();
    log.binding(1.0, "stranger-x", 201);
    let mut records = [
        done("shared", "a", 8, 10.0, 20.0),
        waiting("shared", "b", 8, 0.0),
    ];
    // One binding without a record, one bound record without a binding.
    assert_eq!(log.join(&mut records).unmatched_bindings, 2);
}

#[test]
fn a_bind_that_no_watch_saw_is_mended_by_the_pod_s_name() {
    let mut log = Log::new();
    log.binding(12.0, "a-job-7-abcde", 201);
    let mut record = done("shared", "a-job-7", 8, 10.0, 20.0);
    let attempt = &mut record.attempts[0];
    attempt.pod = None;
    attempt.pod_uid = None;
    attempt.bound_secs = None;
    let mut records = [waiting("shared", "a-job", 8, 0.0), record];
    let metrics = log.join(&mut records);
    assert_eq!(metrics.unmatched_bindings, 0);
    assert_eq!(records[1].attempts[0].pod.as_deref(), Some("a-job-7-abcde"));
    assert!(records[1].attempts[0].bound_audit_secs.is_some());
}

#[test]
fn calls_are_counted_by_component_in_the_observation_only() {
    let mut log = Log::new();
    let scheduler = "scheduler/v2.10.0 (linux/amd64) kubernetes/$Format";
    log.call(-1.0, scheduler, "get", NODES, 200);
    log.call(1.0, scheduler, "get", NODES, 200);
    log.call(2.0, scheduler, "get", NODES, 200);
    log.call(
        3.0,
        "kube-scheduler/v1.36.3 (linux/amd64)",
        "patch",
        NODES,
        409,
    );
    log.call(61.0, scheduler, "get", NODES, 200);
    log.binding(4.0, "a-x", 201);
    log.call(5.0, "curl", "get", "null", 200);
    let metrics = log.join(&mut [done("shared", "a", 8, 4.0, 20.0)]);
    let calls = metrics.calls;
    assert_eq!(calls.bound_pods, 1);
    assert_eq!(calls.total["hami"]["get nodes"], 2);
    assert_eq!(calls.total["hami"]["create pods/binding"], 1);
    assert_eq!(calls.total["curl"]["get /livez"], 1);
    assert_eq!(calls.refused["kube-scheduler"]["patch nodes 409"], 1);
    assert!((calls.per_bound_pod["hami"]["get nodes"] - 2.0).abs() < 1e-9);
}

#[test]
fn the_seconds_of_a_component_are_those_of_its_busiest_client() {
    let mut log = Log::new();
    let agent =
        |client: &str| format!("kube-scheduler/v1.36.3 (linux/amd64) kubernetes/$Format/{client}");
    log.call(0.5, &agent("scheduler"), "get", NODES, 200);
    log.call(2.5, &agent("scheduler"), "get", NODES, 200);
    log.call(2.9, &agent("scheduler"), "get", NODES, 409);
    log.call(1.5, &agent("leader-election"), "get", NODES, 200);
    log.call(
        1.5,
        "kueue/v0.17.0 (linux/amd64) abcd012",
        "get",
        NODES,
        200,
    );
    let by_second = log.join(&mut []).calls.by_second;
    assert_eq!(by_second["kube-scheduler"], [1, 0, 2]);
    assert_eq!(by_second["kueue"], [0, 1]);
}

#[test]
fn a_watch_is_one_call_apart_whether_the_policy_shows_its_start_or_its_end() {
    let mut log = Log::new();
    log.stage(1.0, "kueue/v0.17.0", "watch", NODES, 200, "ResponseStarted");
    log.stage(
        1.0,
        "kueue/v0.17.0",
        "watch",
        NODES,
        200,
        "ResponseComplete",
    );
    log.stage(2.0, "kwok", "watch", NODES, 200, "ResponseComplete");
    let calls = log.join(&mut []).calls;
    assert_eq!(calls.watches["kueue"]["watch nodes"], 1);
    assert_eq!(calls.watches["kwok"]["watch nodes"], 1);
    assert!(calls.total.is_empty());
}

#[test]
fn a_request_shown_at_several_stages_counts_once() {
    let mut log = Log::new();
    log.stage(1.0, "kueue", "get", NODES, 200, "RequestReceived");
    log.call(1.0, "kueue", "get", NODES, 200);
    assert_eq!(log.join(&mut []).calls.total["kueue"]["get nodes"], 1);
}

#[test]
fn rotated_files_are_read_and_a_cut_off_line_is_no_error() {
    let mut log = Log::new();
    log.binding(9.75, "a-x", 201);
    let rotated = log.dir.path().join("audit-2026-01-01T00-00-00.000.log");
    fs::write(rotated, format!("{}\n", log.lines[0])).unwrap();
    fs::write(log.path(), &log.lines[0][..100]).unwrap();
    let mut records = [done("shared", "a", 8, 10.0, 20.0)];
    let metrics = log.join_as_is(&mut records);
    assert!(records[0].attempts[0].bound_audit_secs.is_some());
    assert_eq!(metrics.unread_lines, 0);
    fs::write(log.path(), format!("{}\nno event\n", &log.lines[0][..100])).unwrap();
    assert_eq!(log.join_as_is(&mut records).unread_lines, 2);
}

#[test]
fn a_missing_log_is_an_error_that_names_it() {
    let log = Log::new();
    let error = join(&log.path(), &log.clock, 60.0, &BTreeMap::new(), &mut []).unwrap_err();
    assert!(error.to_string().contains("audit.log"), "{error}");
}
