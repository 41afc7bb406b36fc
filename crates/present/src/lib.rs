//! Every table, page, report and chart of results.

pub mod charts;
pub mod report;
pub mod tables;
