//! What plans come out of which files and options, and what is said when none can.

mod bad_input;
mod clearing;
mod data_plane;
mod plans;
mod properties;
