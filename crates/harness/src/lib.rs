//! Brings up a cluster, submits the teams' Jobs to it, observes what happens, and records the run.

pub mod bench;
pub mod cluster;
mod data_plane;
mod driver;
pub mod observer;
pub mod tenants;
