//! What a user sees on the terminal at the end of a run, of a session, and of several.
//!
//! - [`table`], [`verdicts`]: a run, and a session
//! - [`page`]: several sessions
//! - [`events`]: restarts, stalls and requests that found no place
//! - [`waits`]: where time went
//! - [`soak`]: what restarted over the hours of a session that goes on for a set time

mod events;
pub mod page;
pub mod soak;
pub mod table;
pub mod verdicts;
pub(crate) mod waits;
