//! Bind latency inside and outside stalls of the storage.

use super::Source;
use crate::run_folder::Latency;

pub(super) fn inside<'a>(source: &Source<'a>) -> Option<&'a Latency> {
    Some(&source.summary.bound_in_stalls.as_ref()?.inside)
}

pub(super) fn outside<'a>(source: &Source<'a>) -> Option<&'a Latency> {
    Some(&source.summary.bound_in_stalls.as_ref()?.outside)
}
