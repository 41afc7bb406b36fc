//! Joins kube-apiserver's audit log into the records after the run.
//!
//! In: the log's files (JSON lines, rotated or not, several 100 MB, the last line perhaps cut off), read as a stream. Out:
//! the bind time of each record, API calls by component, and the lag of the watch. Only one line and the counts are in
//! memory at a time.

mod call;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

use super::clock::Clock;
use results::latency::nearest_rank;
use results::run_folder::{CallCounts, Calls, Lag, Record};

pub use call::{Call, parse as parse_call};

/// The audit log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("can't read the audit log {}: {error}; was kube-apiserver given --audit-policy-file?", path.display())]
pub struct AuditError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

/// What the audit log says about a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditFacts {
    /// API calls of the observation.
    pub calls: Calls,
    /// How much later than the audit log the watch saw a binding; `None` if none is in both.
    pub watch_lag_ms: Option<Lag>,
    /// Bindings of the teams' pods that are in the log or in the records, but not in both.
    pub unmatched_bindings: u32,
    /// Lines that are no audit event, but for one that is cut off at a file's end.
    pub unread_lines: u64,
}

/// One event, reduced to what is counted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditEvent<'a> {
    #[serde(borrow)]
    stage: Cow<'a, str>,
    #[serde(borrow)]
    verb: Cow<'a, str>,
    #[serde(borrow, rename = "requestURI", default)]
    uri: Cow<'a, str>,
    #[serde(borrow, default)]
    user_agent: Cow<'a, str>,
    #[serde(borrow)]
    object_ref: Option<ObjectRef<'a>>,
    response_status: Option<ResponseStatus>,
    request_received_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct ObjectRef<'a> {
    #[serde(borrow, default)]
    resource: Cow<'a, str>,
    #[serde(borrow, default)]
    subresource: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

/// A successful pods/binding call.
#[derive(Debug)]
struct Binding {
    namespace: String,
    pod: String,
    at_secs: f64,
}

/// Files of an audit log at `path`, rotated ones first, oldest first: kube-apiserver renames a full `audit.log` to
/// `audit-<time>.log`.
///
/// # Errors
/// If the folder can't be read.
pub fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let prefix = format!("{stem}-");
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let mut all = Vec::new();
    for entry in fs::read_dir(parent.unwrap_or(Path::new(".")))? {
        let file = entry?.path();
        let stem = file.file_stem().unwrap_or_default();
        let rotated = stem.to_string_lossy().starts_with(&prefix);
        if rotated && file.extension() == path.extension() {
            all.push(file);
        }
    }
    all.sort();
    all.push(path.to_owned());
    Ok(all)
}

/// Reads the audit log at `path` with its rotated files, writes the bind time of record into `records`, and counts calls
/// from the clock's zero to `end_secs`.
///
/// A component's name is its user agent up to the first `/`, unless `components` maps that to another name (the program of a
/// real HAMi is called `scheduler`).
///
/// # Errors
/// If a file can't be read.
pub fn join(
    path: &Path,
    clock: &Clock,
    end_secs: f64,
    components: &BTreeMap<String, String>,
    records: &mut [Record],
) -> Result<AuditFacts, AuditError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |error| AuditError { path, error }
    };
    let mut tally = Tally {
        clock,
        end_secs,
        components,
        metrics: AuditFacts::default(),
        watches_closed: CallCounts::new(),
        bindings: Vec::new(),
        clients: BTreeMap::new(),
    };
    tally.metrics.calls.to_secs = end_secs;
    for file in files(path).map_err(failed(path))? {
        let open = File::open(&file).map_err(failed(&file))?;
        tally
            .read(BufReader::with_capacity(1 << 16, open))
            .map_err(failed(&file))?;
    }
    Ok(tally.finish(records))
}

