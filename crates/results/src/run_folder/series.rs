//! Rows of a run's series: `usage.csv`, `components.csv`, `restarts.jsonl`, and the counts of `calls.json`.
//!
//! Names in rows are DNS labels or programs' names, so the CSV needs no quoting.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A row of a CSV series.
pub trait CsvRow: Sized {
    /// Header line, without line end.
    const HEADER: &'static str;
    /// The row, without line end.
    fn to_csv(&self) -> String;
    /// Reads a row's columns in order.
    ///
    /// # Errors
    /// Names the column that does not parse.
    fn read(columns: &mut Columns<'_>) -> Result<Self, String>;

    /// Reads a row.
    ///
    /// # Errors
    /// Names the column that does not parse.
    fn from_csv(line: &str) -> Result<Self, String> {
        let mut columns = Columns {
            values: line.split(','),
            names: Self::HEADER.split(','),
        };
        let row = Self::read(&mut columns)?;
        match columns.values.next() {
            None => Ok(row),
            Some(_) => Err("too many columns".to_owned()),
        }
    }
}

/// A team's cards by state at one second.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow {
    /// Seconds since the run's clock started.
    pub secs: f64,
    /// Team.
    pub tenant: String,
    /// `nominalQuota` of its ClusterQueue, if it has one.
    pub quota_cards: Option<u32>,
    /// Quota held.
    pub admitted_cards: u32,
    /// On bound pods.
    pub bound_cards: u32,
    /// On running pods.
    pub running_cards: u32,
    /// Experiments without quota (or, for bare pods, not bound).
    pub pending_jobs: u32,
    /// Of the admitted, above its nominal quota.
    pub borrowed_cards: f64,
    /// Its unused nominal quota that others of its cohort hold; shared out in proportion, so not always whole.
    pub lent_cards: f64,
}

impl CsvRow for UsageRow {
    const HEADER: &'static str = "secs,tenant,quota_cards,admitted_cards,bound_cards,running_cards,\
                                  pending_jobs,borrowed_cards,lent_cards";

    fn to_csv(&self) -> String {
        format!(
            "{:.3},{},{},{},{},{},{},{},{}",
            self.secs,
            self.tenant,
            self.quota_cards.map_or_else(String::new, |n| n.to_string()),
            self.admitted_cards,
            self.bound_cards,
            self.running_cards,
            self.pending_jobs,
            Short(self.borrowed_cards),
            Short(self.lent_cards),
        )
    }

    fn read(columns: &mut Columns<'_>) -> Result<Self, String> {
        Ok(Self {
            secs: columns.next()?,
            tenant: columns.next()?,
            quota_cards: columns.optional()?,
            admitted_cards: columns.next()?,
            bound_cards: columns.next()?,
            running_cards: columns.next()?,
            pending_jobs: columns.next()?,
            borrowed_cards: columns.next()?,
            lent_cards: columns.next()?,
        })
    }
}

/// What a process used, at one second.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentRow {
    /// Seconds since the run's clock started.
    pub secs: f64,
    /// Component; the harness itself is `headroom`.
    pub component: String,
    /// Process.
    pub pid: u32,
    /// CPU time of the process so far, user and system, seconds.
    pub cpu_secs: f64,
    /// Resident memory, MiB.
    pub rss_mib: f64,
}

impl CsvRow for ComponentRow {
    const HEADER: &'static str = "secs,component,pid,cpu_secs,rss_mib";

    fn to_csv(&self) -> String {
        format!(
            "{:.3},{},{},{:.2},{:.1}",
            self.secs, self.component, self.pid, self.cpu_secs, self.rss_mib
        )
    }

    fn read(columns: &mut Columns<'_>) -> Result<Self, String> {
        Ok(Self {
            secs: columns.next()?,
            component: columns.next()?,
            pid: columns.next()?,
            cpu_secs: columns.next()?,
            rss_mib: columns.next()?,
        })
    }
}

/// An exit of a supervised component during a run: a line of `restarts.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComponentExit {
    /// Seconds since the run's clock started; negative: before it.
    pub secs: f64,
    /// Component.
    pub component: String,
    /// Process that exited.
    pub pid: u32,
    /// Why, in a few words.
    pub cause: String,
    /// How long it had run, seconds.
    pub uptime_secs: f64,
    /// CPU time it had used, seconds.
    pub cpu_secs: f64,
    /// Its peak resident memory, MiB.
    pub peak_rss_mib: f64,
    /// Whether it was started again.
    pub restarted: bool,
}

/// API calls by component, then `verb resource[/subresource]`.
pub type CallCounts = BTreeMap<String, BTreeMap<String, u64>>;

/// `calls.json`: what the audit log says about API calls.
///
/// Counted is each request once, when it was answered, if kube-apiserver received it between the clock's zero and the
/// observation's end. Watches stand apart: one is a call when it is opened and costs nothing per event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The observation's end, seconds since the run's clock started.
    pub to_secs: f64,
    /// Pods bound in that time: pods/binding calls answered with success.
    pub bound_pods: u64,
    /// Requests, watches excepted.
    pub total: CallCounts,
    /// Of these, refused: answered with a status of 400 or more, by `verb resource[/subresource] status`.
    pub refused: CallCounts,
    /// Watches that were opened and, where the audit policy shows a watch only at its end, have ended.
    pub watches: CallCounts,
    /// `total` for each bound pod; empty if none was bound.
    pub per_bound_pod: BTreeMap<String, BTreeMap<String, f64>>,
    /// Requests in each second of the observation, watches excepted, of each component's busiest client: a component may have
    /// several, each with the whole limit. Empty in a run of an older headroom.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_second: BTreeMap<String, Vec<u32>>,
}

/// A number in as few digits as three decimals need.
struct Short(f64);

impl Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.3}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The columns of a row, one after the other.
#[derive(Debug)]
pub struct Columns<'a> {
    values: std::str::Split<'a, char>,
    names: std::str::Split<'static, char>,
}

impl<'a> Columns<'a> {
    fn text(&mut self) -> Result<(&'a str, &'static str), String> {
        let name = self.names.next().unwrap_or("?");
        let value = self.values.next();
        value
            .map(|v| (v, name))
            .ok_or_else(|| format!("column {name} is missing"))
    }

    pub(super) fn next<T: FromStr>(&mut self) -> Result<T, String> {
        self.text().and_then(parsed)
    }

    pub(super) fn optional<T: FromStr>(&mut self) -> Result<Option<T>, String> {
        let column = self.text()?;
        (!column.0.is_empty()).then(|| parsed(column)).transpose()
    }
}

fn parsed<T: FromStr>((text, name): (&str, &str)) -> Result<T, String> {
    let value = text.parse();
    value.map_err(|_| format!("column {name}: {text:?} is not valid"))
}
