//! Experiments and commands on real control planes, short and small.

mod conformance;
mod experiments;
mod leftovers;
mod regimes;
mod resume;
mod support;
