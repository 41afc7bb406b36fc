//! Every table, page, report and chart of results.
//!
//! In: summaries and folders of sessions, comparisons. Out: text and pictures. Values stay numbers with unit and
//! censoring until they are printed, and nothing reads printed text again.
//!
//! - [`listing`]: which metrics a table lists, in which order
//! - [`text`]: how numbers, lines and tables are printed
//! - [`tables`]: what a command prints when it ends
//! - [`charts`]: pictures of sessions
//! - [`report`]: sessions and comparisons in words

pub mod charts;
mod listing;
pub mod report;
pub mod tables;
mod text;
