//! What plans come out of which files and options, and what is said when none can.

mod bad_input;
mod plans;
mod properties;
