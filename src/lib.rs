//! headroom: a benchmark harness for GPU-sharing policy on Kubernetes.
//!
//! Modules in the order data flows: [`plan`] → [`components`] → [`cluster`] → [`tenants`] → [`driver`] → [`observer`]
//! → [`run_folder`]; [`data_plane`] plays image pulls beside them; [`bench`] runs them one after the other; [`judge`], [`compare`], [`charts`] and [`report`] only
//! read what was recorded. [`conformance`] plays scenarios with two schedulers and compares them. [`extender`] is a program
//! of its own (the built-in stand-in for HAMi) that nothing else imports, and so is
//! [`clearer`] (the node clearer).

#[macro_use]
mod out;

pub mod bench;
pub mod charts;
pub mod clearer;
pub mod cli;
pub mod cluster;
pub mod compare;
pub mod components;
pub mod conformance;
pub mod data_plane;
pub mod driver;
pub mod extender;
pub mod judge;
pub mod machine;
pub mod observer;
pub mod plan;
pub mod process;
pub mod report;
pub mod run_folder;
pub mod tenants;
mod text_file;
