//! Which plans come out of which files and options, and which errors.

mod bad_input;
mod clearing;
mod data_plane;
mod plans;
mod properties;