struct Tally<'a> {
    clock: &'a Clock,
    end_secs: f64,
    components: &'a BTreeMap<String, String>,
    metrics: AuditFacts,
    /// Watches by their last stage, for policies that omit the first.
    watches_closed: CallCounts,
    bindings: Vec<Binding>,
    /// Requests in each second, by component, then client.
    clients: BTreeMap<String, BTreeMap<String, Vec<u32>>>,
}

impl Tally<'_> {
    fn read(&mut self, mut log: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        while log.read_until(b'\n', &mut line)? > 0 {
            match serde_json::from_slice::<AuditEvent<'_>>(&line) {
                Ok(event) => self.event(&event),
                // What the API server was writing as it ended is no loss: the observation was over.
                Err(_) if !line.ends_with(b"\n") => {}
                Err(_) => self.metrics.unread_lines += 1,
            }
            line.clear();
        }
        Ok(())
    }

    fn event(&mut self, event: &AuditEvent<'_>) {
        let at_secs = self.clock.secs_at(event.request_received_timestamp);
        if at_secs > self.end_secs {
            return;
        }
        let answered = matches!(&*event.stage, "ResponseComplete" | "Panic");
        let code = event.response_status.as_ref().map_or(0, |s| s.code);
        let object = event.object_ref.as_ref();
        let binding = object.filter(|o| o.resource == "pods" && o.subresource == "binding");
        let succeeded = answered && event.verb == "create" && (200..300).contains(&code);
        let bound = binding.filter(|_| succeeded).map(|object| Binding {
            namespace: object.namespace.clone().into_owned(),
            pod: object.name.clone().into_owned(),
            at_secs,
        });
        let binds = bound.is_some();
        self.bindings.extend(bound);
        // Binds of background Jobs before the clock's zero are kept above. Calls are counted from the zero.
        if at_secs < 0.0 {
            return;
        }
        let what = what(event);
        let component = event.user_agent.split('/').next().unwrap_or_default();
        let component = match self.components.get(component) {
            Some(name) => name,
            None if component.is_empty() => "unknown",
            None => component,
        };
        let calls = &mut self.metrics.calls;
        match (&*event.verb, &*event.stage) {
            ("watch", "ResponseStarted") => count(&mut calls.watches, component, what),
            ("watch", "ResponseComplete") => count(&mut self.watches_closed, component, what),
            _ if answered => {
                calls.bound_pods += u64::from(binds);
                if code >= 400 {
                    count(&mut calls.refused, component, format!("{what} {code}"));
                }
                count(&mut calls.total, component, what);
                let clients = self.clients.entry(component.to_owned()).or_default();
                let client = clients.entry(client(&event.user_agent).to_owned());
                let by_second = client.or_default();
                // Not negative, and no run lasts 2³² seconds.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let second = at_secs as usize;
                if by_second.len() <= second {
                    by_second.resize(second + 1, 0);
                }
                by_second[second] += 1;
            }
            _ => {}
        }
    }

    fn finish(mut self, records: &mut [Record]) -> AuditFacts {
        let calls = &mut self.metrics.calls;
        for (component, whats) in self.watches_closed {
            for (what, n) in whats {
                let opened = calls.watches.entry(component.clone()).or_default();
                let opened = opened.entry(what).or_default();
                *opened = n.max(*opened);
            }
        }
        // Counts of calls are far below 2^52.
        #[allow(clippy::cast_precision_loss)]
        if calls.bound_pods > 0 {
            let pods = calls.bound_pods as f64;
            let per_pod = |n: &u64| *n as f64 / pods;
            let of = calls.total.iter().map(|(component, whats)| {
                let whats = whats.iter().map(|(what, n)| (what.clone(), per_pod(n)));
                (component.clone(), whats.collect())
            });
            calls.per_bound_pod = of.collect();
        }
        let busiest = |clients: BTreeMap<String, Vec<u32>>| {
            let busiest = clients
                .into_values()
                .max_by_key(|calls| calls.iter().sum::<u32>());
            busiest.unwrap_or_default()
        };
        let by_second = self.clients.into_iter();
        calls.by_second = by_second
            .map(|(component, of)| (component, busiest(of)))
            .collect();
        let (unmatched, lags) = stamp(&self.bindings, records);
        self.metrics.unmatched_bindings = unmatched;
        self.metrics.watch_lag_ms = lag(lags);
        self.metrics
    }
}

