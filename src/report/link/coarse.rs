//! What a link leaves out.

use crate::report::Report;

/// The report, finest first, as coarse as a link may need it: each with what was left out, in words.
#[must_use]
pub fn for_link(report: &Report) -> Vec<(Report, Vec<String>)> {
    vec![(report.clone(), Vec::new())]
}
