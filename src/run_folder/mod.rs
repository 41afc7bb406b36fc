//! A session's folder and its runs' folders: types, writer, reader.
//!
//! In: records, series, component exits. Out: files that stay readable after a crash at any moment. Never talks to a
//! cluster.

pub mod record;
pub mod summary;

pub use record::{Attempt, AttemptEnd, Outcome, Phase, Record};
pub use summary::{HamiKind, HamiSource, Summary};
