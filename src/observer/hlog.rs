//! `latency.hlog`: the latencies as a standard HdrHistogram interval log.
//!
//! One histogram a team, class and phase, tagged `team/class/phase`, for each interval of 10 s in which samples ended.
//! Values are milliseconds from 1 to one hour with 3 significant digits. Censored samples have tags of their own,
//! `team/class/phase/censored`, with the wait so far: tools that know nothing of censoring must not take them for
//! observed ones.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};

use super::latency::samples;
use crate::plan::Plan;
use crate::run_folder::Record;

/// Length of an interval, seconds.
const INTERVAL_SECS: u32 = 10;

/// Smallest and largest value, milliseconds: 1 ms to 1 h.
const RANGE_MS: (u64, u64) = (1, 3_600_000);

/// Precision, significant decimal digits.
const DIGITS: u8 = 3;

/// Builds the log. `zero` is the wall-clock time of the run clock's zero.
///
/// # Errors
/// If a histogram can't be serialised; it can with these bounds.
pub fn interval_log(
    plan: &Plan,
    records: &[Record],
    end_secs: f64,
    zero: SystemTime,
) -> io::Result<Vec<u8>> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment(
            "[Latencies in ms; tag: team/class/phase[/censored]; interval: when the sample ended]",
        )
        .with_start_time(zero)
        .with_base_time(zero)
        .with_max_value_divisor(1000.0)
        .begin_log_with(&mut log, &mut serializer)?;
    for ((interval, tag), histogram) in histograms(plan, records, end_secs)? {
        // A tag takes no space, comma or line break; names of teams and classes have none.
        let tag = Tag::new(&tag);
        writer
            .write_histogram(
                &histogram,
                Duration::from_secs(u64::from(interval * INTERVAL_SECS)),
                Duration::from_secs(u64::from(INTERVAL_SECS)),
                tag,
            )
            .map_err(|error| match error {
                IntervalLogWriterError::IoError(error) => error,
                IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
            })?;
    }
    Ok(log)
}

/// Histograms by interval, then tag: in the order of the log.
fn histograms(
    plan: &Plan,
    records: &[Record],
    end_secs: f64,
) -> io::Result<BTreeMap<(u32, String), Histogram<u32>>> {
    let mut all = BTreeMap::new();
    for tenant in &plan.tenants {
        let own = records.iter().filter(|r| r.tenant == tenant.name);
        for ((class, phase), samples) in samples(own, end_secs).0 {
            for sample in samples {
                let censored = if sample.censored { "/censored" } else { "" };
                let tag = format!("{}/{class}/{}{censored}", tenant.name, phase.name());
                // Seconds of a run, never negative here and far below 2^32.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let (interval, ms) = (
                    (sample.at_secs.max(0.0) / f64::from(INTERVAL_SECS)) as u32,
                    (sample.secs * 1000.0).round() as u64,
                );
                let histogram = match all.entry((interval, tag)) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(new) => {
                        let (low, high) = RANGE_MS;
                        let histogram = Histogram::new_with_bounds(low, high, DIGITS);
                        new.insert(histogram.map_err(io::Error::other)?)
                    }
                };
                histogram.saturating_record(ms.max(RANGE_MS.0));
            }
        }
    }
    Ok(all)
}
