//! Brings a cluster up, plays the work on it, observes, and writes the run down.

pub mod bench;
pub mod cluster;
mod data_plane;
mod driver;
pub mod observer;
pub mod tenants;
