//! From where on a fault of the host or the harness disturbs a run.

/// A submission later than this is late.
pub const LATE_SUBMIT_SECS: f64 = 0.05;

/// Late ticks of the harness that are put up with: one may fall together with a burst of the host's own.
pub const LATE_TICKS: u32 = 2;

/// Watch lag, 99th percentile in milliseconds, above which the live view was not live. The bind time of record does not
/// depend on it, but a lag of this size means a machine without room.
pub const WATCH_LAG_P99_MS: f64 = 1000.0;

/// Share of the machine's cores that others may use before a run counts as disturbed: a desktop at rest uses a few
/// percent.
pub const OTHERS_SHARE: f64 = 0.1;

/// A tick of the harness this late disturbs by itself, seconds: for so long it saw nothing and submitted nothing.
pub const FROZEN_SECS: f64 = 1.0;
