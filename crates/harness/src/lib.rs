//! Brings up a cluster, submits the teams' Jobs to it, observes what happens, and records the run.

pub mod bench;
pub mod cluster;
pub mod data_plane;
pub mod driver;
pub mod observer;
pub mod tenants;