/// `verb resource[/subresource]`, or `verb /path` for what is no resource.
fn what(event: &AuditEvent<'_>) -> String {
    let verb = &event.verb;
    match &event.object_ref {
        Some(o) if o.subresource.is_empty() => format!("{verb} {}", o.resource),
        Some(o) => format!("{verb} {}/{}", o.resource, o.subresource),
        None => {
            let path = event.uri.split('?').next().unwrap_or_default();
            format!("{verb} {path}")
        }
    }
}

/// Which of a component's clients an agent is: Kubernetes' own components add its name at the end, e.g. `job-controller`.
fn client(user_agent: &str) -> &str {
    let names = user_agent.rsplit_once(") ").map(|(_, names)| names);
    names
        .and_then(|names| names.rsplit_once('/'))
        .map_or("", |(_, name)| name)
}

fn count(counts: &mut CallCounts, component: &str, what: String) {
    let by_what = match counts.get_mut(component) {
        Some(known) => known,
        None => counts.entry(component.to_owned()).or_default(),
    };
    *by_what.entry(what).or_default() += 1;
}

/// Writes the bindings' time stamps into the records. Returns how many bindings are only on one side, and the watch's lags in
/// ms.
fn stamp(bindings: &[Binding], records: &mut [Record]) -> (u32, Vec<f64>) {
    let mut by_pod: HashMap<(String, String), (usize, usize)> = HashMap::new();
    for (r, record) in records.iter().enumerate() {
        for (a, attempt) in record.attempts.iter().enumerate() {
            if let Some(pod) = &attempt.pod {
                by_pod.insert((record.tenant.clone(), pod.clone()), (r, a));
            }
        }
    }
    let mut unmatched = 0;
    let mut lags = Vec::new();
    for binding in bindings {
        if !records.iter().any(|r| r.tenant == binding.namespace) {
            continue;
        }
        let key = (binding.namespace.clone(), binding.pod.clone());
        let found = by_pod.get(&key).copied();
        let Some((r, a)) = found.or_else(|| unseen(binding, records)) else {
            unmatched += 1;
            continue;
        };
        let attempt = &mut records[r].attempts[a];
        attempt.pod.get_or_insert_with(|| binding.pod.clone());
        if attempt.bound_audit_secs.is_none() {
            attempt.bound_audit_secs = Some(binding.at_secs);
            let seen = attempt.bound_secs;
            lags.extend(seen.map(|seen| (seen - binding.at_secs) * 1000.0));
        }
    }
    let attempts = records.iter().flat_map(|r| &r.attempts);
    let not_in_log = attempts.filter(|a| a.bound_secs.is_some() && a.bound_audit_secs.is_none());
    unmatched += u32::try_from(not_in_log.count()).unwrap_or(u32::MAX);
    (unmatched, lags)
}

/// The attempt of a pod that no watch has seen: the only one that is admitted and without a pod, of the Job whose name the pod
/// has.
fn unseen(binding: &Binding, records: &[Record]) -> Option<(usize, usize)> {
    let (job, _) = binding.pod.rsplit_once('-')?;
    let mut jobs = records.iter();
    let r = jobs.position(|r| r.tenant == binding.namespace && r.name == job)?;
    let attempts = records[r].attempts.iter().enumerate();
    let mut without_pod = attempts.filter(|(_, a)| a.pod.is_none());
    let (a, _) = without_pod.next()?;
    without_pod.next().is_none().then_some((r, a))
}

fn lag(mut lags: Vec<f64>) -> Option<Lag> {
    lags.sort_by(f64::total_cmp);
    Some(Lag {
        p50: *nearest_rank(&lags, 0.50)?,
        p99: *nearest_rank(&lags, 0.99)?,
        max: *nearest_rank(&lags, 1.0)?,
    })
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
