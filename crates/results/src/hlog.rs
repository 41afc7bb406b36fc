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
use crate::run_folder::Record;
use plan::Plan;

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

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::fixtures::{done, plan, team, waiting};

    #[test]
    fn the_log_reads_back_with_tags_intervals_and_censored_ones_apart() {
        let plan = plan(vec![team("shared", 40, true)]);
        let records = [
            done("shared", "a", 1, 1.5, 5.0),
            done("shared", "b", 1, 12.25, 20.0),
            waiting("shared", "c", 1, 0.0),
        ];
        let log = interval_log(&plan, &records, 30.0, SystemTime::UNIX_EPOCH).unwrap();
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(&log) {
            if let LogEntry::Interval(interval) = entry.unwrap() {
                let tag = interval.tag().unwrap().as_str().to_owned();
                let bytes = base64(interval.encoded_histogram());
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                found.push((interval.start_timestamp().as_secs(), tag, histogram));
            }
        }
        assert!(found.is_sorted_by_key(|(start, ..)| *start));
        let of = |start: u64, tag: &str| {
            let (.., h) = found
                .iter()
                .find(|(s, t, _)| *s == start && t == tag)
                .unwrap();
            (h.len(), h.max())
        };
        assert_eq!(of(0, "shared/whole-card/bind_latency"), (1, 1500));
        // 3 significant digits: 12250 ms is kept to within a thousandth.
        let (n, max) = of(10, "shared/whole-card/bind_latency");
        assert!(n == 1 && max.abs_diff(12_250) <= 12, "{max}");
        let (n, max) = of(30, "shared/whole-card/bind_latency/censored");
        assert!(n == 1 && max.abs_diff(30_000) <= 30, "{max}");
    }

    /// Decodes standard base64, to read what other tools would.
    fn base64(text: &str) -> Vec<u8> {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits: Vec<u32> = text
            .trim_end_matches('=')
            .bytes()
            .map(|b| u32::try_from(DIGITS.iter().position(|d| *d == b).unwrap()).unwrap())
            .collect();
        let mut bytes = Vec::new();
        for chunk in digits.chunks(4) {
            let value = chunk.iter().fold(0, |v, d| v << 6 | d) << (6 * (4 - chunk.len()));
            bytes.extend_from_slice(&value.to_be_bytes()[1..chunk.len()]);
        }
        bytes
    }
}
